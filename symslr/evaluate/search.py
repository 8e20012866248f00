"""Minima found in float64 by a scan over signs and scales, then refined; several local minima are compared.

A value at its minimum is insensitive to the place: an error d of the place costs f'' d^2/2.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from sympy import Symbol

from symslr.evaluate.arithmetic import Float64
from symslr.evaluate.errors import CannotEvaluate
from symslr.evaluate.node import Context, Node, Pair

FLOAT = Float64()
ROUGH = 1e-5
STARTS = 3
"""Local minima of the scan that are refined."""


@dataclass(frozen=True)
class Objective:
    """A node as a function of some of its parameters."""

    node: Node
    variables: tuple[Symbol, ...]
    context: Context
    scope: Mapping[Symbol, Pair]

    def pair(self, place: Any) -> Pair:
        """(value, error) at a place."""
        zero = self.context.arithmetic.number(0)
        return self.node.evaluate(self.context, {**self.scope, **{s: (v, zero) for s, v in zip(self.variables, place)}})

    def rough(self, tolerance: float = ROUGH) -> Objective:
        """The same function in float64 at low accuracy."""
        scope = {s: (float(p[0]), float(p[1])) if isinstance(p, tuple) else p for s, p in self.scope.items()}
        return replace(self, context=Context(FLOAT, tolerance), scope=scope)

    def number(self, place: Any) -> float:
        """The float64 value, infinite where there is none."""
        try:
            value = float(self.pair([float(v) for v in place])[0])
        except (CannotEvaluate, OverflowError, ZeroDivisionError, FloatingPointError):
            return np.inf
        return value if np.isfinite(value) else np.inf


def scan_points(low: float, high: float, count: int) -> Any:
    """Both signs on a logarithmic scale where the line is unbounded, equal steps where it is not."""
    if np.isfinite(low) and np.isfinite(high):
        return np.linspace(low, high, 2 * count + 1)
    positive = np.geomspace(0.02, 50.0, count)
    points = np.concatenate([-positive[::-1], [0.0], positive])
    return points[(points >= low) & (points <= high)]


def least(objective: Objective, intervals: list[tuple[float, float]]) -> tuple[Any, Any, list[Pair]]:
    """(value, error, [(place, error)]) of the least value over a box.

    Raises:
        CannotEvaluate: when the function has no value on the scan, or its least value lies at infinity.
    """
    rough = objective.rough()
    places = [_refined_line(rough, intervals[0])] if len(intervals) == 1 else [_refined_box(rough, intervals)]
    return _polished(objective, places[0])


def _refined_line(rough: Objective, interval: tuple[float, float]) -> list[float]:
    points = scan_points(*interval, 14)
    values = np.array([rough.number([x]) for x in points])
    best: tuple[float, float] | None = None
    for i in _local_minima(values):
        if i in (0, len(points) - 1):
            if np.isfinite(interval[0 if i == 0 else 1]):
                candidate = (values[i], points[i])
                best = candidate if best is None or candidate[0] < best[0] else best
                continue
            raise CannotEvaluate(f"the least value lies beyond {points[i]:.3g}; give bounds, or take the limit first")
        found = minimize_scalar(lambda x: rough.number([x]), bounds=(points[i - 1], points[i + 1]), method="bounded")
        if best is None or found.fun < best[0]:
            best = (float(found.fun), float(found.x))
    if best is None:
        raise CannotEvaluate("the function to minimise has no finite value on the scan")
    return [best[1]]


def _local_minima(values: Any) -> list[int]:
    """Indices of the lowest few local minima."""
    padded = np.concatenate([[np.inf], values, [np.inf]])
    lowest = np.flatnonzero((padded[1:-1] <= padded[:-2]) & (padded[1:-1] <= padded[2:]) & np.isfinite(values))
    return sorted(lowest, key=lambda i: values[i])[:STARTS]


def _refined_box(rough: Objective, intervals: list[tuple[float, float]]) -> list[float]:
    axes = [scan_points(*interval, 9) for interval in intervals]
    grid = list(itertools.product(*axes))
    values = np.array([rough.number(place) for place in grid]).reshape([len(axis) for axis in axes])
    starts = _box_minima(values)
    if not starts:
        raise CannotEvaluate("the function to minimise has no finite value on the scan")
    best: Any = None
    for index in starts:
        start = [axis[i] for axis, i in zip(axes, index)]
        spread = [max(abs(s) * 0.3, 0.05) for s in start]
        simplex = [start] + [[s + (d if i == j else 0.0) for j, s in enumerate(start)] for i, d in enumerate(spread)]
        found = minimize(
            rough.number, start, method="Nelder-Mead", bounds=intervals,
            options={"initial_simplex": simplex, "xatol": 1e-6, "fatol": 1e-12, "maxfev": 600},
        )
        if best is None or found.fun < best.fun:
            best = found
    return [float(x) for x in best.x]


def _box_minima(values: Any) -> list[tuple[int, ...]]:
    found = []
    for index in np.ndindex(values.shape):
        block = values[tuple(slice(max(i - 1, 0), i + 2) for i in index)]
        if np.isfinite(values[index]) and values[index] <= np.min(block):
            found.append(index)
    return sorted(found, key=lambda i: values[i])[:STARTS]


def _polished(objective: Objective, start: list[float]) -> tuple[Any, Any, list[Pair]]:
    """Newton steps on divided differences; each squares the error of the place."""
    number = objective.context.arithmetic.number
    place = np.array([number(x) for x in start])
    scale = [max(abs(x), 0.1) for x in start]
    digits = -float(np.log10(max(objective.context.tolerance, 1e-16)))
    reach = 1e-4
    moved: Any = None
    while True:
        step = [number(s * reach) for s in scale]
        place, shift, curvature = _newton(objective, place, step)
        moved = max(abs(float(d)) / s for d, s in zip(shift, scale))
        done = reach * reach <= 10.0 ** (-digits / 2) and moved <= 30 * reach
        if done:
            break
        reach = max(reach * reach, 10.0 ** (-digits / 3)) if moved <= 30 * reach else reach
        if moved > 1.0:
            raise CannotEvaluate("the minimum could not be refined: the function is flat or not smooth there")
    value, error = objective.pair(list(place))
    doubt = [10 * s * (reach**2 + min(moved, reach) ** 2) for s in scale]
    error = error + sum(abs(curvature[i]) * number(d) ** 2 for i, d in enumerate(doubt))
    return value, error, [(x, number(d)) for x, d in zip(place, doubt)]


def _newton(objective: Objective, place: Any, step: list[Any]) -> tuple[Any, Any, list[Any]]:
    """The vertex of the quadratic through neighbouring points, the step to it and the diagonal of its Hessian."""
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
    shift = _solved(hessian, gradient)
    return np.array([x - d for x, d in zip(place, shift)]), shift, [hessian[i][i] for i in range(count)]


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
