"""The search for a minimum: a scan in float64 over signs and scales, then the refinement and comparison of local minima."""

from __future__ import annotations

import itertools
from contextlib import suppress
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate, OutOfDigits
from symslr.evaluation.minima.search.beyond_scan import (
    SCALES,
    beyond_edge,
    check_features_reached,
    extended_scan,
    known_limit,
    minimum_beyond,
    points_far_out,
    refined_near_zero,
)
from symslr.evaluation.minima.search.bracket import near_bottom
from symslr.evaluation.minima.search.grid import MOST_MINIMA, POINTS, local_minima, neighbourhood, scan
from symslr.evaluation.minima.search.local import Least, golden_section, newton_minimum
from symslr.evaluation.minima.search.objective import MEDIUM, Objective, check_scan_is_complete, no_least_value
from symslr.evaluation.minima.search.profile import (
    FINAL_STEP,
    FINE_TOLERANCE,
    FIRST_STEPS,
    refined,
    refined_from_few_digits,
)
from symslr.evaluation.minima.search.scan_values import may_fall_below, scan_values
from symslr.evaluation.minima.search.series import Limit, limit
from symslr.evaluation.quadrature.scan import distinct

SCAN_TOLERANCE = 1e-4
"""Tolerance of the values of the scan, relative."""
BISECTIONS = 4
"""Steps of bisection towards the end of the interval on which a function is finite."""
UNDERFLOW = 1e-300
"""A non-negative value below this has underflowed in float64."""
FIRST_SCALES = SCALES[1] / 3.0
"""Scales up to here are scanned first: where a value has underflowed among them, no other is computed."""
RESCAN = 13
"""Points of a grid of parameters between two whole searches."""


class Continuation:
    """Continuation of a minimum along a sequence of parameters: the last places, from which the next one is extrapolated."""

    def __init__(self, start: list[float] | None = None) -> None:
        self.places: list[list[float]] = [] if start is None else [start]
        self.side = 0.0
        self.since_search = 0

    def continued(self, objective: Objective, intervals: list[tuple[float, float]]) -> Least | None:
        """The minimum that continues the last ones; None where a whole search is due."""
        self.since_search += 1
        if self.since_search > RESCAN:
            return None
        if self.places:
            before, last = self.places[0], self.places[-1]
            start = [2 * b - a if abs(b - a) < 0.3 * abs(b) else b for a, b in zip(before, last)]
            if all(low < x < high for x, (low, high) in zip(start, intervals)):
                try:
                    result = refined(objective, start)
                except CannotEvaluate:
                    result = None
                if result is not None and all(
                    abs(float(x) - old) <= 0.4 * abs(old) + 0.05 for (x, _), old in zip(result[2], last)
                ):
                    return self.append(objective, result, intervals)
        beyond = minimum_beyond(objective, self.side) if self.side else None
        return (
            None
            if beyond is None or abs(beyond.place) <= _usual_reach(objective)
            else _least_of_limit(objective, beyond)
        )

    def append(self, objective: Objective, result: Least, intervals: list[tuple[float, float]]) -> Least:
        """Records a minimum and returns it. Where it lies so far out that values are expensive, only its side is kept, for the
        series.
        """
        place = [float(x) for x, _ in result[2]]
        is_far = len(place) == 1 and np.isinf(intervals[0]).all() and abs(place[0]) > 2 * _usual_reach(objective)
        self.side = float(np.sign(place[0])) if is_far else 0.0
        self.places = [] if is_far else [*self.places[-1:], place]
        return result

    def restart(self, objective: Objective, result: Least, intervals: list[tuple[float, float]]) -> Least:
        """Records a minimum found by a whole search and returns it."""
        self.since_search = 0
        return self.append(objective, result, intervals)


def _usual_reach(objective: Objective) -> float:
    """The scale up to which a scan finds the features of the kernel."""
    return max(SCALES[1], objective.feature_scale)


def least(objective: Objective, intervals: list[tuple[float, float]], known: Continuation | None = None) -> Least:
    """(value, error, [(place, error)]) of the least value over a box.

    Args:
        objective: the function.
        intervals: for every variable a closed interval, which may be unbounded.
        known: the continuation of the minima found at neighbouring parameters, to which the new one is added.

    Raises:
        CannotEvaluate: where the function has no value on the scan, or its least value is not found.
    """
    continuation = Continuation() if known is None else known
    with np.errstate(all="ignore"):
        found = continuation.continued(objective, intervals)
        if found is not None:
            return found
        found = _whole_search(objective, intervals)
        check_features_reached(objective, intervals, found)
        return continuation.restart(objective, found, intervals)


def _whole_search(objective: Objective, intervals: list[tuple[float, float]]) -> Least:
    """The least value by a scan of the whole box; never above a value that was computed on the way.

    Raises:
        CannotEvaluate: as ``least``.
    """
    found = _zero_if_lower(objective, intervals, _from_starts(objective, intervals))
    for _ in range(MOST_MINIMA):
        lower = _lower_place(objective, intervals, float(found[0]) - float(found[1]))
        if lower is None:
            hidden = _undecided_fall(objective, intervals, float(found[0])) if objective.is_float else 0.0
            return found if hidden <= float(found[1]) else (found[0], hidden, [(x, np.inf) for x, _ in found[2]])
        try:
            found = refined(objective, lower)
        except CannotEvaluate as reason:
            raise no_least_value(objective, lower, reason) from reason
    raise OutOfDigits("the minimum could not be refined: lower values lie beside it")


def _zero_if_lower(objective: Objective, intervals: list[tuple[float, float]], found: Least) -> Least:
    """The value at 0 where it is lower than a minimum found beside it, as with a kink at 0, where Newton steps do not converge.

    Else the limit at 0 where the function falls towards it.
    """
    at = found[2][0][0]
    if len(intervals) > 1 or not (0 < abs(at) < SCALES[0] and intervals[0][0] <= 0 <= intervals[0][1]):
        return found
    zero = objective.context.arithmetic.number(0)
    try:
        value, error = objective.pair([zero])
        is_lower = value + error < found[0] - found[1] and 0 not in intervals[0]
        neighbourhood = [objective.pair([side * at / 2]) for side in (-1, 1)] if is_lower else []
    except (CannotEvaluate, ArithmeticError):
        is_lower = False
    if not is_lower:
        return _limit_at_zero(objective, found)
    if all(own - doubt > value + error for own, doubt in neighbourhood):
        return value, error, [(zero, abs(at) / 2)]
    return golden_section(objective, 0.0)


def _limit_at_zero(objective: Objective, found: Least) -> Least:
    """The limit at 0 where the function is no higher nearer to 0, as for sin(a x), whose kernel vanishes at 0 itself; else
    ``found``.

    Such a function may be flat to fourth order, where Newton steps end early.
    """
    value, error, ((at, doubt),) = found
    fine = objective.in_float(FINE_TOLERANCE)
    if abs(at) <= doubt or fine.float_pair([at / 4])[0] > value + error:
        return found
    try:
        nearer = limit(fine, float(at), 0.5)
    except CannotEvaluate:
        return value, error, [(at, max(doubt, abs(at)))]
    return found if nearer.is_attained or nearer.is_constant else _least_of_limit(objective, nearer)


def _lowest_upper_bound(objective: Objective, intervals: list[tuple[float, float]]) -> tuple[float, list[float]]:
    """(least upper bound of a computed value, its place) within a box."""
    return min((one[:2] for one in _upper_bounds(objective, intervals)), default=(np.inf, []))


def _upper_bounds(objective: Objective, intervals: list[tuple[float, float]]) -> list[tuple[float, list[float], float]]:
    """(value + error, place, error) of all values computed within a box."""
    return [one for one in objective.upper_bounds if all(low <= x <= high for x, (low, high) in zip(one[1], intervals))]


def _undecided_fall(objective: Objective, intervals: list[tuple[float, float]], least: float) -> float:
    """By how much a computed value lies below ``least``, as far as its own error leaves open that it is lower.

    So it is for tanh(2 a x - 8) + 1 at a = 0.15, whose value loses its digits by cancellation.
    """
    best: dict[tuple[float, ...], tuple[float, float]] = {}
    for most, at, error in _upper_bounds(objective, intervals):
        best[tuple(at)] = min(best.get(tuple(at), (np.inf, np.inf)), (error, most - error))
    return max((least - value for error, value in best.values() if error < abs(value)), default=0.0)


def _lower_place(objective: Objective, intervals: list[tuple[float, float]], least: float) -> list[float] | None:
    """The place of the lowest computed value, where it lies below ``least`` also when computed accurately; else None."""
    lowest, place = _lowest_upper_bound(objective, intervals)
    return place if lowest < least and sum(objective.in_float(FINE_TOLERANCE).float_pair(place)) < least else None


def _underflowed(objective: Objective, intervals: list[tuple[float, float]]) -> list[float] | None:
    """A place whose value underflows to 0, as do risks near e^(-nu/8); None where there is none. No risk is lower."""
    lowest, place = _lowest_upper_bound(objective, intervals)
    return place if 0.0 <= lowest <= UNDERFLOW and objective.pair(place)[0] >= 0.0 else None


def _from_starts(objective: Objective, intervals: list[tuple[float, float]]) -> Least:
    """The least of the local minima of the scan, refined."""
    on_line = len(intervals) == 1
    place = _lowest_on_line(objective, intervals[0]) if on_line else _lowest_in_box(objective, intervals)
    if isinstance(place, Limit):
        return _least_of_limit(objective, place)
    underflowed = _underflowed(objective, intervals)
    if underflowed is not None:
        if not objective.is_float:
            raise OutOfDigits(f"the least value is below {UNDERFLOW:g}, beyond float64, in which its place is sought")
        value, error = objective.pair(underflowed)
        return value * 0, value + error, [(x, np.inf) for x in underflowed]
    if any(x in interval for x, interval in zip(place, intervals)):
        if not on_line:
            raise CannotEvaluate(
                f"the least value lies on the boundary, at {place}; widen the bounds or fix that variable"
            )
        at = objective.context.arithmetic.number(place[0])
        return *objective.pair([at]), [(at, at * 0)]
    try:
        return refined(objective, place)
    except CannotEvaluate:
        if not (on_line and objective.is_float and np.isinf(intervals[0]).all()):
            raise
    try:
        beyond = limit(objective.in_float(FINE_TOLERANCE), place[0], 2.0)
        if beyond.is_attained and abs(beyond.place) <= abs(place[0]):
            raise CannotEvaluate("the function falls on where its values begin")
        return _least_of_limit(objective, beyond)
    except CannotEvaluate:
        with suppress(CannotEvaluate):
            return refined(objective.in_float(MEDIUM), place)  # values of few digits may be all that can be had
        return refined_from_few_digits(objective.in_float(MEDIUM), place)


def _least_of_limit(objective: Objective, found: Limit) -> Least:
    """The answer for a ``Limit``: an infimum that is only approached, a value common to all places of one sign, or a minimum of
    the series.
    """
    number = objective.context.arithmetic.number
    if found.is_attained and not objective.is_float:
        return newton_minimum(objective, [found.place], FINAL_STEP)
    if found.is_attained:
        try:  # what the series has there says less than a value, and how much less is its error
            value, error = objective.pair([found.place])
            return value, error + abs(value - found.value), [(number(found.place), number(found.place_error))]
        except CannotEvaluate:  # meshes do not reach so far out
            pass
    if found.is_constant:
        at = number(1 if found.place >= 0 else -1)
        value, error = objective.pair([at])
        if abs(value - found.value) <= error + found.error:  # else it is level only further out
            return value, error, [(at, abs(at))]
    if not objective.is_float and found.error > objective.context.tolerance * abs(found.value):
        known = int(-np.log10(found.error / abs(found.value)))
        raise OutOfDigits(
            f"the infimum {found.value:.{known}g} +- {found.error:.0e} is only approached, as {objective.variables[0]} goes "
            f"to {found.place:g}; ask for at most {known} digits, or fix {objective.variables[0]}"
        )
    return number(found.value), number(found.error), [(number(found.place), number(found.place_error))]


def _lowest_on_line(objective: Objective, interval: tuple[float, float]) -> list[float] | Limit:
    """A place near the least value on a line, or the limit that is the infimum."""
    rough, fine = objective.in_float(SCAN_TOLERANCE), objective.in_float(MEDIUM)
    points = _points_on_line(objective, interval)
    rough.float_pairs(points[np.abs(points) <= FIRST_SCALES][:, None])
    underflowed = _underflowed(rough, [interval])
    if underflowed is not None:
        return underflowed  # before values further out, which are dear under so strong a signal
    values, monte_carlo = scan_values(rough, fine, points)
    check_scan_is_complete(objective, [[x] for x in points], values)
    underflowed = _underflowed(rough, [interval])
    if underflowed is not None:
        return underflowed
    points, values = _refined_at_edges(rough, *refined_near_zero(fine, points, values))
    found: list[tuple[float, list[float] | Limit]] = []
    for end in (0, -1):
        ending = known_limit(objective, values, end, interval[end], int(np.sign(points[end])))
        if ending is not None:
            found.append((ending.value, ending))
            values[end] = np.inf
            continue
        points, values, beyond = extended_scan(objective, points, values, end, interval[end])
        if beyond is not None:
            near = beyond.is_attained and abs(beyond.place) <= SCALES[1]
            found.append((beyond.value, [beyond.place] if near else beyond))
    open_ends = []
    for (i,) in local_minima(values):
        around, inside = values[max(i - 1, 0) : i + 2], 0 < i < len(points) - 1
        if not all(may_fall_below(values, i, known) for known, _ in found):
            continue  # a smooth function falls no lower between this point and its neighbours
        if float(points[i]) in monte_carlo:
            raise no_least_value(objective, [points[i]], "its values there are sampled, to two digits")
        if inside and np.isfinite(around).all():
            value, bottom = near_bottom(fine, points[i - 1 : i + 2], around)
            found.append((value, [bottom]))
        elif not inside and np.isfinite(interval[0 if i == 0 else 1]):
            found.append((float(values[i]), [float(points[i])]))
        else:
            open_ends.append(i)
    if open_ends and not any(
        known - (own.error if isinstance(own, Limit) else 0.0) <= values[open_ends[0]] for known, own in found
    ):
        reached = beyond_edge(objective, points, values, open_ends[0])
        found.append((reached.value, reached))
    if not found:
        reason = objective.refused.get((float(points[-1]),))
        raise CannotEvaluate(
            f"the function to minimise has no finite value on the scan{f' ({reason})' if reason else ''}"
        )
    lowest = min(found, key=lambda one: one[0])[1]
    if isinstance(lowest, list) and lowest[0] < 0 and -lowest[0] <= interval[1]:
        here, mirrored = (fine.number([side * lowest[0]]) for side in (1, -1))
        if mirrored - here <= FINE_TOLERANCE * abs(here):  # of an even function the positive place
            return [-lowest[0]]
    return lowest


def _points_on_line(objective: Objective, interval: tuple[float, float]) -> Any:
    """The points of a scan of a line with the extra ones of ``Attended.extra_scan_points`` inside of its last steps."""
    points = distinct(np.concatenate([scan(*interval, POINTS[1]), points_far_out(objective, *interval)]))
    more = np.array(objective.extra_scan_points(points) if objective.extra_scan_points is not None else [])
    low, high = (points[n] if np.isinf(end) else end for n, end in zip((1, -2), interval))
    if objective.is_even and low < 0.0 < high:
        more = np.concatenate([-more[more > 0.0], more[more > 0.0]])
    return distinct(np.concatenate([points, more[(low < more) & (more < high)]]))


def _lowest_in_box(objective: Objective, intervals: list[tuple[float, float]]) -> list[float]:
    """A place near the least value of a function of several variables."""
    rough, fine = objective.in_float(SCAN_TOLERANCE), objective.in_float(FINE_TOLERANCE)
    axes = [scan(*interval, POINTS[2]) for interval in intervals]
    places = list(itertools.product(*axes))
    values = np.array([rough.upper_if_imprecise(*pair) for pair in rough.float_pairs(places)])
    check_scan_is_complete(objective, places, values)
    values = values.reshape([len(x) for x in axes])
    starts = local_minima(values)
    starts = [
        index for index in starts if not 2 * values[index] - np.max(neighbourhood(values, index)) > values[starts[0]]
    ]
    if len(starts) == 1:
        with suppress(CannotEvaluate):  # Newton steps alone, where they end
            place = [
                float(x)
                for x, _ in newton_minimum(fine, [axis[i] for axis, i in zip(axes, starts[0])], FIRST_STEPS[2])[2]
            ]
            if all(low < x < high for x, (low, high) in zip(place, intervals)) and fine.number(place) <= np.min(values):
                return place
    from scipy.optimize import minimize  # takes 0.2 s to load

    # A risk of 1e-50 is level to any tolerance of its own; its logarithm is not.
    is_positive = bool(np.min(values) > 0.0)
    free = all(np.isinf(end) for interval in intervals for end in interval)

    def height(place: Any) -> float:
        """The value or its logarithm; where it has none, as among errors larger than itself, no place is lower."""
        value = fine.number(place)
        if not is_positive:
            return value
        if value <= UNDERFLOW:
            raise StopIteration
        return float(np.log(value))

    found = []
    for index in starts:
        start = [axis[i] for axis, i in zip(axes, index)]
        method, ends = ("BFGS", None) if free else ("L-BFGS-B", intervals)
        try:
            options = {"gtol": 1e-5, "maxiter": 25}
            found.append(minimize(height, start, method=method, jac="3-point", bounds=ends, options=options))
        except StopIteration:
            return _lowest_upper_bound(fine, intervals)[1]
    found = [one for one in found if np.isfinite(one.fun)]
    if not found:
        raise CannotEvaluate("the function to minimise has no finite value near the best points of the scan")
    return [float(x) for x in min(found, key=lambda one: one.fun).x]


def _refined_at_edges(rough: Objective, points: Any, values: Any) -> tuple[Any, Any]:
    """The scan with points added by bisection where the function ceases to be finite, as E[e^{2 a^2 x^2}] does at a = 1/2.

    Only where it does not rise towards that place: such values are expensive and not sought.
    """
    found = list(zip(points, values))
    for k, ((x, own), (y, other)) in enumerate(itertools.pairwise(list(found))):
        if np.isfinite(own) == np.isfinite(other):
            continue
        inside, outside, lowest, before = (x, y, own, k - 1) if np.isfinite(own) else (y, x, other, k + 2)
        if 0 <= before < len(values) and values[before] < lowest:
            continue
        for _ in range(BISECTIONS):
            middle = (inside + outside) / 2
            value = rough.number([middle])
            if np.isfinite(value):
                inside = middle
                found.append((middle, value))
            else:
                outside = middle
    found.sort()
    return np.array([x for x, _ in found]), np.array([value for _, value in found])
