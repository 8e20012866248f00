"""One sum on the shared mesh, for points that share the table exp(-e^t).

Moments are (levels, points, nodes of u): level 0 is the token mesh, levels 1 and 2 those with twice and four times its step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluation.arithmetic import Float64
from symslr.evaluation.convergence import geometric_error
from symslr.evaluation.laplace_float import LARGE_POWER, TINY
from symslr.evaluation.shared_points import Points

FLOAT = Float64()
BLOCK = 12_000
"""Pairs of nodes whose windows are laid out at once."""


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


class SharedSum:
    """The sum and its errors."""

    def __init__(self, points: Points, grid: Grid, rests: Callable[..., list[Any]]) -> None:
        self.points, self.grid = points, grid
        # whole multiples of a step, so that t keeps its digits near 0, where the exponential needs them
        ends = (grid.rows - 1) * grid.stride
        if grid.stride:
            self.tau = grid.step * np.arange(grid.start, grid.start + ends + 1, grid.stride)
            t = grid.step * np.arange(grid.start + grid.first, grid.start + grid.first + ends + grid.count)
        else:
            self.tau = grid.outer * np.arange(grid.start, grid.start + grid.rows)
            t = self.tau[:, None] + grid.step * np.arange(grid.first, grid.first + grid.count)
        self.loads = np.exp(t)
        tilts = grid.tilts[:, 0, 0].tolist()
        self.tables = {q: self._pairs(np.exp(q * t - self.loads)) for q in set(tilts)}
        self.members = {q: [i for i, own in enumerate(tilts) if own == q] for q in self.tables}
        self.moved = 0.5 * grid.tilts * points.rate / points.curvature
        self.centres = points.centre + self.moved
        x_step = grid.step / points.rate if grid.step else np.full_like(points.rate, grid.widest)
        x = x_step * np.arange(grid.first, grid.first + grid.count)
        self.weights = np.exp(points.curvature * (x - self.centres) ** 2)
        for weight, rest in zip(self.weights, rests(x, *points.columns)):
            weight *= rest * np.abs(x_step)

    def _pairs(self, values: Any) -> Any:
        """A function of t on all pairs of nodes, (nodes of u, nodes of x): windows of one vector where t is shared."""
        if not self.grid.stride:
            return values
        size = values.itemsize
        return np.ndarray((self.grid.rows, self.grid.count), float, values, strides=(self.grid.stride * size, size))

    @staticmethod
    def _sums(levels: Any, table: Any) -> Any:
        """Sums over x: levels (..., nodes of x) with a table of pairs, (..., nodes of u).

        Windows are laid out a few at a time, since BLAS takes no overlapping rows and large arrays are slow to come by.
        """
        flat = levels.reshape(-1, levels.shape[-1])
        some = max(8, BLOCK // table.shape[1])
        blocks = [flat @ np.ascontiguousarray(table[i : i + some]).T for i in range(0, len(table), some)]
        sums = blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)
        return sums.reshape(*levels.shape[:-1], -1)

    def run(self) -> tuple[Any, Any, Any, Any]:
        """Value, error, and the relative errors of the outer and of the token mesh: (points,) each."""
        grid = self.grid
        levels = np.zeros((len(self.weights), 3, *self.weights.shape[1:]))
        levels[:, 0] = self.weights
        np.multiply(self.weights[..., ::2], 2.0, out=levels[:, 1, :, ::2])
        np.multiply(self.weights[..., ::4], 4.0, out=levels[:, 2, :, ::4])
        means = np.empty((*levels.shape[:-1], grid.rows))
        for q, members in self.members.items():
            means[members] = self._sums(levels[members], self.tables[q])
        logs = self._logs(means, levels)
        scales = self._scales()
        shares, top = self._outer(means, logs, scales)
        values = shares[0] if len(shares) == 1 else np.sum(shares, axis=0)
        fine = values[0]
        heights = np.abs(fine)
        size = heights.sum(axis=1)
        full, half, quarter = (n * fine[:, ::n].sum(axis=1) for n in (1, 2, 4))
        near, far = np.abs(values[1:] - values[:2]).sum(axis=2)
        outer, inner = (
            np.array([geometric_error(*numbers) for numbers in zip(*(column.tolist() for column in columns))])
            for columns in ((quarter, half, full, size), (far + near, near, 0.0 * size, size))
        )
        edge = 8.0 * (heights[:, 0] + heights[:, -1]) / size
        roundings = self._roundings(heights.argmax(axis=1), means, logs, scales, shares, fine)
        relative = outer + inner + edge + self._cut(heights, means, size) + FLOAT.eps * roundings
        factor = grid.outer * np.exp(top)
        return full * factor, relative * size * factor, outer, inner

    def _logs(self, means: Any, levels: Any) -> list[Any]:
        """log M of the survival functions; from 1 - M where M is near 1 and its power large."""
        logs: list[Any] = [0.0] * len(means)
        for i in self.points.survivors:
            factor = np.exp(self.points.height[i])
            logs[i] = np.log(np.maximum(means[i] * factor, TINY))
            if self.points.power > LARGE_POWER:
                missing = self._sums(levels[i], self._pairs(-np.expm1(-self.loads))) * factor
                logs[i] = np.where(missing < 0.5, np.log1p(-np.minimum(missing, 0.5)), logs[i])
        return logs

    def _scales(self) -> Any:
        """log of what multiplies each mean: (moments, points, nodes of u)."""
        points, tilts = self.points, self.grid.tilts
        heights = points.height + points.curvature * self.moved**2 - tilts * points.rate * self.centres
        return heights - tilts * self.tau

    def _outer(self, means: Any, logs: list[Any], scales: Any) -> tuple[list[Any], Any]:
        """Every term of the outer integrand over exp(top), (levels, points, nodes of u), and top, (points,)."""
        points = self.points
        terms = points.code.terms([self.tau - points.shift], means, logs, scales, points.columns)
        parts = [(exponent, rest * c) for (exponent, rest), c in zip(terms, points.coefficients)]
        tops = [np.fmax.reduce(exponent + np.log(np.abs(rest)), axis=(0, 2)) for exponent, rest in parts]
        top = tops[0] if len(tops) == 1 else np.fmax.reduce(tops)
        shares = [np.exp(exponent - top[:, None]) * rest for exponent, rest in parts]
        return [np.where(np.isnan(share), 0.0, share) for share in shares], top

    def _roundings(self, peak: Any, means: Any, logs: list[Any], scales: Any, shares: list[Any], fine: Any) -> Any:
        """Roundings of the result in units of the roundoff: exponents at the peak, amplified by the powers."""
        points, grid = self.points, self.grid
        every = np.arange(len(peak))

        def at(values: Any) -> Any:
            return values[0, every, peak] if np.ndim(values) else values

        tau = self.tau[peak]
        sizes = points.code.sizes(
            [tau - points.shift[:, 0]],
            [at(m) for m in means],
            [at(g) for g in logs],
            list(scales[:, every, peak]),
            tuple(points.p),
        )
        # tokens lie within 3 widths of the centres that the tilts chose
        tokens = np.abs(self.centres) + 3.0 * (-2.0 * points.curvature) ** -0.5
        each = -points.curvature * (tokens + np.abs(points.centre)) ** 2 + np.abs(points.height)
        each += np.abs(grid.tilts) * (np.abs(tau)[:, None] + np.abs(points.rate) * tokens)
        each = 4.0 + each[:, :, 0]
        for i in points.alternating:
            terms = np.abs(self.weights[i] * self.tables[float(grid.tilts[i, 0, 0])][peak]).sum(axis=1)
            each[i] *= terms / np.maximum(np.abs(at(means[i])), TINY)
        for i in points.survivors:
            each[i] *= np.abs(at(logs[i]))
        whole = np.maximum(np.abs(fine[every, peak]), TINY)
        roundings = 16.0
        for size, powers, share in zip(sizes, points.powers, shares):
            roundings = roundings + (size + (powers * each).sum(axis=0)) * np.abs(at(share)) / whole
        return roundings

    def _cut(self, heights: Any, means: Any, size: Any) -> Any:
        """What the ends of the token mesh leave out, relative, seen at every outer node through the moments."""
        lost = 0.0
        for q, table in self.tables.items():
            first, last = table[:, 0], table[:, -1]
            for i in self.members[q]:
                ends = np.abs(self.weights[i, :, :1]) * first + np.abs(self.weights[i, :, -1:]) * last
                lost = lost + self.points.largest[i] * (heights * ends / np.maximum(np.abs(means[i, 0]), TINY)).sum(
                    axis=1
                )
        return 4.0 * lost / size
