"""Minima found in float64 by a scan over signs and scales, then refined; several local minima are compared."""

from __future__ import annotations

import itertools
from contextlib import suppress
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate, OutOfDigits
from symslr.evaluation.minima.search.bracket import near_bottom
from symslr.evaluation.minima.search.grid import POINTS, STARTS, beside, local_minima, scan
from symslr.evaluation.minima.search.local import Least, bracketed, polished
from symslr.evaluation.minima.search.objective import MEDIUM, Objective, all_looked_at, unknown
from symslr.evaluation.minima.search.outwards import (
    SCALES,
    all_reached,
    beyond_edge,
    far_points,
    followed,
    inwards,
    known_limit,
    outwards,
)
from symslr.evaluation.minima.search.series import Limit, limit
from symslr.evaluation.minima.search.told_apart import may_fall_to, told_apart
from symslr.evaluation.minima.search.valley import FINE, POLISH, REACHES, refined, roughly
from symslr.evaluation.quadrature.scan import distinct

ROUGH = 1e-4
"""Tolerance of the scan: it compares values that differ by more."""
BISECTIONS = 4
"""Steps towards the end of the interval on which a function is finite."""
VANISHED = 1e-300
"""Below this, float64 has lost a value that is not negative."""
NEARBY = SCALES[1] / 3.0
"""Scales up to which values are looked at first: where one of them has vanished no other is asked for."""
RESCAN = 13
"""Points of a grid between two whole searches."""


class Continuation:
    """Minima at neighbouring parameters, from which the next one is extrapolated."""

    def __init__(self, start: list[float] | None = None) -> None:
        self.places: list[list[float]] = [] if start is None else [start]
        self.side = 0.0
        self.since_search = 0

    def followed(self, objective: Objective, intervals: list[tuple[float, float]]) -> Least | None:
        """The minimum that continues those before; None where a whole search is due."""
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
                    return self.join(objective, result, intervals)
        beyond = outwards(objective, self.side) if self.side else None
        return None if beyond is None or abs(beyond.place) <= _edge(objective) else _taken(objective, beyond)

    def join(self, objective: Objective, result: Least, intervals: list[tuple[float, float]]) -> Least:
        """The next point starts from this one; on the series where this lies so far out that values are dear."""
        place = [float(x) for x, _ in result[2]]
        is_far = len(place) == 1 and np.isinf(intervals[0]).all() and abs(place[0]) > 2 * _edge(objective)
        self.side = float(np.sign(place[0])) if is_far else 0.0
        self.places = [] if is_far else [*self.places[-1:], place]
        return result

    def begin(self, objective: Objective, result: Least, intervals: list[tuple[float, float]]) -> Least:
        """A place found by a whole search."""
        self.since_search = 0
        return self.join(objective, result, intervals)


def _edge(objective: Objective) -> float:
    """The scale up to which features of the kernel are met."""
    return max(SCALES[1], objective.feature_scale)


def least(objective: Objective, intervals: list[tuple[float, float]], known: Continuation | None = None) -> Least:
    """(value, error, [(place, error)]) of the least value over a box.

    Args:
        objective: the function.
        intervals: a closed interval for every variable.
        known: the places found at neighbouring parameters; it gets the new one. Every few points the whole box is scanned
            again.

    Raises:
        CannotEvaluate: when the function has no value on the scan, or its least value lies at infinity.
    """
    continuation = Continuation() if known is None else known
    with np.errstate(all="ignore"):
        found = continuation.followed(objective, intervals)
        if found is not None:
            return found
        found = _searched(objective, intervals)
        all_reached(objective, intervals, found)
        return continuation.begin(objective, found, intervals)


def _searched(objective: Objective, intervals: list[tuple[float, float]]) -> Least:
    """A whole search, from many starts; never above a value that was met on the way.

    Raises:
        CannotEvaluate: as ``least``.
    """
    found = _or_zero(objective, intervals, _from_starts(objective, intervals))
    for _ in range(STARTS):
        lower = _met_below(objective, intervals, float(found[0]) - float(found[1]))
        if lower is None:
            hidden = _hidden(objective, intervals, float(found[0])) if objective.is_float else 0.0
            return found if hidden <= float(found[1]) else (found[0], hidden, [(x, np.inf) for x, _ in found[2]])
        try:
            found = refined(objective, lower)
        except CannotEvaluate as reason:
            raise unknown(objective, lower, reason) from reason
    raise OutOfDigits("the minimum could not be refined: lower values lie beside it")


def _or_zero(objective: Objective, intervals: list[tuple[float, float]], found: Least) -> Least:
    """The value at 0 where that is lower than one found beside it, as where a kink lies at 0: no steps from beside it end there.

    Else what the function tends to at 0, where it falls on towards it.
    """
    at = found[2][0][0]
    if len(intervals) > 1 or not (0 < abs(at) < SCALES[0] and intervals[0][0] <= 0 <= intervals[0][1]):
        return found
    zero = objective.context.arithmetic.number(0)
    try:
        value, error = objective.pair([zero])
        is_lower = value + error < found[0] - found[1] and 0 not in intervals[0]
        beside = [objective.pair([side * at / 2]) for side in (-1, 1)] if is_lower else []
    except (CannotEvaluate, ArithmeticError):
        is_lower = False
    if not is_lower:
        return _towards_zero(objective, found)
    if all(own - doubt > value + error for own, doubt in beside):
        return value, error, [(zero, abs(at) / 2)]
    return bracketed(objective, 0.0)


def _towards_zero(objective: Objective, found: Least) -> Least:
    """The limit at 0 where the function is no higher nearer to it, as of sin(a x): at 0 itself the kernel vanishes.

    Such a limit is flat to the fourth order, and Newton steps towards it end early.
    """
    value, error, ((at, doubt),) = found
    fine = objective.rough(FINE)
    if abs(at) <= doubt or fine.known([at / 4])[0] > value + error:
        return found
    try:
        nearer = limit(fine, float(at), 0.5)
    except CannotEvaluate:
        return value, error, [(at, max(doubt, abs(at)))]
    return found if nearer.is_attained or nearer.level else _taken(objective, nearer)


def _lowest_seen(objective: Objective, intervals: list[tuple[float, float]]) -> tuple[float, list[float]]:
    """(the most that the lowest value computed may be, its place) within a box."""
    return min((one[:2] for one in _seen(objective, intervals)), default=(np.inf, []))


def _seen(objective: Objective, intervals: list[tuple[float, float]]) -> list[tuple[float, list[float], float]]:
    """(the most that it may be, place, error) of all values computed within a box."""
    return [one for one in objective.seen if all(low <= x <= high for x, (low, high) in zip(one[1], intervals))]


def _hidden(objective: Objective, intervals: list[tuple[float, float]], least: float) -> float:
    """By how much a value that was computed is lower than another one, which its own error leaves open: as that of
    tanh(2 a x - 8) + 1 at a = 0.15, which rounding keeps from its digits."""
    best: dict[tuple[float, ...], tuple[float, float]] = {}
    for most, at, error in _seen(objective, intervals):
        best[tuple(at)] = min(best.get(tuple(at), (np.inf, np.inf)), (error, most - error))
    return max((least - value for error, value in best.values() if error < abs(value)), default=0.0)


def _met_below(objective: Objective, intervals: list[tuple[float, float]], least: float) -> list[float] | None:
    """The place of the lowest value that was computed, where it is below another also when it is computed well."""
    lowest, place = _lowest_seen(objective, intervals)
    return place if lowest < least and sum(objective.rough(FINE).known(place)) < least else None


def _vanished(objective: Objective, intervals: list[tuple[float, float]]) -> list[float] | None:
    """A place with the value 0 as far as float64 names numbers, as of risks near e^(-nu/8): none is lower if none is negative."""
    lowest, place = _lowest_seen(objective, intervals)
    return place if 0.0 <= lowest <= VANISHED and objective.pair(place)[0] >= 0.0 else None


def _from_starts(objective: Objective, intervals: list[tuple[float, float]]) -> Least:
    """The least of what is found from many starts."""
    on_line = len(intervals) == 1
    place = _lowest_on_line(objective, intervals[0]) if on_line else _lowest_in_box(objective, intervals)
    if isinstance(place, Limit):
        return _taken(objective, place)
    vanished = _vanished(objective, intervals)
    if vanished is not None:
        if not objective.is_float:
            raise OutOfDigits(f"the least value is below {VANISHED:g}, beyond float64, in which its place is sought")
        value, error = objective.pair(vanished)
        return value * 0, value + error, [(x, np.inf) for x in vanished]
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
        beyond = limit(objective.rough(FINE), place[0], 2.0)
        if beyond.is_attained and abs(beyond.place) <= abs(place[0]):
            raise CannotEvaluate("the function falls on where its values begin")
        return _taken(objective, beyond)
    except CannotEvaluate:
        with suppress(CannotEvaluate):
            return refined(objective.rough(MEDIUM), place)  # values of few digits may be all that can be had
        return roughly(objective.rough(MEDIUM), place)


def _taken(objective: Objective, found: Limit) -> Least:
    """An infimum that no place attains, or that all places of one sign do, or a minimum of the series itself."""
    number = objective.context.arithmetic.number
    if found.is_attained and not objective.is_float:
        return polished(objective, [found.place], POLISH)
    if found.is_attained:
        try:  # what the series has there says less than a value, and how much less is its error
            value, error = objective.pair([found.place])
            return value, error + abs(value - found.value), [(number(found.place), number(found.doubt))]
        except CannotEvaluate:  # meshes do not reach so far out
            pass
    if found.level:
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
    return number(found.value), number(found.error), [(number(found.place), number(found.doubt))]


def _lowest_on_line(objective: Objective, interval: tuple[float, float]) -> list[float] | Limit:
    """A place near the least value, or what the function falls to."""
    rough, fine = objective.rough(ROUGH), objective.rough(MEDIUM)
    points = _points(objective, interval)
    rough.all_known(points[np.abs(points) <= NEARBY][:, None])
    vanished = _vanished(rough, [interval])
    if vanished is not None:
        return vanished  # before values further out, which are dear under so strong a signal
    values, dear = told_apart(rough, fine, points)
    all_looked_at(objective, [[x] for x in points], values)
    vanished = _vanished(rough, [interval])
    if vanished is not None:
        return vanished
    points, values = _to_the_edge(rough, *inwards(fine, points, values))
    found: list[tuple[float, list[float] | Limit]] = []
    for end in (0, -1):
        ending = known_limit(objective, values, end, interval[end], int(np.sign(points[end])))
        if ending is not None:
            found.append((ending.value, ending))
            values[end] = np.inf
            continue
        points, values, beyond = followed(objective, points, values, end, interval[end])
        if beyond is not None:
            near = beyond.is_attained and abs(beyond.place) <= SCALES[1]
            found.append((beyond.value, [beyond.place] if near else beyond))
    edges = []
    for (i,) in local_minima(values):
        around, inside = values[max(i - 1, 0) : i + 2], 0 < i < len(points) - 1
        if not all(may_fall_to(values, i, known) for known, _ in found):
            continue  # a smooth function falls no lower between this point and its neighbours
        if float(points[i]) in dear:
            raise unknown(objective, [points[i]], "its values there are sampled, to two digits")
        if inside and np.isfinite(around).all():
            value, bottom = near_bottom(fine, points[i - 1 : i + 2], around)
            found.append((value, [bottom]))
        elif not inside and np.isfinite(interval[0 if i == 0 else 1]):
            found.append((float(values[i]), [float(points[i])]))
        else:
            edges.append(i)
    if edges and not any(
        known - (own.error if isinstance(own, Limit) else 0.0) <= values[edges[0]] for known, own in found
    ):
        reached = beyond_edge(objective, points, values, edges[0])
        found.append((reached.value, reached))
    if not found:
        reason = objective.refused.get((float(points[-1]),))
        raise CannotEvaluate(
            f"the function to minimise has no finite value on the scan{f' ({reason})' if reason else ''}"
        )
    lowest = min(found, key=lambda one: one[0])[1]
    if isinstance(lowest, list) and lowest[0] < 0 and -lowest[0] <= interval[1]:
        here, mirrored = (fine.number([side * lowest[0]]) for side in (1, -1))
        if mirrored - here <= FINE * abs(here):  # of an even function the positive place
            return [-lowest[0]]
    return lowest


def _points(objective: Objective, interval: tuple[float, float]) -> Any:
    """The places of a scan of a line, and closer ones; none of those beyond the last step at an open end."""
    points = distinct(np.concatenate([scan(*interval, POINTS[1]), far_points(objective, *interval)]))
    more = np.array(objective.extra_scan_points(points) if objective.extra_scan_points is not None else [])
    low, high = (points[n] if np.isinf(end) else end for n, end in zip((1, -2), interval))
    if objective.is_even and low < 0.0 < high:
        more = np.concatenate([-more[more > 0.0], more[more > 0.0]])
    return distinct(np.concatenate([points, more[(low < more) & (more < high)]]))


def _lowest_in_box(objective: Objective, intervals: list[tuple[float, float]]) -> list[float]:
    """A place near the least value of a function of several variables."""
    rough, fine = objective.rough(ROUGH), objective.rough(FINE)
    axes = [scan(*interval, POINTS[2]) for interval in intervals]
    places = list(itertools.product(*axes))
    values = np.array([rough.numbered(*pair) for pair in rough.all_known(places)])
    all_looked_at(objective, places, values)
    values = values.reshape([len(x) for x in axes])
    starts = local_minima(values)
    starts = [index for index in starts if not 2 * values[index] - np.max(beside(values, index)) > values[starts[0]]]
    if len(starts) == 1:
        with suppress(CannotEvaluate):  # Newton steps alone, where they end
            place = [float(x) for x, _ in polished(fine, [axis[i] for axis, i in zip(axes, starts[0])], REACHES[2])[2]]
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
        if value <= VANISHED:
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
            return _lowest_seen(fine, intervals)[1]
    found = [one for one in found if np.isfinite(one.fun)]
    if not found:
        raise CannotEvaluate("the function to minimise has no finite value near the best points of the scan")
    return [float(x) for x in min(found, key=lambda one: one.fun).x]


def _to_the_edge(rough: Objective, points: Any, values: Any) -> tuple[Any, Any]:
    """The scan with points added where the function ceases to be finite, as E[e^{2 a^2 x^2}] does at a = 1/2.

    Not where it rises towards that place: such a value is dear, and none that is sought.
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
