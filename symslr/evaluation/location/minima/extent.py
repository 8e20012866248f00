"""How far the place of a least risk may lie from the one that a search found, and how far the risk may fall between the two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate

LARGEST_SCALE = 60.0
"""A scale at which attention is taken as what it tends to, where the least risk lies there; no parameter is searched beyond."""
STEP = 1e-2
"""Of second differences, relative to 1 + the size of a parameter."""
SWEEPS = (1e-2, 1e-2, 1e-3, 1e-4)
"""Steps by which a walk aside goes back to the floor of a valley, which bends, and whose axes rounding tilts."""
NEAREST, LONGEST = 1e-4, 0.25
"""The first step of a walk at least and at most, relative to 1 + the size of a parameter."""
CRUDE = 8.0
"""A first step that was too long on both sides is made so many times shorter."""
MOST_MOVES = 60
"""So often a lower place that turns up is taken instead."""

DESCENTS, SHORTER = 60, 4.0
"""Newton steps of a search at most; where the risk is not lower after one it is made so many times shorter."""
UNBOUNDED, LEAST_BEND = 1e6, 1e-300
"""Stand for a risk without a value, and for a second difference of 0."""
APART = 0.05
"""Of differences on random points, relative to 1 + the size of a parameter: a selection has kinks."""
CLOSER, WIDE = 64.0, 4.0
"""By so much the steps of differences become smaller, but for so many times what the place may be off."""
NEWTON = 12
"""Steps of Newton at most, each no longer than those of the differences."""
CLOSEST = 1e-4
"""Steps of differences become no shorter, relative to 1 + the size of a parameter."""
SETTLED = 1e-1
"""A step of Newton so short, in steps of the differences, is the last one."""

Valued = Callable[[Any], tuple[float, float]]
"""A place (n,) -> the risk there, and its error."""


@dataclass(frozen=True)
class Valley:
    """Where a risk is least, as far as its error tells.

    Attributes:
        place: (n,).
        extents: (2, n), how far below it and above it a box reaches that holds all places which the error does not tell from it.
        fall: what the risk may be lower at the best of them, beyond its error.
    """

    place: Any
    extents: Any
    fall: float


def valley(
    rough: Callable[[Any], float],
    valued: Valued,
    descend: Callable[[Any], Any],
    place: Any,
    least: Any,
) -> Valley:
    """The places around the one that a search found whose risk is not larger by more than the errors.

    Along each axis of the second differences one walks out in both directions, by steps that double, until the risk has grown
    by more than its errors, and keeps to the floor of the valley along the other axes. Where the risk has fallen by more than
    its errors the walk begins anew from there.

    Args:
        rough: the risk that was searched, quick and smooth.
        valued: the risk with its error.
        descend: from a place (n,) to one where the risk is least, for a lower place that turns up.
        place: (n,), where the search ended.
        least: (n,), what no extent is smaller than: how far the search may have ended from where it should.

    Raises:
        CannotEvaluate: where lower places turn up without end.
    """
    middle = valued(place)
    for _ in range(MOST_MOVES):
        sizes = 1 + np.abs(place)
        axes, bends = _axes(rough, place, STEP * sizes)
        firsts = _first_steps(bends, 2 * middle[1])
        extents, fall = np.zeros((2, len(place))), 0.0
        lower: _End | None = None
        for k, axis in enumerate(axes.T):
            others = (np.delete(axes, k, axis=1) * sizes[:, None]).T
            floor = partial(_lowered, rough, others)
            first, found = firsts[k], list[_End]()
            while not found or (lower is None and first > NEAREST and not any(end.doublings for end in found)):
                first = max(first / CRUDE, NEAREST) if found else first
                steps = [first * sign * axis * sizes for sign in (1.0, -1.0)]
                found = [_walk(valued, rough, floor, place, middle, step) for step in steps]
                lower = next((end for end in found if end.is_lower), None)
            if lower is not None:
                break
            gone = np.array([end.place - place for end in found])
            extents += np.maximum([np.max(-gone, axis=0), np.max(gone, axis=0)], 0.0)
            fall += _fall(*found)
        if lower is None:
            return Valley(place, np.maximum(extents, least), fall)
        place, middle = min(((at, valued(at)) for at in (lower.place, descend(lower.place))), key=lambda one: one[1][0])
    raise CannotEvaluate(f"the risk still falls after {MOST_MOVES} moves from the place that a search found")


def descended(risk: Callable[[Any], float], place: Any, fineness: tuple[float, float]) -> Any:
    """The place (n,) to which Newton's steps lead, along each axis of the second differences downhill and no further than a reach.

    Args:
        place: (n,), where to begin.
        fineness: steps of differences, relative to 1 + the size of a parameter, and a fall of the risk that is none.
    """
    apart, none = fineness

    def inside(vector: Any) -> float:
        return min(risk(np.clip(vector, -LARGEST_SCALE, LARGEST_SCALE)), UNBOUNDED)

    here, reach = inside(place), 1.0
    for _ in range(DESCENTS):
        steps = apart * (1 + np.abs(place))
        slopes, bends = _slopes_and_bends(inside, place, steps)
        sizes, axes = np.linalg.eigh(bends)
        downhill = -slopes @ axes
        moves = downhill / np.maximum(np.abs(sizes), LEAST_BEND)
        while True:
            moved = np.clip(moves, -reach / apart, reach / apart)
            if not downhill @ moved / 2 > none:
                return place
            ahead = np.clip(place + steps * (axes @ moved), -LARGEST_SCALE, LARGEST_SCALE)
            there = inside(ahead)
            if there < here:
                break
            reach /= SHORTER
        place, here, reach = ahead, there, min(2 * reach, 1.0)
    return place


def averaged(risks: Sequence[Callable[[Any], float]], place: Any) -> tuple[Any, Any, float]:
    """(place (n,), how far it may be off (n,), what the risk may be lower there) of the mean of risks on points of their own.

    From the least place of the first one, by Newton steps of the mean, whose differences become closer. How the slopes of the
    risks scatter says how far off the place is, by two standard errors; to that comes what it moved by since the differences were
    wider, as their own error goes with the square of them. What the risk may fall is half of the whole squared times its bend.
    Where the mean bends nowhere, or the steps do not end, both are infinite.
    """
    steps, unknown = APART * (1 + np.abs(place)), np.full(len(place), np.inf)
    before, reach, ratio = place, steps, 0.0
    for _ in range(NEWTON):
        slopes, bends = map(np.array, zip(*(_slopes_and_bends(risk, place, steps) for risk in risks)))
        if not np.all(np.isfinite(bends)):
            break
        sizes, axes = np.linalg.eigh(np.mean(bends, axis=0))
        if np.min(sizes) <= 0:
            break
        along = slopes @ axes / sizes
        step = np.mean(along, axis=0)
        away = 2 * np.std(along, axis=0, ddof=1) / np.sqrt(len(risks))
        off, moved = steps * (np.abs(axes) @ away), -axes @ step
        place = np.clip(place + np.clip(steps * moved, -reach, reach), -LARGEST_SCALE, LARGEST_SCALE)
        if np.any(np.abs(step) > 1):
            continue
        shorter = max(1 / CLOSER, *np.maximum(WIDE * off, CLOSEST * (1 + np.abs(place))) / steps)
        if ratio and shorter > 1 / 2:
            if np.any(np.abs(step) > np.maximum(away, SETTLED)):
                continue
            by_differences = np.abs(place - before) * ratio**2 / (1 - ratio**2)
            whole = away + np.abs(step) + np.abs(axes.T) @ (by_differences / steps)
            return place, steps * (np.abs(axes) @ whole), float(np.sum(whole**2 * sizes) / 2)
        ratio = min(shorter, 1 / 2)
        before, reach, steps = place, steps, ratio * steps
    return place, unknown, np.inf


def _slopes_and_bends(risk: Callable[[Any], float], place: Any, steps: Any) -> tuple[Any, Any]:
    """First (n,) and second differences (n, n) of a risk, for steps of these sizes."""
    n, at, here = len(place), np.diag(steps), risk(place)
    up, down = (np.array([risk(place + sign * step) for step in at]) for sign in (1.0, -1.0))
    bends = np.diag(up + down - 2 * here)
    for j, k in combinations(range(n), 2):
        same = risk(place + at[j] + at[k]) + risk(place - at[j] - at[k])
        bends[j, k] = bends[k, j] = (same - up[j] - down[j] - up[k] - down[k] + 2 * here) / 2
    return (up - down) / 2, bends


@dataclass(frozen=True)
class _End:
    """Where a walk ended: how much the risk there is above the start's, and the errors of both ends.

    Attributes:
        ahead: the rise one step straight ahead.
        doublings: of the first step.
    """

    place: Any
    rise: float
    errors: float
    ahead: float
    doublings: int

    @property
    def is_lower(self) -> bool:
        """Whether the risk has fallen by more than the errors."""
        return self.rise < -self.errors


def _first_steps(bends: Any, errors: float) -> Any:
    """Half of what raises the risk by its errors, if it goes on to bend as it does, (n,), in units of the sizes."""
    rises = np.where(bends > 0, bends, np.inf) / (2 * STEP**2)
    return np.clip(np.where(bends > 0, np.sqrt(errors / rises) / 2, STEP), NEAREST, LONGEST)


def _axes(rough: Callable[[Any], float], place: Any, steps: Any) -> tuple[Any, Any]:
    """Orthogonal directions (n, n), as columns and in units of the steps, where second differences do not mix, and those (n,)."""
    n = len(place)
    at = np.eye(n) * steps
    mixed = np.zeros((n, n))
    for j in range(n):
        for k in range(j + 1):
            plus = rough(place + at[j] + at[k]) + rough(place - at[j] - at[k])
            minus = rough(place + at[j] - at[k]) + rough(place - at[j] + at[k])
            mixed[j, k] = mixed[k, j] = (plus - minus) / 4
    if not np.all(np.isfinite(mixed)):
        return np.eye(n), np.zeros(n)
    bends, axes = np.linalg.eigh(mixed)
    return axes, bends


def _walk(
    valued: Valued,
    rough: Callable[[Any], float],
    floor: Callable[[Any], Any],
    place: Any,
    middle: tuple[float, float],
    step: Any,
) -> _End:
    """The first place where the risk is larger by more than the errors, or the lowest one where it is smaller by more.

    The walk ends at the latest where parameters are too large.

    The floor is that of the risk that was searched, so a place straight ahead is looked at too, and a rise ends a walk only
    where it also exceeds what that risk is off.
    """
    end, doublings = place + step, 0
    lowest: _End | None = None
    first: float | None = None
    while True:
        is_last = bool(np.max(np.abs(end)) > LARGEST_SCALE)
        ahead = np.clip(end, -LARGEST_SCALE, LARGEST_SCALE)
        down = ahead if len(place) == 1 else floor(ahead)
        ends = [ahead] if np.array_equal(down, ahead) else [ahead, down]
        risks = [valued(one) for one in ends]
        first = risks[0][0] - middle[0] if first is None else first
        there, end = min(zip(risks, ends), key=lambda pair: pair[0][0])
        found = _End(end, there[0] - middle[0], there[1] + middle[1], first, doublings)
        if lowest is not None and found.rise >= lowest.rise:
            return lowest
        lowest = found if found.is_lower else None
        off = 0.0 if len(place) == 1 else abs(rough(end) - rough(place) - found.rise)
        if is_last or found.rise > found.errors + off:
            return found
        end, doublings = place + 2 * (end - place), doublings + 1


def _lowered(rough: Callable[[Any], float], axes: Any, place: Any) -> Any:
    """A place (n,) moved to the bottom of the parabola along each of some axes (m, n), where the risk is lower there."""
    if not len(axes):
        return place
    least = rough(place)
    for step, axis in product(SWEEPS, axes):
        up, down = rough(place + step * axis), rough(place - step * axis)
        bend = up + down - 2 * least
        if not (np.isfinite(bend) and bend > 0):
            continue
        moved = place - step * (up - down) / (2 * bend) * axis
        reached = rough(moved)
        if reached < least:
            place, least = moved, reached
    return place


def _fall(*ends: _End) -> float:
    """How far the risk may fall between two places on either side: as a parabola does where they are one step away.

    Beyond one step the risk half way is the same within the errors, and a convex one falls no further below it than by those.
    """
    up, down = (end.ahead for end in ends)
    if any(end.doublings for end in ends) or min(up, down) <= 0:
        return max(end.errors for end in ends)
    return (up - down) ** 2 / (8 * (up + down))
