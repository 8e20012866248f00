"""The shared mesh itself: its nodes and the exponentials on them, the same for all points that lie on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from symslr.evaluation.laplace_float import LARGE_POWER
from symslr.evaluation.shared_points import Points

LEVELS = (1, 2, 4)
"""A sum is seen on the mesh and on those with twice and four times its step."""

BLOCK = 24_000
"""Pairs of nodes whose windows are laid out at once."""
MOST_KEPT = 150_000
"""Pairs of nodes of a table that is kept laid out, 1.2 MB for each of its parts."""
VANISHED = 6.6
"""Beyond this t exp(-e^t) is below every float64 number."""


@dataclass(frozen=True)
class Grid:
    """Nodes of log(u C) and of s x.

    Attributes:
        outer, rows: step and number of the nodes of log(u C).
        step, first, count: s x_k = step (first + k).
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
        ends: the function of every moment at the first and the last node of x, times four and the moment's largest power:
            (moments, 2, nodes of u).
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
        pairs = {q: self.missing if q is None else self._pairs(np.exp(q * t - self._loads)) for q in members}
        self.parts = [(pairs[q], _slice(own)) for q, own in members.items()]
        self.of = [pairs[None if i in rare else tilt] for i, tilt in enumerate(tilts)]
        self.ends = 4.0 * points.largest[:, None, None] * [own.values[:, [0, -1]].T for own in self.of]
        self.tokens = np.arange(grid.first, grid.first + grid.count)
        self.levels, self.offsets = _nested(grid.count), _offset(grid.rows)

    def laid_out(self) -> SharedTable:
        """Itself, quicker to use again; tables too large to be kept stay as they are."""
        if self.grid.rows * self.grid.count <= MOST_KEPT:
            for pairs, _ in self.parts:
                pairs.laid_out()
            if self.shows_missing:
                self.missing.laid_out()
        return self

    @cached_property
    def missing(self) -> Pairs:
        """1 - exp(-e^t) on all pairs of nodes."""
        return self._pairs(-np.expm1(-self._loads), vanishes=False)

    def _pairs(self, values: Any, vanishes: bool = True) -> Pairs:
        """A function of t on all pairs of nodes: windows of one vector where t is shared."""
        grid = self.grid
        last = np.full(grid.rows, grid.count)
        if grid.stride:
            size = values.itemsize
            values = np.ndarray((grid.rows, grid.count), float, values, strides=(grid.stride * size, size))
        if vanishes and grid.step:
            last = np.clip(np.ceil((VANISHED - self.tau) / grid.step).astype(int) - grid.first, 1, grid.count)
        return Pairs(values, last.tolist())


class Pairs:
    """A function of t on all pairs of nodes, ``values`` (nodes of u, nodes of x); it vanishes behind the ``last`` of x."""

    def __init__(self, values: Any, last: list[int]) -> None:
        self.values = values
        rows, count = values.shape
        some = max(8, BLOCK // count)
        self._blocks = [(slice(0, last[i]), values[i : i + some, : last[i]]) for i in range(0, rows, some)]

    def laid_out(self) -> None:
        """Rows without gaps, once and for all: twice as quick to sum, where the table is used again."""
        columns = {k.stop: k for k, _ in self._blocks}
        blocks = [(k, self.values[:, k]) for k in columns.values()] if len(columns) == 1 else self._blocks
        self._blocks = [(k, np.ascontiguousarray(block)) for k, block in blocks]

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
    return np.array([[float(n) if i % n == 0 else 0.0 for i in range(count)] for n in LEVELS])


def _offset(count: int) -> Any:
    """The four sums with four times the step, each from another first node: (4, nodes)."""
    return np.array([[4.0 if i % 4 == n else 0.0 for i in range(count)] for n in range(4)])
