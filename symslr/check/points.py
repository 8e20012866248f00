"""Random admissible points at which both sides of a step are evaluated, the same ones every time."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sympy import Basic, Expr, Integer, Integral, Rational, Symbol

from symslr.algebra.derivation import Derivation
from symslr.check.instances import formulas
from symslr.expression.expectation import Expectation
from symslr.expression.folded import Minimum
from symslr.expression.quantity import Quantity
from symslr.model.exact import exact
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import BOUND_IN_SEQUENCE, L, nu

DENOMINATOR = 97
"""Parameters are multiples of 1/97: short to print, and no value at which a wrong formula is right by accident."""

FULL_DIGITS = 30
FLOAT_DIGITS = 13


@dataclass(frozen=True)
class Point:
    """Values for every free symbol, by name.

    Attributes:
        kind: what the point is for: "two tokens", "three tokens", "strong signal", ...
        values: name -> int or Fraction; ``"P_L"`` -> ``LengthLaw``.
        digits: significant digits worth asking for here.
        patience: share of the usual time for one value; points that seldom succeed get little.
        functions: name -> formula of each function that the derivation leaves open.
    """

    kind: str
    values: Mapping[str, Any]
    digits: int
    patience: float = 1.0
    functions: Mapping[str, Expr] = field(default_factory=dict)

    @property
    def length(self) -> int | None:
        """L at this point, the largest where it is random, None where there is no length."""
        law = next((value for value in self.values.values() if isinstance(value, LengthLaw)), None)
        return max(int(length) for length, _ in law) if law is not None else self.values.get("L")

    def for_expression(self, expr: Basic) -> dict[str, Any]:
        """The values that an expression asks for."""
        expr = expr.replace(lambda node: isinstance(node, Quantity), lambda node: node.definition())
        names = {s.name for s in expr.free_symbols if isinstance(s, Symbol)}
        return {name: value for name, value in self.values.items() if name in names}

    def __str__(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in {**self.values, **self.functions}.items())


@dataclass(frozen=True)
class _Kind:
    """How the points of one kind are drawn.

    Attributes:
        length: choices of L.
        strength: nu lies between these; where the grids are largest it stays moderate.
        wide: whether other parameters may be large as well.
    """

    name: str
    length: tuple[int, ...]
    strength: tuple[Fraction, Fraction] = (Fraction(1, 5), Fraction(6))
    wide: bool = False
    digits: int = FLOAT_DIGITS
    patience: float = 1.0


MODERATE = (Fraction(1, 5), Fraction(5, 2))
STRONG = (Fraction(10), Fraction(30))

KINDS = (
    _Kind("two tokens", (2,), MODERATE, digits=FULL_DIGITS),
    _Kind("three tokens", (3,), MODERATE, patience=2.0),
    _Kind("two tokens, other signs", (2,)),
    _Kind("strong signal", (2,), STRONG, wide=True, patience=0.5),
    _Kind("many tokens", (5, 6, 7, 8, 9), patience=0.25),
    _Kind("four tokens", (4,), MODERATE, patience=0.25),
    _Kind("one token", (1,), patience=0.25),
)

LENGTH_LAWS = (
    LengthLaw({1: Rational(1, 3), 2: Rational(2, 3)}),
    LengthLaw({2: Rational(3, 7), 3: Rational(4, 7)}),
    LengthLaw({1: Rational(2, 11), 2: Rational(9, 11)}),
    LengthLaw({1: Rational(3, 5), 2: Rational(2, 5)}),
    LengthLaw({3: Rational(1, 6), 5: Rational(1, 3), 8: Rational(1, 2)}),
    LengthLaw({2: Rational(1, 4), 4: Rational(3, 4)}),
    LengthLaw({1: Integer(1)}),
)
"""An open length law, one for each kind of point."""


def symbols_of(derivation: Derivation) -> list[Symbol]:
    """Free symbols of every line of a derivation, by name."""
    lines: Iterable[Expr] = (
        derivation.start,
        *(step.after for step in derivation.steps),
        *(step.remainder for step in derivation.steps),
        *(claim.formula for claim in derivation.claims),
    )
    found = {s for line in lines for s in line.free_symbols if isinstance(s, Symbol)}
    return sorted(found - BOUND_IN_SEQUENCE | _asked(derivation, found), key=str)


def _asked(derivation: Derivation, found: set[Symbol]) -> set[Symbol]:
    """Symbols that a derivation gives a range for, whatever they mean elsewhere."""
    return {s for s in found if s in derivation.ranges}


def points(derivation: Derivation) -> list[Point]:
    """The points of a derivation, the most telling first; drawn from its name, so the same on every machine.

    Ranges of the derivation are respected: ``(low, high)``, or ``[choices]``. Symbols without a range take values by
    their assumptions: nu in (0.2, 2.5), (0.2, 6) and once in (10, 30); other positive ones in (0.2, 2); nonnegative ones in
    (0.1, 1.6); real ones in (-2, 2) with both signs; lengths 2, 3, 4, 1 and one in 5..9.

    Raises:
        ValueError: for a range that is neither of these, or that the symbol's assumptions exclude.
    """
    seed = int.from_bytes(hashlib.sha256(derivation.name.encode()).digest()[:8], "big")
    rng = random.Random(seed)
    symbols = symbols_of(derivation)
    ranges = {exact(symbol): value for symbol, value in derivation.ranges.items()}
    signs = {symbol: rng.choice((-1, 1)) for symbol in symbols}
    result: list[Point] = []
    open_choices = formulas(derivation)
    for number, kind in enumerate(_kinds(derivation, symbols)):
        flipped = {symbol: sign * (-1) ** number for symbol, sign in signs.items()}
        values: dict[str, Any] = {}
        for symbol in symbols:
            if symbol in ranges:
                values[symbol.name] = _within(symbol, ranges[symbol], rng, number)
            elif symbol.name == "P_L":
                values[symbol.name] = LENGTH_LAWS[number % len(LENGTH_LAWS)]
            else:
                values[symbol.name] = _default(symbol, kind, rng, flipped[symbol])
        functions = {name: choices[number % len(choices)] for name, choices in open_choices.items()}
        point = Point(kind.name, values, _digits(kind, values), kind.patience, functions)
        if all(point.values != other.values for other in result):
            result.append(point)
        if not symbols:
            break
    return result


def _kinds(derivation: Derivation, symbols: list[Symbol]) -> tuple[_Kind, ...]:
    """All kinds; fewer where no length varies and every point costs an integral at full precision."""
    has_length = any(symbol.name in ("L", "P_L") for symbol in symbols)
    lines = (derivation.start, *(step.after for step in derivation.steps))
    return KINDS if has_length or not any(line.has(Expectation, Integral, Minimum) for line in lines) else KINDS[:4]


def _digits(kind: _Kind, values: Mapping[str, Any]) -> int:
    """Full precision where no grid has more than two token axes."""
    if "L" not in values and "P_L" not in values:
        return FULL_DIGITS
    return kind.digits if Point("", values, 0).length in (1, 2) else FLOAT_DIGITS


def _within(symbol: Symbol, allowed: object, rng: random.Random, number: int) -> Any:
    if isinstance(allowed, tuple) and len(allowed) == 2:
        low, high = (_fraction(exact(end)) for end in allowed)
        if low > high:
            raise ValueError(f"range of {symbol}: found ({low}, {high}); expected (low, high) with low <= high")
        value = low + (high - low) * Fraction(rng.randint(1, DENOMINATOR - 1), DENOMINATOR)
        return _checked(symbol, Fraction(round(value)) if symbol.is_integer else value)
    if isinstance(allowed, (list, tuple)) and allowed:
        # walk through the choices, so that the first points show different ones
        start = rng.randrange(len(allowed)) if number == 0 else 0
        return _checked(symbol, _fraction(exact(allowed[(start + number) % len(allowed)])))
    raise ValueError(f"range of {symbol}: found {allowed!r}; expected (low, high) or a list of choices")


def _checked(symbol: Symbol, value: Fraction) -> Any:
    """The value, as an int where the symbol is an integer."""
    number = Rational(value.numerator, value.denominator)
    excluded = (symbol.is_positive and not number > 0) or (symbol.is_nonnegative and number < 0)
    if excluded or (symbol.is_integer and value.denominator != 1):
        raise ValueError(f"range of {symbol}: found {number}, which the assumptions of {symbol} exclude")
    return int(value) if symbol.is_integer else value


def _fraction(number: Basic) -> Fraction:
    if not isinstance(number, Rational):
        raise ValueError(f"range: found {number}; expected a rational number")
    return Fraction(int(number.p), int(number.q))


def _default(symbol: Symbol, kind: _Kind, rng: random.Random, sign: int) -> Any:
    if symbol == L:
        return rng.choice(kind.length)
    if symbol.is_integer:
        return rng.randint(1 if symbol.is_positive else 0, 5)
    if symbol == nu:
        return _between(rng, *kind.strength)
    if symbol.is_positive:
        return _between(rng, Fraction(1, 5), 4 if kind.wide else 2)
    if symbol.is_nonnegative:
        return _between(rng, Fraction(1, 10), 3 if kind.wide else Fraction(8, 5))
    return sign * _between(rng, Fraction(1, 5), 2)


def _between(rng: random.Random, low: Fraction | int, high: Fraction | int) -> Fraction:
    return Fraction(rng.randint(int(low * DENOMINATOR) + 1, int(high * DENOMINATOR) - 1), DENOMINATOR)
