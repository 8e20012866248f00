"""The points of a scan, extra points between them, and the local minima among its values."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from symslr.evaluation.minima.search.beyond_scan import SCALES

POINTS = {1: 10, 2: 9}
"""Points of a scan on each side of 0, by the number of variables. Neighbours differ by a factor of two: the width of a minimum
for the smallest kernels."""
LARGEST_VARIATION = 1.7
"""The variation of the kernels' log-slope (arsinh p of ``Attended.extra_scan_points``) allowed between neighbours of a scan.
For common kernels no points are added."""
MOST_EXTRA = 20
"""At most about so many points are added to a scan."""
MOST_MINIMA = 3
"""Local minima of a scan that are refined, the lowest first."""
LEAST_VARIATION = 1e-9
"""Added to the variation at every place, so that it increases strictly and can be inverted."""


def scan(low: float, high: float, count: int) -> Any:
    """The points of a scan of [low, high] in increasing order.

    On an unbounded interval 0 and ``count`` points in a geometric sequence on each side of it, as far as they lie inside; on a
    bounded one 2 count + 1 equally spaced points, with the geometric ones too where the interval is wide.
    """
    positive = np.geomspace(*SCALES, count)
    points = np.concatenate([-positive[::-1], [0.0], positive])
    inside = points[(points >= low) & (points <= high)]
    if not (np.isfinite(low) and np.isfinite(high)):
        return inside
    equal = np.linspace(low, high, 2 * count + 1)
    return equal if high - low <= np.ptp(points) else np.union1d(equal, inside)


def points_between(points: Any, places: Any, variation: Any) -> Any:
    """Points to add between those of a scan, so that the variation between neighbours stays below ``LARGEST_VARIATION``.

    Args:
        points: of the scan, in increasing order.
        places, variation: the variation accumulated up to each of a dense set of places.
    """
    own = np.cumsum(np.append(0.0, np.minimum(np.diff(variation), LARGEST_VARIATION))) + LEAST_VARIATION * np.arange(
        len(variation)
    )
    at = np.interp(points, places, own)
    step = max(LARGEST_VARIATION, (at[-1] - at[0]) / MOST_EXTRA)
    inside = [np.linspace(*ends, int((ends[1] - ends[0]) / step) + 2)[1:-1] for ends in pairwise(at)]
    return np.interp(np.concatenate(inside), own, places)


def scan_points(count: int) -> Any:
    """The points of a scan over the whole line, the same for each of ``count`` variables."""
    return scan(-np.inf, np.inf, POINTS[min(count, 2)])


def other_local_minima(values: Any, place: list[float]) -> list[int]:
    """Indices of the lowest local minima of a scan over the whole space, without those next to ``place``.

    Args:
        values: at all points of the scan, flattened.
    """
    points = scan_points(len(place))
    shape, nearest = [len(points)] * len(place), np.searchsorted(points, place)
    found = local_minima(values.reshape(shape))
    return [
        int(np.ravel_multi_index(index, shape))
        for index in found
        if not all(n - 2 <= i <= n + 1 for i, n in zip(index, nearest))
    ]


def local_minima(values: Any) -> list[tuple[int, ...]]:
    """Indices of the lowest local minima of a scan, of which diagonal neighbours count as neighbours."""
    found = []
    for index in np.ndindex(values.shape):
        if np.isfinite(values[index]) and values[index] <= np.min(neighbourhood(values, index)):
            found.append(index)
    return sorted(found, key=lambda i: values[i])[:MOST_MINIMA]


def neighbourhood(values: Any, index: tuple[int, ...]) -> Any:
    """The values at a point of a scan and at all its neighbours, diagonal ones too."""
    return values[tuple(slice(max(i - 1, 0), i + 2) for i in index)]
