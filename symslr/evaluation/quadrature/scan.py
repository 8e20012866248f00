"""Windows of integrands, found from their logarithms: without overflow, and however narrow the peak."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from symslr.evaluation.errors import CannotEvaluate

HEAVY_RATIO = 1.8
"""A window longer than this times depth * width has an algebraic tail. exp(-|x|) needs 0.6 times, a Gaussian less, as
sqrt(depth); Student's law at depth 34 needs about 300 times."""

LARGEST_LOGARITHM = 690.0
"""log |x| of the furthest point that is scanned, near the end of the range of float64."""

CERTAIN_NATS = 5.0
"""A weight certainly counts where it lies so many nats above the depth."""
ZOOMS = 12
"""Each reduces the distance between points at an unresolved peak tenfold."""


@dataclass(frozen=True, slots=True)
class Window:
    """An interval [low, high] outside which less than about exp(-depth) of the mass lies; ``width`` is that of the peak."""

    low: float
    high: float
    peak: float
    width: float
    depth: float

    @property
    def is_heavy(self) -> bool:
        return self.high - self.low > HEAVY_RATIO * self.depth * self.width


def scan(log_weight: Callable[[Any], Any], low: float, high: float, depth: float) -> Window | None:
    """The window of a weight given by its logarithm on (low, high); None where the weight vanishes."""
    (window,) = scan_all(lambda x: log_weight(x)[None, :], low, high, depth)
    return window


def scan_all(log_weights: Callable[[Any], Any], low: float, high: float, depth: float) -> list[Window | None]:
    """The windows of several weights on (low, high), given by a function from places to their logarithms (weights, places).

    The logarithm of a narrow peak is seen from a distance, so that repeated zooming on the maximum of a coarse grid finds it.

    Raises:
        CannotEvaluate: where a weight is no number next to places at which it counts.
    """
    grid = _grid(low, high, min(LARGEST_LOGARITHM, 2.2 * depth + 10.0))
    values = log_weights(grid)
    for _ in range(ZOOMS):
        sharp = [_neighbours_of_peak(grid, row) for row in _finite(values)]
        extra = [np.linspace(*ends, 21) for ends in sharp if ends is not None]
        if not extra:
            break
        more = np.concatenate(extra)
        grid, index = np.unique(np.concatenate([grid, more]), return_index=True)
        values = np.concatenate([values, log_weights(more)], axis=1)[:, index]
    windows = _windows(log_weights, grid, _finite(values), depth)
    for row, window in zip(values, windows):
        if window is not None and _is_cut_off(grid, row, depth):
            raise CannotEvaluate("a weight leaves the range of float64 where it still counts; ask for a smaller scale")
    return windows


def _is_cut_off(grid: Any, row: Any, depth: float) -> bool:
    """Whether a weight is no number at three successive places next to one at which it is not negligible."""
    is_no_number = np.isnan(row) | (row == np.inf)
    runs = is_no_number[2:] & is_no_number[1:-1] & is_no_number[:-2]
    counts = np.where(is_no_number, -np.inf, row)
    counts = counts + np.log1p(np.abs(grid - grid[np.argmax(counts)])) > np.max(counts) - depth + CERTAIN_NATS
    return bool(np.any(runs[1:] & counts[:-3]) or np.any(runs[:-1] & counts[3:]))


def _neighbours_of_peak(grid: Any, row: Any) -> tuple[float, float] | None:
    """The grid points on both sides of the maximum; None where they lie within half a nat of it, so that it is resolved."""
    top = int(np.argmax(row))
    left, right = max(top - 1, 0), min(top + 1, len(grid) - 1)
    if row[top] == -np.inf or np.min(row[left : right + 1]) > row[top] - 0.5:
        return None
    return grid[left], grid[right]


def _windows(log_weights: Callable[[Any], Any], grid: Any, values: Any, depth: float) -> list[Window | None]:
    """The windows, with ends to a thirtieth of the grid's step there."""
    rows, last = np.arange(len(values)), len(grid) - 1
    tops = np.argmax(values, axis=1)
    peaks, highest = grid[tops][:, None], values[rows, tops][:, None]
    first, final = _ends(values >= highest - 2.0)
    widths = (grid[np.minimum(final + 1, last)] - grid[np.maximum(first - 1, 0)])[:, None]
    first, final = _ends(_log_tail_mass(grid, values, peaks, widths) >= highest - depth)
    outside = np.array([np.maximum(first - 1, 0), np.minimum(final + 1, last)])
    fine = np.linspace(grid[[first, final]], grid[outside], 33, axis=-1)
    ends = _finite(log_weights(fine.ravel())).reshape(len(values), *fine.shape)[rows, :, rows]
    sides = []
    for x, end in zip(fine, ends.swapaxes(0, 1)):
        above = _log_tail_mass(x, end, peaks, widths) > highest - depth
        beyond = np.where(above.any(axis=1), np.minimum(_ends(above)[1] + 1, 32), 1)
        sides.append(x[rows, beyond])
    columns = zip(*(own.ravel().tolist() for own in (*sides, peaks, widths, highest > -np.inf)))
    return [Window(low, high, peak, width, depth) if is_one else None for low, high, peak, width, is_one in columns]


def _ends(chosen: Any) -> tuple[Any, Any]:
    """The first and the last chosen place of every row."""
    return np.argmax(chosen, axis=1), chosen.shape[1] - 1 - np.argmax(chosen[:, ::-1], axis=1)


def _log_tail_mass(x: Any, values: Any, peak: float, width: float) -> Any:
    """log of the mass beyond x, in units of the peak's width, for an algebraic tail."""
    return values + np.log1p(np.abs(x - peak) / width)


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


MOST_ZOOMS = 40
"""Most looks at the windows. Each lengthens one by half its span or more, and 1.5^34 nats are the longest."""
LONGEST = 1e6
"""A longer window of log u belongs to an integral that does not converge."""

RESOLVED = 2.0
"""Distance of nodes in log u, in nats, at which the transition of exp(-u kappa) from 1 to 0 is resolved."""
CROWDED = 4.0
"""Turns crowd where they lie so many times closer together than the nodes of the scan."""

Seen = TypeVar("Seen")
Windows = list[tuple[float, float]]


def converged_windows(
    look: Callable[[list[Any]], tuple[Any, Seen]], windows: Windows, count: int, turns: Sequence[Any] | None = None
) -> tuple[Windows, Seen]:
    """(windows of the outer axes, what ``look`` kept of the last look): looked at again until they no longer change.

    Args:
        look: from the nodes of every axis to (where on their product the integrand counts, what else is to be kept).
        windows: first guesses, one for every axis.
        count: nodes of an axis.
        turns: for every axis places in increasing order at which a part of the integrand turns. Where nodes lie far apart the
            scan also looks near places where many turns crowd.

    Raises:
        CannotEvaluate: where the windows do not converge.
    """
    for _ in range(MOST_ZOOMS):
        nodes = [np.linspace(low, high, count) for low, high in windows]
        if turns is not None:
            nodes = [distinct(np.append(own, _crowded(own, places))) for own, places in zip(nodes, turns)]
        above, seen = look(nodes)
        found = [_relevant(above, own, n) for n, own in enumerate(nodes)]
        if all(_is_stable(old, new) for old, new in zip(windows, found)):
            return found, seen
        if any(high - low > LONGEST for low, high in found):
            break
        windows = found
    raise CannotEvaluate(
        "the outer integrand has no window: a law is too narrow, or it decays too slowly and the integral may not converge"
    )


def _crowded(nodes: Any, turns: Any) -> Any:
    """Places where turns crowd between nodes that are too far apart to resolve one; none where nodes are close."""
    step = nodes[1] - nodes[0]
    inside = turns[(nodes[0] < turns) & (turns < nodes[-1])]
    if step <= RESOLVED or len(inside) < 2:
        return inside[:0]
    quantiles = np.interp(np.linspace(0.0, len(inside) - 1.0, len(nodes)), np.arange(len(inside)), inside)
    crowded = quantiles[1:][np.diff(quantiles) < step / CROWDED]
    return distinct(np.round(crowded / (RESOLVED / 2.0)) * (RESOLVED / 2.0))


def distinct(numbers: Any) -> Any:
    """The distinct numbers in increasing order; NumPy's own function loads masked arrays, which takes 0.02 s."""
    ordered = np.sort(numbers)
    is_new = np.ones(len(ordered), dtype=bool)
    is_new[1:] = np.diff(ordered) > 0
    return ordered[is_new]


def _relevant(above: Any, nodes: Any, axis: int) -> tuple[float, float]:
    """The interval of the relevant nodes and one more on either side; longer by half where they reach an end."""
    line = np.any(above, axis=tuple(m for m in range(above.ndim) if m != axis))
    index = np.flatnonzero(line)
    if not len(index):
        raise CannotEvaluate("the outer integrand is no number where it is looked for")
    span = nodes[-1] - nodes[0]
    low = nodes[0] - span / 2 if index[0] == 0 else nodes[index[0] - 1]
    high = nodes[-1] + span / 2 if index[-1] == len(nodes) - 1 else nodes[index[-1] + 1]
    return float(low), float(high)


def _is_stable(old: tuple[float, float], new: tuple[float, float]) -> bool:
    slack = 1e-9 * (old[1] - old[0])
    return old[0] <= new[0] + slack and new[1] <= old[1] + slack and new[1] - new[0] > 0.6 * (old[1] - old[0])
