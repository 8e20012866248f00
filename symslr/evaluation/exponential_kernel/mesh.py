"""The shared mesh for one exponential kernel kappa = C e^{s x}: its table depends on t = log(u C) + s x alone.

With one step h for log u and h/s for x, a moment is the correlation of one vector exp(-e^t) with weights on x: O(n)
exponentials for the whole table. Points with similar s (values of nu, lengths, scales) share the table, so that a grid of them
costs little more than a few. Source: symslr's own; see docs/proofs.md for the certified version.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import copysign, floor, log2
from typing import Any

import numpy as np

from symslr.evaluation.exponential_kernel.points import Places, Points, places, steps
from symslr.evaluation.exponential_kernel.sum import Grid, Kept, SharedSum, SharedTable
from symslr.evaluation.laplace.code import LaplaceCode
from symslr.evaluation.quadrature.convergence import DETUNED, outer_step
from symslr.evaluation.quadrature.scan import distinct

MOST_POINTS = 64
"""Most points that share a table."""
RATE_RATIO, ROUGH_TOLERANCE, ROUGH_RATE_RATIO = 1.2, 1e-5, 20.0
"""RATE_RATIO: largest ratio of the rates of points that share a table. Above the tolerance ROUGH_TOLERANCE it is
ROUGH_RATE_RATIO, as the largest table then costs less than several."""
MOST_PAIRS = 20_000_000
"""Pairs of nodes in the table of one evaluation; a tenth of it above ROUGH_TOLERANCE."""
ATTEMPTS = 14
"""Meshes that are tried for a neighbourhood: the last is 1.15^14, or 7 times, as fine as the first."""
MOST_CACHED = 1024
"""Neighbourhoods of single points that are cached."""
LARGEST_DIFFERENCE = 200.0
"""Points whose integrands differ by more, in logarithms, form no neighbourhood."""
FEW_TOKENS = 10
"""Up to this number every integer parameter is a neighbourhood of its own."""
LARGE_POWER = 30.0
"""A survival function with a larger power is near 1 wherever the power does not vanish."""
FIRST_FINENESS = ((0.7, 0.95), (0.92, 0.72))
"""Fineness in u and in tokens of a neighbourhood's first mesh, relative to a mesh that is used untested: for few and for many
tokens."""
PER_OCTAVE = 3
"""Neighbourhoods of a parameter between a value and twice that value."""
RESOLVED = 2.0
"""Largest step of the tokens (or of log u over the rate), times the slope inside an error function and the root of the nats.
With the mesh for Gaussians, moments of 1 + erf(70 x - 2) have a step between two values of u."""
CONFIRMED = 4
"""Points of a table at which its steps are confirmed by others; its error is about the same at all."""
MOST_TOLERANCES = 40.0
"""A cached mesh is not used where its error exceeds so many tolerances."""
ENOUGH_TOLERANCES = 4.0
"""An error of so many tolerances is accepted without a finer mesh."""


class SharedMesh:
    """The rule of one form: built once, evaluated at many points."""

    def __init__(self, code: LaplaceCode) -> None:
        self.code, self.form = code, code.form
        self.whole = [bool(s.is_integer) for s in code.parameters]
        self._near = lru_cache(maxsize=MOST_CACHED)(self._shared_in_neighbourhood)
        x = self.form.x
        self.steepness = code.arithmetic.compile(code.parameters, [step.args[0].diff(x) for step in steps(self.form)])
        self.rests = code.arithmetic.compile((self.form.x, *code.parameters), [m.rest for m in self.form.moments])

    def run(self, p: Any, tolerance: float) -> Any:
        """(values, errors) as an array (2, points) at parameters ``p`` (parameters, points); NaN where the dense table must be
        used.
        """
        points = Points(self.code, p)
        if not points.coefficients.any():
            return np.zeros((2, p.shape[1]))
        both = np.full((2, p.shape[1]), np.nan)
        found = places(points, 4.0 - float(np.log(tolerance)))
        for index in _groups(points, found, np.flatnonzero(points.fit & found.found), tolerance):
            everything = len(index) == p.shape[1]
            own = (points, found) if everything else (points.take(index), found.take(index))
            both[:, index] = self._settled(*own, tolerance)
        return both

    def one(self, p: tuple[float, ...], tolerance: float) -> tuple[float, float]:
        """As ``run`` at one point, with the cached table of its neighbourhood."""
        near = self._near(tuple(map(neighbourhood, p, self.whole)), tolerance)
        if near is not None:
            table, kept = near
            seen = SharedSum(Points(self.code, np.array(p)[:, None]), table, self.rests, kept)
            if seen.outer[0] < ENOUGH_TOLERANCES * tolerance:
                (value,), (error,) = seen.result()
                if error < MOST_TOLERANCES * tolerance * abs(value):
                    return value, error
        (value,), (error,) = self.run(np.array(p)[:, None], tolerance)
        return float(value), float(error)

    def _shared_in_neighbourhood(
        self, corners: tuple[tuple[float, ...], ...], tolerance: float
    ) -> tuple[SharedTable, Kept] | None:
        """(table, what its points have in common) for all points between these corners; None where no table is accurate enough."""
        points = Points(self.code, np.array(list(product(*corners))).T)
        found = places(points, 4.0 - float(np.log(tolerance)))
        if not (points.fit.all() and found.found.all()):
            return None
        finer_outer, finer_inner = FIRST_FINENESS[points.power > LARGE_POWER]
        rare = points.survivors if points.power > LARGE_POWER else []
        for _ in range(ATTEMPTS):
            grid = self._grid(points, found, tolerance, finer_outer, finer_inner)
            if grid.rows * grid.count > MOST_PAIRS:
                break
            table = SharedTable(grid, points, rare)
            seen = SharedSum(points, table, self.rests)
            if not set(rare) <= set(seen.rare):
                rare = [i for i in rare if i in seen.rare]
                continue
            if np.ptp(seen.top) > LARGEST_DIFFERENCE or np.any(
                seen.cut >= MOST_TOLERANCES * tolerance * np.array(seen.size)
            ):
                break
            outer, errors = max(seen.outer) >= tolerance, seen.inner
            if max(errors) < tolerance:
                errors = self._confirmed(
                    points, seen, self._grid(points, found, tolerance, finer_outer, finer_inner * DETUNED)
                )
            inner = max(errors) >= tolerance
            if not (outer or inner):
                kept = Kept(seen.top.max(keepdims=True), 2.0 * max(errors), float(seen.roundings().max()))
                return table, kept
            finer_outer *= 1.15 if outer else 1.0
            finer_inner *= 1.15 if inner else 1.0
        return None

    def _settled(self, points: Points, found: Places, tolerance: float) -> Any:
        """(values, errors) as an array (2, points) of points that share a table, which is refined for those where it is too
        coarse.
        """
        both = np.full((2, points.p.shape[1]), np.nan)
        todo, most = np.arange(both.shape[1]), MOST_PAIRS / 10 if tolerance > ROUGH_TOLERANCE else MOST_PAIRS
        finer_outer = finer_inner = 1.0
        for _ in range(ATTEMPTS):
            grid = self._grid(points, found, tolerance, finer_outer, finer_inner)
            if grid.rows * grid.count > most:
                break
            seen = SharedSum(points, SharedTable(grid, points), self.rests)
            if max(seen.inner) < ENOUGH_TOLERANCES * tolerance:
                few = distinct(np.linspace(0, len(todo) - 1, CONFIRMED).astype(int))
                finer = self._grid(points, found, tolerance, finer_outer, finer_inner * DETUNED)
                change = max(self._confirmed(points.take(few), seen, finer, few))
                seen.inner = [max(error, change) for error in seen.inner]
            both[:, todo] = seen.result()
            late = seen.cut >= MOST_TOLERANCES * tolerance * np.array(seen.size)
            both[:, todo[late]] = np.nan  # of no finer mesh are the ends further out
            outer, inner = (np.array(error) >= ENOUGH_TOLERANCES * tolerance for error in (seen.outer, seen.inner))
            coarse = np.flatnonzero(outer | inner)
            if not len(coarse):
                break
            finer_outer *= 2.0 if outer.any() else 1.0
            finer_inner *= 1.5 if inner.any() else 1.0
            if len(coarse) < len(todo):
                todo, points, found = todo[coarse], points.take(coarse), found.take(coarse)
        return both

    def _confirmed(self, points: Points, seen: SharedSum, finer: Grid, index: Any = slice(None)) -> list[float]:
        """Relative errors of the tokens' meshes at some points: the larger of the error seen and the change on a mesh of other
        steps.

        In a shared table every node of u meets the tokens in the same phase, at which twice the step may agree by chance: the
        Bayes risk of max-SLR at L = 100, nu = 200 to 8 digits was off by 12 errors.
        """
        other = SharedSum(points, SharedTable(finer, points, seen.table.rare), self.rests)
        sizes = np.array(seen.size)[index] * seen.table.grid.outer * np.exp(seen.top[index])
        changes = np.abs(np.array(seen.result()[0])[index] - np.array(other.result()[0])) / sizes
        return np.fmax(np.array(seen.inner)[index], changes).tolist()

    def _grid(self, points: Points, found: Places, tolerance: float, finer_outer: float, finer_inner: float) -> Grid:
        """The grid with the steps that the tolerance needs.

        A Gaussian of width w has the error exp(-pi^2 w^2/h^2), and erf(s x) the error exp(-pi^2/(s h)^2), seen at twice the
        step.
        """
        seen = float(np.sqrt(2.0 - np.log(tolerance)))
        rates = np.abs(points.rate)
        rate = float(rates.min())
        widest = 2.2 / seen * float(-points.curvature.min()) ** -0.5
        steepest = max((float(np.max(np.abs(slope))) for slope in self.steepness(*points.p)), default=0.0)
        resolved = RESOLVED / seen / steepest if steepest else np.inf
        widest = min(widest, resolved)
        usual = outer_step(tolerance)
        outer = 0.85 * usual
        if self.form.is_smoothed:
            crowd = float(np.log1p(points.power))
            sharp = min(1.8, (1.0 + 1.0 / (1.0 + crowd)) / np.sqrt(2.0 * crowd)) if crowd else 1.8
            outer = max(outer, min(2.37 / seen * float(found.width.min()), sharp * usual * rate, resolved * rate))
        outer /= finer_outer
        step = min(widest * rate, usual) / finer_inner
        depth = np.full((len(points.curvature), 1, 1), 8.0 - float(np.log(tolerance)))
        depth[points.survivors] += float(np.log1p(points.power))
        tilts = found.tilts.mean(axis=1)[:, None, None]
        centres = points.centre + 0.5 * tilts * points.rate / points.curvature
        reach = np.sqrt(-depth / points.curvature)
        x_step = step / points.rate if rate else np.full_like(points.rate, widest / finer_inner)
        first, count, parts = _nodes(centres, reach, x_step)
        stride = int(np.ceil(outer / step)) if step else count
        if stride < count:
            step = outer / stride
            x_step = step / points.rate
            first, count, parts = _nodes(centres, reach, x_step)
        else:
            stride = 0
        low, high = float(found.low.min()), float(found.high.max())
        unit = step if stride else outer
        start = int(np.floor(low / unit))
        rows = 4 * int(np.ceil((high - start * unit) / (4.0 * outer))) + 1
        return Grid(outer, rows, step, first, count, parts, widest / finer_inner, start, stride, tilts)


def _nodes(centres: Any, reach: Any, step: Any) -> tuple[int, int, Any]:
    """(first node, number of nodes, first and last node of every moment) for nodes k step that cover every window centre +-
    reach.

    The number is a multiple of four, plus one. The moments' nodes are counted from the first, (moments, 2).
    """
    ends = np.array([(centres - reach) / step, (centres + reach) / step])
    lowest, highest = np.floor(ends.min(axis=(0, 2, 3))), np.ceil(ends.max(axis=(0, 2, 3)))
    first = int(lowest.min())
    count = 4 * int(np.ceil((highest.max() - first) / 4.0)) + 1
    return first, count, np.stack([lowest, highest], axis=1).astype(int) - first


def neighbourhood(value: float, is_whole: bool) -> tuple[float, ...]:
    """The ends of the interval of a fixed partition that holds a parameter, within 26 % of it: independent of earlier calls."""
    if value == 0.0 or (is_whole and abs(value) <= FEW_TOKENS):
        return (value,)
    place = floor(PER_OCTAVE * log2(abs(value)))
    return tuple(copysign(2.0 ** (n / PER_OCTAVE), value) for n in (place, place + 1))


def _groups(points: Points, found: Places, todo: Any, tolerance: float) -> Iterator[Any]:
    """Yields ascending indices of points with similar rates and windows, so few that their numbers stay in the processor's
    cache.
    """
    if len(todo) == 1:
        yield todo
        return
    rates = points.rate[todo, 0]
    order = np.lexsort((found.low[todo], rates))
    start, most = 0, ROUGH_RATE_RATIO if tolerance > ROUGH_TOLERANCE else RATE_RATIO
    for stop in range(1, len(order) + 1):
        if (
            stop == len(order)
            or stop - start == MOST_POINTS
            or not _alike(rates[order[start]], rates[order[stop]], most)
        ):
            yield np.sort(todo[order[start:stop]])
            start = stop


def _alike(one: float, other: float, most: float) -> bool:
    return bool(one == other or (one * other > 0.0 and max(one / other, other / one) < most))
