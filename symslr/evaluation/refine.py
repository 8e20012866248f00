"""A minimum refined from a place near it: Newton steps on divided differences, in any arithmetic.

A value at its minimum is insensitive to the place: an error d of the place costs f'' d^2/2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import mpmath
import numpy as np
from scipy.optimize import minimize_scalar
from sympy import Symbol

from symslr.evaluation.blunt import bracketed
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.node import Context, Node, Pair
from symslr.evaluation.objective import Objective

Least = tuple[Any, Any, list[Pair]]
"""(least value, its error, [(place, error)])."""

FIRST_REACH = {1: 1e-2, 2: 2e-3}
"""First step of the divided differences, relative to the place, on a line and in a box, where valleys may be narrow."""
ALONG = 0.05
"""First step along a valley whose sides are minimised away."""
BENT = 30.0
"""Ratio of curvatures above which a box is a valley: differences across would drown those along."""
ALMOST = 1e-6
"""Relative rise within which the floor of a valley is level; it is claimed as an error of the value."""
LEVEL = (-0.3, 0.3)
"""Places along a valley, beside its middle, between which it is level or not."""
LONG = 16.0
"""How far the lowest point of a level valley may lie."""
SHARP = 1e-13
"""Tolerance of the values along a valley."""
SMALL = 1e-4
"""A part of a step over which a function is straight to all digits."""
VISIBLE = 30.0
"""A second difference counts from so many errors of the values on."""


def refined(objective: Objective, start: list[float]) -> Least:
    """The minimum near a place: directly, or along its valley; with longer steps where short ones see rounding alone.

    Raises:
        CannotEvaluate: where the function is flat, not smooth or has no minimum there.
    """
    first = FIRST_REACH[min(len(start), 2)]
    for reach in (first, 5.0 * first):
        try:
            return polished(objective, start, reach)
        except CannotEvaluate:
            continue
    if len(start) == 1:
        try:
            return polished(objective, start, 25.0 * first)
        except CannotEvaluate:
            return bracketed(objective, start[0])
    return along_the_valley(objective, start)


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
                value, error = objective.alone.pair(settled)
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


def along_the_valley(objective: Objective, start: list[float]) -> Least:
    """The minimum over the last variable of the minimum over the others, which bends with it.

    Raises:
        CannotEvaluate: as ``refined``.
    """
    floor = _Floor(objective.node, objective.variables[:-1], start[:-1])
    context = replace(objective.searching.context, tolerance=min(objective.context.tolerance, SHARP))
    line = Objective(floor, objective.variables[-1:], context, objective.scope)
    lowest = start[-1]
    if context.arithmetic.name == "numpy":
        bracket = (lowest, lowest + ALONG * max(abs(lowest), 0.1))
        lowest = float(minimize_scalar(lambda x: line.number([x]), bracket=bracket, tol=ALONG / 5).x)
    try:
        _, _, [(last, doubt)] = polished(line, [lowest], ALONG)
    except CannotEvaluate:
        here, there = line.pair([start[-1]]), line.pair([lowest])
        # Where errors alone shape the floor, its lowest place may lie anywhere.
        return _level(floor, line, lowest if there[0] + there[1] < here[0] - here[1] else start[-1])
    if doubt > LEVEL[1]:
        return _level(floor, line, float(last))
    value, error, across = floor.least(replace(context, memory=None), line.scope_at([last]))
    sides = [floor.least(context, line.scope_at([last + side * doubt])) for side in (-1, 1)]
    climb = max(0.0, *(side[0] - value for side in sides))
    others = [
        (place, own + abs(left[0] - right[0]) / 2)
        for (place, own), left, right in zip(across, sides[0][2], sides[1][2], strict=True)
    ]
    return value, error + climb, [*others, (last, doubt)]


def _level(floor: _Floor, line: Objective, middle: float) -> Least:
    """A value that is the same along a whole valley: where the minimum lies there is not known.

    Raises:
        CannotEvaluate: where the floor of the valley is not level.
    """
    value, error, across = floor.least(line.context, line.scope_at([middle]))
    ends = [floor.least(line.context, line.scope_at([middle + side])) for side in LEVEL]
    change = max(abs(end[0] - value) + end[1] for end in ends)
    if not change <= ALMOST * abs(value):
        raise CannotEvaluate("the minimum could not be refined: its valley has no lowest point")
    reach = [max(abs(end[2][i][0] - place) for end in ends) for i, (place, _) in enumerate(across)]
    others = [(place, own + LONG * moved) for (place, own), moved in zip(across, reach, strict=True)]
    return value, error + change, [*others, (middle, LONG)]


@final
class _Floor(Node):
    """The least value over some variables, followed from place to place."""

    def __init__(self, body: Node, variables: tuple[Symbol, ...], start: list[float]) -> None:
        self.body, self.variables, self.start = body, variables, start

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        value, error, _ = self.least(context, scope)
        return value, error

    def least(self, context: Context, scope: Mapping[Symbol, Pair]) -> Least:
        """(least value, error, places); the next search starts there."""
        result = refined(Objective(self.body, self.variables, context, scope), self.start)
        self.start = [float(x) for x, _ in result[2]]
        return result
