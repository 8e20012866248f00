"""Minima found in float64 by a scan over signs and scales, then refined; several local minima are compared."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.minima.at_infinity import Limit, limit
from symslr.evaluation.minima.golden_section import bracketed
from symslr.evaluation.minima.objective import Objective
from symslr.evaluation.minima.profile import along_the_valley, refined
from symslr.evaluation.minima.refine import Least, polished

ROUGH = 1e-4
MEDIUM = 1e-7
FINE = 1e-12
RESCAN = 13
"""Points of a grid between two whole searches."""
FLAT = 1e-2
"""A fall per doubling, relative, below which an end that is not the lowest is followed no further."""
SCALES = (0.04, 16.0)
"""Where a scan of the line begins; it goes on outwards while the function falls."""
DOUBLINGS = 3
"""Beyond the scan; a function that still falls there has a limit, or none that is of use."""
INSIDE = 32.0
"""A limit is extrapolated from so much nearer than where values can no longer be had."""
OUTSIDE = 2.0
"""The series for large places begins so much nearer than the end of the scan."""
OUTWARDS = 1.8
"""Ratio of its places: values cost the more the further out they lie."""
SHORT = 5
"""Steps of the series."""
ENOUGH = 100.0
"""Error with which such a series is taken, in units of the tolerance; it is the error of the result."""
BISECTIONS = 4
"""Steps towards the end of the interval on which a function is finite."""
STARTS = 3
"""Local minima of the scan that are refined."""


class Continuation:
    """Minima at neighbouring parameters, from which the next one is extrapolated."""

    def __init__(self) -> None:
        self._places: list[list[float]] = []
        self._since_scan = 0
        self._far: float | None = None

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
        """Whether a new place continues the continuation, which it then joins."""
        smooth = all(abs(new - old) <= 0.4 * abs(old) + 0.05 for new, old in zip(place, self._places[-1]))
        if smooth:
            self._places = [*self._places[-1:], place]
        return smooth

    def begin(self, place: list[float]) -> None:
        """A place found by a whole search."""
        self._places, self._since_scan, self._far = [*self._places[-1:], place], 0, None

    def left(self, start: float) -> None:
        """The least value lies beyond this place or is only approached there."""
        self._places, self._since_scan, self._far = [], 0, start

    @property
    def far(self) -> float | None:
        """Where the series for large places began, if the last least value was found by it."""
        return None if self._since_scan > RESCAN else self._far

    def forget(self) -> None:
        """Nothing is known about the next place."""
        self._places, self._far = [], None


def scan_points(low: float, high: float, count: int) -> Any:
    """Both signs on a logarithmic scale where the line is unbounded, equal steps where it is not."""
    if np.isfinite(low) and np.isfinite(high):
        return np.linspace(low, high, 2 * count + 1)
    positive = np.geomspace(*SCALES, count)
    points = np.concatenate([-positive[::-1], [0.0], positive])
    return points[(points >= low) & (points <= high)]


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
        start = continuation.next_start()
        if start is not None and all(low < x < high for x, (low, high) in zip(start, intervals)):
            try:
                result = refined(objective, start)
            except CannotEvaluate:
                continuation.forget()
            else:
                if continuation.agrees([float(x) for x, _ in result[2]]):
                    _mark_far(continuation, intervals, result)
                    return result
        if continuation.far is not None:
            found = _series(objective, continuation.far)
            if found is not None and not abs(found.place) <= SCALES[1]:
                return _approached(objective, found)
        return _searched(objective, intervals, continuation)


def _series(objective: Objective, start: float) -> Limit | None:
    """The least value beyond a place, where a series in its inverse gives it."""
    wanted = max(FINE, float(objective.context.tolerance))
    try:
        found = limit(objective.rough(max(FINE, wanted / 10)), start, OUTWARDS, ENOUGH / 3 * wanted, SHORT)
    except CannotEvaluate:
        return None
    return found if found.error <= ENOUGH * wanted * abs(found.value) else None


def _searched(objective: Objective, intervals: list[tuple[float, float]], continuation: Continuation) -> Least:
    """A whole search, from many starts."""
    line = len(intervals) == 1
    place = _refined_line(objective, intervals[0]) if line else _refined_box(objective, intervals)
    if isinstance(place, Limit):
        result = _approached(objective, place)
        _mark_far(continuation, intervals, result)
        return result
    if any(x in interval for x, interval in zip(place, intervals)):
        return _on_the_boundary(objective, place)
    if objective.context.arithmetic.name != "numpy":
        near = [float(x) for x, _ in refined(objective.rough(FINE), place)[2]]
        try:
            return polished(objective, near, 1e-6)
        except CannotEvaluate:
            if line:
                return bracketed(objective, near[0])
            return along_the_valley(objective, near)
    try:
        result = refined(objective, place)
    except CannotEvaluate:
        if not line or np.isfinite(intervals[0]).any():
            raise
        try:
            return _approached(objective, limit(objective.rough(FINE), place[0], 2.0))
        except CannotEvaluate:
            result = refined(objective.rough(MEDIUM), place)  # values of few digits may be all that can be had
    continuation.begin([float(x) for x, _ in result[2]])
    _mark_far(continuation, intervals, result)
    return result


def _mark_far(continuation: Continuation, intervals: list[tuple[float, float]], result: Least) -> None:
    """The next point begins with the series where this one lies so far out that values are dear."""
    place = float(result[2][0][0])
    if len(intervals) == 1 and np.isinf(intervals[0]).all() and abs(place) > 2 * SCALES[1]:
        continuation.left(float(np.sign(place)) * SCALES[1] / OUTSIDE)


def _on_the_boundary(objective: Objective, place: list[float]) -> Least:
    """A least value at the end of an interval that the caller gave."""
    if len(place) > 1:
        raise CannotEvaluate(f"the least value lies on the boundary, at {place}; widen the bounds or fix that variable")
    at = [objective.context.arithmetic.number(x) for x in place]
    value, error = objective.pair(at)
    return value, error, [(x, x * 0) for x in at]


def _approached(objective: Objective, limit: Limit) -> Least:
    """An infimum that no place attains, or that all places of one sign do."""
    number = objective.context.arithmetic.number
    if limit.is_attained and objective.context.arithmetic.name != "numpy":
        return polished(objective, [limit.place], 1e-6)
    if limit.level:
        at = number(1 if limit.place >= 0 else -1)
        return *objective.pair([at]), [(at, abs(at))]
    if objective.context.arithmetic.name != "numpy" and limit.error > objective.context.tolerance * abs(limit.value):
        known = int(-np.log10(limit.error / abs(limit.value)))
        raise CannotEvaluate(
            f"the infimum {limit.value:.{known}g} +- {limit.error:.0e} is only approached, as {objective.variables[0]} goes "
            f"to {limit.place:g}; ask for at most {known} digits, or fix {objective.variables[0]}"
        )
    return number(limit.value), number(limit.error), [(number(limit.place), number(limit.doubt))]


def _refined_line(objective: Objective, interval: tuple[float, float]) -> list[float] | Limit:
    from scipy.optimize import minimize_scalar  # loaded for a search only

    rough, fine = objective.rough(ROUGH), objective.rough(MEDIUM)
    points = scan_points(*interval, 10)
    values = np.array([rough.number([x]) for x in points])
    points, values = _to_the_edge(rough, points, values)
    best: tuple[float, list[float] | Limit] | None = None
    for end in (0, -1):
        if _falls(points, values, end, interval[end]):
            points, values = _extended(rough, points, values, end, 1)
        if _falls(points, values, end, interval[end]):
            beyond = _series(objective, float(np.sign(points[end])) * SCALES[1] / OUTSIDE)
            if beyond is None:
                points, values = _extended(rough, points, values, end)
            elif best is None or beyond.value < best[0]:
                near = beyond.is_attained and abs(beyond.place) <= SCALES[1]
                best = beyond.value, [beyond.place] if near else beyond
                values[end] = np.inf
            else:
                values[end] = np.inf
    edge: int | None = None
    for i in _local_minima(values):
        if best is not None and _bottom(values, i) > best[0]:
            continue
        inside = 0 < i < len(points) - 1
        if inside and np.isfinite(values[i - 1]) and np.isfinite(values[i + 1]):
            found = minimize_scalar(
                lambda x: fine.number([x]),
                bounds=(points[i - 1], points[i + 1]),
                method="bounded",
                options={"xatol": 1e-2 * abs(points[i]) + 1e-5},
            )
            candidate = (float(found.fun), [float(found.x)])
        elif not inside and np.isfinite(interval[0 if i == 0 else 1]):
            candidate = (float(values[i]), [float(points[i])])
        else:
            edge = i if edge is None or values[i] < values[edge] else edge
            continue
        if best is None or candidate[0] < best[0]:
            best = candidate
    if edge is not None and (best is None or values[edge] < best[0]):
        reached = _beyond(objective, points, values, edge)
        best = (reached.value, reached) if best is None or reached.value < best[0] else best
    if best is None:
        raise CannotEvaluate(
            f"the function to minimise has no finite value on the scan{_why(fine, [float(points[-1])])}"
        )
    return best[1]


def _why(objective: Objective, place: list[float]) -> str:
    """What is said where there is no value."""
    try:
        objective.pair(place)
    except (CannotEvaluate, ArithmeticError) as fault:
        return f" ({fault})"
    return ""


def _beyond(objective: Objective, points: Any, values: Any, i: int) -> Limit:
    """What the function falls to beyond a point of the scan next to which it has no value.

    Raises:
        CannotEvaluate: where that is not a limit.
    """
    outwards = [k for k in (i - 1, i + 1) if not (0 <= k < len(points) and np.isfinite(values[k]))]
    to_zero = all(0 <= k < len(points) and abs(points[k]) < abs(points[i]) for k in outwards)
    start = points[i] if to_zero else points[i] / INSIDE
    try:
        return limit(
            objective.rough(max(FINE, float(objective.context.tolerance) / 10)), float(start), 0.5 if to_zero else 2.0
        )
    except CannotEvaluate as fault:
        raise CannotEvaluate(
            f"the function falls towards {points[i]:.3g}, beyond which it could not be evaluated ({fault}); give bounds "
            f"(--bounds {objective.variables[0]}:LOW:HIGH on the command line)"
        ) from fault


def _to_the_edge(rough: Objective, points: Any, values: Any) -> tuple[Any, Any]:
    """The scan with points added where the function ceases to be finite, as E[e^{2 a^2 x^2}] does at a = 1/2.

    Not where it rises towards that place: such a value is dear, and none that is sought.
    """
    found = list(zip(points, values))
    for k, ((x, own), (y, other)) in enumerate(itertools.pairwise(list(found))):
        inside, outside = (x, y) if np.isfinite(own) else (y, x)
        if np.isfinite(own) == np.isfinite(other):
            continue
        before = k - 1 if np.isfinite(own) else k + 2
        if 0 <= before < len(values) and values[before] < (own if np.isfinite(own) else other):
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


def _falls(points: Any, values: Any, end: int, limit: float) -> bool:
    """Whether the function falls towards an open end of the scan, and so much that it may become the lowest beyond."""
    if np.isfinite(limit) or len(points) < 2:
        return False
    lower = values[1 if end == 0 else -2] - values[end]
    return bool(lower > 0 and (values[end] <= np.min(values) or lower >= FLAT * abs(values[end])))


def _bottom(values: Any, i: int) -> float:
    """What a smooth function may fall to between a point of the scan and its neighbours, generously."""
    around = values[max(i - 1, 0) : i + 2]
    return float(values[i] - np.max(around, where=np.isfinite(around), initial=values[i]) + values[i])


def _extended(rough: Objective, points: Any, values: Any, end: int, doublings: int = DOUBLINGS) -> tuple[Any, Any]:
    """The scan, continued beyond an open end while the function falls there."""
    for _ in range(doublings):
        if not _falls(points, values, end, np.inf):
            return points, values
        further = 2.0 * points[end]
        where = 0 if end == 0 else len(points)
        points = np.insert(points, where, further)
        values = np.insert(values, where, rough.number([further]))
    return points, values


def _local_minima(values: Any) -> list[int]:
    """Indices of the lowest few local minima."""
    padded = np.concatenate([[np.inf], values, [np.inf]])
    lowest = np.flatnonzero((padded[1:-1] <= padded[:-2]) & (padded[1:-1] <= padded[2:]) & np.isfinite(values))
    return [int(i) for i in sorted(lowest, key=lambda i: values[i])[:STARTS]]


def _refined_box(objective: Objective, intervals: list[tuple[float, float]]) -> list[float]:
    from scipy.optimize import minimize  # loaded for a search only

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
    return [float(x) for x in best.x]


def _box_minima(values: Any) -> list[tuple[int, ...]]:
    found = []
    for index in np.ndindex(values.shape):
        block = values[tuple(slice(max(i - 1, 0), i + 2) for i in index)]
        if np.isfinite(values[index]) and values[index] <= np.min(block):
            found.append(index)
    return sorted(found, key=lambda i: values[i])[:STARTS]
