"""A number with its error, the kind of that error, and the method that made it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal, localcontext
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import inf, isfinite, mpf, nstr

NOTHING = 0.01
"""Part of its error up to which a number is printed as 0: 7e-109 +- 7e-4 has no digits."""
HUGE = 20_000
"""Power of two beyond which a number is not written out as a fraction."""


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
        return f"{self} ± {self._printed_error(2)} ({self.kind})"

    def _repr_latex_(self) -> str | None:
        if isinstance(self.value, np.ndarray):
            return None
        return rf"${_latex(str(self))} \pm {_latex(self._printed_error(2))}\ \text{{({self.kind})}}$"

    def as_json(self) -> dict[str, Any]:
        """Numbers as decimal strings: value, error, kind, digits, method, seconds.

        The error is that of the number as printed: its own, and what the last digit leaves out.
        """
        return {
            "value": self._printed(),
            "error": self._printed_error(3),
            "kind": str(self.kind),
            "digits": self.digits,
            "method": self.method,
            "seconds": round(self.seconds, 6),
        }

    def _printed(self) -> str:
        if not isinstance(self.value, np.ndarray) and 0 < abs(self.value) <= NOTHING * self.error < inf:
            return "0.0"
        return nstr(self.value, max(self.digits, 1), strip_zeros=False)

    def _printed_error(self, digits: int) -> str:
        """The error with so many digits, rounded upwards; of an array the largest, without any text's rounding."""
        if isinstance(self.value, np.ndarray):
            return _upwards(_exact(np.max(self.error)), digits)
        text = self._printed()
        if not isfinite(self.value) or not isfinite(self.error):
            return nstr(mpf(self.error), digits)
        if max(_exponent(self.value), _exponent(self.error)) > HUGE:
            return _huge_error(self.value, self.error, text, digits)
        return _upwards(_exact(self.error) + abs(Fraction(Decimal(text)) - _exact(self.value)), digits)


def _exact(number: Any) -> Fraction:
    """A float or an mpmath number as a fraction: nothing here depends on the precision that mpmath is at."""
    if not isinstance(number, mpf):
        return Fraction(float(number))
    sign, mantissa, exponent, _ = number._mpf_
    size = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return -size if sign else size


def _exponent(number: Any) -> int:
    """Size of the power of two in a number."""
    return abs(int(number._mpf_[2])) if isinstance(number, mpf) else 0


def _huge_error(value: Any, error: Any, text: str, digits: int) -> str:
    """The error of a number as printed, no smaller, where fractions would have millions of digits.

    A power of two is rounded some hundred times on its way, each time by half a unit of the ``precision`` digits.
    """
    precision = len(text) + digits + 20
    with localcontext(Context(precision, ROUND_CEILING, MIN_EMIN, MAX_EMAX)):
        own, exact = _decimal(error), _decimal(value)
        slack = (own + abs(exact)).scaleb(3 - precision)
        total = own + abs(Decimal(text) - exact) + slack
    with localcontext(Context(digits, ROUND_CEILING, MIN_EMIN, MAX_EMAX)):
        return str(+total).lower()


def _decimal(number: Any) -> Decimal:
    """A number in the digits of the context."""
    if not isinstance(number, mpf):
        return Decimal(float(number))
    sign, mantissa, exponent, _ = number._mpf_
    size = Decimal(int(mantissa)) * Decimal(2) ** int(exponent)
    return -size if sign else size


def _upwards(number: Fraction, digits: int) -> str:
    """A positive number in decimals that is no smaller."""
    with localcontext(Context(digits, ROUND_CEILING, MIN_EMIN, MAX_EMAX)) as context:
        rounded = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return nstr(mpf(str(rounded)), digits)


def _latex(number: str) -> str:
    """A decimal number with its power of ten as LaTeX."""
    digits, _, power = number.partition("e")
    return rf"{digits}\times10^{{{int(power)}}}" if power else digits
