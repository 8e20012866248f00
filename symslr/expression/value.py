"""A number is a Value: it knows its error, what kind of error that is, and how it was made."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from mpmath import mpf, nstr


class Kind(StrEnum):
    """What the error of a Value means."""

    CERTIFIED = "certified"
    """A proved enclosure: |true - value| <= error."""
    ESTIMATED = "estimated"
    """A numerical estimate of the error of a deterministic method, meant to be an upper bound."""
    STATISTICAL = "statistical"
    """One standard error of a random method."""


@dataclass(frozen=True, repr=False)
class Value:
    """``value`` +- ``error``; mpmath numbers, or float64 arrays where parameters were arrays.

    Attributes:
        value, error: the number and its error, absolute.
        kind: what the error means.
        digits: correct significant digits that the error leaves (the smallest over an array).
        method: how it was made, in words.
        seconds: wall time.
    """

    value: Any
    error: Any
    kind: Kind
    digits: int
    method: str
    seconds: float = 0.0

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        """The number with as many digits as its error leaves; an array prints as an array."""
        return str(self.value) if isinstance(self.value, np.ndarray) else self.as_json()["value"]

    def __repr__(self) -> str:
        spread = np.max(self.error) if isinstance(self.error, np.ndarray) else self.error
        return f"{self} ± {nstr(mpf(spread), 2)} ({self.kind})"

    def _repr_latex_(self) -> str | None:
        if isinstance(self.value, np.ndarray):
            return None
        return rf"${_latex(str(self))} \pm {_latex(nstr(mpf(self.error), 2))}\ \text{{({self.kind})}}$"

    def as_json(self) -> dict[str, Any]:
        """Numbers as decimal strings: value, error, kind, digits, method, seconds."""
        return {
            "value": nstr(self.value, max(self.digits, 1), strip_zeros=False),
            "error": nstr(mpf(self.error), 3),
            "kind": str(self.kind),
            "digits": self.digits,
            "method": self.method,
            "seconds": round(self.seconds, 6),
        }


def _latex(number: str) -> str:
    """A decimal number with its power of ten as LaTeX."""
    digits, _, power = number.partition("e")
    return rf"{digits}\times10^{{{int(power)}}}" if power else digits
