"""The place of the bottom between three points of a scan, near enough for Newton steps to begin."""

from __future__ import annotations

from typing import Any

import numpy as np

from symslr.evaluation.minima.search.objective import Objective
from symslr.evaluation.minima.search.outwards import SCALES
from symslr.evaluation.minima.search.valley import REACHES

NEAR = 3.0 * REACHES[1]
"""Part of itself to which a place is found before Newton steps, which move by as much with their first differences."""
PARTS = 16
"""The part of the first bracket to which it is found at least: between close places of a scan a valley is narrower."""
PARABOLAS = 8
"""Each gains half a digit or more from a step of the scan on, where a function is smooth."""


def near_bottom(objective: Objective, points: Any, values: Any) -> tuple[float, float]:
    """(value, place) near the bottom between three points of which the middle one is lowest.

    By parabolas in their logarithms, until two of them agree: one alone may have its vertex beside the middle by chance.
    """
    is_fine, before, widest = np.zeros(3, dtype=bool), np.inf, float(points[2] - points[0]) / PARTS
    for _ in range(PARABOLAS):
        if not np.isfinite(values).all():
            break  # a parabola through no number has no vertex
        vertex, near = _vertex(points, values), min(NEAR * abs(points[1]) + 1e-5, widest)
        if abs(vertex - points[1]) <= near and not is_fine.all():
            values = np.array(
                [own if known else objective.number([x]) for x, own, known in zip(points, values, is_fine)]
            )
            is_fine = np.ones(3, dtype=bool)
            if not (np.isfinite(values).all() and values[1] <= min(values[0], values[2])):
                break
            vertex = _vertex(points, values)
        if abs(vertex - before) <= near:
            return float(values[1]), float(vertex)
        before, place = vertex, vertex
        if abs(vertex - points[1]) <= near / 2:  # apart, so that the next slope has digits
            longer = points[2] if points[2] - points[1] > points[1] - points[0] else points[0]
            place = points[1] + float(np.sign(longer - points[1])) * near / 2
        new, value = np.searchsorted(points, place), objective.number([place])
        points, values, is_fine = (
            np.insert(points, new, place),
            np.insert(values, new, value),
            np.insert(is_fine, new, True),
        )
        first = int(np.argmin(values[1:3]))
        points, values, is_fine = points[first : first + 3], values[first : first + 3], is_fine[first : first + 3]
    from scipy.optimize import minimize_scalar  # takes 0.2 s to load: where the parabolas do not settle

    loose = {"xatol": min(NEAR * abs(points[1]) + 1e-5, widest)}
    one = minimize_scalar(
        lambda x: objective.number([x]), bounds=(points[0], points[2]), method="bounded", options=loose
    )
    return float(one.fun), float(one.x)


def _vertex(points: Any, values: Any) -> float:
    """Where the parabola through three points is lowest, in their logarithms."""
    left, at, right = np.arcsinh(points / SCALES[0])
    low, high = (at - left) * (values[1] - values[2]), (at - right) * (values[1] - values[0])
    moved = ((at - left) * low - (at - right) * high) / (2.0 * (low - high)) if low != high else 0.0
    return float(SCALES[0] * np.sinh(at - moved))
