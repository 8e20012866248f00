"""A minimum refined from a place near it: Newton steps on divided differences, in any arithmetic.

A value at its minimum is insensitive to the place: an error d of the place costs f'' d^2/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.minima.golden_section import bracketed
from symslr.evaluation.minima.objective import Objective
from symslr.evaluation.nodes.node import Pair

Least = tuple[Any, Any, list[Pair]]
"""(least value, its error, [(place, error)])."""

FIRST_REACH = {1: 1e-2, 2: 2e-3}
"""First step of the divided differences, relative to the place, on a line and in a box, where valleys may be narrow."""
BENT = 30.0
"""Ratio of curvatures above which a box is a valley: differences across would drown those along."""
SMALL = 1e-4
"""A part of a step over which a function is straight to all digits."""
VISIBLE = 30.0
"""A second difference counts from so many errors of the values on."""


def nearby(objective: Objective, start: list[float]) -> Least:
    """The minimum near a place, with longer steps where short ones see rounding alone.

    Raises:
        CannotEvaluate: where the function is flat, not smooth or has no minimum there.
    """
    first = FIRST_REACH[min(len(start), 2)]
    for reach in (first, 5.0 * first):
        try:
            return polished(objective, start, reach)
        except CannotEvaluate:
            continue
    try:
        return polished(objective, start, 25.0 * first)
    except CannotEvaluate:
        if len(start) > 1:
            raise
        return bracketed(objective, start[0])


def polished(objective: Objective, start: list[float], reach: float) -> Least:
    """Newton steps on divided differences; each squares the error of the place.

    With steps h of the differences the place is wrong by about h^2 and, through errors eps of the values, by eps/(f'' h): steps
    become shorter down to h = eps^(1/3), or as long as second differences are seen. In a box both are amplified by the
    ratio of the curvatures.

    Raises:
        CannotEvaluate: where this does not converge to a minimum.
    """
    number = objective.context.arithmetic.number
    place = np.array([number(x) for x in start])
    scale = [max(abs(x), 0.1) for x in start]
    searching = objective.searching
    smallest = min(reach, 10.0 ** (float(mpmath.log10(searching.context.tolerance)) / 3))
    noise: Any = number(np.inf)
    for _ in range(40):
        step = [number(s) * number(reach) for s in scale]
        here = parabola(searching, place, step)
        shift = _solved(here.hessian, here.gradient)
        place = np.array([x - d for x, d in zip(place, shift)])
        moved = max(abs(float(d)) / s for d, s in zip(shift, scale))
        if moved > 3.0:
            break
        least, most = here.curvatures(scale)
        if not least > 0 or (most > BENT * least and objective.context.arithmetic.name == "numpy"):
            break
        if moved <= (3.0 if reach > smallest else 1.0) * reach:
            noise = min(noise, here.error)
            if least * max(reach * reach, smallest) ** 2 < VISIBLE * float(noise):
                noise = min(noise, _noise(searching, place, step))
            visible = float(mpmath.sqrt(VISIBLE * noise / least))
            if 0.7 * visible > reach:
                break
            shorter = max(reach * reach, smallest, visible)
            if reach <= smallest or shorter > 0.7 * reach:
                ratio = most / least
                off = number(10) * (number(reach) ** 2 + number(moved) ** 2)
                blind = noise / (number(reach) * number(least))
                doubts = [number(s) * (number(ratio) * off + blind) for s in scale]
                # Risks are often even; beside zero, where attentions are uniform, digits cancel.
                settled = [x * 0 if abs(x) <= doubt else x for x, doubt in zip(place, doubts)]
                value, error = objective.pair(settled)
                error = error + number(most) * (number(ratio) * off**2 + blind**2)
                return value, error, list(zip(settled, doubts))
            reach = shorter
    raise CannotEvaluate("the minimum could not be refined: the function is flat or not smooth there")


@dataclass(frozen=True)
class Parabola:
    """The quadratic through neighbouring points, and the error of the value in their middle."""

    gradient: list[Any]
    hessian: list[list[Any]]
    error: Any

    def curvatures(self, scale: list[float]) -> tuple[float, float]:
        """The least and the largest, per unit of scale."""
        matrix = np.array([[float(h) for h in row] for row in self.hessian]) * np.outer(scale, scale)
        if not np.isfinite(matrix).all():
            return np.nan, np.nan
        found = np.linalg.eigvalsh(matrix)
        return float(found[0]), float(found[-1])


def parabola(objective: Objective, place: Any, step: list[Any]) -> Parabola:
    """Gradient and Hessian by divided differences."""
    count = len(place)

    def at(*moves: tuple[int, int]) -> Any:
        point = list(place)
        for axis, sign in moves:
            point[axis] = point[axis] + sign * step[axis]
        return objective.pair(point)[0]

    centre, error = objective.pair(list(place))
    gradient, hessian = [], [[centre * 0] * count for _ in range(count)]
    for i in range(count):
        up, down = at((i, 1)), at((i, -1))
        gradient.append((up - down) / (2 * step[i]))
        hessian[i][i] = (up - 2 * centre + down) / step[i] ** 2
        for j in range(i):
            mixed = at((i, 1), (j, 1)) - at((i, 1), (j, -1)) - at((i, -1), (j, 1)) + at((i, -1), (j, -1))
            hessian[i][j] = hessian[j][i] = mixed / (4 * step[i] * step[j])
    return Parabola(gradient, hessian, error)


def _noise(objective: Objective, place: Any, step: list[Any]) -> Any:
    """How far values at neighbouring places jump, tenfold: what of their error does not cancel in differences."""
    near = objective.context.arithmetic.number(SMALL)
    values = [objective.pair([x + near * k * h for x, h in zip(place, step)])[0] for k in range(5)]
    jumps = [abs(values[k - 1] - 2 * values[k] + values[k + 1]) for k in (1, 2, 3)]
    return 10 * max(jumps) + objective.context.arithmetic.eps * abs(values[0])


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
