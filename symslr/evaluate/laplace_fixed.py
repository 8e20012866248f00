"""Laplace forms at any precision: tables in fixed point, contracted by exact integer products.

With a step log(2)/m of v = log u the table needs m exponentials per node: exp(-2 u kappa) = exp(-u kappa)^2 gives the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from flint import fmpz_mat

from symslr.evaluate.arithmetic import Float64, Multiprecision
from symslr.evaluate.convergence import geometric_error
from symslr.evaluate.errors import CannotEvaluate
from symslr.evaluate.laplace_code import Constants, LaplaceCode
from symslr.evaluate.laplace_layout import Layout, layout
from symslr.evaluate.mesh import joined

FLOAT = Float64()
LARGEST_TABLE = 30_000_000


@dataclass(slots=True)
class FixedKernel:
    """Nodes, slopes and integer weights of one kernel at one level: weight = integer * unit."""

    nodes: Any
    nested: tuple[Any, ...]
    slopes: list[Any]
    rows: list[list[int]]
    units: list[Any]


class FixedLaplace:
    """One evaluation of a Laplace form; ``rough`` is the float64 code of the same form."""

    def __init__(
        self, code: LaplaceCode, rough: LaplaceCode, p: tuple[Any, ...], arithmetic: Multiprecision, tolerance: Any
    ) -> None:
        self.code, self.form, self.p = code, code.form, p
        self.arithmetic, self.tolerance = arithmetic, tolerance
        self.constants: Constants = code.constants(p)
        self.active = [i for i, c in enumerate(self.constants.coefficients) if c != 0]
        self.depth = float(-mpmath.log(tolerance)) + 12.0
        floats = tuple(float(v) for v in p)
        self.power = max(
            (abs(float(self.constants.powers[t][i])) for t in self.active for i in range(len(self.form.moments))), default=0.0
        )
        self.depth += float(np.log1p(self.power))
        self.layout: Layout | None = None
        if self.active:
            with np.errstate(all="ignore"):
                self.layout = layout(rough, rough.constants(floats), floats, self.depth, self.active)
            self.bits = arithmetic.bits + int(self.layout.sunk / np.log(2) + np.log2(2 + self.power)) + 24
        self.moments_of = [
            [i for i, m in enumerate(self.form.moments) if m.kernel == kernel] for kernel in self.form.kernels
        ]

    def place(self, level: int) -> list[FixedKernel]:
        """Nodes and integer weights at a level."""
        placed = []
        assert self.layout is not None
        for k, own in enumerate(self.layout.pieces):
            mesh = joined(own, self.arithmetic, level)
            slopes, parts = self.code.weights(k, mesh.nodes, self.p)
            rows, units = [], []
            for exponent, rest in parts:
                weights = self.arithmetic.exp(exponent) * rest * mesh.weights
                top = max(abs(w) for w in weights)
                unit = mpmath.ldexp(1, mpmath.frexp(top)[1] - self.bits)
                rows.append([int(mpmath.nint(w / unit)) for w in weights])
                units.append(unit)
            placed.append(FixedKernel(mesh.nodes, mesh.nested, slopes, rows, units))
        return placed

    def exponentials(self, first: Any, per_octave: int, count: int, slopes: Any) -> list[list[int]]:
        """Rows i of exp(-u_i kappa) with u_i = first 2^(i/m), in units of 2^-bits."""
        octaves = (count - 1) // per_octave + 1
        guard = octaves + 8
        high = self.bits + guard
        rows: list[list[int]] = []
        with mpmath.workprec(high + 10):
            ratio = mpmath.mpf(2) ** (mpmath.mpf(1) / per_octave)
            u = mpmath.mpf(first)
            for _ in range(min(per_octave, count)):
                rows.append([int(mpmath.ldexp(mpmath.exp(-u * s), high)) for s in slopes])
                u = u * ratio
        while len(rows) < count:
            rows.append([(t * t) >> high for t in rows[-per_octave]])
        return [[t >> guard for t in row] for row in rows]

    def moments(self, tables: list[list[list[int]]], kernel: FixedKernel, coarser: int) -> list[Any]:
        """Moments of one kernel on the outer mesh, scaled by the unit of their weights."""
        keep = range(len(kernel.nodes)) if coarser == 0 else [int(i) for i in kernel.nested[coarser - 1]]
        unit = mpmath.ldexp(2**coarser, -self.bits)
        if len(tables) == 1:
            left = fmpz_mat([[row[k] for k in keep] for row in tables[0]])
            right = fmpz_mat([[row[k] for row in kernel.rows] for k in keep])
            product = (left * right).tolist()
            columns = [[line[n] for line in product] for n in range(len(kernel.rows))]
            return [self._numbers(column, unit * kernel.units[n]) for n, column in enumerate(columns)]
        right = fmpz_mat([[row[k] for row in tables[1]] for k in keep])
        found = []
        for row, own in zip(kernel.rows, kernel.units):
            left = fmpz_mat([[line[k] * row[k] for k in keep] for line in tables[0]])
            product = (left * right).tolist()
            found.append(np.array([self._numbers(line, unit * own * mpmath.ldexp(1, -self.bits)) for line in product]))
        return found

    @staticmethod
    def _numbers(integers: list[Any], unit: Any) -> Any:
        return np.array([mpmath.mpf(int(n)) * unit for n in integers], dtype=object)

    def integrand(self, outer: list[Outer], placed: list[FixedKernel], coarser: int = 0) -> Any:
        """The outer integrand on the product of the outer meshes."""
        means: list[Any] = [None] * len(self.form.moments)
        for kernel, indices in zip(placed, self.moments_of):
            tables = [self.exponentials(o.first, o.per_octave, o.count, s) for o, s in zip(outer, kernel.slopes)]
            for i, mean in zip(indices, self.moments(tables, kernel, coarser)):
                means[i] = mean
        return self.assembled(outer, means), means

    def assembled(self, outer: list[Outer], means: list[Any]) -> Any:
        """The outer integrand from its moments."""
        logs = []
        for moment, mean in zip(self.form.moments, means):
            logs.append(self.arithmetic.log(mean) if moment.is_survival else mean * 0)
        heights = [bell[2] if m.bell is not None else mpmath.mpf(0) for m, bell in zip(self.form.moments, self.constants.bells)]
        grid = [o.nodes() for o in outer]
        if len(grid) == 2:
            grid = [grid[0][:, None], grid[1][None, :]]
        terms = self.code.terms(grid, means, logs, heights, self.p)
        total: Any = mpmath.mpf(0)
        for i in self.active:
            exponent, rest = terms[i]
            total = total + self.arithmetic.exp(exponent) * rest * self.constants.coefficients[i]
        return total + means[0] * 0

    def run(self) -> tuple[Any, Any]:
        """The integral and its error."""
        if self.layout is None:
            return mpmath.mpf(0), mpmath.mpf(0)
        windows = self.layout.windows
        few = [Outer.spread(low, high) for low, high in windows]
        level, inner_error = self.inner_level(few)
        placed = self.place(level)
        step = np.pi**2 / (0.7 * self.depth)
        while True:
            outer = [Outer.filling(low, high, step) for low, high in windows]
            size = float(np.prod([o.count for o in outer])) * max(len(k.nodes) for k in placed)
            if size > LARGEST_TABLE:
                raise CannotEvaluate("mpmath: the table of exponentials is too large; ask for fewer digits")
            values, means = self.integrand(outer, placed)
            area = mpmath.mpf(1)
            for o in outer:
                area *= mpmath.ln2 / o.per_octave
            mass = np.sum(abs(values))
            axes = len(windows)
            sums = [np.sum(values[(slice(None, None, s),) * axes]) * s**axes for s in (4, 2, 1)]
            outer_error = geometric_error(*sums, mass)
            if outer_error < self.tolerance:
                break
            if step < 1e-3:
                raise CannotEvaluate("mpmath: the outer integral does not converge geometrically")
            step /= 1.5
        edges = sum(np.sum(abs(np.take(values, e, axis=n))) * 8 for n in range(axes) for e in (0, -1))
        rounding = self.arithmetic.eps * self.conditioning(outer, values, means, placed)
        relative = outer_error + inner_error + edges / mass + rounding
        return sums[2] * area, relative * mass * area

    def inner_level(self, few: list[Outer]) -> tuple[int, Any]:
        """First level at which three nested token meshes agree, seen through the outer integrand at a few nodes."""
        for level in range(1, 10):
            placed = self.place(level)
            if max(len(k.nodes) for k in placed) > 40_000:
                break
            found = [self.integrand(few, placed, coarser)[0] for coarser in (2, 1, 0)]
            size = np.sum(abs(found[2]))
            half = np.sum(abs(found[1] - found[2]))
            quarter = np.sum(abs(found[0] - found[1]))
            error = geometric_error(quarter + half, half, mpmath.mpf(0), size)
            if size > 0 and error < self.tolerance:
                return level, error
        raise CannotEvaluate("mpmath: a token integral does not converge geometrically (a kink the formula does not show?)")

    def conditioning(self, outer: list[Outer], values: Any, means: list[Any], placed: list[FixedKernel]) -> Any:
        """Roundings in units of the roundoff, as in float64."""
        peak = np.unravel_index(int(np.argmax(np.abs(values))), values.shape)
        point = [o.nodes()[i] for o, i in zip(outer, peak)]
        at = [m[peak] for m in means]
        logs = [mpmath.log(m) if moment.is_survival else mpmath.mpf(0) for m, moment in zip(at, self.form.moments)]
        heights = [bell[2] if m.bell is not None else mpmath.mpf(0) for m, bell in zip(self.form.moments, self.constants.bells)]
        sizes = self.code.sizes(point, at, logs, heights, self.p)
        tokens = sum(len(k.nodes) for k in placed)
        return 16 + tokens + 4 * max(float(sizes[i]) for i in self.active) + 8 * self.depth * (1 + self.power)


@dataclass(frozen=True, slots=True)
class Outer:
    """Nodes u_i = first 2^(i/m), i < count."""

    low: float
    per_octave: int
    count: int

    @property
    def first(self) -> Any:
        return mpmath.exp(mpmath.mpf(self.low))

    def nodes(self) -> Any:
        """v_i = log u_i."""
        step = mpmath.ln2 / self.per_octave
        return np.array([mpmath.mpf(self.low) + step * i for i in range(self.count)], dtype=object)

    @staticmethod
    def filling(low: float, high: float, step: float) -> Outer:
        per_octave = max(1, int(np.ceil(np.log(2) / step)))
        count = 4 * int(np.ceil((high - low) * per_octave / np.log(2) / 4)) + 1
        return Outer(low, per_octave, count)

    @staticmethod
    def spread(low: float, high: float) -> Outer:
        """One node per octave: enough to see how the token meshes converge."""
        return Outer(low, 1, int((high - low) / np.log(2)) + 1)
