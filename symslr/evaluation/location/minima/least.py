"""The least risk of an attention, its error, and the minimising parameters with their errors."""

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
from symslr.evaluation.location.attention_function import ParameterSpace
from symslr.evaluation.location.bayes import risk_from_excess
from symslr.evaluation.location.means import Estimate
from symslr.evaluation.location.minima.extent import (
    LARGEST_SCALE,
    MinimumRegion,
    minimum_region,
    newton_descent,
    newton_on_average,
)
from symslr.evaluation.location.minima.search import FINE_DESCENTS, fine_descent, minimiser, search_risk
from symslr.evaluation.location.moments import Risk
from symslr.evaluation.location.samples.points import REPLICATIONS
from symslr.evaluation.location.tables.rules import COARSE, SEARCH
from symslr.expression.value import Kind, Value

LeastRisk = tuple[Value, dict[str, Value]]
NEAR_LARGEST_SCALE = 0.99 * LARGEST_SCALE
"""A parameter of this size is at the end of the search: the risk may still fall as it grows."""
RISK_ROUNDING = 1e-14
"""Rounding error of a difference of two risks: each is 1 minus a quotient of sums of many terms."""
UNKNOWN_EXTENT = 3.0
"""A parameter whose extent, relative to 1 + its size, is at least this is reported as an interval with infinite error."""
LARGEST_RATIO = 0.75
"""Largest ratio of successive decreases of the risk as a parameter doubles that is extrapolated. It is 2^-p where the risk goes
like the power -p of the parameter, so p >= 0.4."""


def least_risk_and_place(
    risks: Risk,
    noise: Expr,
    digits: int | None,
    began: float,
    unit: float = 1.0,
    one: tuple[Any, Any] | None = None,
) -> LeastRisk:
    """The least risk and where it is attained, as ``least_value`` says.

    Args:
        risks: the risk above Delta^2.
        noise: Delta.
        began: at a time of ``perf_counter``.
        unit: scales are divided by it.
        one: best (scale, bias and own parameters) of a single head, a further start for several heads.
    """
    parameters = ParameterSpace.of(risks.attend)
    value_at = _cached_risk(risks, parameters)
    found = _minimum_region(risks, parameters, value_at, minimiser(risks, parameters, one))
    reached, falls = value_at(found.place), _falls_beyond(risks, parameters, value_at, found)
    is_far = falls > 0
    reached = replace(reached, error=reached.error + (falls if is_far else found.fall))
    together = parameters.merged_heads(found.place)
    if together is not None:  # the risk goes with the square of their distance
        wider = risks.value(replace(parameters, spacing=2 * parameters.spacing).unpacked(found.place))
        reached = replace(reached, error=reached.error + abs(wider.value - reached.value))
    value = risk_from_excess(reached, noise, digits, began)
    if is_far:
        value = replace(value, method=f"{value.method}; the risk falls as parameters grow beyond {LARGEST_SCALE:g}")
    if together is not None:
        said = "heads {} and {} come together, to be the kernel and its slope".format(*together)
        value = replace(value, method=f"{value.method}; {said}")
    return value, _parameter_values(parameters, found, unit, is_far)


def _falls_beyond(
    risks: Risk, parameters: ParameterSpace, value_at: Callable[[Any], Estimate], found: MinimumRegion
) -> float:
    """How much the risk may still fall as undetermined parameters grow to infinity; 0 where it no longer falls.

    The undetermined parameters are divided by 4 and by 2, the others minimised again. The decreases of the risk from 1/4 to 1/2 and
    from 1/2 to 1 have a constant ratio where the risk follows a power law; the rest is twice their geometric series.
    """
    grow = _unknown(found)
    if not np.any(grow):
        return 0.0
    risk = search_risk(risks, parameters, rule=SEARCH if risks.is_random else COARSE)

    def shortened(times: float) -> Estimate:
        place = np.where(grow, found.place / times, found.place)
        if not risks.is_random and not np.all(grow):

            def of_others(others: Any) -> float:
                vector = place.copy()
                vector[~grow] = others
                return risk(vector)

            place[~grow] = newton_descent(of_others, place[~grow], FINE_DESCENTS[0])
        return value_at(place)

    try:
        here, half, quarter = value_at(found.place), shortened(2.0), shortened(4.0)
    except (CannotEvaluate, FloatingPointError, ZeroDivisionError):
        return 0.0
    last, before = float(half.value - here.value), float(quarter.value - half.value)
    if last <= float(here.error + half.error):
        return 0.0
    ratio = min(last / before, LARGEST_RATIO) if before > 0 else LARGEST_RATIO
    return 2 * last * ratio / (1 - ratio)


def _unknown(found: MinimumRegion) -> Any:
    """Which parameters the risk does not determine within its error, boolean (n,)."""
    ends = found.place + np.array([[-1.0], [1.0]]) * found.extents
    far = np.max(np.abs(ends), axis=0) >= LARGEST_SCALE
    return (
        far
        | (np.max(found.extents, axis=0) >= UNKNOWN_EXTENT * (1 + np.abs(found.place)))
        | (np.abs(found.place) >= NEAR_LARGEST_SCALE)
    )


def _cached_risk(risks: Risk, parameters: ParameterSpace) -> Callable[[Any], Estimate]:
    """The risk with its error as a function of the vector of parameters, with a cache."""
    value = cache(lambda vector: risks.value(parameters.unpacked(np.array(vector))))
    return lambda vector: value(tuple(vector))


def _minimum_region(
    risks: Risk, parameters: ParameterSpace, value_at: Callable[[Any], Estimate], place: Any
) -> MinimumRegion:
    """The region of minimisers within the error of the risk, around the one that a search found.

    A sampled risk is slow to evaluate: there the risks on the search points of ``REPLICATIONS`` seeds take its place, and their
    scatter gives the region.
    """
    rough = search_risk(risks, parameters)
    if not risks.is_random:

        def valued(vector: Any) -> tuple[float, float]:
            try:
                found = value_at(vector)
            except (CannotEvaluate, FloatingPointError, ZeroDivisionError):
                return np.inf, 0.0
            return float(found.value), float(found.error) + RISK_ROUNDING

        return minimum_region(
            rough, valued, fine_descent(risks, parameters), place, risks.place_error * (1 + np.abs(place))
        )
    seeds = [search_risk(risks, parameters, seed) for seed in range(REPLICATIONS)]

    def mean(vector: Any) -> float:
        return float(np.mean([one(vector) for one in seeds]))

    at, off, fall = newton_on_average(seeds, place)
    if np.isfinite(fall):
        return MinimumRegion(at, np.array([off, off]), fall)
    error = float(value_at(place).error) + RISK_ROUNDING
    off = risks.place_error * (1 + np.abs(place))
    found = minimum_region(mean, lambda vector: (mean(vector), error), lambda vector: vector, place, off)
    return replace(found, fall=2 * error)


def _parameter_values(parameters: ParameterSpace, found: MinimumRegion, unit: float, is_far: bool) -> dict[str, Value]:
    """Every parameter at the minimum, by name, with an infinite error where the risk does not determine it."""
    if is_far and parameters.count > 1:
        return {}
    if is_far:
        return {"a": Value(inf, mpf(0), Kind.ESTIMATED, 4, "the risk falls as the scale grows")}
    printed = parameters.by_name(found.place, found.extents, unit)
    return {
        name: _parameter_value(name, *ends, bool(wide)) for (name, ends), wide in zip(printed.items(), _unknown(found))
    }


def _parameter_value(name: str, number: float, low: float, high: float, is_unknown: bool) -> Value:
    if is_unknown:
        said = f"{name} between about {low:.3g} and {high:.3g}: where in between, the risk's error does not tell"
        return Value(mpf(number), inf, Kind.ESTIMATED, 2, said)
    # one more digit than is known, so that the printed parameters reproduce the printed risk
    error = max(number - low, high - number)
    digits = max(digits_of(mpf(number), mpf(error)), 1) + 1
    return Value(mpf(number), mpf(error), Kind.ESTIMATED, digits, "search in float64")
