"""Where an integrand lives, found from its logarithm: no fixed window, no overflow, nothing missed by being narrow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

HEAVY = 1.8
"""A window wider than this times depth * width has an algebraic tail: exp(-|x|) needs 0.6 times, a Gaussian less and less, as
sqrt(depth), and Student's law at depth 34 some 300 times."""

FURTHEST = 690.0
"""Logarithm of the furthest point that float64 can name."""


@dataclass(frozen=True, slots=True)
class Window:
    """Outside [low, high] less than about exp(-depth) of the mass is left; ``width`` is that of the peak itself."""

    low: float
    high: float
    peak: float
    width: float
    depth: float

    @property
    def is_heavy(self) -> bool:
        return self.high - self.low > HEAVY * self.depth * self.width


def scan(log_weight: Callable[[Any], Any], low: float, high: float, depth: float) -> Window | None:
    """The window of a weight given by its logarithm on (low, high); None where it vanishes.

    The logarithm of a narrow peak is seen from afar, so a coarse grid and repeated zooming on its maximum find it.
    """
    grid = _grid(low, high, min(FURTHEST, 2.2 * depth + 10.0))
    values = _finite(log_weight(grid))
    top = int(np.argmax(values))
    if values[top] == -np.inf:
        return None
    for _ in range(12):
        left, right = max(top - 1, 0), min(top + 1, len(grid) - 1)
        if np.min(values[left : right + 1]) > values[top] - 0.5:
            break
        extra = np.linspace(grid[left], grid[right], 21)
        grid, values = _merged(grid, values, extra, _finite(log_weight(extra)))
        top = int(np.argmax(values))
    near = np.flatnonzero(values >= values[top] - 2.0)
    width = grid[min(near[-1] + 1, len(grid) - 1)] - grid[max(near[0] - 1, 0)]
    peak = grid[top]

    def log_tail(x: Any) -> Any:
        """log of the mass beyond x in widths of the peak, if the tail were algebraic."""
        return _finite(log_weight(x)) + np.log1p(np.abs(x - peak) / width)

    inside = np.flatnonzero(log_tail(grid) >= values[top] - depth)
    start = _edge(log_tail, grid, inside[0], -1, values[top] - depth)
    end = _edge(log_tail, grid, inside[-1], +1, values[top] - depth)
    return Window(start, end, float(peak), float(width), depth)


def _grid(low: float, high: float, reach: float) -> Any:
    if np.isinf(low) and np.isinf(high):
        return np.sinh(np.linspace(-reach, reach, 2 * int(10.0 * reach) + 1))
    if np.isinf(low) or np.isinf(high):
        half = np.exp(np.linspace(-40.0, reach, int(5.0 * (reach + 40.0))))
        return low + half if np.isinf(high) else (high - half)[::-1]
    y = np.linspace(-30.0, 30.0, 301)
    near = 1.0 / (1.0 + np.exp(np.abs(y)))
    return np.unique(np.where(y < 0, low + (high - low) * near, high - (high - low) * near))


def _finite(values: Any) -> Any:
    return np.where(np.isnan(values) | (values == np.inf), -np.inf, values)


def _merged(grid: Any, values: Any, extra: Any, new: Any) -> tuple[Any, Any]:
    nodes, index = np.unique(np.concatenate([grid, extra]), return_index=True)
    return nodes, np.concatenate([values, new])[index]


def _edge(log_weight: Callable[[Any], Any], grid: Any, index: int, side: int, level: float) -> float:
    """The last point above the level between a grid point and its outer neighbour, one fine step beyond."""
    neighbour = index + side
    if not 0 <= neighbour < len(grid):
        return float(grid[index])
    fine = np.linspace(grid[index], grid[neighbour], 33)
    above = np.flatnonzero(log_weight(fine) > level)
    last = above[-1] + 1 if len(above) else 1
    return float(fine[min(last, 32)])
