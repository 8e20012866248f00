"""A proved local minimum of a function R of one scale, by the signs of its derivative.

R'(a - d) < 0 < R'(a + d), as enclosures, proves a minimum inside (a - d, a + d). By the mean value theorem its value is at
least R(a) - d max |R'|, R' enclosed on the whole ball a +- d, and it is at most R(a). Nothing is said of scales beyond.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, isfinite
from time import perf_counter
from typing import Any

from flint import arb, ctx, fmpq
from mpmath import mpf
from sympy import Expr, Rational, Symbol

from symslr.evaluation.certified.backend import BITS_PER_DIGIT, METHOD, Enclosed, centred, correct_digits, substitute
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.numbers.balls import centre
from symslr.evaluation.plan import canonical
from symslr.expression.value import Kind, Value

MOST_STEPS = 12
"""Of the secant method for the zero of the derivative."""
SPARE_DIGITS = 4
"""Digits beyond those asked for."""


def least_certified(
    risk: Expr,
    a: Symbol,
    scalars: Mapping[Any, Any],
    digits: int,
    interval: tuple[float, float],
    guess: float,
) -> tuple[Value, Value]:
    """(value, place) of a proved local minimum near ``guess``, inside the interval.

    Raises:
        CannotEvaluate: where no proof is found, or the minimum is not inside the interval.
    """
    begin, (low, high) = perf_counter(), interval
    if not (isfinite(guess) and low < guess < high):
        raise CannotEvaluate(
            f"certified: found no minimum inside of the scales from {low:.6g} to {high:.6g}; expected an interval around one"
        )
    expr, size = canonical(risk), Rational(max(abs(guess), 2.0**-10))
    risk_at, slope_at = (Enclosed(substitute(own, scalars), True, (a,)).at for own in (expr, expr.diff(a)))
    half = digits // 2 + 2
    width = size / 10**half

    def sloped(scale: Rational) -> Any:
        return slope_at([_ball(scale)], half + SPARE_DIGITS)

    with ctx.workprec(ceil((2 * half + SPARE_DIGITS) * BITS_PER_DIGIT)):
        place = Rational(guess)
        before = place + size / 10**SPARE_DIGITS
        known, found = sloped(before), sloped(place)
        for _ in range(MOST_STEPS):
            if known.mid() == found.mid():
                break
            move = _rational((found.mid() / (found.mid() - known.mid())).mid(), 2 * half) * (before - place)
            if abs(move) < width / 4:
                break
            before, known, place = place, found, place + move
            found = sloped(place)
        ends = [sloped(place + side * width) for side in (-1, 1)]
        if not (low < place - width and place + width < high and ends[0] < 0 < ends[1]):
            raise CannotEvaluate(
                f"certified: no minimum is proved near the scale {guess:.10g}, inside of {low:.6g} to {high:.6g}"
            )
        radius = _ball(width)
        steepest = abs(slope_at([_ball(place) + arb(0, radius.upper())], half)).upper()
        value = risk_at([_ball(place)], digits + SPARE_DIGITS)
        least = (value - radius * steepest).lower().union(value.upper())
        number, error = centred(least, digits)
    method = f"{METHOD}; a minimum is proved within {float(width):.1e} of its scale, not beyond"
    took = perf_counter() - begin
    where, off = mpf(int(place.p)) / int(place.q), centre(radius.upper())
    return (
        Value(number, error, Kind.CERTIFIED, correct_digits(number, error), method, took),
        Value(where, off + abs(where) * mpf(2) ** -50, Kind.CERTIFIED, half - 1, method, took),
    )


def _ball(number: Rational) -> Any:
    return arb(fmpq(int(number.p), int(number.q)))


def _rational(number: Any, digits: int) -> Rational:
    """A ball's centre to so many digits."""
    if not number.is_finite():
        raise CannotEvaluate("certified: no minimum is proved where the slope has no bound")
    scaled = (number * arb(10) ** digits).mid().floor().unique_fmpz()
    return Rational(int(scaled), 10**digits)
