"""Local search for a minimum, how far the true minimiser may lie from the one found, and how much lower the risk may be there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate

LARGEST_SCALE = 60.0
"""No parameter is searched beyond this. A minimum at this scale counts as one at infinity: the attention is close to its limit."""
DIFFERENCE_STEP = 1e-2
"""Step of second differences, relative to 1 + the size of a parameter."""
DESCENT_STEPS = (1e-2, 1e-2, 1e-3, 1e-4)
"""Steps of the successive coordinate descents by which a walk along one axis returns to the bottom along the others: the valley is
curved, and rounding tilts its axes."""
SHORTEST_FIRST_STEP, LONGEST_FIRST_STEP = 1e-4, 0.25
"""Least and largest first step of a walk, relative to 1 + the size of a parameter."""
FIRST_STEP_DIVISOR = 8.0
"""A first step after which the risk has risen beyond its errors on both sides is divided by this."""
MOST_RESTARTS = 60
"""How often the walks start again from a lower point that turned up."""

MOST_NEWTON_STEPS, STEP_DIVISOR = 60, 4.0
"""Most Newton steps of a search; a step that does not lower the risk is divided by the second number."""
NO_VALUE, LEAST_CURVATURE = 1e6, 1e-300
"""In place of a risk that has no value, and of a second difference of 0."""
SAMPLED_STEP = 0.05
"""First step of differences of sampled risks, relative to 1 + the size of a parameter: a selection has kinks, which it averages."""
MOST_NARROWING, STEP_PER_ERROR = 64.0, 4.0
"""Steps of differences shrink by at most the first factor at a time, and not below the second times the error of the minimiser."""
MOST_MEAN_STEPS = 12
"""Most Newton steps for a mean of sampled risks; each is no longer than the step of the differences."""
SHORTEST_STEP = 1e-4
"""Least step of differences, relative to 1 + the size of a parameter."""
LAST_STEP = 1e-1
"""A Newton step shorter than this, in units of the steps of differences, is the last one."""

Valued = Callable[[Any], tuple[float, float]]
"""A point (n,) -> (risk, error)."""


@dataclass(frozen=True)
class MinimumRegion:
    """A minimiser, and a box of the points whose risk is the same within the errors.

    Attributes:
        place: the minimiser, shape (n,).
        extents: how far the box reaches below and above it, shape (2, n).
        fall: how much lower than at ``place`` the risk may be within the box, beyond its error.
    """

    place: Any
    extents: Any
    fall: float


def minimum_region(
    rough: Callable[[Any], float],
    valued: Valued,
    descend: Callable[[Any], Any],
    place: Any,
    least: Any,
) -> MinimumRegion:
    """The region around a minimiser where the risk is not larger by more than the errors.

    A walk goes out along each principal axis of the second differences, in both directions, by steps that double, until the risk
    has grown by more than the errors; it minimises the risk along the other axes on the way. If the risk falls by more than the
    errors, everything starts again from there.

    Args:
        rough: the risk that was searched, quick and smooth.
        valued: the risk with its error.
        descend: local search from a point (n,), used where a lower point turns up.
        place: the minimiser that the search found, shape (n,).
        least: accuracy of the search, shape (n,); no extent is smaller.

    Raises:
        CannotEvaluate: where lower points still turn up after ``MOST_RESTARTS``.
    """
    middle = valued(place)
    for _ in range(MOST_RESTARTS):
        sizes = 1 + np.abs(place)
        axes, bends = _principal_axes(rough, place, DIFFERENCE_STEP * sizes)
        firsts = _first_steps(bends, 2 * middle[1])
        extents, fall = np.zeros((2, len(place))), 0.0
        lower: _WalkEnd | None = None
        for k, axis in enumerate(axes.T):
            others = (np.delete(axes, k, axis=1) * sizes[:, None]).T
            floor = partial(_coordinate_descent, rough, others)
            first, found = firsts[k], list[_WalkEnd]()
            while not found or (
                lower is None and first > SHORTEST_FIRST_STEP and not any(end.doublings for end in found)
            ):
                first = max(first / FIRST_STEP_DIVISOR, SHORTEST_FIRST_STEP) if found else first
                steps = [first * sign * axis * sizes for sign in (1.0, -1.0)]
                found = [_walk_out(valued, rough, floor, place, middle, step) for step in steps]
                lower = next((end for end in found if end.is_lower), None)
            if lower is not None:
                break
            gone = np.array([end.place - place for end in found])
            extents += np.maximum([np.max(-gone, axis=0), np.max(gone, axis=0)], 0.0)
            fall += _possible_fall(*found)
        if lower is None:
            return MinimumRegion(place, np.maximum(extents, least), fall)
        place, middle = min(((at, valued(at)) for at in (lower.place, descend(lower.place))), key=lambda one: one[1][0])
    raise CannotEvaluate(f"the risk still falls after {MOST_RESTARTS} moves from the place that a search found")


def newton_descent(risk: Callable[[Any], float], place: Any, fineness: tuple[float, float]) -> Any:
    """A local minimiser (n,) by Newton steps with finite differences, made descent steps along each axis and limited in length.

    Args:
        place: the start, shape (n,).
        fineness: (step of differences relative to 1 + the size of a parameter, predicted decrease of the risk at which to stop).
    """
    apart, none = fineness

    def inside(vector: Any) -> float:
        return min(risk(np.clip(vector, -LARGEST_SCALE, LARGEST_SCALE)), NO_VALUE)

    here, reach = inside(place), 1.0
    for _ in range(MOST_NEWTON_STEPS):
        steps = apart * (1 + np.abs(place))
        slopes, bends = _gradient_and_hessian(inside, place, steps)
        sizes, axes = np.linalg.eigh(bends)
        downhill = -slopes @ axes
        moves = downhill / np.maximum(np.abs(sizes), LEAST_CURVATURE)
        while True:
            moved = np.clip(moves, -reach / apart, reach / apart)
            if not downhill @ moved / 2 > none:
                return place
            ahead = np.clip(place + steps * (axes @ moved), -LARGEST_SCALE, LARGEST_SCALE)
            there = inside(ahead)
            if there < here:
                break
            reach /= STEP_DIVISOR
        place, here, reach = ahead, there, min(2 * reach, 1.0)
    return place


def newton_on_average(risks: Sequence[Callable[[Any], float]], place: Any) -> tuple[Any, Any, float]:
    """(minimiser (n,), its error (n,), possible decrease of the risk) for the mean of risks sampled with independent points.

    Newton steps on the mean from ``place``, with steps of differences that shrink. The error of the minimiser has three parts: two
    standard errors, from the scatter of the Newton steps of single risks; the last Newton step; and the error of the differences,
    extrapolated from how far the minimiser moved when they shrank, as it goes with the square of the step. The possible decrease is
    curvature times squared error over 2. Error and decrease are infinite where the mean is not convex or the steps do not converge.
    """
    steps, unknown = SAMPLED_STEP * (1 + np.abs(place)), np.full(len(place), np.inf)
    before, reach, ratio = place, steps, 0.0
    for _ in range(MOST_MEAN_STEPS):
        slopes, bends = map(np.array, zip(*(_gradient_and_hessian(risk, place, steps) for risk in risks)))
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
        shorter = max(
            1 / MOST_NARROWING, *np.maximum(STEP_PER_ERROR * off, SHORTEST_STEP * (1 + np.abs(place))) / steps
        )
        if ratio and shorter > 1 / 2:
            if np.any(np.abs(step) > np.maximum(away, LAST_STEP)):
                continue
            by_differences = np.abs(place - before) * ratio**2 / (1 - ratio**2)
            whole = away + np.abs(step) + np.abs(axes.T) @ (by_differences / steps)
            return place, steps * (np.abs(axes) @ whole), float(np.sum(whole**2 * sizes) / 2)
        ratio = min(shorter, 1 / 2)
        before, reach, steps = place, steps, ratio * steps
    return place, unknown, np.inf


def _gradient_and_hessian(risk: Callable[[Any], float], place: Any, steps: Any) -> tuple[Any, Any]:
    """First (n,) and second (n, n) central differences of a risk, in units of the steps."""
    n, at, here = len(place), np.diag(steps), risk(place)
    up, down = (np.array([risk(place + sign * step) for step in at]) for sign in (1.0, -1.0))
    bends = np.diag(up + down - 2 * here)
    for j, k in combinations(range(n), 2):
        same = risk(place + at[j] + at[k]) + risk(place - at[j] - at[k])
        bends[j, k] = bends[k, j] = (same - up[j] - down[j] - up[k] - down[k] + 2 * here) / 2
    return (up - down) / 2, bends


@dataclass(frozen=True)
class _WalkEnd:
    """Where a walk ended.

    Attributes:
        place: the point, shape (n,).
        rise: the risk there less that at the start.
        errors: the sum of the errors of both.
        ahead: the rise after the first step, straight along the axis.
        doublings: how often the first step was doubled.
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
    """Half of the steps that raise a parabola of these second differences by the errors, (n,), relative to 1 + size."""
    rises = np.where(bends > 0, bends, np.inf) / (2 * DIFFERENCE_STEP**2)
    return np.clip(
        np.where(bends > 0, np.sqrt(errors / rises) / 2, DIFFERENCE_STEP), SHORTEST_FIRST_STEP, LONGEST_FIRST_STEP
    )


def _principal_axes(rough: Callable[[Any], float], place: Any, steps: Any) -> tuple[Any, Any]:
    """Eigenvectors (n, n), as columns in units of the steps, and eigenvalues (n,) of the matrix of second differences."""
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


def _walk_out(
    valued: Valued,
    rough: Callable[[Any], float],
    floor: Callable[[Any], Any],
    place: Any,
    middle: tuple[float, float],
    step: Any,
) -> _WalkEnd:
    """Walk out from ``place`` by doubling steps, to the first point where the risk is larger by more than the errors.

    Where the risk has fallen by more than the errors, the walk goes on to the lowest point. It ends at ``LARGEST_SCALE`` at the
    latest. ``floor`` minimises the quick risk ``rough``, not the accurate one: so the point straight ahead is tried as well, and a
    rise must also exceed the difference of the two risks.
    """
    end, doublings = place + step, 0
    lowest: _WalkEnd | None = None
    first: float | None = None
    while True:
        is_last = bool(np.max(np.abs(end)) > LARGEST_SCALE)
        ahead = np.clip(end, -LARGEST_SCALE, LARGEST_SCALE)
        down = ahead if len(place) == 1 else floor(ahead)
        ends = [ahead] if np.array_equal(down, ahead) else [ahead, down]
        risks = [valued(one) for one in ends]
        first = risks[0][0] - middle[0] if first is None else first
        there, end = min(zip(risks, ends), key=lambda pair: pair[0][0])
        found = _WalkEnd(end, there[0] - middle[0], there[1] + middle[1], first, doublings)
        if lowest is not None and found.rise >= lowest.rise:
            return lowest
        lowest = found if found.is_lower else None
        off = 0.0 if len(place) == 1 else abs(rough(end) - rough(place) - found.rise)
        if is_last or found.rise > found.errors + off:
            return found
        end, doublings = place + 2 * (end - place), doublings + 1


def _coordinate_descent(rough: Callable[[Any], float], axes: Any, place: Any) -> Any:
    """Coordinate descent: a point (n,) moved to the vertex of the parabola along each axis (m, n) where that lowers the risk."""
    if not len(axes):
        return place
    least = rough(place)
    for step, axis in product(DESCENT_STEPS, axes):
        up, down = rough(place + step * axis), rough(place - step * axis)
        bend = up + down - 2 * least
        if not (np.isfinite(bend) and bend > 0):
            continue
        moved = place - step * (up - down) / (2 * bend) * axis
        reached = rough(moved)
        if reached < least:
            place, least = moved, reached
    return place


def _possible_fall(*ends: _WalkEnd) -> float:
    """How much lower than at the start the risk may be between the two ends of the walks along one axis.

    After one step on each side: the depth of the parabola through the three risks. After more, the risk half way was the same
    within the errors, and a convex risk falls below that by no more than the errors.
    """
    up, down = (end.ahead for end in ends)
    if any(end.doublings for end in ends) or min(up, down) <= 0:
        return max(end.errors for end in ends)
    return (up - down) ** 2 / (8 * (up + down))
