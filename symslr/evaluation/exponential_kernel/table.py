"""The shared mesh itself: its nodes and the exponentials on them, the same for all points that lie on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from symslr.evaluation.exponential_kernel.points import Points
from symslr.evaluation.laplace.family import LARGE_POWER

LEVELS = (1, 2, 4)
"""A sum is seen on the mesh and on those with twice and four times its step."""

INWARDS = np.array([1, -1])
"""From a first and a last node to the next one in."""

BLOCK = 60000
"""Pairs of nodes whose windows are laid out at once."""
VANISHED = 6.6
"""Beyond this t exp(-e^t) is below every float64 number."""


@dataclass(frozen=True)
class Grid:
    """Nodes of log(u C) and of s x.

    Attributes:
        outer, rows: step and number of the nodes of log(u C).
        step, first, count: s x_k = step (first + k).
        parts: first and last of these nodes that every moment needs, counted from the first of all, (moments, 2).
        widest: step of x where s = 0.
        start: the first node of log(u C) in units of ``step``, or of ``outer`` where ``stride`` is 0.
        stride: outer over step, where that is a whole number and smaller than ``count``, else 0: then every pair of nodes
            has its own t.
        tilts: of the weights, (moments, 1, 1).
    """

    outer: float
    rows: int
    step: float
    first: int
    count: int
    parts: Any
    widest: float
    start: int
    stride: int
    tilts: Any


class SharedTable:
    """exp(q t - e^t) on a grid, t = log(u C) + s x, with the moments of every tilt q.

    Args:
        grid: the nodes.
        points: for which the grid is made.
        rare: survival functions that are near 1 on the whole grid, told from 1 - exp(-e^t) alone.

    Attributes:
        tau: nodes of log(u C).
        parts: the functions of t, each with its moments; ``of`` those of every moment.
        edges: first and last node of x that the sums of every moment take, (moments, 2).
        ends: the function of every moment there, and one node further in, (moments, 2, nodes of u) each.
        shows_missing: whether 1 - M of the survival functions is asked for.
        tokens: k with s x = step k, (nodes of x,).
        levels: what makes the sums of every level out of weights, (levels, nodes of x).
        offsets: what makes the sums with four times the step out of values, (4, nodes of u).
    """

    def __init__(self, grid: Grid, points: Points, rare: Sequence[int] = ()) -> None:
        self.grid, self.rare = grid, rare
        self.shows_missing = points.power > LARGE_POWER
        # whole multiples of a step, so that t keeps its digits near 0, where the exponential needs them
        ends = (grid.rows - 1) * grid.stride
        if grid.stride:
            self.tau = grid.step * np.arange(grid.start, grid.start + ends + 1, grid.stride)
            t = grid.step * np.arange(grid.start + grid.first, grid.start + grid.first + ends + grid.count)
        else:
            self.tau = grid.outer * np.arange(grid.start, grid.start + grid.rows)
            t = self.tau[:, None] + grid.step * np.arange(grid.first, grid.first + grid.count)
        self._loads = np.exp(t)
        tilts = grid.tilts[:, 0, 0].tolist()
        self.is_tilted = any(tilts)
        members: dict[float | None, list[int]] = {}
        for i, tilt in enumerate(tilts):
            members.setdefault(None if i in rare else tilt, []).append(i)
        self._near_one = self._window(points.survivors)
        pairs = {
            q: self.missing if q is None else self._pairs(np.exp(q * t - self._loads), self._window(own))
            for q, own in members.items()
        }
        self.parts = [(pairs[q], _slice(own)) for q, own in members.items()]
        self.of = [pairs[None if i in rare else tilt] for i, tilt in enumerate(tilts)]
        self.edges = np.array([(own.window.start, own.window.stop - 1) for own in self.of])
        self.ends = tuple(
            np.array([own.values[:, edge + step].T for own, edge in zip(self.of, self.edges)])
            for step in (np.zeros(2, dtype=int), INWARDS)
        )
        self.tokens = np.arange(grid.first, grid.first + grid.count)
        self.levels, self.offsets = _nested(grid.count), _offset(grid.rows)

    @cached_property
    def missing(self) -> Pairs:
        """1 - exp(-e^t) on all pairs of nodes."""
        return self._pairs(-np.expm1(-self._loads), self._near_one, vanishes=False)

    def _window(self, moments: list[int]) -> slice:
        """The nodes of x that some moments need."""
        parts = self.grid.parts[moments]
        return slice(int(parts[:, 0].min()), int(parts[:, 1].max()) + 1) if moments else slice(0, self.grid.count)

    def _pairs(self, values: Any, window: slice, vanishes: bool = True) -> Pairs:
        """A function of t on all pairs of nodes: windows of one vector where t is shared."""
        grid = self.grid
        last = np.full(grid.rows, window.stop)
        if grid.stride:
            size = values.itemsize
            values = np.ndarray((grid.rows, grid.count), float, values, strides=(grid.stride * size, size))
        if vanishes and grid.step:
            last = np.clip(
                np.ceil((VANISHED - self.tau) / grid.step).astype(int) - grid.first, window.start + 1, window.stop
            )
        return Pairs(values, window, last.tolist())


class Pairs:
    """A function of t on all pairs of nodes, ``values`` (nodes of u, nodes of x), of which a window of x is summed.

    In every row it vanishes from the ``last`` node of x on.
    """

    def __init__(self, values: Any, window: slice, last: list[int]) -> None:
        self.values, self.window = values, window
        rows = values.shape[0]
        some = max(8, BLOCK // (window.stop - window.start))
        columns = [(i, slice(window.start, last[i])) for i in range(0, rows, some)]
        self._blocks = [(k, values[i : i + some, k]) for i, k in columns]

    def sums(self, levels: Any) -> Any:
        """Sums over x: from levels (..., nodes of x) to (..., nodes of u).

        Windows are laid out a few at a time, since BLAS takes no overlapping rows and large arrays are slow to come by.
        """
        flat = levels.reshape(-1, levels.shape[-1])
        found = [flat[:, k] @ np.ascontiguousarray(block).T for k, block in self._blocks]
        sums = found[0] if len(found) == 1 else np.concatenate(found, axis=1)
        return sums.reshape(*levels.shape[:-1], -1)


def _slice(members: list[int]) -> Any:
    """Neighbouring moments as a slice: a view of their numbers, not a copy."""
    start, stop = members[0], members[-1] + 1
    return slice(start, stop) if stop - start == len(members) else members


def _nested(count: int) -> Any:
    """For every level its step at its own nodes, 0 elsewhere: (levels, nodes)."""
    table = np.zeros((len(LEVELS), count))
    for row, n in zip(table, LEVELS):
        row[::n] = n
    return table


def _offset(count: int) -> Any:
    """The four sums with four times the step, each from another first node: (4, nodes)."""
    table = np.zeros((4, count))
    for n, row in enumerate(table):
        row[n::4] = 4.0
    return table
