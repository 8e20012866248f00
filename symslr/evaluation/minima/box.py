"""The least value over several variables: a coarse grid, descents from its lowest points, and Newton steps in axes in which
the basin is round.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate, OutOfDigits
from symslr.evaluation.minima.function import Function, Least
from symslr.evaluation.nodes.node import Pair

GRID = np.array([-12.0, -4.0, -1.5, -0.5, -0.1, 0.0, 0.1, 0.5, 1.5, 4.0, 12.0])
"""Places of the grid for each variable without bounds; with bounds as many between them."""
STARTS = 4
"""Descents, from the lowest local minima of the grid."""
ROUGH, FINE, UNDERFLOW = 1e-5, 1e-12, 1e-300
ROUNDS, FIRST_LENGTH, LONGEST = 60, 0.02, 0.1
"""Rounds of the adaption of the axes; their first length and their longest, relative to a variable of size 1 or more."""
STEP, SHORT_STEP = 0.2, 0.05
"""Steps of differences in units of the axes: of the Hessian, and of the gradient at the end."""
STRETCH, ROUND = 4096.0, 4.0
"""Largest ratio of curvatures that one round evens out, and the one from which on the axes are good."""
SAME = 0.3
"""Largest relative change of the eigenvalues of the Hessian with the step at which the function is a parabola there."""
LEVEL = 1e-6
"""Relative fall that is left up to which a value counts as the least one though its place is not found."""


def least_in_box(
    f: Function,
    intervals: list[tuple[float, float]],
    limit: Callable[[], tuple[Pair, list[float]] | None] = lambda: None,
) -> tuple[Any, Any, list[Pair], str]:
    """(least value, its error, [(place, error)], where it was sought in words).

    Args:
        f, intervals: the function, and for each variable its ends, which may be infinite.
        limit: a value that is approached at infinity, and the places, where one is known.

    Raises:
        CannotEvaluate: where the least value lies on the boundary or no minimum is found.
    """
    number, rough, fine = f.context.arithmetic.number, f.in_float(ROUGH), f.in_float(FINE)
    axes = [
        GRID[(low <= GRID) & (high >= GRID)] if np.isinf(high - low) else np.linspace(low, high, len(GRID))
        for low, high in intervals
    ]
    found = rough.pairs(list(itertools.product(*axes)))
    values = np.where(found[:, 1] < np.abs(found[:, 0]) / 10, found[:, 0], found.sum(axis=1)).reshape(
        [len(own) for own in axes]
    )
    most = found.sum(axis=1)
    if f.is_risk and np.min(most) <= UNDERFLOW:
        return _vanished(f, list(itertools.product(*axes))[int(np.argmin(most))], float(np.min(most)))
    minima: list[Least] = []
    for index in _lowest(values):
        start = [float(own[i]) for own, i in zip(axes, index)]
        place = _descended(fine, start, intervals)
        value, error = fine.pairs([place])[0]
        if minima and value - error > min(one[0] for one in minima) * (1.0 + LEVEL):
            continue
        if f.is_risk and value <= UNDERFLOW:
            return _vanished(f, place, value + error)
        if any(at <= low or at >= high for at, (low, high) in zip(place, intervals)):
            raise CannotEvaluate(
                f"the least value lies on the boundary, at {place}; widen the bounds or fix that variable"
            )
        with suppress(CannotEvaluate):
            minima.append(polished_in_box(f, place))
    least = min(minima, key=lambda one: float(one[0]), default=None)
    known = limit()
    if known is not None and (least is None or known[0][0] + known[0][1] < least[0] - least[1]):
        (value, error), ends = known
        return number(value), number(error), [(number(at), number(0)) for at in ends], ""
    lowest = min(value + error for value, error in f.known.values())
    if least is None or float(least[0] - least[1]) - lowest > LEVEL * abs(lowest):
        raise OutOfDigits(
            "the minimum could not be refined: its basin does not end near a start of the search; give bounds"
        )
    value, error, places = least
    return value, max(error, value - number(lowest)), places, f"searched from {len(values.ravel())} places"


def _vanished(f: Function, place: Sequence[float], most: float) -> tuple[Any, Any, list[Pair], str]:
    """The answer where a value has underflowed; no risk is lower."""
    if not f.is_float:
        raise OutOfDigits(f"the least value is below {UNDERFLOW:g}, beyond float64, in which its place is sought")
    return 0.0, most, [(at, np.inf) for at in place], ""


def _lowest(values: Any) -> list[tuple[int, ...]]:
    """Indices of the lowest local minima of a grid."""
    around = {index: values[tuple(slice(max(i - 1, 0), i + 2) for i in index)] for index in np.ndindex(values.shape)}
    found = [index for index, own in around.items() if np.isfinite(values[index]) and values[index] <= np.min(own)]
    return sorted(found, key=lambda index: float(values[index]))[:STARTS]


def _descended(f: Function, start: list[float], intervals: list[tuple[float, float]]) -> list[float]:
    """The end of a descent of the logarithm of a positive function, or of the function."""
    from scipy.optimize import minimize  # takes 0.2 s to load

    is_positive = f.pairs([start])[0, 0] > 0.0

    def height(place: Any) -> float:
        value, error = f.pairs([place])[0]
        return float(np.log(max(value if error < value else value + error, UNDERFLOW)) if is_positive else value)

    free = all(np.isinf(end) for interval in intervals for end in interval)
    method, bounds = ("BFGS", None) if free else ("L-BFGS-B", intervals)
    options = {"gtol": 1e-5, "maxiter": 40}
    with np.errstate(all="ignore"):
        found = minimize(height, start, method=method, jac="3-point", bounds=bounds, options=options)
    return [float(v) for v in found.x] if np.isfinite(found.fun) else start


def polished_in_box(f: Function, start: list[float]) -> Least:
    """The minimum near a place: the axes are adapted until the Hessian of the logarithm is round, then Newton steps follow.

    Raises:
        CannotEvaluate: where the basin does not end near by.
    """
    fine = f.in_float(FINE)
    is_positive = fine.pairs([start])[0, 0] > 0.0

    def seen(place: Any) -> float:
        value = float(fine.pairs([place])[0, 0])
        return float(np.log(value)) if is_positive and value > 0.0 else np.inf if is_positive else value

    place, sizes = np.array(start), np.maximum(np.abs(start), 1.0)
    axes = np.diag(FIRST_LENGTH * sizes)
    for _ in range(ROUNDS):
        slopes, bends = _differences(seen, place, axes, STEP)
        if not np.isfinite(bends).all():
            axes = axes / 4.0
            continue
        curvatures, turned = np.linalg.eigh(bends)
        bent = np.maximum(np.abs(curvatures), max(float(np.max(np.abs(curvatures))) / STRETCH, 1e-300))
        step = -turned @ ((turned.T @ slopes) / bent)
        if np.min(curvatures) * ROUND > np.max(curvatures) > 0.0 and np.linalg.norm(step) < 1.0:
            with suppress(CannotEvaluate):
                found = _by_newton(f, place + axes @ step, axes, bends)
                at = np.array([float(v) for v, _ in found[2]])
                short, usual = (np.linalg.eigvalsh(_differences(seen, at, axes, far)[1]) for far in (SHORT_STEP, STEP))
                noise = 10.0 * float(found[1]) / max(abs(float(found[0])), UNDERFLOW) / SHORT_STEP**2
                if np.all(usual > noise) and np.all(np.abs(short - usual) < SAME * usual + noise):
                    return found  # else it is flat to fourth order, or has a kink
                break
        step *= 2.0 / max(float(np.linalg.norm(step)), 2.0)
        place, axes = place + axes @ step, axes @ turned / np.sqrt(bent)
        sizes = np.maximum(np.abs(place), 0.1)
        axes *= min(1.0, LONGEST * float(np.min(sizes / np.max(np.abs(axes), axis=1))))
    value, error = fine.pairs([place.tolist()])[0]
    left = float(slopes @ (turned @ ((turned.T @ slopes) / bent)))
    left = abs(left) * (abs(float(value)) if is_positive else 1.0)
    kinked = (
        np.max(_differences(seen, place, axes, SHORT_STEP)[1]) > 2.0 * np.max(np.abs(bends)) + error / SHORT_STEP**2
    )
    if kinked or not left <= LEVEL * abs(value):
        raise OutOfDigits("the minimum could not be refined: its basin does not end there")
    return value, error + 100.0 * left, [(at, np.inf) for at in place.tolist()]


def _by_newton(f: Function, place: Any, axes: Any, bends: Any) -> Least:
    """The minimum in axes in which the Hessian is known: Newton steps with gradients from five values along each."""
    f = f.in_float(min(FINE, f.context.tolerance)) if f.is_float else f
    number, n = f.context.arithmetic.number, len(place)
    at, far = [number(v) for v in place], number(SHORT_STEP if f.is_float else float(f.context.tolerance) ** 0.125)
    size, weakest, strongest = f.pair(at), *(float(v) for v in np.linalg.eigvalsh(bends)[[0, -1]])
    scale = abs(size[0]) if size[0] > 0 else 1
    for _ in range(ROUNDS):
        slopes, off, noise = [], number(0), number(0)
        for k in range(n):
            moved = [[v + number(axes[i, k]) * j * far for i, v in enumerate(at)] for j in (-2, -1, 1, 2)]
            (a, e), (b, _), (c, _), (d, _) = map(f.pair, moved)
            slopes.append((a - 8 * b + 8 * c - d) / (12 * far * scale))
            off, noise = max(off, abs(slopes[-1] - (c - b) / (2 * far * scale))), max(noise, e / (far * scale))
        step = [-v for v in np.linalg.inv(bends).astype(object) @ np.array(slopes, dtype=object)]
        at = [v + sum(number(axes[i, k]) * step[k] for k in range(n)) for i, v in enumerate(at)]
        last = max(map(abs, step))
        if last > 1:
            break
        own = 10 * off * off / weakest + 3 * noise / weakest
        if last <= own or scale * strongest * last * last <= float(f.context.tolerance) * scale:
            doubt = own + last
            value, error = f.pair(at)
            reach = [sum(abs(number(axes[i, k])) for k in range(n)) * doubt for i in range(n)]
            return value, error + n * scale * strongest * doubt * doubt, list(zip(at, reach))
    raise OutOfDigits("the minimum could not be refined: Newton steps do not end there")


def _differences(function: Callable[[Any], float], place: Any, axes: Any, far: float) -> tuple[Any, Any]:
    """The gradient and the Hessian at a place in units of axes, by central differences."""
    at, here = far * axes.T, function(place)
    up, down = (np.array([function(place + side * own) for own in at]) for side in (1.0, -1.0))
    bends = np.diag(up + down - 2.0 * here)
    for i, k in itertools.combinations(range(len(place)), 2):
        same = function(place + at[i] + at[k]) + function(place - at[i] - at[k])
        bends[i, k] = bends[k, i] = (same - function(place + at[i] - at[k]) - function(place - at[i] + at[k])) / 4.0
    return (up - down) / (2.0 * far), bends / far**2
