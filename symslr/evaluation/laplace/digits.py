"""The trapezoid rule on the dense table at any precision: the same sum in balls, with an estimated truncation error.

With a step log(2)/m of v = log u the table needs m exponentials per token: exp(-2 u kappa) = exp(-u kappa)^2 gives the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, log, log2
from typing import Any

import mpmath
import numpy as np
from flint import arb, arb_mat, ctx

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace.code import Constants, LaplaceCode
from symslr.evaluation.laplace.family import Family
from symslr.evaluation.laplace.survey import Layout, layout
from symslr.evaluation.laplace.tokens import MOST_NODES
from symslr.evaluation.numbers.balls import Balls, array, centre, from_mpf, radius, size
from symslr.evaluation.quadrature.convergence import DETUNED, geometric_error
from symslr.evaluation.quadrature.mesh import Line, Mesh, joined

LARGEST_TABLE = 100_000_000
"""Entries of the product of outer nodes and tokens."""
FEW = {1: 24, 2: 8}
"""Outer nodes per axis at which the token meshes are judged."""
ROUNDS = 20
LN2 = log(2)


@dataclass(frozen=True, slots=True)
class Octaves:
    """Nodes u_i = 2^(first + i/m), i < count; ``chosen`` are the ones in use."""

    first: int
    per_octave: int
    count: int
    chosen: tuple[int, ...]

    @staticmethod
    def filling(low: float, high: float, step: float) -> Octaves:
        """Steps no longer than ``step`` over a window."""
        per_octave, first = max(1, ceil(LN2 / step)), int(np.floor(low / LN2))
        count = 4 * ceil((high / LN2 - first) * per_octave / 4) + 1
        return Octaves(first, per_octave, count, tuple(range(count)))

    @staticmethod
    def spread(low: float, high: float, count: int) -> Octaves:
        """A few nodes over a window, whole octaves apart."""
        first = int(np.floor(low / LN2))
        octaves = ceil(high / LN2) - first + 1
        return Octaves(first, 1, octaves, tuple(range(0, octaves, max(1, octaves // count))))

    @property
    def step(self) -> Any:
        return arb.const_log2() / self.per_octave

    def nodes(self) -> Any:
        """v_i = log u_i."""
        return array([self.step * (self.first * self.per_octave + i) for i in self.chosen])

    @property
    def guard(self) -> int:
        """Bits that the squares cost: each doubles the relative error."""
        return (self.count - 1) // self.per_octave + 8

    def exponentials(self, slopes: Any) -> list[list[Any]]:
        """Rows exp(-u_i kappa) for the chosen i."""
        rows: list[list[Any]] = []
        with ctx.workprec(ctx.prec + self.guard):
            for i in range(min(self.per_octave, self.count)):
                u = arb(2) ** (self.first + arb(i) / self.per_octave)
                rows.append([(-u * s).exp() for s in slopes])
            while len(rows) < self.count:
                rows.append([t * t for t in rows[-self.per_octave]])
        return [rows[i] for i in self.chosen]


@dataclass(slots=True)
class Weights:
    """Tokens of one kernel, kappa there for every Laplace variable, and the weights of its moments, (moments, tokens)."""

    mesh: Mesh
    slopes: list[Any]
    rows: list[Any]


def integrate(
    code: LaplaceCode, rough: LaplaceCode, p: tuple[Any, ...], arithmetic: Balls, tolerance: Any
) -> list[Any]:
    """Every integral of the form as a ball that holds it, as far as the truncation error is told by coarser rules.

    Args:
        code, rough: of the form in balls, and in float64 to place the meshes by.
        p: the parameters in balls.
        tolerance: relative truncation error aimed at.

    Raises:
        CannotEvaluate: where a mesh does not converge or would be too large.
    """
    floats = tuple(float(value.mid()) for value in p)
    nats = float(-mpmath.log(tolerance))
    with np.errstate(all="ignore"):
        family = Family(rough, floats, nats=nats)
        if not family.active:
            return [arb(0)] * len(family.integrals)
        found = layout(family)
    guard = 14 + int(log2(2.0 + float(family.largest.max())))
    with ctx.workprec(arithmetic.bits + guard):
        return _Rule(code, family, p, arithmetic, found, tolerance).run()


class _Rule:
    def __init__(
        self, code: LaplaceCode, family: Family, p: tuple[Any, ...], arithmetic: Balls, found: Layout, tolerance: Any
    ) -> None:
        self.code, self.form, self.family, self.p = code, code.form, family, p
        self.arithmetic, self.layout, self.tolerance = arithmetic, found, tolerance
        self.nats = float(-mpmath.log(tolerance))
        self.axes = len(found.axes)

    @cached_property
    def constants(self) -> Constants:
        return self.code.constants(self.p)

    @cached_property
    def heights(self) -> list[Any]:
        """Logarithmic scale of each moment."""
        pairs = zip(self.form.moments, self.constants.gaussians)
        return [gaussian[2] if m.gaussian is not None else arb(0) for m, gaussian in pairs]

    def run(self) -> list[Any]:
        windows = [(axis.low, axis.high) for axis in self.layout.axes]
        inner, placed = self._converged([Octaves.spread(low, high, FEW[self.axes]) for low, high in windows])
        usual = 0.48 * float(np.pi) ** 2 / (2.0 + self.nats)
        steps = [usual * (1.0 if self.axes == 1 else 2.0)] * self.axes
        for _ in range(ROUNDS):
            v = [Octaves.filling(low, high, step) for (low, high), step in zip(windows, steps)]
            if float(np.prod([o.count for o in v])) * max(len(k.mesh.nodes) for k in placed) > LARGEST_TABLE:
                raise CannotEvaluate("mpmath: the table of exponentials is too large; ask for fewer digits")
            tables = [self._tables(v, kernel) for kernel in placed]
            means = self._moments(placed, tables, 0)
            values = self._values(v, means)
            masses = [np.sum(abs(own)) for own in values]
            outer = [[self._axis_error(own, n) for n in range(self.axes)] for own in values]
            worst = [max(own[n] for own in outer) for n in range(self.axes)]
            if max(worst) < self.tolerance:
                break
            steps = [h / self._finer(e) if e >= self.tolerance else h for h, e in zip(steps, worst)]
        else:
            raise CannotEvaluate("mpmath: the outer integral does not converge geometrically")
        area = arb(1)
        for octaves in v:
            area *= octaves.step
        cut = self._cut(means, placed, tables, values)
        found = []
        for own, mass, errors, near, lost in zip(values, masses, outer, inner, cut):
            edges = sum(np.sum(abs(np.take(own, e, axis=n))) * 8 for n in range(self.axes) for e in (0, -1))
            missed = size(mass) * (sum(errors) + near) + size(arb(edges + lost))
            found.append((np.sum(own) + arb(0, _ball(missed).upper())) * area)
        return found

    def _finer(self, error: Any) -> float:
        """Ratio of steps: errors are exp(-c/h), down to the tolerance and a little beyond."""
        if not error < 0.5:
            return 2.0
        return float(np.clip(1.08 * self.nats / float(-mpmath.log(error)), 1.08, 2.0))

    @property
    def _first_level(self) -> float:
        """A level at which the Gaussian factors, and singularities at a distance of about 2, are resolved."""
        level = 1.0
        for pieces in self.layout.pieces:
            for piece in pieces:
                wanted = 0.24 if not isinstance(piece, Line) else piece.step * 2.0
                wanted = min(wanted * np.sqrt(34.0 / self.nats), wanted * 0.5 + 10.0 / self.nats)
                level = max(level, float(np.log2(piece.step / wanted)) + 1.0)
        return level

    def _converged(self, few: list[Octaves]) -> tuple[list[Any], list[Weights]]:
        """The first level at which three nested token meshes agree, seen through the outer integrands at a few nodes."""
        level = self._first_level
        while True:
            placed = self._placed(level)
            tables = [self._tables(few, kernel) for kernel in placed]
            found = [self._values(few, self._moments(placed, tables, times)) for times in (2, 1, 0)]
            errors = []
            for quarter, half, full in zip(*found):
                mass = size(np.sum(abs(full)))
                near, far = (size(np.sum(_sizes(a - b))) for a, b in ((half, full), (quarter, half)))
                errors.append(geometric_error(far + near, near, mpmath.mpf(0), mass) if mass > 0 else mpmath.mpf(0))
            if max(errors) < self.tolerance:
                errors = [max(pair) for pair in zip(errors, self._aliased(few, found, level))]
            if max(errors) < self.tolerance:
                return errors, placed
            level += max(log2(self._finer(max(errors))), 0.1)

    def _aliased(self, few: list[Octaves], found: list[list[Any]], level: float) -> list[Any]:
        """Relative change of the integrals on finer token meshes that are nested in none, as in float64."""
        placed = self._placed(level + log2(DETUNED))
        other = self._values(few, self._moments(placed, [self._tables(few, kernel) for kernel in placed], 0))
        masses = [size(np.sum(abs(full))) for full in found[2]]
        changes = [size(np.sum(_sizes(a - b))) for a, b in zip(other, found[2])]
        return [change / mass if mass > 0 else mpmath.mpf(0) for change, mass in zip(changes, masses)]

    def _placed(self, level: float) -> list[Weights]:
        """Nodes and weights at a level."""
        placed = []
        for k, own in enumerate(self.layout.pieces):
            mesh = joined(own, self.arithmetic, level)
            if len(mesh.nodes) > MOST_NODES:
                raise CannotEvaluate(
                    "mpmath: a token integral does not converge geometrically (a kink that is not shown?)"
                )
            slopes, parts = self.code.weights(k, mesh.nodes, self.p)
            rows = [self.arithmetic.exp(exponent) * rest * mesh.weights for exponent, rest in parts]
            placed.append(Weights(mesh, [self.arithmetic.exp(g) for g in slopes], rows))
        return placed

    @staticmethod
    def _tables(v: list[Octaves], kernel: Weights) -> list[list[list[Any]]]:
        """exp(-u kappa) for every Laplace variable."""
        return [octaves.exponentials(slopes) for octaves, slopes in zip(v, kernel.slopes)]

    def _moments(self, placed: list[Weights], tables: list[Any], coarser: int) -> list[Any]:
        """Every moment on the product of the outer nodes, without its height."""
        means: list[Any] = [None] * len(self.form.moments)
        for kernel, indices, factors in zip(placed, self.family.moments_of, tables):
            for i, mean in zip(indices, self._contracted(kernel, factors, coarser)):
                means[i] = mean
        return means

    @staticmethod
    def _contracted(kernel: Weights, tables: list[list[list[Any]]], coarser: int) -> list[Any]:
        rows = kernel.rows
        if coarser:
            keep = [int(i) for i in kernel.mesh.nested[coarser - 1]]
            rows = [row[keep] * 2**coarser for row in rows]
            tables = [[[line[k] for k in keep] for line in table] for table in tables]
        if len(tables) == 1:
            product = (arb_mat(tables[0]) * arb_mat([list(row) for row in rows]).transpose()).tolist()
            return [array([line[n] for line in product]) for n in range(len(rows))]
        right = arb_mat(tables[1]).transpose()
        found = []
        for row in rows:
            left = arb_mat([[t * w for t, w in zip(line, row)] for line in tables[0]])
            found.append(np.array([array(line) for line in (left * right).tolist()]))
        return found

    def _values(self, v: list[Octaves], means: list[Any]) -> list[Any]:
        """The integrands on the outer mesh."""
        nodes = [octaves.nodes() for octaves in v]
        grid = nodes if len(nodes) == 1 else [nodes[0][:, None], nodes[1][None, :]]
        pairs = zip(self.form.moments, means)
        logs = [self._log(mean) if moment.is_survival else arb(0) for moment, mean in pairs]
        terms = self.code.terms(grid, means, logs, self.heights, self.p)
        shape = np.shape(means[0])
        found = []
        for own in self.family.integrals:
            total = np.full(shape, arb(0), dtype=object)
            for t in own:
                exponent, rest = terms[t]
                total = total + self.arithmetic.exp(exponent) * rest * self.constants.coefficients[t]
            found.append(total)
        return found

    def _log(self, survival: Any) -> Any:
        """log M; where M cannot be told from zero, of what it may be at most."""
        flat = [m.log() if m > 0 else arb(m.abs_upper()).log() for m in survival.ravel()]
        return array(flat).reshape(survival.shape)

    def _axis_error(self, values: Any, axis: int) -> Any:
        """Relative error of the rule along one axis: its last difference, as an mpmath number.

        Below 1e-16 an integrand's Gaussian core hides a tail that falls far more slowly: for the spiked Bayes risk at L = 19435,
        nu = 367.41 the rules with four steps, two steps and one err by 1.3e-5, 2.5e-19 and 4e-23, so that no power of the last
        difference may be claimed. One difference may meet a zero; the size at four steps, whatever its phase, bounds it then.
        """
        mass = size(np.sum(abs(values)))
        if not mass > 0:
            return mpmath.mpf(0)
        line = np.sum(values, axis=tuple(n for n in range(values.ndim) if n != axis))
        zeroth, first, second, third = (centre(4 * np.sum(line[k::4])) for k in range(4))
        rough = ((zeroth - second) ** 2 + (first - third) ** 2) ** 0.5 / (2 * mass)
        last = abs(zeroth + second - first - third) / (4 * mass)
        return last if last > rough else max(last, rough**4)

    def _cut(self, means: list[Any], placed: list[Weights], tables: list[Any], values: list[Any]) -> list[Any]:
        """What the ends of the token meshes leave out, for every integral."""
        shares = np.full(np.shape(values[0]), mpmath.mpf(0), dtype=object)
        for kernel, indices, factors in zip(placed, self.family.moments_of, tables):
            ends = [[array([line[e] for line in table]) for table in factors] for e in (0, -1)]
            left, right = (own[0] if len(own) == 1 else np.multiply.outer(*own) for own in ends)
            for row, i in zip(kernel.rows, indices):
                power = float(self.family.largest[i])
                if power > 0:
                    lost = (abs(row[0]) * left + abs(row[-1]) * right) * arb(8 * power)
                    whole = _sizes(means[i])
                    shares = shares + np.frompyfunc(_share, 2, 1)(lost, whole)
        return [sum((_ball(s) * abs(x) for s, x in zip(shares.ravel(), own.ravel())), arb(0)) for own in values]


def _share(lost: Any, whole: Any) -> Any:
    """lost/whole, at most one."""
    most, least = size(lost), centre(whole)
    return mpmath.mpf(1) if most >= least else most / least


def _sizes(values: Any) -> Any:
    """Absolute values of the balls' centres, as balls without radius."""
    return np.frompyfunc(lambda ball: abs(ball.mid()), 1, 1)(values)


def _ball(number: Any) -> Any:
    return from_mpf(mpmath.mpf(number))


def as_pair(ball: Any) -> tuple[Any, Any]:
    """(value, error) as mpmath numbers."""
    return centre(ball), radius(ball)
