"""Hidden variables of a channel: finitely many values, each with its probability, independent of the tokens before weighting."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from sympy import Expr, Integer, Rational, S, Symbol

from symslr.model.text_numbers import read_number

MOST_VALUES = 200
"""Joint values of all hidden variables, over which every mean is summed."""


@dataclass(frozen=True)
class Hidden:
    """One hidden variable: its symbol and its law, pairs (value, probability) whose probabilities sum to 1."""

    symbol: Symbol
    law: tuple[tuple[Expr, Expr], ...]

    @classmethod
    def from_text(cls, name: str, text: str, length: int) -> Hidden:
        """``"1..L"`` for the uniform law of a position, or ``"1:1/2,-1:1/2"``; values within 1 to L may stand as an index.

        Raises:
            ValueError: in one line, for what is no law.
        """
        what, expected = f"hidden {name}", 'expected "1..L" or value:probability, such as "1:1/2,-1:1/2"'
        if text.replace(" ", "") in ("1..L", f"1..{length}"):
            pairs = [(Fraction(n), Fraction(1, length)) for n in range(1, length + 1)]
        else:
            parts = [part.partition(":") for part in text.split(",")]
            if not all(colon for _, colon, _ in parts):
                raise ValueError(f"{what}: found {text[:40]!a}; {expected}")
            pairs = [(Fraction(read_number(a, what=what)), Fraction(read_number(b, what=what))) for a, _, b in parts]
        if len({value for value, _ in pairs}) < len(pairs) or any(share <= 0 for _, share in pairs):
            raise ValueError(f"{what}: found {text[:40]!a}; expected distinct values with positive probabilities")
        if (total := sum(share for _, share in pairs)) != 1:
            raise ValueError(f"{what}: found probabilities that sum to {total}; expected 1 exactly")
        is_position = all(value.denominator == 1 and 1 <= value <= length for value, _ in pairs)
        symbol = Symbol(name, integer=True, positive=True) if is_position else Symbol(name, real=True)
        return cls(symbol, tuple((Rational(value), Rational(share)) for value, share in pairs))


SIGN = Hidden(Symbol("varsigma", real=True), ((S.One, S.Half), (Integer(-1), S.Half)))
"""The common sign of a label that is seen up to it."""


def joint(hidden: tuple[Hidden, ...]) -> list[tuple[dict[Expr, Expr], Expr]]:
    """Every joint value with its probability: one, empty, where nothing is hidden."""
    found = []
    for pairs in product(*(own.law for own in hidden)):
        share = S.One
        for _, probability in pairs:
            share *= probability
        found.append(({own.symbol: value for own, (value, _) in zip(hidden, pairs)}, share))
    return found
