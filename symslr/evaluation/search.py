"""Minima found in float64 by a scan over signs and scales, then refined; several local minima are compared.

A value at its minimum is insensitive to the place: an error d of the place costs f'' d^2/2.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import mpmath
import numpy as np
from scipy.optimize import minimize, minimize_scalar
from sympy import Symbol

from symslr.evaluation.arithmetic import Float64
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.node import Context, Node, Pair

FLOAT = Float64()
ROUGH = 1e-4
MEDIUM = 1e-7
FINE = 1e-12
FIRST_REACH = {1: 1e-2, 2: 2e-3}
"""First step of the divided differences, relative to the place, on a line and in a box, where valleys may be narrow."""
RESCAN = 13
"""Points of a grid between two whole searches."""
FLAT = 1e-2
"""A fall per doubling, relative, below which an end that is not the lowest is followed no further."""
SCALES = (0.04, 16.0)
"""Where a scan of the line begins; it goes on outwards while the function falls."""
SECOND_DIFFERENCE = 1e-11
"""Tolerance at which mixed second differences over small steps mean something."""
SMALLEST_CURVATURE = 1e-7
"""Least curvature, relative to the largest, that a step in a box divides by."""
POOR = 1e-6
"""Relative error above which a value may not count as lower than another."""
STARTS = 3
"""Local minima of the scan that are refined."""


@dataclass(frozen=True)
class Objective:
    """A node as a function of some of its parameters."""

    node: Node
    variables: tuple[Symbol, ...]
    context: Context
    scope: Mapping[Symbol, Pair]

    @property
    def searching(self) -> Objective:
        """The same function with meshes remembered from point to point of the search."""
        known = self.context.memory
        tolerance = self.context.tolerance if len(self.variables) == 1 else min(self.context.tolerance, SECOND_DIFFERENCE)
        return replace(self, context=replace(self.context, tolerance=tolerance, memory={} if known is None else known))

    @property
    def alone(self) -> Objective:
        """The same function with nothing remembered."""
        return replace(self, context=replace(self.context, memory=None))

    def pair(self, place: Any) -> Pair:
        """(value, error) at a place."""
        zero = self.context.arithmetic.number(0)
        return self.node.evaluate(self.context, {**self.scope, **{s: (v, zero) for s, v in zip(self.variables, place)}})

    def rough(self, tolerance: float) -> Objective:
        """The same function in float64 at low accuracy."""
        scope = {s: (float(p[0]), float(p[1])) if isinstance(p, tuple) else p for s, p in self.scope.items()}
        memory = self.context.memory if self.context.arithmetic is FLOAT else None
        return replace(self, context=Context(FLOAT, tolerance, {} if memory is None else memory), scope=scope)

    def number(self, place: Any) -> float:
        """The float64 value, infinite where there is none; where it has lost its digits, the most that it may be."""
        try:
            value, error = (float(part) for part in self.pair([float(v) for v in place]))
        except (CannotEvaluate, OverflowError, ZeroDivisionError, FloatingPointError):
            return np.inf
        value = value if error < POOR * abs(value) else value + error
        return value if np.isfinite(value) else np.inf


class Trail:
    """Minima at neighbouring parameters, from which the next one is extrapolated."""

    def __init__(self) -> None:
        self._places: list[list[float]] = []
        self._since_scan = 0

    def next_start(self) -> list[float] | None:
        """The next place by linear extrapolation; None where a whole search is due."""
        self._since_scan += 1
        if not self._places or self._since_scan > RESCAN:
            return None
        last = self._places[-1]
        if len(self._places) == 1:
            return last
        return [2 * b - a if abs(b - a) < 0.3 * abs(b) else b for a, b in zip(self._places[-2], last)]

    def agrees(self, place: list[float]) -> bool:
        """Whether a new place continues the trail, which it then joins."""
        smooth = all(abs(new - old) <= 0.4 * abs(old) + 0.05 for new, old in zip(place, self._places[-1]))
        if smooth:
            self._places = [*self._places[-1:], place]
        return smooth

    def begin(self, place: list[float]) -> None:
        """A place found by a whole search."""
        self._places, self._since_scan = [*self._places[-1:], place], 0

    def forget(self) -> None:
        """Nothing is known about the next place."""
        self._places = []


def scan_points(low: float, high: float, count: int) -> Any:
    """Both signs on a logarithmic scale where the line is unbounded, equal steps where it is not."""
    if np.isfinite(low) and np.isfinite(high):
        return np.linspace(low, high, 2 * count + 1)
    positive = np.geomspace(*SCALES, count)
    points = np.concatenate([-positive[::-1], [0.0], positive])
    return points[(points >= low) & (points <= high)]


def least(
    objective: Objective, intervals: list[tuple[float, float]], known: Trail | None = None
) -> tuple[Any, Any, list[Pair]]:
    """(value, error, [(place, error)]) of the least value over a box.

    Args:
        objective: the function.
        intervals: a closed interval for every variable.
        known: the places found at neighbouring parameters; it gets the new one. Every few points the whole box is scanned
            again.

    Raises:
        CannotEvaluate: when the function has no value on the scan, or its least value lies at infinity.
    """
    trail = Trail() if known is None else known
    with np.errstate(all="ignore"):
        start = trail.next_start()
        if start is not None and all(low < x < high for x, (low, high) in zip(start, intervals)):
            try:
                result = _polished_where_flat(objective, start)
            except CannotEvaluate:
                trail.forget()
            else:
                if trail.agrees([float(x) for x, _ in result[2]]):
                    return result
        return _searched(objective, intervals, trail)


def _searched(objective: Objective, intervals: list[tuple[float, float]], trail: Trail) -> tuple[Any, Any, list[Pair]]:
    """A whole search, from many starts."""
    line = len(intervals) == 1
    place = _refined_line(objective, intervals[0]) if line else _refined_box(objective, intervals)
    if any(x in interval for x, interval in zip(place, intervals)):
        return _on_the_boundary(objective, place)
    if objective.context.arithmetic.name != "numpy":
        places = _polished(objective.rough(FINE), place, FIRST_REACH[min(len(place), 2)])[2]
        return _polished(objective, [float(x) for x, _ in places], 1e-6)
    result = _polished_where_flat(objective, place)
    trail.begin([float(x) for x, _ in result[2]])
    return result


def _on_the_boundary(objective: Objective, place: list[float]) -> tuple[Any, Any, list[Pair]]:
    """A least value at the end of an interval that the caller gave."""
    if len(place) > 1:
        raise CannotEvaluate(f"the least value lies on the boundary, at {place}; widen the bounds or fix that variable")
    at = [objective.context.arithmetic.number(x) for x in place]
    value, error = objective.alone.pair(at)
    return value, error, [(x, x * 0) for x in at]


def _refined_line(objective: Objective, interval: tuple[float, float]) -> list[float]:
    rough, fine = objective.rough(ROUGH), objective.rough(MEDIUM)
    points = scan_points(*interval, 10)
    values = np.array([rough.number([x]) for x in points])
    for end in (0, -1):
        points, values = _extended(rough, points, values, end, interval[end])
    best: tuple[float, float] | None = None
    for i in _local_minima(values):
        if i in (0, len(points) - 1):
            candidate = (float(values[i]), float(points[i]))
        else:
            bracket = (points[i - 1], points[i + 1])
            if not np.isfinite(values[i - 1]) or not np.isfinite(values[i + 1]):
                raise CannotEvaluate(
                    f"the function falls towards {points[i]:.3g}, beyond which it could not be evaluated; give bounds"
                )
            found = minimize_scalar(
                lambda x: fine.number([x]),
                bounds=bracket,
                method="bounded",
                options={"xatol": 3e-3 * abs(points[i]) + 1e-5},
            )
            candidate = (float(found.fun), float(found.x))
        if best is None or candidate[0] < best[0]:
            best = candidate
    if best is None:
        raise CannotEvaluate("the function to minimise has no finite value on the scan")
    return [best[1]]


def _extended(rough: Objective, points: Any, values: Any, end: int, limit: float) -> tuple[Any, Any]:
    """The scan, continued beyond one end while the function falls there."""
    inner = 1 if end == 0 else -2
    for _ in range(6):
        lower = values[inner] - values[end]
        if np.isfinite(limit) or len(points) < 2 or not lower > 0:
            return points, values
        if values[end] > np.min(values) and lower < FLAT * abs(values[end]):
            return points, values
        further = 2.0 * points[end]
        where = 0 if end == 0 else len(points)
        points = np.insert(points, where, further)
        values = np.insert(values, where, rough.number([further]))
    if values[end] > np.min(values):
        return points, values
    raise CannotEvaluate(f"the least value lies beyond {points[end]:.3g}; give bounds, or take the limit first")


def _local_minima(values: Any) -> list[int]:
    """Indices of the lowest few local minima."""
    padded = np.concatenate([[np.inf], values, [np.inf]])
    lowest = np.flatnonzero((padded[1:-1] <= padded[:-2]) & (padded[1:-1] <= padded[2:]) & np.isfinite(values))
    return [int(i) for i in sorted(lowest, key=lambda i: values[i])[:STARTS]]


def _refined_box(objective: Objective, intervals: list[tuple[float, float]]) -> list[float]:
    rough, fine = objective.rough(ROUGH), objective.rough(FINE)
    axes = [scan_points(*interval, 9) for interval in intervals]
    grid = list(itertools.product(*axes))
    values = np.array([rough.number(place) for place in grid]).reshape([len(axis) for axis in axes])
    starts = _box_minima(values)
    if not starts:
        raise CannotEvaluate("the function to minimise has no finite value on the scan")
    best: Any = None
    free = all(np.isinf(end) for interval in intervals for end in interval)
    for index in starts:
        found = minimize(
            fine.number,
            [axis[i] for axis, i in zip(axes, index)],
            method="BFGS" if free else "L-BFGS-B",
            jac="3-point",
            bounds=None if free else intervals,
            options={"gtol": 1e-5, "maxiter": 25},
        )
        if np.isfinite(found.fun) and (best is None or found.fun < best.fun):
            best = found
    if best is None:
        raise CannotEvaluate("the function to minimise has no finite value near the best points of the scan")
    return _descended(fine, [float(x) for x in best.x])


def _descended(objective: Objective, start: list[float]) -> list[float]:
    """Down a flat, bent valley: Newton steps with the absolute values of the curvatures, shortened until they descend."""
    place, value = np.array(start), objective.number(start)
    for _ in range(60):
        scale = np.maximum(np.abs(place), 0.1)
        gradient, hessian = (
            np.array(part, dtype=float) for part in _derivatives(objective, place, list(FIRST_REACH[2] * scale))
        )
        if not (np.isfinite(gradient).all() and np.isfinite(hessian).all()):
            break
        curvatures, axes = np.linalg.eigh(hessian * np.outer(scale, scale))
        sizes = np.maximum(np.abs(curvatures), SMALLEST_CURVATURE * np.max(np.abs(curvatures)))
        shift = axes @ (axes.T @ (gradient * scale) / sizes)
        shift *= min(1.0, 0.5 / max(float(np.max(np.abs(shift))), 1e-300))
        for _ in range(8):
            lower = objective.number(place - shift * scale)
            if lower < value:
                break
            shift /= 4.0
        else:
            break
        place, value = place - shift * scale, lower
        if float(np.max(np.abs(shift))) < FIRST_REACH[2]:
            break
    return [float(x) for x in place]


def _box_minima(values: Any) -> list[tuple[int, ...]]:
    found = []
    for index in np.ndindex(values.shape):
        block = values[tuple(slice(max(i - 1, 0), i + 2) for i in index)]
        if np.isfinite(values[index]) and values[index] <= np.min(block):
            found.append(index)
    return sorted(found, key=lambda i: values[i])[:STARTS]


def _polished_where_flat(objective: Objective, start: list[float]) -> tuple[Any, Any, list[Pair]]:
    """As ``_polished``, with longer steps where the function is so flat that short ones see rounding alone."""
    first = FIRST_REACH[min(len(start), 2)]
    for reach in (first, 5.0 * first):
        try:
            return _polished(objective, start, reach)
        except CannotEvaluate:
            continue
    return _polished(objective, start, 25.0 * first)


def _polished(objective: Objective, start: list[float], reach: float) -> tuple[Any, Any, list[Pair]]:
    """Newton steps on divided differences; each squares the error of the place.

    With steps h of the differences the place is wrong by about h^2 and, through errors eps of the values, by eps/h: hence the
    last h = eps^(1/3).
    """
    number = objective.context.arithmetic.number
    place = np.array([number(x) for x in start])
    scale = [max(abs(x), 0.1) for x in start]
    smallest = min(reach, 10.0 ** (float(mpmath.log10(objective.context.tolerance)) / 3))
    searching = objective.searching
    for _ in range(40):
        place, shift, curvature = _newton(searching, place, [number(s) * number(reach) for s in scale])
        moved = max(abs(float(d)) / s for d, s in zip(shift, scale))
        if moved > 3.0:
            break
        if moved <= (3.0 if reach > smallest else 1.0) * reach:
            if reach <= smallest:
                value, error = objective.alone.pair(list(place))
                doubt = [number(10 * s) * (number(reach) ** 2 + number(moved) ** 2) for s in scale]
                error = error + sum(abs(c) * d**2 for c, d in zip(curvature, doubt))
                return value, error, list(zip(place, doubt))
            reach = max(reach * reach, smallest)
    raise CannotEvaluate("the minimum could not be refined: the function is flat or not smooth there")


def _newton(objective: Objective, place: Any, step: list[Any]) -> tuple[Any, Any, list[Any]]:
    """The vertex of the quadratic through neighbouring points, the step to it and the diagonal of its Hessian."""
    gradient, hessian = _derivatives(objective, place, step)
    shift = _solved(hessian, gradient)
    diagonal = [hessian[i][i] for i in range(len(place))]
    return np.array([x - d for x, d in zip(place, shift)]), shift, diagonal


def _derivatives(objective: Objective, place: Any, step: list[Any]) -> tuple[list[Any], list[list[Any]]]:
    """Gradient and Hessian by divided differences."""
    count = len(place)

    def at(*moves: tuple[int, int]) -> Any:
        point = list(place)
        for axis, sign in moves:
            point[axis] = point[axis] + sign * step[axis]
        return objective.pair(point)[0]

    centre = at()
    gradient, hessian = [], [[centre * 0] * count for _ in range(count)]
    for i in range(count):
        up, down = at((i, 1)), at((i, -1))
        gradient.append((up - down) / (2 * step[i]))
        hessian[i][i] = (up - 2 * centre + down) / step[i] ** 2
        for j in range(i):
            mixed = at((i, 1), (j, 1)) - at((i, 1), (j, -1)) - at((i, -1), (j, 1)) + at((i, -1), (j, -1))
            hessian[i][j] = hessian[j][i] = mixed / (4 * step[i] * step[j])
    return gradient, hessian


def _solved(matrix: list[list[Any]], right: list[Any]) -> list[Any]:
    """Gaussian elimination for a positive definite matrix of any kind of number."""
    rows = [[*row, r] for row, r in zip(matrix, right)]
    for i in range(len(rows)):
        if not rows[i][i] > 0:
            raise CannotEvaluate("the minimum could not be refined: the second derivative is not positive there")
        for j in range(i + 1, len(rows)):
            factor = rows[j][i] / rows[i][i]
            rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i])]
    solution: list[Any] = [None] * len(rows)
    for i in reversed(range(len(rows))):
        known = sum((rows[i][j] * solution[j] for j in range(i + 1, len(rows))), rows[i][-1] * 0)
        solution[i] = (rows[i][-1] - known) / rows[i][i]
    return solution
