"""Where integrands live, found from their logarithms: no fixed window, no overflow, nothing missed by being narrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from symslr.evaluation.errors import CannotEvaluate

HEAVY = 1.8
"""A window wider than this times depth * width has an algebraic tail: exp(-|x|) needs 0.6 times, a Gaussian less and less, as
sqrt(depth), and Student's law at depth 34 some 300 times."""

FURTHEST = 690.0
"""Logarithm of the furthest point that float64 can name."""

CLEAR = 5.0
"""Nats above the depth at which a weight counts."""
ZOOMS = 12
"""Each takes a factor of ten off the distance at which a peak is seen."""


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
    """The window of a weight given by its logarithm on (low, high); None where it vanishes."""
    (window,) = scan_all(lambda x: log_weight(x)[None, :], low, high, depth)
    return window


def scan_all(log_weights: Callable[[Any], Any], low: float, high: float, depth: float) -> list[Window | None]:
    """The windows of several weights on (low, high), given by their logarithms: arrays (weights, places).

    The logarithm of a narrow peak is seen from afar, so a coarse grid and repeated zooming on its maximum find it.

    Raises:
        CannotEvaluate: where a weight is no number beside places at which it counts.
    """
    grid = _grid(low, high, min(FURTHEST, 2.2 * depth + 10.0))
    values = log_weights(grid)
    for _ in range(ZOOMS):
        sharp = [_around(grid, row) for row in _finite(values)]
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
    """Whether a weight is no number at several places beside one at which it is not negligible."""
    is_no_number = np.isnan(row) | (row == np.inf)
    runs = is_no_number[2:] & is_no_number[1:-1] & is_no_number[:-2]
    counts = np.where(is_no_number, -np.inf, row)
    counts = counts + np.log1p(np.abs(grid - grid[np.argmax(counts)])) > np.max(counts) - depth + CLEAR
    return bool(np.any(runs[1:] & counts[:-3]) or np.any(runs[:-1] & counts[3:]))


def _around(grid: Any, row: Any) -> tuple[float, float] | None:
    """The grid points beside the maximum where it is not resolved between them."""
    top = int(np.argmax(row))
    left, right = max(top - 1, 0), min(top + 1, len(grid) - 1)
    if row[top] == -np.inf or np.min(row[left : right + 1]) > row[top] - 0.5:
        return None
    return grid[left], grid[right]


def _windows(log_weights: Callable[[Any], Any], grid: Any, values: Any, depth: float) -> list[Window | None]:
    """The windows, their ends to a thirtieth of the grid's step there."""
    rows, last = np.arange(len(values)), len(grid) - 1
    tops = np.argmax(values, axis=1)
    peaks, highest = grid[tops][:, None], values[rows, tops][:, None]
    first, final = _ends(values >= highest - 2.0)
    widths = (grid[np.minimum(final + 1, last)] - grid[np.maximum(first - 1, 0)])[:, None]
    first, final = _ends(_tail(grid, values, peaks, widths) >= highest - depth)
    outside = np.array([np.maximum(first - 1, 0), np.minimum(final + 1, last)])
    fine = np.linspace(grid[[first, final]], grid[outside], 33, axis=-1)
    ends = _finite(log_weights(fine.ravel())).reshape(len(values), *fine.shape)[rows, :, rows]
    sides = []
    for x, end in zip(fine, ends.swapaxes(0, 1)):
        above = _tail(x, end, peaks, widths) > highest - depth
        beyond = np.where(above.any(axis=1), np.minimum(_ends(above)[1] + 1, 32), 1)
        sides.append(x[rows, beyond])
    columns = zip(*(own.ravel().tolist() for own in (*sides, peaks, widths, highest > -np.inf)))
    return [Window(low, high, peak, width, depth) if is_one else None for low, high, peak, width, is_one in columns]


def _ends(chosen: Any) -> tuple[Any, Any]:
    """The first and the last chosen place of every row."""
    return np.argmax(chosen, axis=1), chosen.shape[1] - 1 - np.argmax(chosen[:, ::-1], axis=1)


def _tail(x: Any, values: Any, peak: float, width: float) -> Any:
    """log of the mass beyond x in widths of the peak, if the tail were algebraic."""
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
"""A window grows by half its span or more at every look: 1.5^34 nats are the longest."""
LONGEST = 1e6
"""A window of log u longer than this belongs to an integral that does not converge."""

TURN = 2.0
"""Nats of log u in which exp(-u kappa) turns: nodes that lie no further apart see it."""
CROWDED = 4.0
"""Turns crowd where they lie so many times closer than the nodes of a scan."""

Seen = TypeVar("Seen")
Windows = list[tuple[float, float]]


def zoomed(
    look: Callable[[list[Any]], tuple[Any, Seen]], windows: Windows, count: int, turns: Sequence[Any] | None = None
) -> tuple[Windows, Seen]:
    """The windows, and what was seen at last.

    Args:
        look: nodes of every axis to (where on their product the integrand counts, what else is to be kept).
        windows: first guesses, one for every axis.
        count: nodes of an axis.
        turns: for every axis places in increasing order where part of the integrand turns: between nodes far apart the scan looks
            near those that crowd, too.

    Raises:
        CannotEvaluate: where they do not end.
    """
    for _ in range(MOST_ZOOMS):
        nodes = [np.linspace(low, high, count) for low, high in windows]
        if turns is not None:
            nodes = [distinct(np.append(own, _crowded(own, places))) for own, places in zip(nodes, turns)]
        above, seen = look(nodes)
        found = [_relevant(above, own, n) for n, own in enumerate(nodes)]
        if all(_settled(old, new) for old, new in zip(windows, found)):
            return found, seen
        if any(high - low > LONGEST for low, high in found):
            break
        windows = found
    raise CannotEvaluate(
        "the outer integrand has no window: a law is too narrow, or it decays too slowly and the integral may not converge"
    )


def _crowded(nodes: Any, turns: Any) -> Any:
    """Places where turns crowd between nodes that lie further apart than an integrand takes to turn; none where they do not."""
    step = nodes[1] - nodes[0]
    inside = turns[(nodes[0] < turns) & (turns < nodes[-1])]
    if step <= TURN or len(inside) < 2:
        return inside[:0]
    quantiles = np.interp(np.linspace(0.0, len(inside) - 1.0, len(nodes)), np.arange(len(inside)), inside)
    crowded = quantiles[1:][np.diff(quantiles) < step / CROWDED]
    return distinct(np.round(crowded / (TURN / 2.0)) * (TURN / 2.0))


def distinct(numbers: Any) -> Any:
    """Numbers in increasing order, each once; NumPy's own loads its masked arrays, which takes 0.02 s."""
    ordered = np.sort(numbers)
    is_new = np.ones(len(ordered), dtype=bool)
    is_new[1:] = np.diff(ordered) > 0
    return ordered[is_new]


def _relevant(above: Any, nodes: Any, axis: int) -> tuple[float, float]:
    """The window that holds the relevant nodes and the ones beside them; longer where they reach its end."""
    line = np.any(above, axis=tuple(m for m in range(above.ndim) if m != axis))
    index = np.flatnonzero(line)
    if not len(index):
        raise CannotEvaluate("the outer integrand is no number where it is looked for")
    span = nodes[-1] - nodes[0]
    low = nodes[0] - span / 2 if index[0] == 0 else nodes[index[0] - 1]
    high = nodes[-1] + span / 2 if index[-1] == len(nodes) - 1 else nodes[index[-1] + 1]
    return float(low), float(high)


def _settled(old: tuple[float, float], new: tuple[float, float]) -> bool:
    slack = 1e-9 * (old[1] - old[0])
    return old[0] <= new[0] + slack and new[1] <= old[1] + slack and new[1] - new[0] > 0.6 * (old[1] - old[0])
