"""Values at the places of a scan: finer ones where errors hide which is lower, sampled ones where meshes are too dear."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate, TooDear
from symslr.evaluation.minima.search.objective import MEDIUM, STRICT, Objective, has_risen


def told_apart(rough: Objective, fine: Objective, points: Any) -> tuple[Any, set[float]]:
    """The values at the points, finer ones where the errors of neighbours hide which is lower; and at which they are sampled.

    Not where both lie so high that a smooth function falls between them no lower than to some other point.
    """
    found = rough.all_known(points[:, None])
    dear = _sampled_where_dear(rough, points, found)
    for k in map(int, np.flatnonzero(np.isin(points, list(dear)))):
        low = may_fall_to(found[:, 0], k, float(np.min(found[:, 0])))
        finer = fine.first_known([points[k]], MEDIUM, STRICT) if low else (np.inf, np.inf)
        if np.isfinite(finer[0]):
            found[k] = finer
            dear.discard(float(points[k]))
    most, errors = np.min(np.sum(found, axis=1)), found[:, 1].copy()
    values = found[:, 0].copy()
    for k in map(int, np.flatnonzero(~np.isfinite(values))):
        if has_risen(rough, points[:, None].tolist(), values, k):
            errors[k] = 0.0
    unsure, lower = errors[1:] + errors[:-1], np.minimum(values[1:], values[:-1])
    hidden = (np.abs(np.diff(values)) <= unsure) & ~(lower - 2.0 * unsure > most)
    for k in map(int, np.flatnonzero(np.append(hidden, False) | np.append(False, hidden))):
        finer = fine.known([points[k]])
        if np.isfinite(finer[0]) or not np.isfinite(values[k]):
            found[k] = finer
            dear.discard(float(points[k]))
    return found[:, 0], dear


def may_fall_to(values: Any, k: int, lowest: float) -> bool:
    """Whether a smooth function may fall to a value beside a point."""
    around = values[max(k - 1, 0) : k + 2]
    return bool(2 * values[k] - np.max(around, where=np.isfinite(around), initial=values[k]) <= lowest)


def _sampled_where_dear(objective: Objective, points: Any, found: Any) -> set[float]:
    """Fills in sampled values and their errors, (points, 2), where meshes are too dear, and says where.

    Not where one may be lower than the lowest value that is known.
    """
    values, places, sampled = found[:, 0].copy(), set[float](), None
    for k in map(int, np.flatnonzero(~np.isfinite(values))):
        if not isinstance(objective.refused.get((float(points[k]),)), TooDear):
            continue
        if objective.sampled is None or has_risen(objective, points[:, None].tolist(), values, k):
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
