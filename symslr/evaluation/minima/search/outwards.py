"""A function followed outwards from the end of a scan, and the series in the inverse of its variable that says what lies beyond."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate, NoLeastValue
from symslr.evaluation.minima.search.objective import MEDIUM, STRICT, Objective, unknown
from symslr.evaluation.minima.search.series import FEWEST, SPAN, USEFUL, Limit, limit
from symslr.evaluation.minima.search.valley import FINE
from symslr.evaluation.nodes.node import Pair

SCALES = (0.04, 16.0)
"""Where a scan of the line begins; it goes on outwards while the function falls."""
NEARER, OUTWARDS = SCALES[1] / 2.0, 1.75
"""First place and ratio of the series for large places, exact in float64, so that one series has the values of another: they cost
the more the further out they lie. A fall at the end of the scan is followed at these places."""
ASKED, FARTHEST = 4, 8
"""Steps outwards: from where on the series is asked, and beyond which one that the series does not give is followed on as long
as it is seen to fall: log(1 + x) under Lomax's laws has its minimum at 6600, a kernel of x/1000 a thousand times as far out."""
PAST = 3
"""Steps that a scan goes on beyond the first one at which the farthest feature of a kernel is met: five times as far out."""
FLAT = 1e-2
"""A fall per step, relative, below which an end that is not the lowest is followed no further."""
GOES_ON = 10.0
"""Falls as large as the last one that may be left: from 13.5 to 16, places of a scan, 1/a falls by a sixth of what is left."""
ENOUGH = 100.0
"""Error with which such a series is taken, in units of the tolerance; it is the error of the result."""
SHARP = 1e-9
"""The tolerance of a series for few digits: with values to 1e-6 one of log(1 + x^2) had 0.898966 +- 9e-6 at infinity, in the place
of 0.898984 at 92178."""
POOR = 1e-2
"""Relative error with which a limit is taken where there is nothing else: two digits are better than no answer."""
ENDING, SURE = 1e-5, 10.0
"""Tolerance of values that are held against a known limit, and the errors that are left of them above it."""
STEEPEST = 3
"""Power of 1/a at most, as of softplus beside many tokens."""
NEARING, KEPT, SLACK = 0.25, 0.7, 0.005
"""How far from that of the power, 1/1.75 of the first, the ratio of two may be, the part of that which the next one has at least
where it lies above, and what its errors may hide: log(a)/a has 0.12, 0.10 and 0.09 from 14 to 75, exp(x) + x^2 at L = 2, nu = inf
some 0.2."""
FURTHEST, NEAREST = 1e6, 1e-12
"""Scales up to which a scan goes to meet a feature of the kernel, and down to which it follows a fall towards 0."""
LEAP, STRIDE = 0.1, 4.0
"""A move of a function between 0 and the place beside it, relative, by which 10^-9 + x^2 shows that it turns nearer by; and by how
much nearer the next place is."""


def first_step(objective: Objective) -> int:
    """The first step outwards beyond which no feature of the kernel is to be met: 0, the least, where a scan meets all of them.

    Before it a kernel that changes far out is constant, and a series through such values would be a constant, too.
    """
    if not SCALES[1] < objective.feature_scale <= FURTHEST:
        return 0
    return int(np.ceil(np.log(objective.feature_scale / NEARER) / np.log(OUTWARDS)))


def far_points(objective: Objective, low: float, high: float) -> Any:
    """The places of a scan beyond the usual ones, on the open sides of an interval; none where features lie nearer by."""
    first = first_step(objective)
    if first == 0:
        return np.array([])
    steps = np.arange(2, first + PAST + 1)
    sides = [side for side, end in ((-1.0, low), (1.0, high)) if np.isinf(end)]
    points = np.outer(sides, NEARER * OUTWARDS**steps).ravel()
    return points[(points >= low) & (points <= high)]


def inwards(objective: Objective, points: Any, values: Any) -> tuple[Any, Any]:
    """The scan with more places on both sides of 0, where the function falls from there and then rises, or has another value at 0
    than beside it: none is as small as 1/1000, from where on tanh(a x) + 1/1000 changes."""
    for side in (-1, 1):
        zero = int(np.searchsorted(points, 0.0))
        while zero + min(side, 0) > 0 and zero + side + 1 < len(points) and points[zero] == 0.0:
            near = zero + side
            falls = values[near] < min(values[zero], values[near + side])
            leaps = abs(values[near] - values[zero]) > LEAP * abs(values[zero])
            if not np.isfinite(values[[zero, near]]).all() or abs(points[near]) < NEAREST or not (falls or leaps):
                break
            place, where = points[near] / (OUTWARDS if falls else STRIDE), max(zero, near)
            points, values = np.insert(points, where, place), np.insert(values, where, objective.number([place]))
            zero += side < 0
    return points, values


def known_limit(objective: Objective, values: Any, end: int, edge: float, side: int) -> Limit | None:
    """What the function is known to tend to beyond an end of the scan, where it falls towards that on the way as a power of 1/a.

    What is left above the limit falls by the ratio of a power of 1/a, or by a larger one, as with log(a)/a. Before a bottom
    further out, which lies below the limit, the ratios fall. Values of few digits show this; a series needs sharp ones far out.
    """
    if objective.limit is None or not objective.is_float or first_step(objective) > 0 or not _falls(values, end, edge):
        return None
    try:
        found = objective.limit(side)
    except (CannotEvaluate, ArithmeticError):
        return None
    if found is None or not np.isfinite(sum(found)):
        return None
    sharper = (objective.rough(ENDING), _far(objective))
    return next(filter(None, (_nears(own, (float(found[0]), float(found[1])), side) for own in sharper)), None)


def _nears(objective: Objective, limit: Pair, side: int) -> Limit | None:
    """A limit, where values show that the function falls towards it; higher powers of 1/a leave the room for a shallow bottom."""
    above: list[Pair] = []
    for step in range(ASKED, 0, -1):  # a bottom nearer by shows at the outermost
        value, error = objective.known([side * NEARER * OUTWARDS**step])
        above.append((value - limit[0], error + limit[1]))
        if not above[-1][0] > SURE * above[-1][1]:
            return None
    left, errors = np.array(above[::-1]).T
    ratios, slack = left[1:] / left[:-1], SLACK + 2.0 * float(np.max(errors / left))
    power = max(1, round(-log(ratios[-1]) / log(OUTWARDS)))
    usual = OUTWARDS**-power
    over, near = ratios - usual, NEARING * usual * OUTWARDS
    if (
        power > STEEPEST
        or np.any(np.abs(over) > near)
        or np.any(over[1:] < np.minimum(over[:-1], KEPT * over[:-1]) - slack)
    ):
        return None
    hidden = 0.0 if power == 1 else slack / usual * float(left[-1])
    return Limit(limit[0], limit[1] + hidden, side * np.inf, False)


def followed(objective: Objective, points: Any, values: Any, end: int, edge: float) -> tuple[Any, Any, Limit | None]:
    """The scan, followed outwards at an end as long as the function falls there, and what the series has beyond.

    Values that only the series tells apart, as those of softplus at L = 100, nu = 10 from 20 to 200, look level to a scan.
    """
    sharp, side, start = _far(objective), float(np.sign(points[end])), first_step(objective)
    if not (_falls(values, end, edge) and np.isfinite(near := sharp.number([side * NEARER * OUTWARDS]))):
        return points, values, None
    if start == 0:
        points[end], values[end] = side * NEARER * OUTWARDS, near
    step, told = start + PAST + 1 if start else 2, _told(objective)
    asked, farthest = max(start + ASKED, told + FEWEST - 1), max(start + FARTHEST, told + FEWEST)
    while True:
        place, where = side * NEARER * OUTWARDS**step, 0 if end == 0 else len(points)
        value, error = _seen_from_afar(objective, place)
        points = np.insert(points, where, place)
        values = np.insert(values, where, objective.numbered(value, error))
        is_known = bool(np.isfinite(values[end]))
        beyond = outwards(objective, side, step if is_known else step - 1) if step >= asked else None
        if beyond is not None:
            values[end] = np.inf
        if (
            beyond is not None
            or not _falls(values, end, edge)
            or (step > farthest and not (_is_told(values, end, error) and abs(place) < FURTHEST))
        ):
            return points, values, beyond
        step += 1


def _told(objective: Objective) -> int:
    """The first step outwards whose value may be part of a series: beyond all features, and where a kernel selects as the law."""
    if not SCALES[1] < objective.selection_scale <= FURTHEST:
        return first_step(objective)
    return max(first_step(objective), int(np.ceil(np.log(objective.selection_scale / NEARER) / np.log(OUTWARDS))))


def _far(objective: Objective) -> Objective:
    """The function at places far out: as sharp as series need."""
    return objective.rough(max(FINE, _wanted(objective) / 10))


def _wanted(objective: Objective) -> float:
    """The tolerance of a series."""
    return min(max(FINE, float(objective.context.tolerance)), SHARP)


def _seen_from_afar(objective: Objective, place: float) -> tuple[float, float]:
    """The value and its error where meshes reach so far out: few digits show whether it rises."""
    return objective.first_known([place], float(_far(objective).context.tolerance), STRICT, MEDIUM)


def outwards(objective: Objective, side: float, last: int | None = None) -> Limit | None:
    """The least value beyond the scan on one side, where a series through values up to the last step outwards gives it."""
    start = _told(objective)
    last = start + SPAN - 1 if last is None else last
    wanted, first = _wanted(objective), max(last - SPAN, start)
    place, useful = side * NEARER * OUTWARDS**first, max(USEFUL, wanted / 2.0)
    try:
        found = limit(_far(objective), place, OUTWARDS, ENOUGH / 3 * wanted, last - first, useful)
    except CannotEvaluate:
        found = None
    if found is None or found.error > ENOUGH * wanted * abs(found.value):
        found = _level(objective, [side * NEARER * OUTWARDS**step for step in range(first, last + 1)])
    return found if found is not None and found.error <= ENOUGH * wanted * abs(found.value) else None


def _level(objective: Objective, places: list[float]) -> Limit | None:
    """The limit of values whose errors hide how they fall to it: from the last one on they move by less than they have."""
    values, errors = np.array([_seen_from_afar(objective, place) for place in places[1 - FEWEST :]]).T
    moved, error = float(np.ptp(values)), float(np.max(errors))
    if not moved <= error < np.inf:
        return None
    return Limit(float(np.min(values)), 2.0 * moved + error, float(np.sign(places[-1])) * np.inf, False)


def beyond_edge(objective: Objective, points: Any, values: Any, i: int) -> Limit:
    """What the function falls to beyond a point of the scan next to which it has no value.

    Raises:
        CannotEvaluate: where that is not a limit. Beside 0 there is none.
    """
    open_ends = [k for k in (i - 1, i + 1) if not (0 <= k < len(points) and np.isfinite(values[k]))]
    if points[i] == 0:
        place = [float(points[open_ends[-1]])]
        raise unknown(objective, place, objective.refused.get(tuple(place), "no digits in float64"))
    to_zero = all(0 <= k < len(points) and abs(points[k]) < abs(points[i]) for k in open_ends)
    back = SPAN if _told(objective) == 0 else FEWEST - 1
    start, factor = (points[i], 0.5) if to_zero else (points[i] / OUTWARDS**back, OUTWARDS)
    try:
        return limit(_far(objective), float(start), factor, useful=POOR)
    except CannotEvaluate as fault:
        text = (
            "the lowest value of the scan is at its end, {} = {}, and beyond it tends to nothing that is seen; give bounds "
            "(--bounds {}:LOW:HIGH on the command line)"
        )
        raise NoLeastValue(text, objective.variables[0], float(points[i]), objective.variables[0]) from fault


def _is_told(values: Any, end: int, error: float) -> bool:
    """Whether the last fall towards an end is told from the error of the last value."""
    last = values[-2] - values[-1] if end else values[1] - values[0]
    return bool(last > SURE * error)


def _falls(values: Any, end: int, edge: float) -> bool:
    """Whether the function falls towards an open end of the scan, and so much that it may become the lowest beyond."""
    if np.isfinite(edge) or len(values) < 2:
        return False
    lower = values[1 if end == 0 else -2] - values[end]
    return bool(lower > 0 and (values[end] - np.min(values) <= GOES_ON * lower or lower >= FLAT * abs(values[end])))


def all_reached(objective: Objective, intervals: list[tuple[float, float]], found: tuple[Any, Any, list[Pair]]) -> None:
    """Nothing, where a search has met all that a kernel does.

    Raises:
        CannotEvaluate: where the kernel changes so far out that no scale of the search meets it.
    """
    if len(intervals) > 1 or not np.isinf(intervals[0]).any() or objective.feature_scale <= FURTHEST:
        return
    if not objective.feature_scale <= abs(float(found[2][0][0])) < np.inf:
        name = objective.variables[0]
        raise CannotEvaluate(
            f"the least value is not known: the kernel changes so far out that only {name} near "
            f"{objective.feature_scale:.2g} meets it, and "
            f"values are searched up to {FURTHEST:g}; give bounds (--bounds {name}:LOW:HIGH on the command line)"
        )
