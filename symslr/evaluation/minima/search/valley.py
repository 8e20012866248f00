"""A minimum near a place, also where its basin is a valley: then in its own axes, or along the floor, with the other variables
minimised away."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, final

import numpy as np
from sympy import Dummy, Symbol

from symslr.evaluation.errors import CannotEvaluate, OutOfDigits
from symslr.evaluation.minima.search.local import Least, bracketed, parabola, polished
from symslr.evaluation.minima.search.objective import Objective
from symslr.evaluation.minima.search.series import Limit, limit
from symslr.evaluation.nodes.node import Context, Node, Pair

REACHES = {1: 1e-2, 2: 2e-3}
"""First steps of divided differences, relative to the place, on a line and in a box, where valleys may be narrow."""
LONGER = (1.0, 5.0, 25.0)
"""Multiples of them that are tried in turn: short steps may see rounding alone."""
POLISH = 1e-6
"""First step at high precision, from a place that float64 has to about so much."""
FINE = 1e-12
"""Tolerance of values by which a place is found in float64: it has half as many digits."""
NEAR_ZERO = 0.01
"""Size of a place on a line, below which its own size is tried first: tanh(a x) + 10^-9 turns at a = 10^-9."""
SHORTENINGS = 12
"""A twentieth of its size is the first step of a variable in the logarithm, made four times shorter so often at most."""
LOOKS, ACROSS, LONGEST = 16, 0.2, 2.0
"""At a basin in axes that are made its own, with steps of differences so long and Newton steps at most so long in units of them."""
UNEVEN, ROUND = 4096.0, 4.0
"""Ratio of curvatures by which axes are made longer at one look, and up to which a basin is round."""
WITHIN, ALMOST_LEVEL = 0.3, 0.01
"""Part of the place that an axis is long at most, and of the length that raises the logarithm by 1/2 what is then left."""
ALONG = 0.05
"""First step along a valley whose sides are minimised away."""
LEVEL = (-0.3, 0.3)
"""Places along a valley, beside its middle, between which it is level or not."""
LONG = 16.0
"""How far the lowest point of a level valley may lie."""
ALMOST = 1e-6
"""Relative rise within which the floor of a valley is level; it is claimed as an error of the value."""
SHARP = 1e-13
"""Tolerance of the values along a valley, the finest in float64: its floor rises by little."""
STRIDE = (0.25, 1.6)
"""First step of the walk along the floor, relative, and its growth."""
FAR, FURTHER, FURTHEST = 10.0, 4.0, 1000.0
"""Where a floor that still falls is looked at as one that falls for ever; where it follows no series there, so many times further
out again, up to the last place. At nu = 310 the lowest place for 1 + erf(a x + c) is c = -65."""
SEEN = 1e-10
"""Tolerance of values at which a floor is found again."""
OUTWARDS = (3.0, 1.33)
"""First place and factor of the series in the inverse by which that is decided: erf's tail has no digits beyond 13."""
STAYING = 0.3
"""A variable that changes by a lower power of the last one than this goes neither to zero nor to infinity."""


def refined(objective: Objective, start: list[float]) -> Least:
    """The minimum near a place: directly, or by golden section on a line, or along its valley in a box.

    Raises:
        CannotEvaluate: where the function is flat, not smooth or has no minimum there.
    """
    own = abs(start[0])
    if objective.is_float and len(start) == 1 and 0.0 < own < min(NEAR_ZERO, objective.smallest):
        with suppress(CannotEvaluate):
            found = refined(replace(objective, smallest=own), start)
            if found[2][0][1] < own / 2:  # else it is level there, and its bottom may be 0
                return found
    first = REACHES[min(len(start), 2)]
    reaches = [first * times for times in LONGER]
    if not objective.is_float:
        places = refined(objective.rough(FINE), start)[2]
        start, reaches = [float(x) for x, _ in places], [POLISH]
        if len(start) == 1 and places[0][1] < abs(start[0]) / 2 < NEAR_ZERO:
            objective = replace(objective, smallest=min(abs(start[0]), objective.smallest))
    for n, reach in enumerate(reaches):
        try:
            return polished(objective, start, reach)
        except CannotEvaluate:
            pass
        if n == 0 and len(start) > 1 and objective.is_float:
            try:
                return _in_its_axes(objective, start)
            except CannotEvaluate:
                pass
    if len(start) == 1:
        return bracketed(objective, start[0])
    return _along_the_valley(objective, start)


def roughly(objective: Objective, start: list[float]) -> Least:
    """The minimum near a place on a line where ``refined`` has none: with errors that are linear in the steps of differences.

    Raises:
        CannotEvaluate: as ``refined``.
    """
    for times in LONGER[:-1]:
        with suppress(CannotEvaluate):
            return polished(objective, start, REACHES[1] * times, bent_too=True)
    return polished(objective, start, REACHES[1] * LONGER[-1], bent_too=True)


def _in_its_axes(objective: Objective, start: list[float]) -> Least:
    """The minimum of a basin that is long and narrow, in coordinates in which it is round.

    They are found by Newton steps in the logarithm, in which a risk of 1e-50 is no more level than one of 0.1.

    Raises:
        CannotEvaluate: where the function is not positive, or its basin does not end near the start.
    """
    fine, ones = objective.rough(FINE), [1.0] * len(start)
    place, sizes = np.array(start), np.array([max(abs(x), objective.smallest) for x in start])
    axes = np.diag([_width(fine, place, unit) for unit in np.diag(sizes)] * sizes)
    for _ in range(LOOKS):
        view = _View(objective.node, objective.variables, place, axes, is_logarithm=True)
        here = parabola(fine.of(view, view.coordinates), np.array(ones), [ACROSS] * len(ones))
        curvatures, turned = np.linalg.eigh(here.hessian.astype(float))
        bent = np.maximum(np.abs(curvatures), np.max(np.abs(curvatures)) / UNEVEN)
        step = -turned @ ((turned.T @ np.array(here.gradient, dtype=float)) / bent)
        step *= LONGEST / max(float(np.linalg.norm(step)), LONGEST)
        place, axes = place + axes @ step, axes @ turned / np.sqrt(bent)
        part = WITHIN * float(np.min(sizes / np.max(np.abs(axes), axis=1)))
        if part < ALMOST_LEVEL:
            break
        axes *= min(1.0, part)
        if ROUND * np.min(curvatures) > np.max(curvatures) and np.linalg.norm(step) < ACROSS:
            view = _View(objective.node, objective.variables, place, axes)
            line = objective.of(view, view.coordinates)
            value, error, found = polished(line, ones, ACROSS / LONGEST)
            doubts = np.abs(axes) @ np.array([float(doubt) for _, doubt in found])
            return value, error, list(zip(view.seen_from([z for z, _ in found]).tolist(), doubts.tolist()))
    raise OutOfDigits("the minimum could not be refined: its basin does not end there")


def _width(objective: Objective, place: Any, unit: Any) -> float:
    """Part of a move by which a function changes by a factor of e at most."""
    here = objective.number(place)
    for n in range(SHORTENINGS):
        part = REACHES[1] * 5.0 * 4.0**-n
        if max(abs(np.log(objective.number(place + side * part * unit) / here)) for side in (-1, 1)) <= 1.0:
            return part
    raise OutOfDigits("the minimum could not be refined: the function is not positive and smooth there")


@final
class _View(Node):
    """A function, or its logarithm, in other axes: at 1, 1, ... it is the one at a middle."""

    def __init__(
        self, body: Node, variables: tuple[Symbol, ...], middle: Any, axes: Any, *, is_logarithm: bool = False
    ) -> None:
        self.body, self.variables, self.middle, self.matrix, self.axes = body, variables, middle, axes, body.axes
        self.is_logarithm = is_logarithm
        self.coordinates = tuple(Dummy(f"z{n}", real=True) for n in range(len(variables)))

    def seen_from(self, place: Any) -> Any:
        """The function's own place."""
        return self.middle + self.matrix @ (np.asarray(place, dtype=float) - 1.0)

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        place = self.seen_from([float(scope[z][0]) for z in self.coordinates])
        value, error = self.body.evaluate(
            context, {**scope, **{s: (x, 0.0) for s, x in zip(self.variables, place.tolist())}}
        )
        if not self.is_logarithm:
            return value, error
        if not value > 0.0:
            raise OutOfDigits("the minimum could not be refined: the function is not positive there")
        return np.log(value), error / value


def _along_the_valley(objective: Objective, start: list[float]) -> Least:
    """The minimum over the last variable of the minimum over the others, which bends with it.

    Raises:
        CannotEvaluate: as ``refined``.
    """
    floor = _Floor(objective.node, objective.variables[:-1], objective.variables[-1], start)
    line = objective.within(SHARP).of(floor, objective.variables[-1:])
    lowest = start[-1]
    if line.is_float:
        found = _lowest(line, lowest)
        if isinstance(found, Limit):
            return _approached(floor, line, found)
        lowest = found
    try:
        _, _, [(last, doubt)] = polished(line, [lowest], ALONG)
    except CannotEvaluate:
        here, there = line.pair([start[-1]]), line.pair([lowest])
        # Where errors alone shape the floor, its lowest place may lie anywhere.
        with suppress(CannotEvaluate):
            return _level(floor, line, lowest if there[0] + there[1] < here[0] - here[1] else start[-1])
        _, _, [(last, doubt)] = bracketed(line, lowest)
    if doubt > LEVEL[1]:
        return _level(floor, line, float(last))
    (value, error, across), *sides = (floor.least(line, last + side * doubt) for side in (0, -1, 1))
    climb = max(0.0, *(side[0] - value for side in sides))
    others = [
        (place, own + abs(left[0] - right[0]) / 2)
        for (place, own), left, right in zip(across, *(side[2] for side in sides), strict=True)
    ]
    return value, error + climb, [*others, (last, doubt)]


def _lowest(line: Objective, start: float) -> float | Limit:
    """A place near the lowest one on the floor, or what the floor falls to on its way to infinity."""
    from scipy.optimize import minimize_scalar  # loaded for a search only

    step = STRIDE[0] * max(abs(start), 1.0)
    here, sides = line.number([start]), {side: line.number([start + side * step]) for side in (-1.0, 1.0)}
    side = min(sides, key=lambda s: sides[s])
    behind, middle, ahead, there = start - side * step, start, start + side * step, sides[side]
    far = FAR
    while there < here:
        if side * ahead >= far:
            try:
                found = limit(line, side * OUTWARDS[0] * far / FAR, OUTWARDS[1])
            except CannotEvaluate:
                if far >= FURTHEST:
                    break
                far = FURTHER * side * ahead
            else:
                return float(found.place) if found.is_attained and abs(found.place) < far else found
        step *= STRIDE[1]
        behind, middle, here, ahead = middle, ahead, there, side * min(side * ahead + step, far)
        there = line.number([ahead])
    bounds = min(behind, ahead), max(behind, ahead)
    tight = {"xatol": ALONG / 5}
    return float(minimize_scalar(lambda x: line.number([x]), bounds=bounds, method="bounded", options=tight).x)


def _approached(floor: _Floor, line: Objective, found: Limit) -> Least:
    """A least value far out in the valley: the other variables follow powers of the last one."""
    number = line.context.arithmetic.number
    start, factor = OUTWARDS
    ends = [float(np.sign(found.place)) * start * factor**k for k in (2, 3)]
    before, after = (floor.least(line, number(x))[2] for x in ends)
    others: list[Pair] = []
    for (one, _), (other, own) in zip(before, after, strict=True):
        power = float(np.log(abs(other / one)) / np.log(factor)) if other != 0 != one else 0.0
        if abs(power) < STAYING:
            others.append((other, own + abs(other - one)))
            continue
        moved = abs(found.place / ends[1]) ** power
        others.append((other * number(moved), abs(other - one) * number(moved) if 0 < moved < np.inf else number(0)))
    return number(found.value), number(found.error), [*others, (number(found.place), number(found.doubt))]


def _level(floor: _Floor, line: Objective, middle: float) -> Least:
    """A value that is the same along a whole valley: where the minimum lies there is not known.

    Raises:
        CannotEvaluate: where the floor of the valley is not level.
    """
    (value, error, across), *ends = (floor.least(line, middle + side) for side in (0.0, *LEVEL))
    change = max(abs(end[0] - value) + end[1] for end in ends)
    if not change <= ALMOST * abs(value):
        raise OutOfDigits("the minimum could not be refined: its valley has no lowest point")
    reach = [max(abs(end[2][i][0] - place) for end in ends) for i, (place, _) in enumerate(across)]
    others = [(place, own + LONG * moved) for (place, own), moved in zip(across, reach, strict=True)]
    return value, error + change, [*others, (middle, LONG)]


def _on_the_ray(objective: Objective, start: list[float]) -> list[float]:
    """The lowest place on the ray through the start, between a sixteenth and sixteen times as far."""
    from scipy.optimize import minimize_scalar  # loaded for a search only

    def height(power: float) -> float:
        return objective.number([2.0**power * x for x in start])

    lowest = min(np.arange(-4.0, 4.5, 0.5), key=height)
    bounds, tight = (lowest - 0.5, lowest + 0.5), {"xatol": 1e-3}
    power = float(minimize_scalar(height, bounds=bounds, method="bounded", options=tight).x)
    return [2.0**power * x for x in start]


@final
class _Floor(Node):
    """The least value over some variables, sought from where it was at the nearest place along the valley."""

    def __init__(self, body: Node, variables: tuple[Symbol, ...], along: Symbol, start: list[float]) -> None:
        self.body, self.variables, self.along, self.starts = body, variables, along, {start[-1]: start[:-1]}

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        value, error, _ = self._found(context, scope)
        return value, error

    def least(self, line: Objective, place: Any) -> Least:
        """(least value, error, places) at a place along the valley."""
        return self._found(line.context, line.scope_at([place]))

    def _found(self, context: Context, scope: Mapping[Symbol, Pair]) -> Least:
        objective = Objective(self.body, self.variables, context, scope)
        here = float(scope[self.along][0])
        start = self.starts[min(self.starts, key=lambda place: abs(place - here))]
        try:
            result = refined(objective, start)
        except CannotEvaluate:
            # The floor has bent away since: it is found again on the same ray.
            result = refined(objective, _on_the_ray(objective.rough(SEEN), start))
        self.starts[here] = [float(x) for x, _ in result[2]]
        return result
