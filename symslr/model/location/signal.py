"""The signal in a relevant token's key: a random multiple of one direction, or a random combination of several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sympy import Expr, S, Tuple, simplify

from symslr.model.exact import NotExact, exact
from symslr.model.form import check_parameters
from symslr.model.text import parse_expression
from symslr.model.text_numbers import split_outside

Vector = tuple[Expr, ...]

MOST_DIRECTIONS = 8


@dataclass(frozen=True)
class SignalLaw:
    """The law of theta in R^p: each value (a vector) with its probability; a relevant key is sqrt(nu) theta + noise.

    Args:
        support: pairs (theta, probability); theta a number or a tuple of p numbers, all of one length.

    Raises:
        ValueError: for values of different lengths, a value twice, or probabilities that are not positive or do not
            sum to 1.
    """

    support: tuple[tuple[Vector, Expr], ...]

    def __post_init__(self) -> None:
        found = tuple((_vector(value), exact(share, "signal")) for value, share in self.support)
        object.__setattr__(self, "support", found)
        if not found:
            raise ValueError('signal: found no value; expected value:probability, such as "1:1/2,-1:1/2"')
        lengths = sorted({len(value) for value, _ in found})
        if len(lengths) > 1 or not 1 <= lengths[0] <= MOST_DIRECTIONS:
            shown = " and ".join(map(str, lengths))
            raise ValueError(f"signal: found values of length {shown}; expected one length up to {MOST_DIRECTIONS}")
        values = [value for value, _ in found]
        twice = next((value for place, value in enumerate(values) if value in values[:place]), None)
        if twice is not None:
            raise ValueError(f"signal: found the value {_shown(twice)} twice; merge the two probabilities")
        for value, share in found:
            for entry in (*value, share):
                check_parameters(entry, "signal")
            if share.is_number and not share > 0:
                raise ValueError(f"signal: found the probability {share} of {_shown(value)}; expected a positive one")
        total = simplify(sum((share for _, share in found), S.Zero))
        if total.is_number and total != 1:
            raise ValueError(
                f"signal: found probabilities that sum to {total}; expected 1 exactly (write 1/3, not 0.333)"
            )

    def __iter__(self) -> Iterator[tuple[Vector, Expr]]:
        return iter(self.support)

    def __str__(self) -> str:
        return ",".join(f"{_shown(value)}:{share}" for value, share in self)

    @property
    def directions(self) -> int:
        """p, the number of directions of the keys."""
        return len(self.support[0][0])

    @property
    def is_one(self) -> bool:
        """Whether theta = 1 always: the signal of spiked-SLR."""
        return self.support == (((S.One,), S.One),)

    @property
    def free_symbols(self) -> set[Expr]:
        return {s for value, share in self for entry in (*value, share) for s in entry.free_symbols}

    def subs(self, values: Mapping[Expr, Expr]) -> SignalLaw:
        """The law at values of its parameters."""
        return SignalLaw(tuple((tuple(e.subs(values) for e in value), share.subs(values)) for value, share in self))


def signal_of(written: object) -> SignalLaw:
    """The law that a mapping value -> probability, its text, or nothing (theta = 1) stands for.

    Raises:
        ValueError: as ``SignalLaw``.
    """
    if written is None:
        return ONE
    if isinstance(written, SignalLaw):
        return written
    if isinstance(written, str):
        return signal_from_text(written)
    if isinstance(written, Mapping):
        return SignalLaw(tuple(written.items()))
    raise NotExact(f"signal: found {type(written).__name__}; expected a mapping from values to probabilities")


def signal_from_text(text: str, parameters: Mapping[str, Expr] = {}) -> SignalLaw:
    """``"1:1/2,-1:1/2"``, or vectors as in ``"(1,0):1/2,(0,1):1/2"``; entries may hold the parameters.

    Raises:
        ValueError: in one line, for anything else.
    """
    pairs = []
    for part in split_outside(text, ","):
        value, colon, share = part.partition(":")
        if not colon:
            raise ValueError(f"signal: found {part[:40]!r}; expected value:probability, such as 1:1/2 or (1,0):1/2")
        inner = value.strip(" ")
        is_vector = inner.startswith("(") and inner.endswith(")") and len(split_outside(inner[1:-1], ",")) > 1
        entries = split_outside(inner[1:-1], ",") if is_vector else [inner]
        theta = tuple(parse_expression(entry, parameters, what="signal") for entry in entries)
        pairs.append((theta, parse_expression(share, parameters, what="signal")))
    return SignalLaw(tuple(pairs))


def _vector(value: object) -> Vector:
    entries = value if isinstance(value, (tuple, list, Tuple)) else (value,)
    return tuple(exact(entry, "signal") for entry in entries)


def _shown(value: Vector) -> str:
    return str(value[0]) if len(value) == 1 else "(" + ",".join(map(str, value)) + ")"


ONE = SignalLaw((((S.One,), S.One),))
"""theta = 1."""
