"""A Laplace form in float64 on given meshes: tables, moments, the outer integrand, and what these tell of its errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluation.arithmetic import Float64
from symslr.evaluation.convergence import geometric_error
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace_float import LARGE_POWER, TINY, FloatOuter
from symslr.evaluation.mesh import Mesh, Piece, joined
from symslr.evaluation.stretch import Stretch

FLOAT = Float64()
MOST_NODES = 40_000
DETUNED = 1.3
"""Ratio of steps by which a result is confirmed."""


@dataclass(slots=True)
class PlacedKernel:
    """Nodes, log slopes and scaled weights (one row per moment) of one kernel; ``nested`` are the rows on coarser meshes."""

    mesh: Mesh
    slopes: list[Any]
    rows: Any
    scales: list[float]

    def nested(self) -> list[Any]:
        """Rows on the mesh itself and on the meshes with two and four times the step, zero elsewhere."""
        tables = [self.rows]
        for times in (1, 2):
            coarse = np.zeros_like(self.rows)
            keep = self.mesh.nested[times - 1]
            coarse[:, keep] = self.rows[:, keep] * 2**times
            tables.append(coarse)
        return tables


@dataclass(slots=True)
class Outer:
    """The outer integrand on a product mesh: nodes, tables (by kernel, axis and power), moments and values exp(shift).

    ``density`` is what the stretched nodes stand for, and part of the values.
    """

    v: list[Any]
    density: Any
    steps: list[float]
    tables: list[list[dict[int, Any]]]
    means: list[Any]
    logs: list[Any]
    scales: list[Any]
    values: Any
    shift: float


class DenseTables:
    """M = (u kappa)^q exp(-u kappa) @ weights, with the powers q of every moment and Laplace variable."""

    def __init__(self, outer: FloatOuter, powers: list[tuple[int, ...]]) -> None:
        self.outer, self.form, self.constants, self.powers = outer, outer.form, outer.constants, powers
        self.moments_of = [
            [i for i, m in enumerate(self.form.moments) if m.kernel == kernel] for kernel in self.form.kernels
        ]

    def place(self, pieces: list[tuple[Piece, ...]], level: int) -> list[PlacedKernel]:
        """Nodes and weights of every kernel at a level."""
        placed = []
        for k, own in enumerate(pieces):
            mesh = joined(own, FLOAT, level)
            if len(mesh.nodes) > MOST_NODES:
                raise CannotEvaluate(f"a token integral needs more than {MOST_NODES} float64 nodes")
            slopes, parts = self.outer.code.weights(k, mesh.nodes, self.outer.p)
            rows = np.empty((len(parts), len(mesh.nodes)))
            scales = []
            for row, (exponent, rest), i in zip(rows, parts, self.moments_of[k]):
                powers = self.powers[i]
                for q, slope in zip(powers, slopes):
                    exponent = exponent - q * slope if q else exponent
                bell = self.form.moments[i].bell is not None
                height = 0.0
                if not bell or any(powers):
                    height = float(np.max(exponent, where=np.isfinite(exponent), initial=-np.inf))
                np.multiply(np.exp(exponent - height), rest * mesh.weights, out=row)
                lost = ~np.isfinite(row)
                if lost.any():
                    if np.any(exponent[lost] > height - 600.0):
                        raise CannotEvaluate("a token weight overflows in float64")
                    row[lost] = 0.0
                scales.append(height + (float(self.constants.bells[i][2]) if bell else 0.0))
            placed.append(PlacedKernel(mesh, slopes, rows, scales))
        return placed

    def outer_at(self, lines: list[Stretch], steps: list[float], placed: list[PlacedKernel]) -> Outer:
        axes = [line.nodes(step) for line, step in zip(lines, steps)]
        v = [axis[0] for axis in axes]
        density = np.multiply.outer(*(axis[1] for axis in axes)) if len(axes) == 2 else axes[0][1]
        tables = [
            [
                {q: self._table(w, s, q) for q in {self.powers[i][n] for i in own}}
                for n, (w, s) in enumerate(zip(v, k.slopes))
            ]
            for k, own in zip(placed, self.moments_of)
        ]
        means, logs = self._moments(v, placed, [k.rows for k in placed], tables)
        scales = self._scales(placed, v)
        values, shift = self.outer.values(self._grid(v), means, logs, scales)
        return Outer(v, density, [axis[2] for axis in axes], tables, means, logs, scales, values * density, shift)

    @staticmethod
    def _table(v: Any, slope: Any, power: int) -> Any:
        """(u kappa)^q exp(-u kappa) at every outer node and token."""
        load = v[:, None] + slope
        return np.exp(-np.exp(load)) if power == 0 else np.exp(power * load - np.exp(load))

    def _moments(
        self, v: list[Any], placed: list[PlacedKernel], rows_of: list[Any], tables: list[list[dict[int, Any]]]
    ) -> tuple[list[Any], list[Any]]:
        """(means, logs) of every moment at the product of the outer nodes."""
        count = len(self.form.moments)
        means: list[Any] = [None] * count
        logs: list[Any] = [0.0] * count
        for kernel, rows, indices, factors in zip(placed, rows_of, self.moments_of, tables):
            for n, i in enumerate(indices):
                own = [table[q] for table, q in zip(factors, self.powers[i])]
                means[i] = own[0] @ rows[n] if len(own) == 1 else (own[0] * rows[n]) @ own[1].T
                if self.form.moments[i].is_survival:
                    factor = float(np.exp(kernel.scales[n]))
                    logs[i] = self._log_survival(means[i] * factor, v, kernel.slopes, rows[n] * factor, own)
        return means, logs

    def _log_survival(self, mean: Any, v: list[Any], slopes: list[Any], row: Any, factors: list[Any]) -> Any:
        logs = np.log(np.maximum(mean, TINY))
        if self.outer.power <= LARGE_POWER:
            return logs
        lost = [-np.expm1(-np.exp(w[:, None] + s)) for w, s in zip(v, slopes)]
        missing = lost[0] @ row
        if len(v) == 2:
            missing = missing[:, None] + (factors[0] * row) @ lost[1].T
        return np.where(missing < 0.5, np.log1p(-np.minimum(missing, 0.5)), logs)

    def _scales(self, placed: list[PlacedKernel], v: list[Any]) -> list[Any]:
        """Logarithmic scale of each moment: u^q kappa^q stands in the table, kappa^q alone was in the weight."""
        scales: list[Any] = [0.0] * len(self.form.moments)
        grid = self._grid(v)
        for kernel, indices in zip(placed, self.moments_of):
            for n, i in enumerate(indices):
                moved = [q * w for q, w in zip(self.powers[i], grid) if q]
                scales[i] = kernel.scales[n] - sum(moved) if moved else kernel.scales[n]
        return scales

    @staticmethod
    def _grid(v: list[Any]) -> list[Any]:
        """Outer nodes shaped for the product mesh."""
        return [v[0]] if len(v) == 1 else [v[0][:, None], v[1][None, :]]

    def doubt(self, now: Outer, lines: list[Stretch], placed: list[PlacedKernel], size: float) -> float:
        """Relative error told by a mesh that is coarser in all directions and nested in none.

        Nested rules on few nodes may agree by chance. The error exp(-c/h) itself would be the change to the power r, but
        where the integrand is a ridge across both axes it was found up to eight times larger than that.
        """
        other = self.outer_at(lines, [step * DETUNED for step in now.steps], placed)
        mine, its = (float(np.sum(o.values)) * float(np.prod(o.steps)) for o in (now, other))
        change = abs(its * np.exp(other.shift - now.shift) - mine) / (size * float(np.prod(now.steps)))
        return float(change)

    @staticmethod
    def axis_error(values: Any, axis: int, size: float) -> float:
        """Relative error of the rule along one axis, from its rules with two and four times the step."""
        line = np.sum(values, axis=1 - axis) if values.ndim == 2 else values
        quarter, half, full = (float(np.sum(line[::s])) * s for s in (4, 2, 1))
        return float(geometric_error(quarter, half, full, size))

    def inner_error(self, now: Outer, placed: list[PlacedKernel]) -> float:
        """Relative error of the token meshes, seen through the outer integrand at every few outer nodes."""
        strides = [max(1, len(w) // (24 if len(now.v) == 1 else 12)) for w in now.v]
        few = [w[::s] for w, s in zip(now.v, strides)]
        thin = [[{q: t[::s] for q, t in axis.items()} for axis, s in zip(own, strides)] for own in now.tables]
        nested = [kernel.nested() for kernel in placed]
        found = [now.values[tuple(slice(None, None, s) for s in strides)]]
        scales = self._scales(placed, few)
        for times in (1, 2):
            means, logs = self._moments(few, placed, [n[times] for n in nested], thin)
            coarse, own_shift = self.outer.values(self._grid(few), means, logs, scales)
            thinned = now.density[tuple(slice(None, None, s) for s in strides)]
            found.append(coarse * thinned * np.exp(own_shift - now.shift))
        size = float(np.sum(np.abs(found[0])))
        half = float(np.sum(np.abs(found[1] - found[0])))
        quarter = float(np.sum(np.abs(found[2] - found[1])))
        return float(geometric_error(quarter + half, half, 0.0, size)) if size > 0 else 1.0

    def cut(self, now: Outer, placed: list[PlacedKernel]) -> float:
        """What the ends of the token meshes leave out, in units of the outer values.

        Measured on the moments of the absolute weights: one that cancels, an odd one, does not count for more.
        """
        lost = 0.0
        for kernel, indices, factors in zip(placed, self.moments_of, now.tables):
            for row, i in zip(kernel.rows, indices):
                power = max(abs(float(self.constants.powers[t][i])) for t in self.outer.active)
                if power == 0:
                    continue
                own = [table[q] for table, q in zip(factors, self.powers[i])]
                ends = 0.0
                for e in (0, -1):
                    at = own[0][:, e] if len(own) == 1 else np.multiply.outer(own[0][:, e], own[1][:, e])
                    ends = ends + abs(row[e]) * at
                sizes = np.abs(now.means[i])
                if row.min() < 0.0 < row.max():
                    sizes = own[0] @ np.abs(row) if len(own) == 1 else (own[0] * np.abs(row)) @ own[1].T
                share = np.minimum(8.0 * power * ends / np.maximum(sizes, TINY), 1.0)
                lost += float(np.sum(np.abs(now.values) * share))
        return lost

    def conditioning(self, now: Outer, placed: list[PlacedKernel]) -> float:
        """See ``FloatOuter.conditioning``."""
        peak = np.unravel_index(int(np.argmax(np.abs(now.values))), now.values.shape)
        point = [float(w[i]) for w, i in zip(now.v, peak)]
        tokens: list[tuple[float, float]] = [(0.0, 1.0)] * len(now.means)
        for kernel, indices, factors in zip(placed, self.moments_of, now.tables):
            for n, i in enumerate(indices):
                mass = kernel.rows[n]
                for table, q, place in zip(factors, self.powers[i], peak):
                    mass = mass * table[q][place]
                total, signed = float(np.sum(np.abs(mass))), abs(float(np.sum(mass)))
                centre = float(np.sum(kernel.mesh.nodes * np.abs(mass))) / max(total, TINY)
                tokens[i] = (centre, total / max(signed, FLOAT.eps * total, TINY))

        def at(column: Any) -> float:
            return float(np.broadcast_to(column, now.values.shape)[peak])

        means, logs, scales = ([at(c) for c in group] for group in (now.means, now.logs, now.scales))
        return self.outer.conditioning(point, means, logs, scales, tokens)
