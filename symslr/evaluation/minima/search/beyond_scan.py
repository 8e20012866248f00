"""A scan extended beyond its ends while the function falls, and the limit or minimum beyond by extrapolation in 1/a."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate, NoLeastValue
from symslr.evaluation.minima.search.objective import FINEST, MEDIUM, Objective, no_least_value
from symslr.evaluation.minima.search.profile import FINE_TOLERANCE
from symslr.evaluation.minima.search.series import FEWEST_VALUES, LARGEST_ERROR, SERIES_STEPS, Limit, limit
from symslr.evaluation.nodes.node import Pair

SCALES = (0.04, 16.0)
"""The least and the largest |place| of the usual scan; it is extended while the function falls."""
FIRST_PLACE, RATIO = SCALES[1] / 2.0, 1.75
"""The places beyond are FIRST_PLACE RATIO^step with step = 1, 2, ... Both are exact in float64, so that all series share values,
which are the more expensive the further out they lie."""
SERIES_FROM = 4
"""The series is first tried at this step."""
MOST_STEPS = 8
"""Beyond this step a scan without a series is extended only while the fall exceeds the error. log(1 + x) under Lomax's laws has
its minimum at 6600, and with x/1000 for x a thousand times as far out."""
STEPS_PAST_FEATURES = 3
"""Steps that a scan takes beyond the scale of the farthest feature of a kernel: five times as far out."""
LEAST_FALL = 1e-2
"""Relative fall per step below which an end that is not the lowest place is followed no further."""
FALLS_LEFT = 10.0
"""The most that a function may still fall, in units of its last fall: between the points 13.5 and 16 of a scan 1/a falls by a
sixth of what is left."""
SERIES_ERROR = 100.0
"""Largest error with which a series is accepted, in units of the tolerance; it is also the error of the result."""
SERIES_TOLERANCE = 1e-9
"""Tolerance of the values of a series, also for few digits. With values to 1e-6 that of log(1 + x^2) gave 0.898966 +- 9e-6 at
infinity in place of 0.898984 at 92178."""
LARGEST_LIMIT_ERROR = 1e-2
"""Relative error with which a limit is accepted where there is nothing else: two digits are better than no answer."""
LIMIT_TOLERANCE = 1e-5
"""Tolerance of values that are compared with a known limit."""
CERTAIN_IN_ERRORS = 10.0
"""A difference is certain from so many errors of the values on."""
STEEPEST_POWER = 3
"""Largest power of 1/a with which a risk is expected to approach its limit, as for softplus with many tokens."""
RATIO_TOLERANCE = 0.25
"""The distances from a limit at neighbouring places have a ratio near 1.75^-power: within 0.25/1.75 for power 1."""
RATIO_EXCESS_KEPT = 0.7
"""Where that ratio lies above 1.75^-power, the next one must keep at least this part of the excess. The excess is 0.12, 0.10 and
0.09 for log(a)/a from 14 to 75, and about 0.2 for exp(x) + x^2 at L = 2, nu = inf."""
RATIO_SLACK = 0.005
"""Allowance for rounding in that comparison, to which twice the relative errors are added."""
LARGEST_SCALE = 1e6
"""A scan goes up to here to reach the features of a kernel."""
SMALLEST_SCALE = 1e-12
"""A scan follows a fall towards 0 down to here."""
JUMP = 0.1
"""A relative difference this large between the value at 0 and the next one shows that the function changes in between, as
10^-9 + x^2 does."""
JUMP_RATIO = 4.0
"""The next place tried is so many times nearer to 0."""


def step_past_features(objective: Objective) -> int:
    """The first step outwards that lies beyond all features of the kernel; 0 where the usual scan reaches them, or they lie too
    far out.

    Before it a kernel that changes far out is constant, and a series through such values would be constant too.
    """
    if not SCALES[1] < objective.feature_scale <= LARGEST_SCALE:
        return 0
    return int(np.ceil(np.log(objective.feature_scale / FIRST_PLACE) / np.log(RATIO)))


def points_far_out(objective: Objective, low: float, high: float) -> Any:
    """The places of a scan up to a few steps beyond the features of the kernel, on the open sides of [low, high]; else none."""
    first = step_past_features(objective)
    if first == 0:
        return np.array([])
    steps = np.arange(2, first + STEPS_PAST_FEATURES + 1)
    sides = [side for side, end in ((-1.0, low), (1.0, high)) if np.isinf(end)]
    points = np.outer(sides, FIRST_PLACE * RATIO**steps).ravel()
    return points[(points >= low) & (points <= high)]


def refined_near_zero(objective: Objective, points: Any, values: Any) -> tuple[Any, Any]:
    """The scan with more points near 0, on each side where the function changes between 0 and its neighbour.

    That is where the neighbour is lower than both 0 and the next point, or differs much from 0. The usual scan has no place as
    small as 1/1000, from where on tanh(a x) + 1/1000 changes.
    """
    for side in (-1, 1):
        zero = int(np.searchsorted(points, 0.0))
        while zero + min(side, 0) > 0 and zero + side + 1 < len(points) and points[zero] == 0.0:
            near = zero + side
            falls = values[near] < min(values[zero], values[near + side])
            leaps = abs(values[near] - values[zero]) > JUMP * abs(values[zero])
            if (
                not np.isfinite(values[[zero, near]]).all()
                or abs(points[near]) < SMALLEST_SCALE
                or not (falls or leaps)
            ):
                break
            place, where = points[near] / (RATIO if falls else JUMP_RATIO), max(zero, near)
            points, values = np.insert(points, where, place), np.insert(values, where, objective.number([place]))
            zero += side < 0
    return points, values


def known_limit(objective: Objective, values: Any, end: int, edge: float, side: int) -> Limit | None:
    """The known limit of the function beyond an end of the scan, where the values approach it from above as a power of 1/a.

    The distance from the limit must fall from place to place by the ratio of a power of 1/a, or by a slightly larger ratio, as
    for log(a)/a. Before a minimum further out, which lies below the limit, the ratios decrease. Values of few digits show this;
    a series needs accurate ones far out.
    """
    if (
        objective.limit is None
        or not objective.is_float
        or step_past_features(objective) > 0
        or not _falls(values, end, edge)
    ):
        return None
    try:
        found = objective.limit(side)
    except (CannotEvaluate, ArithmeticError):
        return None
    if found is None or not np.isfinite(sum(found)):
        return None
    sharper = (objective.in_float(LIMIT_TOLERANCE), _sharp(objective))
    return next(
        filter(None, (_approached_limit(own, (float(found[0]), float(found[1])), side) for own in sharper)), None
    )


def _approached_limit(objective: Objective, limit: Pair, side: int) -> Limit | None:
    """The limit, where the values at the first places outwards approach it; None where they do not.

    For a power above 1 the error covers a shallow minimum that the ratios do not exclude.
    """
    above: list[Pair] = []
    for step in range(SERIES_FROM, 0, -1):  # a bottom nearer by shows at the outermost
        value, error = objective.float_pair([side * FIRST_PLACE * RATIO**step])
        above.append((value - limit[0], error + limit[1]))
        if not above[-1][0] > CERTAIN_IN_ERRORS * above[-1][1]:
            return None
    left, errors = np.array(above[::-1]).T
    ratios, slack = left[1:] / left[:-1], RATIO_SLACK + 2.0 * float(np.max(errors / left))
    power = max(1, round(-log(ratios[-1]) / log(RATIO)))
    usual = RATIO**-power
    over, near = ratios - usual, RATIO_TOLERANCE * usual * RATIO
    if (
        power > STEEPEST_POWER
        or np.any(np.abs(over) > near)
        or np.any(over[1:] < np.minimum(over[:-1], RATIO_EXCESS_KEPT * over[:-1]) - slack)
    ):
        return None
    hidden = 0.0 if power == 1 else slack / usual * float(left[-1])
    return Limit(limit[0], limit[1] + hidden, side * np.inf, False)


def extended_scan(
    objective: Objective, points: Any, values: Any, end: int, edge: float
) -> tuple[Any, Any, Limit | None]:
    """(points, values, limit): the scan, extended at one end while the function falls there, and what the series gives beyond.

    The extension also starts where the scan looks level and only accurate values differ, as for softplus at L = 100, nu = 10
    from 20 to 200.
    """
    sharp, side, start = _sharp(objective), float(np.sign(points[end])), step_past_features(objective)
    if not (_falls(values, end, edge) and np.isfinite(near := sharp.number([side * FIRST_PLACE * RATIO]))):
        return points, values, None
    if start == 0:
        points[end], values[end] = side * FIRST_PLACE * RATIO, near
    step, series_start = start + STEPS_PAST_FEATURES + 1 if start else 2, _first_series_step(objective)
    first_try, farthest = (
        max(start + SERIES_FROM, series_start + FEWEST_VALUES - 1),
        max(start + MOST_STEPS, series_start + FEWEST_VALUES),
    )
    while True:
        place, where = side * FIRST_PLACE * RATIO**step, 0 if end == 0 else len(points)
        value, error = _pair_far_out(objective, place)
        points = np.insert(points, where, place)
        values = np.insert(values, where, objective.upper_if_imprecise(value, error))
        is_known = bool(np.isfinite(values[end]))
        beyond = minimum_beyond(objective, side, step if is_known else step - 1) if step >= first_try else None
        if beyond is not None:
            values[end] = np.inf
        if (
            beyond is not None
            or not _falls(values, end, edge)
            or (step > farthest and not (_fall_exceeds_error(values, end, error) and abs(place) < LARGEST_SCALE))
        ):
            return points, values, beyond
        step += 1


def _first_series_step(objective: Objective) -> int:
    """The first step whose value may be part of a series: beyond all features and the selection scale."""
    if not SCALES[1] < objective.selection_scale <= LARGEST_SCALE:
        return step_past_features(objective)
    return max(
        step_past_features(objective), int(np.ceil(np.log(objective.selection_scale / FIRST_PLACE) / np.log(RATIO)))
    )


def _sharp(objective: Objective) -> Objective:
    """The function with the accuracy that values of a series need."""
    return objective.in_float(max(FINE_TOLERANCE, _series_tolerance(objective) / 10))


def _series_tolerance(objective: Objective) -> float:
    """The tolerance of a series."""
    return min(max(FINE_TOLERANCE, float(objective.context.tolerance)), SERIES_TOLERANCE)


def _pair_far_out(objective: Objective, place: float) -> tuple[float, float]:
    """(value, error) far out with the accuracy of a series, or what accuracy can be had: few digits show whether the function
    rises.
    """
    return objective.first_float_pair([place], float(_sharp(objective).context.tolerance), FINEST, MEDIUM)


def minimum_beyond(objective: Objective, side: float, last: int | None = None) -> Limit | None:
    """The least value beyond the scan on one side, by the series through the values up to step ``last``; None where it is not
    accurate.
    """
    start = _first_series_step(objective)
    last = start + SERIES_STEPS - 1 if last is None else last
    tolerance, first = _series_tolerance(objective), max(last - SERIES_STEPS, start)
    place, useful = side * FIRST_PLACE * RATIO**first, max(LARGEST_ERROR, tolerance / 2.0)
    try:
        found = limit(_sharp(objective), place, RATIO, SERIES_ERROR / 3 * tolerance, last - first, useful)
    except CannotEvaluate:
        found = None
    if found is None or found.error > SERIES_ERROR * tolerance * abs(found.value):
        found = _plateau(objective, [side * FIRST_PLACE * RATIO**step for step in range(first, last + 1)])
    return found if found is not None and found.error <= SERIES_ERROR * tolerance * abs(found.value) else None


def _plateau(objective: Objective, places: list[float]) -> Limit | None:
    """The limit of the last few values where they differ by less than their errors; None elsewhere. Its error is twice that
    difference and the error.
    """
    values, errors = np.array([_pair_far_out(objective, place) for place in places[1 - FEWEST_VALUES :]]).T
    moved, error = float(np.ptp(values)), float(np.max(errors))
    if not moved <= error < np.inf:
        return None
    return Limit(float(np.min(values)), 2.0 * moved + error, float(np.sign(places[-1])) * np.inf, False)


def beyond_edge(objective: Objective, points: Any, values: Any, i: int) -> Limit:
    """The limit of the function beyond point i of the scan, next to which there is no value.

    Raises:
        CannotEvaluate: where the values there have no limit, or the point is 0.
    """
    open_ends = [k for k in (i - 1, i + 1) if not (0 <= k < len(points) and np.isfinite(values[k]))]
    if points[i] == 0:
        place = [float(points[open_ends[-1]])]
        raise no_least_value(objective, place, objective.refused.get(tuple(place), "no digits in float64"))
    to_zero = all(0 <= k < len(points) and abs(points[k]) < abs(points[i]) for k in open_ends)
    back = SERIES_STEPS if _first_series_step(objective) == 0 else FEWEST_VALUES - 1
    start, factor = (points[i], 0.5) if to_zero else (points[i] / RATIO**back, RATIO)
    try:
        return limit(_sharp(objective), float(start), factor, useful=LARGEST_LIMIT_ERROR)
    except CannotEvaluate as fault:
        text = (
            "the lowest value of the scan is at its end, {} = {}, and beyond it tends to nothing that is seen; give bounds "
            "(--bounds {}:LOW:HIGH on the command line)"
        )
        raise NoLeastValue(text, objective.variables[0], float(points[i]), objective.variables[0]) from fault


def _fall_exceeds_error(values: Any, end: int, error: float) -> bool:
    """Whether the last fall towards an end of the scan is certain, given the error of the last value."""
    last = values[-2] - values[-1] if end else values[1] - values[0]
    return bool(last > CERTAIN_IN_ERRORS * error)


def _falls(values: Any, end: int, edge: float) -> bool:
    """Whether the function falls towards an open end of the scan by so much that the lowest value may lie beyond."""
    if np.isfinite(edge) or len(values) < 2:
        return False
    lower = values[1 if end == 0 else -2] - values[end]
    return bool(
        lower > 0 and (values[end] - np.min(values) <= FALLS_LEFT * lower or lower >= LEAST_FALL * abs(values[end]))
    )


def check_features_reached(
    objective: Objective, intervals: list[tuple[float, float]], found: tuple[Any, Any, list[Pair]]
) -> None:
    """Check that a search has reached every feature of the kernel.

    Raises:
        CannotEvaluate: where the kernel changes at scales beyond the search.
    """
    if len(intervals) > 1 or not np.isinf(intervals[0]).any() or objective.feature_scale <= LARGEST_SCALE:
        return
    if not objective.feature_scale <= abs(float(found[2][0][0])) < np.inf:
        name = objective.variables[0]
        raise CannotEvaluate(
            f"the least value is not known: the kernel changes so far out that only {name} near "
            f"{objective.feature_scale:.2g} meets it, and "
            f"values are searched up to {LARGEST_SCALE:g}; give bounds (--bounds {name}:LOW:HIGH on the command line)"
        )
