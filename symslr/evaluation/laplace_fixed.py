"""Laplace forms at any precision: tables in fixed point, contracted by exact integer products.

With a step log(2)/m of v = log u the table needs m exponentials per node: exp(-2 u kappa) = exp(-u kappa)^2 gives the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from flint import fmpz_mat

from symslr.evaluation.convergence import geometric_error, unextrapolated_error
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.fixed_outer import FixedOuter, integers
from symslr.evaluation.mesh import joined

LARGEST_TABLE = 30_000_000
MOST_NODES = 40_000
FEW = 24


@dataclass(slots=True)
class FixedKernel:
    """Nodes, slopes and integer weights of one kernel at one level: weight = integer * unit."""

    nodes: Any
    nested: tuple[Any, ...]
    slopes: list[Any]
    rows: list[list[int]]
    units: list[Any]


@dataclass(frozen=True, slots=True)
class Octaves:
    """Nodes u_i = exp(low) 2^(i/m), i < count; ``chosen`` are the ones in use."""

    low: float
    per_octave: int
    count: int
    chosen: tuple[int, ...]

    @staticmethod
    def filling(low: float, high: float, step: float) -> Octaves:
        """Steps no longer than ``step`` over a window."""
        per_octave = max(1, int(np.ceil(np.log(2) / step)))
        count = 4 * int(np.ceil((high - low) * per_octave / np.log(2) / 4)) + 1
        return Octaves(low, per_octave, count, tuple(range(count)))

    @staticmethod
    def spread(low: float, high: float, count: int) -> Octaves:
        """A few nodes over a window, whole octaves apart."""
        octaves = int((high - low) / np.log(2)) + 1
        return Octaves(low, 1, octaves, tuple(range(0, octaves, max(1, octaves // count))))

    def nodes(self) -> Any:
        """v_i = log u_i."""
        step = mpmath.ln2 / self.per_octave
        return np.array([mpmath.mpf(self.low) + step * i for i in self.chosen], dtype=object)

    def exponentials(self, slopes: Any, bits: int) -> list[list[int]]:
        """Rows exp(-u_i kappa) for the chosen i, in units of 2^-bits.

        A square doubles the relative error, so one guard bit per octave is carried.
        """
        guard = (self.count - 1) // self.per_octave + 9
        high = bits + guard
        rows: list[list[int]] = []
        with mpmath.workprec(high + 10):
            ratio = mpmath.mpf(2) ** (mpmath.mpf(1) / self.per_octave)
            u = mpmath.exp(mpmath.mpf(self.low))
            for _ in range(min(self.per_octave, self.count)):
                rows.append([int(mpmath.ldexp(mpmath.exp(-u * s), high)) for s in slopes])
                u = u * ratio
        while len(rows) < self.count:
            rows.append([(t * t) >> high for t in rows[-self.per_octave]])
        return [[t >> guard for t in rows[i]] for i in self.chosen]


class DenseFixed:
    """Any kernel, one or two Laplace variables."""

    def __init__(self, outer: FixedOuter) -> None:
        self.outer, self.code, self.form, self.p = outer, outer.code, outer.form, outer.p
        self.moments_of = [
            [i for i, m in enumerate(self.form.moments) if m.kernel == kernel] for kernel in self.form.kernels
        ]

    def place(self, level: int) -> list[FixedKernel]:
        """Nodes and integer weights at a level."""
        placed = []
        arithmetic = self.outer.arithmetic
        for k, own in enumerate(self.outer.layout.pieces):
            mesh = joined(own, arithmetic, level)
            if len(mesh.nodes) > MOST_NODES:
                raise CannotEvaluate(
                    "mpmath: a token integral does not converge geometrically (a kink that is not shown?)"
                )
            slopes, parts = self.code.weights(k, mesh.nodes, self.p)
            rows, units = [], []
            for exponent, rest in parts:
                row, unit = integers(arithmetic.exp(exponent) * rest * mesh.weights, self.outer.bits)
                rows.append(row)
                units.append(unit)
            placed.append(FixedKernel(mesh.nodes, mesh.nested, [arithmetic.exp(g) for g in slopes], rows, units))
        return placed

    def tables(self, v: list[Octaves], kernel: FixedKernel) -> list[list[list[int]]]:
        """exp(-u kappa) for every Laplace variable."""
        return [octaves.exponentials(slopes, self.outer.bits) for octaves, slopes in zip(v, kernel.slopes)]

    def moments(self, placed: list[FixedKernel], tables: list[Any], coarser: int) -> list[Any]:
        """Every moment on the product of the outer nodes, without its height."""
        means: list[Any] = [None] * len(self.form.moments)
        for kernel, indices, factors in zip(placed, self.moments_of, tables):
            for i, mean in zip(indices, self._contracted(kernel, factors, coarser)):
                means[i] = mean
        return means

    def _contracted(self, kernel: FixedKernel, tables: list[list[list[int]]], coarser: int) -> list[Any]:
        rows = kernel.rows
        if coarser:
            keep = [int(i) for i in kernel.nested[coarser - 1]]
            rows = [[row[k] for k in keep] for row in rows]
            tables = [[[line[k] for k in keep] for line in table] for table in tables]
        unit = mpmath.ldexp(2**coarser, -self.outer.bits)
        if len(tables) == 1:
            product = (fmpz_mat(tables[0]) * fmpz_mat(rows).transpose()).tolist()
            return [_numbers([line[n] for line in product], unit * own) for n, own in enumerate(kernel.units)]
        right = fmpz_mat(tables[1]).transpose()
        found = []
        for row, own in zip(rows, kernel.units):
            left = fmpz_mat([[t * w for t, w in zip(line, row)] for line in tables[0]])
            scale = unit * own * mpmath.ldexp(1, -self.outer.bits)
            found.append(np.array([_numbers(line, scale) for line in (left * right).tolist()]))
        return found

    @staticmethod
    def grid(v: list[Octaves]) -> list[Any]:
        """Outer nodes shaped for the product mesh."""
        nodes = [octaves.nodes() for octaves in v]
        return nodes if len(nodes) == 1 else [nodes[0][:, None], nodes[1][None, :]]

    def run(self) -> tuple[Any, Any]:
        """The integral and its error.

        Raises:
            CannotEvaluate: where a mesh does not converge or would be too large.
        """
        outer = self.outer
        windows = outer.layout.windows
        axes = len(windows)
        inner_error, placed = self.converged([Octaves.spread(low, high, FEW) for low, high in windows])
        step = outer.step if axes == 1 else 1.5 * outer.step  # a table too large costs more than a second one
        while True:
            v = [Octaves.filling(low, high, step) for low, high in windows]
            size = float(np.prod([o.count for o in v])) * max(len(k.nodes) for k in placed)
            if size > LARGEST_TABLE:
                raise CannotEvaluate("mpmath: the table of exponentials is too large; ask for fewer digits")
            tables = [self.tables(v, kernel) for kernel in placed]
            means = self.moments(placed, tables, 0)
            values = outer.values(self.grid(v), means)
            mass = np.sum(abs(values))
            outer_error = unextrapolated_error(values)
            if outer_error < outer.tolerance:
                break
            if step < 1e-3:
                raise CannotEvaluate("mpmath: the outer integral does not converge geometrically")
            step /= 1.5
        edges = sum(np.sum(abs(np.take(values, e, axis=n))) * 8 for n in range(axes) for e in (0, -1))
        rounding = outer.rounding(self.grid(v), means, values, max(len(k.nodes) for k in placed))
        relative = outer_error + inner_error + (edges + self.cut(means, placed, tables, values)) / mass + rounding
        area = mpmath.mpf(1)
        for octaves in v:
            area *= mpmath.ln2 / octaves.per_octave
        return np.sum(values) * area, relative * mass * area

    def cut(self, means: list[Any], placed: list[FixedKernel], tables: list[Any], values: Any) -> Any:
        """What the ends of the token meshes leave out, in units of the outer values."""
        lost, tiny = mpmath.mpf(0), mpmath.ldexp(1, -20 * self.outer.bits)
        for kernel, indices, factors in zip(placed, self.moments_of, tables):
            ends = [[np.array([line[e] for line in table], dtype=object) for table in factors] for e in (0, -1)]
            left, right = (own[0] if len(own) == 1 else np.multiply.outer(*own) for own in ends)
            scale = 8 * mpmath.ldexp(1, -self.outer.bits * len(factors))
            for row, unit, i in zip(kernel.rows, kernel.units, indices):
                power = max(abs(float(self.outer.constants.powers[t][i])) for t in self.outer.active)
                if power > 0 and (row[0] or row[-1]):
                    share = (abs(row[0]) * left + abs(row[-1]) * right) * (scale * unit * power)
                    lost += np.sum(np.minimum(share / np.maximum(abs(means[i]), tiny), 1) * abs(values))
        return lost

    def converged(self, few: list[Octaves]) -> tuple[Any, list[FixedKernel]]:
        """The first level at which three nested token meshes agree, seen through the outer integrand at a few nodes."""
        level = self.outer.first_level
        while True:
            placed = self.place(level)
            tables = [self.tables(few, kernel) for kernel in placed]
            found = [self.outer.values(self.grid(few), self.moments(placed, tables, c)) for c in (2, 1, 0)]
            size = np.sum(abs(found[2]))
            half = np.sum(abs(found[1] - found[2]))
            quarter = np.sum(abs(found[0] - found[1]))
            error = geometric_error(quarter + half, half, mpmath.mpf(0), size)
            if size > 0 and error < self.outer.tolerance:
                return error, placed
            level += 1


def _numbers(whole: list[Any], unit: Any) -> Any:
    return np.array([mpmath.mpf(int(n)) * unit for n in whole], dtype=object)
