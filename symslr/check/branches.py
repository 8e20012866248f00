"""Points at and on both sides of every place where a formula changes: signs, kinks, equalities, Kronecker deltas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from sympy import Basic, Expr, KroneckerDelta, Symbol

from symslr.algebra.derivation import Derivation
from symslr.check.points import FLOAT_DIGITS, Point, admits, fits, points, symbols_of
from symslr.model.exact import exact
from symslr.model.length_law import LengthLaw
from symslr.referee.kinks import deciders_of

LOOK = [float(v) for v in np.geomspace(1e-9, 1e9, 721)]
"""Where changes of sign are looked for."""

BEYOND = Fraction(13718281, 10**7)
"""A point lies this factor away from the place of a change."""

MOST_BRANCHES = 9
"""Points that are made at most."""


def branch_points(item: Derivation) -> list[Point]:
    """Points at, below and above each change of branch in a parameter, as ranges and hypotheses admit them."""
    lines = [item.start, *(step.after for step in item.steps), *(claim.formula for claim in item.claims)]
    symbols = symbols_of(item)
    differences = (delta.args[0] - delta.args[1] for line in lines for delta in line.atoms(KroneckerDelta))
    every = {*differences, *(decider for line in lines for decider in deciders_of(line))}
    deciders = sorted((d for d in every if d.free_symbols <= set(symbols)), key=str)
    if not any(d.free_symbols for d in deciders):
        return []
    first = points(item)[0]

    def admitted(kind: str, symbol: Basic, values: Iterable[Fraction | int]) -> list[Point]:
        made = [
            replace(first, kind=f"{kind} in {symbol}", values={**first.values, symbol.name: value}, digits=FLOAT_DIGITS)
            for value in values
            if _admitted(item, symbol, value)
        ]
        return [point for point in made if all(admits(h.condition, symbols, point) for h in item.hypotheses)]

    found: list[Point] = []
    for decider in deciders:
        for symbol in sorted(decider.free_symbols, key=str):
            found += admitted("at or beside a change of branch", symbol, _around(decider, symbol, first))
    return found[:MOST_BRANCHES]


def _around(decider: Expr, symbol: Basic, first: Point) -> Iterator[Fraction | int]:
    """Values of one parameter at each change of sign, where it is rational, and on both sides, the others as at the first point."""
    others = {
        s: value
        for s in decider.free_symbols - {symbol}
        for value in [first.values[s.name]]
        if not isinstance(value, LengthLaw)
    }
    body = decider.subs({s: exact(value) for s, value in others.items()})
    if body.free_symbols != {symbol} or isinstance(first.values[symbol.name], LengthLaw):
        return
    for left, right in _turns(body, symbol):
        yield from _change(body, symbol, left, right)
        for near, away in ((left, 1 / BEYOND), (right, BEYOND)):
            moved = Fraction(near).limit_denominator(10**12) * (away if near > 0 else 1 / away)
            yield max(round(moved), 1) if symbol.is_integer else moved


def _turns(body: Expr, symbol: Basic) -> Iterator[tuple[float, float]]:
    """Places next to each other between which the branch changes."""
    places = LOOK if symbol.is_nonnegative else [*(-v for v in reversed(LOOK)), *LOOK]
    if symbol.is_integer:
        places = sorted({float(round(v)) for v in places if abs(v) < 1e4} | {float(v) for v in range(1, 200)})
    seen = [_branch(body, symbol, place) for place in places]
    for left, right, before, after in zip(places, places[1:], seen, seen[1:]):
        if None not in (before, after) and before != after:
            yield left, right


def _branch(body: Expr, symbol: Basic, place: float) -> bool | None:
    """Whether a decider is positive; None where it has no sign."""
    try:
        number = body.subs(symbol, int(place) if symbol.is_integer else place).evalf()
    except ZeroDivisionError:  # SymPy's Mod
        return None
    return bool(number > 0) if number.is_number and number.is_extended_real else None


def _change(body: Expr, symbol: Basic, left: float, right: float) -> Iterator[Fraction | int]:
    """Where a decider changes between the two, if that is rational; of whole numbers both."""
    if symbol.is_integer:
        yield from map(int, (left, right))
        return
    after = _branch(body, symbol, right)
    for _ in range(50):
        middle = (left + right) / 2
        left, right = (left, middle) if _branch(body, symbol, middle) == after else (middle, right)
    place = Fraction(right).limit_denominator(10**6)
    if body.subs(symbol, exact(place)) == 0:
        yield place


def _admitted(item: Derivation, symbol: Basic, value: Fraction | int) -> bool:
    if isinstance(symbol, Symbol) and not fits(symbol, value):
        return False
    allowed = next((v for s, v in item.ranges.items() if exact(s) == symbol), None)
    if allowed is None:
        return True
    ends = [exact(v) for v in allowed]  # type: ignore[attr-defined]
    number = exact(value)
    return number in ends if isinstance(allowed, list) else bool(min(ends) < number) and bool(number < max(ends))
