"""The shared table exp(-e^t), the same for all points on its nodes, and one sum on it for points that share it.

Moments are (levels, points, nodes of u): level 0 is the token mesh, levels 1 and 2 those with twice and four times its step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, nan
from typing import Any

import numpy as np

from symslr.evaluation.exponential_kernel.points import Points
from symslr.evaluation.laplace.code import LARGE_POWER, log_near_one
from symslr.evaluation.laplace.table import TINY
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.quadrature.convergence import alternating_error, geometric_error, tail_in_last_terms
from symslr.evaluation.quadrature.mesh import nested_weights

LEVELS = 3
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
        offsets: what makes the sums with eight times the step, each from another first node, out of values, (8, nodes of u).
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
        self.levels = nested_weights(LEVELS, grid.count)
        self.offsets = np.tile(8.0 * np.eye(8), (grid.rows + 7) // 8)[:, : grid.rows]

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


LARGEST = 709.0
"""Logarithms below this have an exponential in float64."""
RARE = -1.5
"""A survival function whose logarithm is above this everywhere can be told from 1 - M alone."""


@dataclass(frozen=True)
class Kept:
    """What neighbouring points have in common: it is found at some of them, and the largest is kept.

    Attributes:
        top: logarithm of the outer integrand, (1,).
        inner: relative error of the mesh of tokens.
        roundings: in units of the roundoff.
    """

    top: Any
    inner: float
    roundings: float


class SharedSum:
    """The sum, carried out when it is made, and what it tells about its errors.

    Args:
        points: on the table's grid.
        table: the grid and its exponentials.
        rests: what multiplies the exponential of every weight, as a function of x and of the parameters.
        kept: where one point is a neighbour of others; then the coarser meshes of tokens are left out.

    Attributes:
        outer, inner: relative errors of the meshes of u and of tokens, lists over the points.
    """

    def __init__(
        self, points: Points, table: SharedTable, rests: Callable[..., list[Any]], kept: Kept | None = None
    ) -> None:
        self.points, self.table = points, table
        grid = table.grid
        x_step = grid.step / points.rate if grid.step else np.full_like(points.rate, grid.widest)
        x = x_step * table.tokens
        self.moved = 0.5 * grid.tilts * points.rate / points.curvature if table.is_tilted else 0.0
        self.centres = points.centre + self.moved
        self.weights = np.exp(points.curvature * (x - self.centres) ** 2)
        size = np.abs(x_step)
        for weight, rest in zip(self.weights, rests(x, *points.columns)):
            weight *= rest * size
        levels = self.weights[:, None] if kept else self.weights[:, None] * table.levels[:, None]
        self.means = np.empty((*levels.shape[:-1], grid.rows))
        for pairs, members in table.parts:
            self.means[members] = pairs.sums(levels[members])
        self.logs = self._logs(levels)
        self.scales = self._scales()
        self.shares, self.top = self._outer(kept.top if kept else None)
        values = self.shares[0] if len(self.shares) == 1 else np.sum(self.shares, axis=0)
        self.fine = values[0]
        self.heights = np.abs(self.fine)
        self.size = self.heights.sum(axis=1).tolist()
        self.sums = (self.fine @ table.offsets.T).tolist()
        self.outer = [alternating_error(eight, size) for eight, size in zip(self.sums, self.size)]
        self.inner = [kept.inner] if kept else self._inner(values)
        self.kept = kept

    def _inner(self, values: Any) -> list[float]:
        near, far = np.abs(values[1:] - values[:2]).sum(axis=2).tolist()
        return [geometric_error(two + one, one, 0.0, size) for one, two, size in zip(near, far, self.size)]

    def result(self) -> tuple[list[float], list[float]]:
        """Values and errors, over the points; nan where float64 cannot hold them."""
        roundings = [self.kept.roundings] if self.kept else self.roundings().tolist()
        step, edges = self.table.grid.outer, self._edges().tolist()
        values, errors = [], []
        columns = (self.sums, self.size, self.outer, self.inner, edges, self.cut.tolist(), roundings, self.top.tolist())
        for sums, size, outer, inner, edge, cut, rounding, top in zip(*columns):
            factor = step * exp(top) if size > 0.0 and top < LARGEST else nan
            lost = step * FLOAT.tiny * size if factor < step * FLOAT.tiny else 0.0
            values.append(0.125 * sum(sums) * factor)
            errors.append(((outer + inner + FLOAT.eps * rounding) * size + edge + cut) * factor + lost)
        return values, errors

    def _logs(self, levels: Any) -> list[Any]:
        """log M of the survival functions; from 1 - M where M is near 1 and its power large."""
        logs: list[Any] = [0.0] * len(self.means)
        for i in self.points.survivors:
            factor = np.exp(self.points.height[i])
            if i in self.table.rare:
                missing = self.means[i] * factor
                logs[i] = np.log1p(-missing)
                self.means[i] = 1.0 - missing
                continue
            logs[i] = np.log(np.maximum(self.means[i] * factor, TINY))
            if self.table.shows_missing:
                logs[i] = log_near_one(self.table.missing.sums(levels[i]) * factor, logs[i])
        return logs

    @property
    def rare(self) -> list[int]:
        """The survival functions that are near 1 on the whole mesh, at all the points."""
        return [i for i in self.points.survivors if self.logs[i].min() > RARE]

    def _scales(self) -> Any:
        """log of what multiplies each mean: (moments, points, nodes of u), or 1 for nodes where it is the same at all."""
        points, tilts = self.points, self.table.grid.tilts
        if not self.table.is_tilted:
            return points.height
        heights = points.height + points.curvature * self.moved**2 - tilts * points.rate * self.centres
        return heights - tilts * self.table.tau

    def _outer(self, top: Any) -> tuple[list[Any], Any]:
        """Every term of the outer integrand over exp(top), (levels, points, nodes of u), and top, (points,)."""
        points = self.points
        v = [self.table.tau - points.shift]
        terms = points.code.terms(v, self.means, self.logs, self.scales, points.columns)
        parts = [(exponent, rest * c) for (exponent, rest), c in zip(terms, points.coefficients)]
        if top is None:
            tops = [np.fmax.reduce(exponent + np.log(np.abs(rest)), axis=(0, 2)) for exponent, rest in parts]
            top = tops[0] if len(tops) == 1 else np.fmax.reduce(tops)
        shares = [np.exp(exponent - top[:, None]) * rest for exponent, rest in parts]
        return [np.where(np.isnan(share), 0.0, share) for share in shares], top

    def roundings(self) -> Any:
        """Roundings of the result in units of the roundoff: exponents at the peak, amplified by the powers; (points,)."""
        points, grid = self.points, self.table.grid
        peak = self.heights.argmax(axis=1)
        every = np.arange(len(peak))

        def at(values: Any) -> Any:
            return values[0, every, peak] if np.ndim(values) else values

        tau = self.table.tau[peak]
        scales = np.broadcast_to(self.scales, (*self.scales.shape[:2], grid.rows))
        sizes = points.code.sizes(
            [tau - points.shift[:, 0]],
            [at(m) for m in self.means],
            [at(g) for g in self.logs],
            list(scales[:, every, peak]),
            tuple(points.p),
        )
        # tokens lie within 3 widths of the centres that the tilts chose
        away = 3.0 * (-2.0 * points.curvature) ** -0.5
        tokens = np.abs(self.centres) + away
        # in curvature (x - centre)^2 a token is rounded twice, its centre once, the square three times
        each = -points.curvature * away * (4.0 * tokens + 2.0 * np.abs(self.centres) + 3.0 * away)
        each = each + np.abs(points.height) + np.abs(points.curvature) * np.square(self.moved)
        each = each + np.abs(grid.tilts) * (np.abs(tau)[:, None] + np.abs(points.rate) * tokens)
        each = 4.0 + each[:, :, 0]
        for i in points.alternating:
            terms = np.abs(self.weights[i] * self.table.of[i].values[peak]).sum(axis=1)
            each[i] *= terms / np.maximum(np.abs(at(self.means[i])), TINY)
        for i in points.survivors:
            each[i] *= np.abs(at(self.logs[i]))
        whole = np.maximum(np.abs(self.fine[every, peak]), TINY)
        roundings = 16.0
        for size, powers, share in zip(sizes, points.powers, self.shares):
            roundings = roundings + (size + (powers * each).sum(axis=0)) * np.abs(at(share)) / whole
        return roundings

    def _edges(self) -> Any:
        """What the ends of the outer mesh leave out, over the points."""
        last, before = self.heights[:, [0, -1]], self.heights[:, [1, -2]]
        return np.sum(last * tail_in_last_terms(np.where(last < before, last / before, 0.0)), axis=1)

    @cached_property
    def cut(self) -> Any:
        """What the ends of the token mesh leave out, over the points, seen at every outer node through the moments."""
        every, edges = np.arange(len(self.weights))[:, None], self.table.edges
        last, before = (
            np.abs(self.weights[every, :, at])[..., None] * heights[:, :, None]
            for at, heights in zip((edges, edges + INWARDS), self.table.ends)
        )
        ends = np.sum(last * tail_in_last_terms(last / before), axis=1) * self.points.largest[:, None, None]
        means = np.maximum(np.abs(self.means[:, 0]), TINY)
        return (ends * self.heights / means).sum(axis=(0, 2))
