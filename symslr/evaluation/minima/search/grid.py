"""The places of a scan, and those of them with the lowest values around."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from symslr.evaluation.minima.search.outwards import SCALES

POINTS = {1: 10, 2: 9}
"""Of the scan, on each side of 0: a minimum as wide as the smallest kernels have spans a factor of two, a step."""
TURN = 1.7
"""How much kernels may turn between neighbours of a scan: it leaves the places of usual kernels as they are."""
MOST = 20
"""Places that a scan has between the usual ones at most."""
STARTS = 3
"""Local minima of the scan that are looked at."""
TINY = 1e-9
"""What a kernel counts as turned between places where it does not."""


def scan(low: float, high: float, count: int) -> Any:
    """Both signs on a logarithmic scale where the line is unbounded, equal steps where it is not; both on a wide interval."""
    positive = np.geomspace(*SCALES, count)
    points = np.concatenate([-positive[::-1], [0.0], positive])
    inside = points[(points >= low) & (points <= high)]
    if not (np.isfinite(low) and np.isfinite(high)):
        return inside
    equal = np.linspace(low, high, 2 * count + 1)
    return equal if high - low <= np.ptp(points) else np.union1d(equal, inside)


def between(points: Any, places: Any, turned: Any) -> Any:
    """More places between those of a scan, as many as keep what kernels turn from each to the next one small.

    Args:
        points: of the scan, in increasing order.
        places, turned: how much kernels have turned on the way to each of closer places.
    """
    own = np.cumsum(np.append(0.0, np.minimum(np.diff(turned), TURN))) + TINY * np.arange(len(turned))
    at = np.interp(points, places, own)
    step = max(TURN, (at[-1] - at[0]) / MOST)
    inside = [np.linspace(*ends, int((ends[1] - ends[0]) / step) + 2)[1:-1] for ends in pairwise(at)]
    return np.interp(np.concatenate(inside), own, places)


def scan_points(count: int) -> Any:
    """The places of a scan over the whole line, along each of so many variables."""
    return scan(-np.inf, np.inf, POINTS[min(count, 2)])


def other_bottoms(values: Any, place: list[float]) -> list[int]:
    """Indices of the lowest few local minima of a scan over the whole space, one row of values, but for those beside a place."""
    points = scan_points(len(place))
    shape, nearest = [len(points)] * len(place), np.searchsorted(points, place)
    found = local_minima(values.reshape(shape))
    return [
        int(np.ravel_multi_index(index, shape))
        for index in found
        if not all(n - 2 <= i <= n + 1 for i, n in zip(index, nearest))
    ]


def local_minima(values: Any) -> list[tuple[int, ...]]:
    """Indices of the lowest few local minima of a scan, with those next to a point in the diagonal too."""
    found = []
    for index in np.ndindex(values.shape):
        if np.isfinite(values[index]) and values[index] <= np.min(beside(values, index)):
            found.append(index)
    return sorted(found, key=lambda i: values[i])[:STARTS]


def beside(values: Any, index: tuple[int, ...]) -> Any:
    """The values around a point of a scan, and its own."""
    return values[tuple(slice(max(i - 1, 0), i + 2) for i in index)]
