"""A minimum refined near a place, also in a long valley: in the principal axes of the Hessian, or by the profile minimum.

The profile of a function is its least value over all variables but the last, as a function of the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, final

import numpy as np
from sympy import Dummy, Symbol

from symslr.evaluation.errors import CannotEvaluate, OutOfDigits
from symslr.evaluation.minima.search.local import Least, golden_section, newton_minimum, quadratic_model
from symslr.evaluation.minima.search.objective import Objective
from symslr.evaluation.minima.search.series import Limit, limit
from symslr.evaluation.nodes.node import Context, Node, Pair

FIRST_STEPS = {1: 1e-2, 2: 2e-3}
"""First steps of divided differences, relative to the place, for one and for several variables; minima of several may be
narrow."""
STEP_FACTORS = (1.0, 5.0, 25.0)
"""Multiples of them that are tried in turn: short steps may see rounding alone."""
FINAL_STEP = 1e-6
"""First step at high precision, from a place that float64 has found to about that."""
FINE_TOLERANCE = 1e-12
"""Tolerance of values for a place in float64, which then has half as many digits."""
NEAR_ZERO = 0.01
"""A place on a line smaller than this is first refined in steps relative to its own size: tanh(a x) + 10^-9 turns at a = 10^-9."""
SHORTENINGS = 12
"""Most times that the first length of an axis, a twentieth of its variable, is divided by four."""
AXES_ROUNDS = 16
"""Rounds of the adaption of axes, each with one Newton step."""
AXES_STEP = 0.2
"""Step of the divided differences, in units of the axes."""
LONGEST_NEWTON_STEP = 2.0
"""Of one round, in units of the axes."""
LARGEST_STRETCH = 4096.0
"""Largest ratio of curvatures that one round evens out: smaller curvatures may be noise."""
ROUND_CONDITION = 4.0
"""Condition number of the Hessian up to which the axes are good enough."""
LONGEST_AXIS = 0.3
"""Largest length of an axis, relative to the place."""
SHORTEST_AXIS = 0.01
"""Where that leaves less than this part of the length over which the logarithm rises by 1/2, the basin does not end near by."""
PROFILE_STEP = 0.05
"""First step of divided differences along the profile, relative."""
PLATEAU_PLACES = (-0.3, 0.3)
"""Distances from the middle at which the profile is tested for a plateau."""
PLATEAU_LENGTH = 16.0
"""Claimed error of the place on a plateau."""
PLATEAU_RISE = 1e-6
"""Relative rise up to which the profile is a plateau; it is added to the error of the value."""
PROFILE_TOLERANCE = 1e-13
"""Tolerance of the values of a profile, the finest in float64, as a profile rises by little."""
WALK_STEP = (0.25, 1.6)
"""First step of the walk along the profile, relative, and the factor by which steps grow."""
SERIES_FROM, SERIES_FACTOR, SERIES_UP_TO = 10.0, 4.0, 1000.0
"""A profile that still falls at SERIES_FROM may fall to infinity: a series is tried there, and again at places that are each
SERIES_FACTOR times as far out, up to SERIES_UP_TO. At nu = 310 the minimum for 1 + erf(a x + c) is at c = -65."""
RAY_TOLERANCE = 1e-10
"""Tolerance of values in the search on a ray."""
SERIES_PLACES = (3.0, 1.33)
"""First place and ratio of places of that series: the tail of erf leaves no digits beyond 13."""
LEAST_POWER = 0.3
"""A variable that changes by a lower power of the last one than this has a finite limit other than 0."""


def refined(objective: Objective, start: list[float]) -> Least:
    """The minimum near a place: by Newton steps; in principal axes or by the profile for several variables; by golden section
    for one.

    Raises:
        CannotEvaluate: where the function is flat, not smooth or has no minimum there.
    """
    own = abs(start[0])
    if objective.is_float and len(start) == 1 and 0.0 < own < min(NEAR_ZERO, objective.unit):
        with suppress(CannotEvaluate):
            found = refined(replace(objective, unit=own), start)
            if found[2][0][1] < own / 2:  # else it is level there, and its bottom may be 0
                return found
    first = FIRST_STEPS[min(len(start), 2)]
    reaches = [first * times for times in STEP_FACTORS]
    if not objective.is_float:
        places = refined(objective.in_float(FINE_TOLERANCE), start)[2]
        start, reaches = [float(x) for x, _ in places], [FINAL_STEP]
        if len(start) == 1 and places[0][1] < abs(start[0]) / 2 < NEAR_ZERO:
            objective = replace(objective, unit=min(abs(start[0]), objective.unit))
    for n, reach in enumerate(reaches):
        try:
            return newton_minimum(objective, start, reach)
        except CannotEvaluate:
            pass
        if n == 0 and len(start) > 1 and objective.is_float:
            try:
                return _in_principal_axes(objective, start)
            except CannotEvaluate:
                pass
    if len(start) == 1:
        return golden_section(objective, start[0])
    return _by_profile(objective, start)


def refined_from_few_digits(objective: Objective, start: list[float]) -> Least:
    """The minimum on a line near a place where ``refined`` finds none, as values have few digits: with errors linear in the
    steps.

    Raises:
        CannotEvaluate: as ``refined``.
    """
    for times in STEP_FACTORS[:-1]:
        with suppress(CannotEvaluate):
            return newton_minimum(objective, start, FIRST_STEPS[1] * times, allow_nonquadratic=True)
    return newton_minimum(objective, start, FIRST_STEPS[1] * STEP_FACTORS[-1], allow_nonquadratic=True)


def _in_principal_axes(objective: Objective, start: list[float]) -> Least:
    """The minimum in a long and narrow basin, in coordinates in which it is round.

    They are the principal axes of the Hessian of the logarithm, adapted by Newton steps. In the logarithm a risk of 1e-50 is no
    flatter than one of 0.1.

    Raises:
        CannotEvaluate: where the function is not positive, or its basin does not end near the start.
    """
    fine, ones = objective.in_float(FINE_TOLERANCE), [1.0] * len(start)
    place, sizes = np.array(start), np.array([max(abs(x), objective.unit) for x in start])
    axes = np.diag([_step_of_unit_change(fine, place, unit) for unit in np.diag(sizes)] * sizes)
    for _ in range(AXES_ROUNDS):
        view = _ChangedAxes(objective.node, objective.variables, place, axes, is_logarithm=True)
        here = quadratic_model(fine.with_node(view, view.coordinates), np.array(ones), [AXES_STEP] * len(ones))
        curvatures, turned = np.linalg.eigh(here.hessian.astype(float))
        bent = np.maximum(np.abs(curvatures), np.max(np.abs(curvatures)) / LARGEST_STRETCH)
        step = -turned @ ((turned.T @ np.array(here.gradient, dtype=float)) / bent)
        step *= LONGEST_NEWTON_STEP / max(float(np.linalg.norm(step)), LONGEST_NEWTON_STEP)
        place, axes = place + axes @ step, axes @ turned / np.sqrt(bent)
        part = LONGEST_AXIS * float(np.min(sizes / np.max(np.abs(axes), axis=1)))
        if part < SHORTEST_AXIS:
            break
        axes *= min(1.0, part)
        if ROUND_CONDITION * np.min(curvatures) > np.max(curvatures) and np.linalg.norm(step) < AXES_STEP:
            view = _ChangedAxes(objective.node, objective.variables, place, axes)
            line = objective.with_node(view, view.coordinates)
            value, error, found = newton_minimum(line, ones, AXES_STEP / LONGEST_NEWTON_STEP)
            doubts = np.abs(axes) @ np.array([float(doubt) for _, doubt in found])
            return value, error, list(zip(view.original_place([z for z, _ in found]).tolist(), doubts.tolist()))
    raise OutOfDigits("the minimum could not be refined: its basin does not end there")


def _step_of_unit_change(objective: Objective, place: Any, unit: Any) -> float:
    """The part of a move over which the function changes at most by a factor of e."""
    here = objective.number(place)
    for n in range(SHORTENINGS):
        part = FIRST_STEPS[1] * 5.0 * 4.0**-n
        if max(abs(np.log(objective.number(place + side * part * unit) / here)) for side in (-1, 1)) <= 1.0:
            return part
    raise OutOfDigits("the minimum could not be refined: the function is not positive and smooth there")


@final
class _ChangedAxes(Node):
    """A function or its logarithm in coordinates z: at ``middle`` + ``axes`` (z - 1), so that z = (1, 1, ...) is the middle."""

    def __init__(
        self, body: Node, variables: tuple[Symbol, ...], middle: Any, axes: Any, *, is_logarithm: bool = False
    ) -> None:
        self.body, self.variables, self.middle, self.matrix, self.axes = body, variables, middle, axes, body.axes
        self.is_logarithm = is_logarithm
        self.coordinates = tuple(Dummy(f"z{n}", real=True) for n in range(len(variables)))

    def original_place(self, place: Any) -> Any:
        """The place in the function's own variables."""
        return self.middle + self.matrix @ (np.asarray(place, dtype=float) - 1.0)

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        place = self.original_place([float(scope[z][0]) for z in self.coordinates])
        value, error = self.body.evaluate(
            context, {**scope, **{s: (x, 0.0) for s, x in zip(self.variables, place.tolist())}}
        )
        if not self.is_logarithm:
            return value, error
        if not value > 0.0:
            raise OutOfDigits("the minimum could not be refined: the function is not positive there")
        return np.log(value), error / value


def _by_profile(objective: Objective, start: list[float]) -> Least:
    """The minimum of the profile over the last variable, with the places of the others.

    Raises:
        CannotEvaluate: as ``refined``.
    """
    profile = _Profile(objective.node, objective.variables[:-1], objective.variables[-1], start)
    line = objective.with_tolerance(PROFILE_TOLERANCE).with_node(profile, objective.variables[-1:])
    lowest = start[-1]
    if line.is_float:
        found = _lowest_along_profile(line, lowest)
        if isinstance(found, Limit):
            return _least_at_infinity(profile, line, found)
        lowest = found
    try:
        _, _, [(last, doubt)] = newton_minimum(line, [lowest], PROFILE_STEP)
    except CannotEvaluate:
        here, there = line.pair([start[-1]]), line.pair([lowest])
        # where the profile is noise, its lowest place may lie anywhere
        with suppress(CannotEvaluate):
            return _least_on_plateau(profile, line, lowest if there[0] + there[1] < here[0] - here[1] else start[-1])
        _, _, [(last, doubt)] = golden_section(line, lowest)
    if doubt > PLATEAU_PLACES[1]:
        return _least_on_plateau(profile, line, float(last))
    (value, error, across), *sides = (profile.least(line, last + side * doubt) for side in (0, -1, 1))
    climb = max(0.0, *(side[0] - value for side in sides))
    others = [
        (place, own + abs(left[0] - right[0]) / 2)
        for (place, own), left, right in zip(across, *(side[2] for side in sides), strict=True)
    ]
    return value, error + climb, [*others, (last, doubt)]


def _lowest_along_profile(line: Objective, start: float) -> float | Limit:
    """A place near the minimum of the profile, or its limit where it falls to infinity."""
    from scipy.optimize import minimize_scalar  # loaded for a search only

    step = WALK_STEP[0] * max(abs(start), 1.0)
    here, sides = line.number([start]), {side: line.number([start + side * step]) for side in (-1.0, 1.0)}
    side = min(sides, key=lambda s: sides[s])
    behind, middle, ahead, there = start - side * step, start, start + side * step, sides[side]
    far = SERIES_FROM
    while there < here:
        if side * ahead >= far:
            try:
                found = limit(line, side * SERIES_PLACES[0] * far / SERIES_FROM, SERIES_PLACES[1])
            except CannotEvaluate:
                if far >= SERIES_UP_TO:
                    break
                far = SERIES_FACTOR * side * ahead
            else:
                return float(found.place) if found.is_attained and abs(found.place) < far else found
        step *= WALK_STEP[1]
        behind, middle, here, ahead = middle, ahead, there, side * min(side * ahead + step, far)
        there = line.number([ahead])
    bounds = min(behind, ahead), max(behind, ahead)
    tight = {"xatol": PROFILE_STEP / 5}
    return float(minimize_scalar(lambda x: line.number([x]), bounds=bounds, method="bounded", options=tight).x)


def _least_at_infinity(profile: _Profile, line: Objective, found: Limit) -> Least:
    """The least value where the profile has a limit at infinity: the other variables are extrapolated as powers of the last
    one.
    """
    number = line.context.arithmetic.number
    start, factor = SERIES_PLACES
    ends = [float(np.sign(found.place)) * start * factor**k for k in (2, 3)]
    before, after = (profile.least(line, number(x))[2] for x in ends)
    others: list[Pair] = []
    for (one, _), (other, own) in zip(before, after, strict=True):
        power = float(np.log(abs(other / one)) / np.log(factor)) if other != 0 != one else 0.0
        if abs(power) < LEAST_POWER:
            others.append((other, own + abs(other - one)))
            continue
        moved = abs(found.place / ends[1]) ** power
        others.append((other * number(moved), abs(other - one) * number(moved) if 0 < moved < np.inf else number(0)))
    return number(found.value), number(found.error), [*others, (number(found.place), number(found.place_error))]


def _least_on_plateau(profile: _Profile, line: Objective, middle: float) -> Least:
    """The value on a plateau of the profile, where the place of the minimum is not determined.

    Raises:
        CannotEvaluate: where the profile is no plateau.
    """
    (value, error, across), *ends = (profile.least(line, middle + side) for side in (0.0, *PLATEAU_PLACES))
    change = max(abs(end[0] - value) + end[1] for end in ends)
    if not change <= PLATEAU_RISE * abs(value):
        raise OutOfDigits("the minimum could not be refined: its valley has no lowest point")
    reach = [max(abs(end[2][i][0] - place) for end in ends) for i, (place, _) in enumerate(across)]
    others = [(place, own + PLATEAU_LENGTH * moved) for (place, own), moved in zip(across, reach, strict=True)]
    return value, error + change, [*others, (middle, PLATEAU_LENGTH)]


def _lowest_on_ray(objective: Objective, start: list[float]) -> list[float]:
    """The lowest place on the ray through the start, between a sixteenth and sixteen times its distance from 0."""
    from scipy.optimize import minimize_scalar  # loaded for a search only

    def height(power: float) -> float:
        return objective.number([2.0**power * x for x in start])

    lowest = min(np.arange(-4.0, 4.5, 0.5), key=height)
    bounds, tight = (lowest - 0.5, lowest + 0.5), {"xatol": 1e-3}
    power = float(minimize_scalar(height, bounds=bounds, method="bounded", options=tight).x)
    return [2.0**power * x for x in start]


@final
class _Profile(Node):
    """The least value over some variables as a function of the one ``along`` the valley.

    Each minimum is sought from that at the nearest place computed before.
    """

    def __init__(self, body: Node, variables: tuple[Symbol, ...], along: Symbol, start: list[float]) -> None:
        self.body, self.variables, self.along, self.starts = body, variables, along, {start[-1]: start[:-1]}

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        value, error, _ = self._solved(context, scope)
        return value, error

    def least(self, line: Objective, place: Any) -> Least:
        """(least value, error, [(place, error)] of the other variables) at a place along the valley."""
        return self._solved(line.context, line.scope_at([place]))

    def _solved(self, context: Context, scope: Mapping[Symbol, Pair]) -> Least:
        objective = Objective(self.body, self.variables, context, scope)
        here = float(scope[self.along][0])
        start = self.starts[min(self.starts, key=lambda place: abs(place - here))]
        try:
            result = refined(objective, start)
        except CannotEvaluate:
            # the valley has bent since: it is found again on the same ray
            result = refined(objective, _lowest_on_ray(objective.in_float(RAY_TOLERANCE), start))
        self.starts[here] = [float(x) for x, _ in result[2]]
        return result
