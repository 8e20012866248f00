"""A remainder is a bound to be tested: does the error shrink with it over a decade of a parameter?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from mpmath import mp, mpf
from sympy import Rational, Symbol

from symslr.algebra.derivation import Derivation, Step
from symslr.check.compare import SAFETY, compare
from symslr.check.numbers import Numbers
from symslr.check.points import FULL_DIGITS, Point, admits, symbols_of
from symslr.check.report import Comparison, Verdict
from symslr.model.exact import exact

DECADE = 10
"""The factor by which a parameter is moved."""

SHRINKS = mpf("0.6")
"""A bound that is no smaller than this share of itself, beside the value, does not shrink with the parameter."""

GROWTH = 0.4
"""The power of the factor by which the error may grow beside its bound: a lost power of the parameter makes it 1."""

SLOWER = "shrinks more slowly"

FARTHER = 2
"""Decades beyond the first at which a bound that is being overtaken is looked at again."""


def remainder_tested(
    step: Step, item: Derivation, where: Iterable[Point], numbers: Numbers
) -> tuple[list[Comparison], str]:
    """Comparisons along the parameters of a remainder, and what keeps it from being called a bound, or an empty text.

    With each parameter with which the bound becomes small the error has to, at that order, from one of the points on.
    """
    named = sorted((s for s in step.remainder.free_symbols if isinstance(s, Symbol)), key=str)
    if not named:
        varied = any(isinstance(symbol, Symbol) for symbol in step.before.free_symbols)
        return [], "the remainder names no parameter with which it becomes small" if varied else ""
    points, made, reasons, shrinks = list(where), list[Comparison](), list[str](), False
    for symbol in named:
        told: dict[str, None] = {}
        for point in points:
            found, reason = _along(symbol, step, item, point, numbers)
            made += found
            if any(c.verdict is Verdict.FALSE for c in found):
                return made, ""
            if found and not reason:
                shrinks = True
                break
            told[reason] = None
        else:
            reasons += [reason for reason in told if reason]
            if any(SLOWER in reason for reason in told):
                return made, f"the order of the remainder is not what it says ({'; '.join(reasons)})"
    if shrinks:
        return made, ""
    return made, f"the order of the remainder could not be tested ({'; '.join(reasons) or 'no parameter can be moved'})"


def _along(
    symbol: Symbol, step: Step, item: Derivation, point: Point, numbers: Numbers
) -> tuple[list[Comparison], str]:
    """The error beside its bound at a point, and where the bound has become smaller."""
    here = _ratio(step, point, numbers)
    if isinstance(here, str):
        return [], here
    reason = f"{symbol} cannot be moved"
    for factor, places in _moved(symbol, item, point):
        made = []
        before = here
        for number, place in enumerate(places):
            now = _ratio(step, place, numbers)
            if isinstance(now, str):
                reason = now
                break
            if number == 0 and now.relative > SHRINKS * before.relative:
                reason = f"the bound does not shrink with {symbol}"
                break
            made.append(replace(now.comparison, kind=f"remainder: {symbol} moved by {factor:.3g}"))
            if now.comparison.verdict is Verdict.FALSE:
                return made, ""
            if not now.resolved or now.ratio <= max(factor, 1 / factor) ** GROWTH * before.ratio:
                return made, ""
            if number > 0 or not symbol.is_integer:  # a few integers on the way to 1 tell no order
                reason = f"the error {SLOWER} with {symbol} than its bound"
            before = now
    return [], reason


class _Ratio:
    """Error over bound at one place."""

    def __init__(self, comparison: Comparison, value: mpf, noise: mpf) -> None:
        assert comparison.difference is not None
        assert comparison.remainder is not None
        self.comparison = comparison
        self.resolved = comparison.difference > SAFETY * noise
        self.ratio = max(comparison.difference, noise) / comparison.remainder
        self.relative = comparison.remainder / abs(value)


def _ratio(step: Step, point: Point, numbers: Numbers) -> _Ratio | str:
    made = compare(step.before, step.after, point, numbers, step.remainder)
    if made.left is None or made.remainder is None or made.right is None:
        return made.reason or f"no bound at {point}"
    sides = [numbers.at(side, point) for side in (step.before, step.after)]
    if made.left == 0 or not all(side.known for side in sides):
        return f"no number at {point}"
    with mp.workdps(60):
        return _Ratio(made, made.left, sides[0].error + sides[1].error)


def _moved(symbol: Symbol, item: Derivation, point: Point) -> Iterator[tuple[float, list[Point]]]:
    """Places up and down a parameter: decades where nothing bounds it, else the two ends of its range."""
    value = point.values.get(symbol.name)
    if not isinstance(value, (int, Fraction)) or value == 0:
        return
    value = Fraction(value)
    allowed = next((v for s, v in item.ranges.items() if exact(s) == symbol), None)
    for up in (True, False):
        wanted = [value * Fraction(DECADE if up else 1, 1 if up else DECADE) ** n for n in range(1, FARTHER + 2)]
        if allowed is not None:
            ends = [Fraction(int(exact(v).p), int(exact(v).q)) for v in allowed]  # type: ignore[attr-defined]
            low, high = min(ends), max(ends)
            inside = isinstance(allowed, tuple)
            margin = (high - low) / 100 if inside else Fraction(0)
            wanted = [v for v in wanted if low <= v <= high and (inside or v in ends)]
            wanted = wanted or [high - margin if up else low + margin]
        if symbol.is_integer:
            wanted = [Fraction(max(round(v), 1)) for v in wanted]
        places = []
        for v in dict.fromkeys(wanted):
            number = int(v) if symbol.is_integer else v
            place = replace(point, values={**point.values, symbol.name: number}, patience=1.0, digits=FULL_DIGITS)
            conditions = [h.condition for h in item.hypotheses]
            if v != value and all(admits(c, symbols_of(item), place) for c in conditions):
                places.append(place)
        if places:
            yield float(Rational(str(places[0].values[symbol.name])) / Rational(str(value))), places
