"""The least risk of an attention, its error, and the parameters as far as the risk tells them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from mpmath import inf, mpf
from sympy import Expr

from symslr.evaluation.engine import digits_of
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.attend import Parameters
from symslr.evaluation.location.bayes import handed_out
from symslr.evaluation.location.means import Part
from symslr.evaluation.location.minima.extent import LARGEST_SCALE, Valley, averaged, descended, valley
from symslr.evaluation.location.minima.search import FINELY, best, descent, searched
from symslr.evaluation.location.moments import Risk
from symslr.evaluation.location.samples.points import REPLICATIONS
from symslr.evaluation.location.tables.rules import COARSE, SEARCH
from symslr.expression.value import Kind, Value

Found = tuple[Value, dict[str, Value]]
FAR = 0.99 * LARGEST_SCALE
"""A place of this size lies where parameters grow without end, if the risk still falls towards it."""
ROUNDED = 1e-14
"""Risks at two places that differ by no more may differ by rounding: each is 1 less a quotient of sums of many terms."""
UNKNOWN = 3.0
"""Relative to 1 + the size of a parameter: one that may lie so far off is said to be unknown, with the ends of where it may lie."""
LONGEST_TAIL = 0.75
"""The largest ratio of a fall of the risk, as parameters double, to the one before: 2^-p where it goes like their power -p."""


def found_least(
    risks: Risk,
    noise: Expr,
    digits: int | None,
    began: float,
    unit: float = 1.0,
    one: tuple[Any, Any] | None = None,
) -> Found:
    """The least risk and where it is attained, as ``least_value`` says.

    Args:
        risks: the risk above Delta^2.
        noise: Delta.
        began: at a time of ``perf_counter``.
        unit: of the scales.
        one: where one head alone is best, from which several begin, too.
    """
    parameters = Parameters.of(risks.attend)
    value_at = _kept(risks, parameters)
    found = _valley(risks, parameters, value_at, best(risks, parameters, one))
    reached, falls = value_at(found.place), _falls_beyond(risks, parameters, value_at, found)
    is_far = falls > 0
    reached = replace(reached, error=reached.error + (falls if is_far else found.fall))
    together = parameters.together(found.place)
    if together is not None:  # the risk goes with the square of their distance
        wider = risks.value(replace(parameters, spacing=2 * parameters.spacing).placed(found.place))
        reached = replace(reached, error=reached.error + abs(wider.value - reached.value))
    value = handed_out(reached, noise, digits, began)
    if is_far:
        value = replace(value, method=f"{value.method}; the risk falls as parameters grow beyond {LARGEST_SCALE:g}")
    if together is not None:
        said = "heads {} and {} come together, to be the kernel and its slope".format(*together)
        value = replace(value, method=f"{value.method}; {said}")
    return value, _places(parameters, found, unit, is_far)


def _falls_beyond(risks: Risk, parameters: Parameters, value_at: Callable[[Any], Part], found: Valley) -> float:
    """What the risk may still fall where parameters grow whose place its error does not tell; 0 where it falls no more.

    The falls from a quarter of these parameters to a half and from there to the place, at the best of the others, shrink by a
    ratio that goes on where the risk goes with a power of them: what is left is their geometric series, taken twice.
    """
    grow = _unknown(found)
    if not np.any(grow):
        return 0.0
    risk = searched(risks, parameters, rule=SEARCH if risks.is_random else COARSE)

    def shortened(times: float) -> Part:
        place = np.where(grow, found.place / times, found.place)
        if not risks.is_random and not np.all(grow):

            def of_others(others: Any) -> float:
                vector = place.copy()
                vector[~grow] = others
                return risk(vector)

            place[~grow] = descended(of_others, place[~grow], FINELY[0])
        return value_at(place)

    try:
        here, half, quarter = value_at(found.place), shortened(2.0), shortened(4.0)
    except (CannotEvaluate, FloatingPointError, ZeroDivisionError):
        return 0.0
    last, before = float(half.value - here.value), float(quarter.value - half.value)
    if last <= float(here.error + half.error):
        return 0.0
    ratio = min(last / before, LONGEST_TAIL) if before > 0 else LONGEST_TAIL
    return 2 * last * ratio / (1 - ratio)


def _unknown(found: Valley) -> Any:
    """Which parameters the error of the risk does not tell, (n,)."""
    ends = found.place + np.array([[-1.0], [1.0]]) * found.extents
    far = np.max(np.abs(ends), axis=0) >= LARGEST_SCALE
    return far | (np.max(found.extents, axis=0) >= UNKNOWN * (1 + np.abs(found.place))) | (np.abs(found.place) >= FAR)


def _kept(risks: Risk, parameters: Parameters) -> Callable[[Any], Part]:
    """The risk at the vector of all parameters with its error, each computed once."""
    value = cache(lambda vector: risks.value(parameters.placed(np.array(vector))))
    return lambda vector: value(tuple(vector))


def _valley(risks: Risk, parameters: Parameters, value_at: Callable[[Any], Part], place: Any) -> Valley:
    """The places that the error of the risk does not tell from the one that a search found.

    Of a risk that is sampled every value takes long: there the points of the search stand for it, and how far those of other seeds
    are apart says how far the risk may fall.
    """
    rough = searched(risks, parameters)
    if not risks.is_random:

        def valued(vector: Any) -> tuple[float, float]:
            try:
                found = value_at(vector)
            except (CannotEvaluate, FloatingPointError, ZeroDivisionError):
                return np.inf, 0.0
            return float(found.value), float(found.error) + ROUNDED

        return valley(rough, valued, descent(risks, parameters), place, risks.place_error * (1 + np.abs(place)))
    seeds = [searched(risks, parameters, seed) for seed in range(REPLICATIONS)]

    def mean(vector: Any) -> float:
        return float(np.mean([one(vector) for one in seeds]))

    at, off, fall = averaged(seeds, place)
    if np.isfinite(fall):
        return Valley(at, np.array([off, off]), fall)
    error = float(value_at(place).error) + ROUNDED
    off = risks.place_error * (1 + np.abs(place))
    found = valley(mean, lambda vector: (mean(vector), error), lambda vector: vector, place, off)
    return replace(found, fall=2 * error)


def _places(parameters: Parameters, found: Valley, unit: float, is_far: bool) -> dict[str, Value]:
    """Every parameter where the risk is least; with an infinite error where the risk's does not tell where that is."""
    if is_far and parameters.count > 1:
        return {}
    if is_far:
        return {"a": Value(inf, mpf(0), Kind.ESTIMATED, 4, "the risk falls as the scale grows")}
    printed = parameters.printed(found.place, found.extents, unit)
    return {name: _printed(name, *ends, bool(wide)) for (name, ends), wide in zip(printed.items(), _unknown(found))}


def _printed(name: str, number: float, low: float, high: float, is_unknown: bool) -> Value:
    if is_unknown:
        said = f"{name} between about {low:.3g} and {high:.3g}: where in between, the risk's error does not tell"
        return Value(mpf(number), inf, Kind.ESTIMATED, 2, said)
    # one digit more than is known, so that the risk at what is printed is the one beside it
    error = max(number - low, high - number)
    digits = max(digits_of(mpf(number), mpf(error)), 1) + 1
    return Value(mpf(number), mpf(error), Kind.ESTIMATED, digits, "search in float64")
