"""The place of a minimum between three points of a scan, close enough for Newton steps to converge."""

from __future__ import annotations

from typing import Any

import numpy as np

from symslr.evaluation.minima.search.beyond_scan import SCALES
from symslr.evaluation.minima.search.objective import Objective
from symslr.evaluation.minima.search.profile import FIRST_STEPS

PLACE_TOLERANCE = 3.0 * FIRST_STEPS[1]
"""Relative error of the place: as large as the first steps of the divided differences that follow allow."""
BRACKET_PARTS = 16
"""The place is found to 1/16 of the first bracket or better: between close points of a scan a minimum is narrower than
``PLACE_TOLERANCE``."""
MOST_PARABOLAS = 8
"""Parabolas tried before Brent's bounded search takes over: on a smooth function each gains half a digit or more."""


def near_bottom(objective: Objective, points: Any, values: Any) -> tuple[float, float]:
    """(value, place) near the minimum between three points, of which the middle one has the lowest value.

    By successive parabolic interpolation in arsinh(place), until two vertices agree: a single vertex may lie beside the middle
    by chance. Where that does not converge, by Brent's bounded search.
    """
    is_recomputed, before, widest = np.zeros(3, dtype=bool), np.inf, float(points[2] - points[0]) / BRACKET_PARTS
    for _ in range(MOST_PARABOLAS):
        if not np.isfinite(values).all():
            break  # a parabola through no number has no vertex
        vertex, precision = _vertex(points, values), min(PLACE_TOLERANCE * abs(points[1]) + 1e-5, widest)
        if abs(vertex - points[1]) <= precision and not is_recomputed.all():
            values = np.array(
                [own if known else objective.number([x]) for x, own, known in zip(points, values, is_recomputed)]
            )
            is_recomputed = np.ones(3, dtype=bool)
            if not (np.isfinite(values).all() and values[1] <= min(values[0], values[2])):
                break
            vertex = _vertex(points, values)
        if abs(vertex - before) <= precision:
            return float(values[1]), float(vertex)
        before, place = vertex, vertex
        if abs(vertex - points[1]) <= precision / 2:  # a step long enough that the next slope is no rounding
            longer = points[2] if points[2] - points[1] > points[1] - points[0] else points[0]
            place = points[1] + float(np.sign(longer - points[1])) * precision / 2
        new, value = np.searchsorted(points, place), objective.number([place])
        points, values, is_recomputed = (
            np.insert(points, new, place),
            np.insert(values, new, value),
            np.insert(is_recomputed, new, True),
        )
        first = int(np.argmin(values[1:3]))
        points, values, is_recomputed = (
            points[first : first + 3],
            values[first : first + 3],
            is_recomputed[first : first + 3],
        )
    from scipy.optimize import minimize_scalar  # takes 0.2 s to load: where the parabolas do not settle

    loose = {"xatol": min(PLACE_TOLERANCE * abs(points[1]) + 1e-5, widest)}
    one = minimize_scalar(
        lambda x: objective.number([x]), bounds=(points[0], points[2]), method="bounded", options=loose
    )
    return float(one.fun), float(one.x)


def _vertex(points: Any, values: Any) -> float:
    """The vertex of the parabola through three points, in the coordinate arsinh(place/SCALES[0])."""
    left, at, right = np.arcsinh(points / SCALES[0])
    low, high = (at - left) * (values[1] - values[2]), (at - right) * (values[1] - values[0])
    moved = ((at - left) * low - (at - right) * high) / (2.0 * (low - high)) if low != high else 0.0
    return float(SCALES[0] * np.sinh(at - moved))
