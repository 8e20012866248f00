"""Finds where an integrand has its mass, on coarse tensor grids in floats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from symslr.referee.arithmetic import Arithmetic, Array, CannotReferee
from symslr.referee.axes import Map, Piece, Stretch, at_edge, scan_points, stacked, stretch_of

Integrand = Callable[[list[Array]], Array]
"""Nodes of the fixed axes, then of the others -> values; node arrays have axes counted from the last one."""

Weighted = Callable[[Array, Array, int], tuple[Array, Array]]
"""(nodes, weights, array axes behind) -> nodes, weights times the density of the axis."""

FIRST_COUNT = 24.0
"""Nodes on a stretch before anything is known about the integrand."""

COARSENING = {1: 1.0, 2: 2.0, 3: 4.0}
"""How much wider the scan's steps are on a grid of that many dimensions; 6 beyond."""


HOPELESS = 1e-140
"""Density, relative to its largest value, below which a tensor scan looks only if there is mass at the edge above it."""


class NotFinite(CannotReferee):
    """An integrand overflowed."""


class Diverges(NotFinite):
    """An integral that stands in no other has no finite value.

    Attributes:
        tail: as of ``diverging_tail``.
    """

    def __init__(self, tail: float) -> None:
        super().__init__("an integral diverges")
        self.tail = tail


CUT_OFF = 1e-4
"""Share of its largest value that an integrand may have where a scan ends: if it falls, a wider grid shows what lies beyond."""


@dataclass(frozen=True)
class Scan:
    """A look at one integrand.

    Attributes:
        cut: the pieces of each axis.
        weighted: for each axis, what puts its density into the weights.
        integrand: function of the nodes.
        given: nodes of the fixed axes.
        arithmetic: floats.
        depth, size: array axes outside, and points on them.
        digits: what lies below 10**-(digits + 5) of the largest value is left out, row by row.
        under_densities: whether every axis has a density, beside which an overflow far out is nothing.
        closer: multiplies the steps.
    """

    cut: list[list[Piece]]
    weighted: list[Weighted]
    integrand: Integrand
    given: list[Array]
    arithmetic: Arithmetic
    depth: int
    size: int
    digits: int
    under_densities: bool = False
    closer: float = 1.0

    def stretches(self) -> list[list[Stretch]] | None:
        """The stretches of every axis; None where a mass on the whole line has heavier tails than the scan reaches."""
        cutoff = 10.0 ** -(self.digits + 5)
        coarsening = self.closer * COARSENING.get(len(self.cut), 6.0)
        everywhere = [[scan_points(piece, coarsening) for piece in axis] for axis in self.cut]
        points = self._trimmed(everywhere)
        for _ in range(5):
            profiles = self._profiles(points)
            if any(
                piece.map is Map.LINE and at_edge(profile, cutoff)
                for axis, rows in zip(self.cut, profiles)
                for piece, profile in zip(axis, rows)
            ):
                if points == everywhere:
                    return None
                points = everywhere
                continue
            if not self.depth and any(at_edge(p, CUT_OFF) for rows in profiles for p in rows) and points == everywhere:
                raise CannotReferee("an integrand does not fall as far as the referee looks")
            found = [[stretch_of(f, s, cutoff) for f, s in zip(*pair)] for pair in zip(profiles, points)]
            closer = [[_closer(*t, cutoff) for t in zip(*triple)] for triple in zip(points, found, profiles)]
            if closer == points:
                break
            points = closer
        return [_kept(*triple) for triple in zip(self.cut, points, found)]

    def _trimmed(self, points: list[list[list[float]]]) -> list[list[list[float]]]:
        """The points of a line at which the density of the axis is not hopelessly small."""
        if len(self.cut) == 1:
            return points
        _, weights = self._grids(points)
        result = []
        for axis, places, weight in zip(self.cut, points, weights):
            kept = np.ravel(weight) > HOPELESS * np.max(weight)
            whole = len(axis) > 1 or axis[0].map is not Map.LINE or kept.size != len(places[0])
            result.append(places if whole else [[s for s, keep in zip(places[0], kept) if keep]])
        return result

    def _profiles(self, points: list[list[list[float]]]) -> list[list[Any]]:
        """For each piece of each axis: the largest |integrand| over the other axes, relative to its row."""
        count, fixed = len(self.cut), len(self.given)
        nodes, weights = self._grids(points)
        lengths = [len(w) for w in weights]
        per_slice = prod(lengths[:-1]) * self.size * prod(len(g) for g in self.given)
        block = max(1, self.arithmetic.block // per_slice)
        slabs: list[list[Any]] = [[] for _ in self.cut]
        rows: Any = 0.0
        for start in range(0, lengths[-1], block):
            part = slice(start, start + block)
            values = np.abs(self.integrand([*self.given, *nodes[:-1], nodes[-1][part]]))
            beside = [*weights[:-1], weights[-1][part]]
            self._bounded_where_it_matters(values, beside)
            values = values * reduce(np.multiply, beside)
            marginals, highest = _largest(values, count, fixed)
            if not np.all(np.isfinite(highest)):
                marginals, highest = _largest(np.where(np.isfinite(values), values, 0), count, fixed)
            for slab, largest in zip(slabs, marginals, strict=True):
                slab.append(largest)
            rows = np.maximum(rows, highest)
        negligible = np.max(rows) * self.arithmetic.exact(10) ** -(2 * self.digits + 20)
        least = np.finfo(self.arithmetic.dtype).tiny * self.arithmetic.exact(10) ** (self.digits + 5)
        # down to the cutoff floats have few digits, or none, of one that is smaller
        scale = np.where((rows > negligible) & (np.max(rows) > least), rows, np.inf)
        result = []
        for i, places in enumerate(points):
            if len(slabs[i]) == 1:
                joined = slabs[i][0]
            else:
                joined = np.concatenate(slabs[i]) if i == count - 1 else np.maximum.reduce(slabs[i])
            relative = (joined / scale).reshape(len(joined), -1).max(axis=1).astype(float)
            result.append(np.split(relative, np.cumsum([len(s) for s in places])[:-1]))
        return result

    def _bounded_where_it_matters(self, values: Array, weights: list[Array]) -> None:
        """Refuses an integrand that overflows where the densities are not hopelessly small; inside of an integral that one does."""
        if self.under_densities and not self.depth and not np.all(np.isfinite(values)):
            density = np.array(1.0)
            for weight in weights:
                density = density * (weight / np.max(weight))
            if np.any((density > HOPELESS) & ~np.isfinite(values)):
                raise NotFinite("an integrand overflows")

    def _grids(self, points: list[list[list[float]]]) -> tuple[list[Array], list[Array]]:
        """Nodes and absolute weights of every axis."""
        first = self.depth + len(self.given)
        nodes, weights = [], []
        for i, (axis, places) in enumerate(zip(self.cut, points)):
            parts = [piece.nodes(self.arithmetic, s, first + i) for piece, s in zip(axis, places)]
            x, w = self.weighted[i](*stacked(parts), first + i)
            nodes.append(x)
            weights.append(np.abs(w))
        return nodes, weights


def _largest(values: Array, count: int, fixed: int) -> tuple[list[Array], Array]:
    """For each of the axes the largest value over the others and over the fixed ones, and the largest of each row."""
    values = values.max(axis=tuple(range(count, count + fixed))) if fixed else values
    axes = range(count)
    marginals = [values.max(axis=tuple(other for other in axes if other != own)) for own in reversed(axes)]
    return marginals, marginals[0].max(axis=0)


def _kept(axis: list[Piece], points: list[list[float]], found: list[tuple[float, float] | None]) -> list[Stretch]:
    """The pieces with mass; the middle of the first piece where the integrand vanishes altogether."""
    kept = [Stretch(i, p.map, *r, FIRST_COUNT) for i, (p, r) in enumerate(zip(axis, found)) if r is not None]
    middle = len(points[0]) // 2
    return kept or [Stretch(0, axis[0].map, points[0][middle], points[0][middle + 1], FIRST_COUNT, blind=True)]


def _closer(s: list[float], found: tuple[float, float] | None, profile: Any, cutoff: float) -> list[float]:
    """A finer scan where only a few points saw any mass; the same points otherwise."""
    if found is None or np.count_nonzero(profile > cutoff) >= 6:
        return s
    low, high = found
    step = (s[1] - s[0]) / 8
    return [low + i * step for i in range(round((high - low) / step) + 1)]
