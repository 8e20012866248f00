"""Values at the points of a scan: more accurate ones where errors hide which is lower, Monte Carlo ones where quadrature is too
expensive.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate, TooDear
from symslr.evaluation.minima.search.objective import FINEST, MEDIUM, Objective, lies_past_a_rise


def scan_values(rough: Objective, fine: Objective, points: Any) -> tuple[Any, set[float]]:
    """(values at the points, the points whose values are Monte Carlo ones).

    Values are computed again more accurately where the errors of neighbours hide which is lower. Not where both lie so high
    that a smooth function cannot fall between them below some other point.

    Args:
        rough, fine: the function with the tolerance of the scan and with a smaller one.
    """
    found = rough.float_pairs(points[:, None])
    monte_carlo = _filled_by_monte_carlo(rough, points, found)
    for k in map(int, np.flatnonzero(np.isin(points, list(monte_carlo)))):
        low = may_fall_below(found[:, 0], k, float(np.min(found[:, 0])))
        finer = fine.first_float_pair([points[k]], MEDIUM, FINEST) if low else (np.inf, np.inf)
        if np.isfinite(finer[0]):
            found[k] = finer
            monte_carlo.discard(float(points[k]))
    most, errors = np.min(np.sum(found, axis=1)), found[:, 1].copy()
    values = found[:, 0].copy()
    for k in map(int, np.flatnonzero(~np.isfinite(values))):
        if lies_past_a_rise(rough, points[:, None].tolist(), values, k):
            errors[k] = 0.0
    unsure, lower = errors[1:] + errors[:-1], np.minimum(values[1:], values[:-1])
    hidden = (np.abs(np.diff(values)) <= unsure) & ~(lower - 2.0 * unsure > most)
    for k in map(int, np.flatnonzero(np.append(hidden, False) | np.append(False, hidden))):
        finer = fine.float_pair([points[k]])
        if np.isfinite(finer[0]) or not np.isfinite(values[k]):
            found[k] = finer
            monte_carlo.discard(float(points[k]))
    return found[:, 0], monte_carlo


def may_fall_below(values: Any, k: int, lowest: float) -> bool:
    """Whether a smooth function may fall to ``lowest`` near point k: less than by the largest difference to a neighbour."""
    around = values[max(k - 1, 0) : k + 2]
    return bool(2 * values[k] - np.max(around, where=np.isfinite(around), initial=values[k]) <= lowest)


def _filled_by_monte_carlo(objective: Objective, points: Any, found: Any) -> set[float]:
    """Fills ``found`` (points, 2) with Monte Carlo (value, error) where quadrature is too expensive; returns those points.

    Only where the value is certain to lie above the lowest known one.
    """
    values, places, sampled = found[:, 0].copy(), set[float](), None
    for k in map(int, np.flatnonzero(~np.isfinite(values))):
        if not isinstance(objective.refused.get((float(points[k]),)), TooDear):
            continue
        if objective.sampled is None or lies_past_a_rise(objective, points[:, None].tolist(), values, k):
            continue
        sampled = sampled or objective.sampled()
        if sampled is None:
            break
        with suppress(CannotEvaluate):
            value, error = sampled(float(points[k]))
            if value - error > np.min(values):
                found[k] = value, error
                places.add(float(points[k]))
    return places
