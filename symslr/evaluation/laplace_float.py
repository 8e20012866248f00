"""Laplace forms in float64: what every rule shares, and the rule for any kernel (one table of exponentials per kernel)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluation.arithmetic import Float64
from symslr.evaluation.convergence import geometric_error
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace_code import Constants, LaplaceCode
from symslr.evaluation.laplace_layout import Layout, layout
from symslr.evaluation.mesh import Mesh, joined

FLOAT = Float64()
TINY = 1e-300
MOST_NODES = 8_000
LARGEST_TABLE = 8_000_000
LARGE_POWER = 8.0
"""Above this power log M is formed from 1 - M, below it from M."""


def outer_step(tolerance: float) -> float:
    """First step of v. The error exp(-pi^2/h) of a bounded integrand analytic for |Im v| < pi/2 must be seen to fall."""
    return 0.72 * np.pi**2 / (2.0 - float(np.log(tolerance)))


class FloatOuter:
    """The outer integrand of a Laplace form at given parameters."""

    def __init__(self, code: LaplaceCode, constants: Constants, p: tuple[float, ...], tolerance: float) -> None:
        self.code, self.form, self.p, self.tolerance = code, code.form, p, tolerance
        self.constants = constants
        self.active = [i for i, c in enumerate(constants.coefficients) if c != 0]
        self.power = constants.largest_power(self.form, self.active)
        self.depth = 8.0 - float(np.log(tolerance)) + float(np.log1p(self.power))

    def values(self, grid: list[Any], means: list[Any], logs: list[Any], scales: list[float]) -> tuple[Any, float]:
        """Values on the outer mesh divided by exp(shift), the shift being the largest logarithm."""
        terms = self.code.terms(grid, means, logs, scales, self.p)
        parts, shift = [], -np.inf
        for i in self.active:
            exponent, rest = terms[i]
            rest = rest * self.constants.coefficients[i]
            size = exponent + np.log(np.abs(rest))
            top = float(np.fmax.reduce(size, axis=None)) if np.ndim(size) else float(size)
            shift = max(shift, top) if not np.isnan(top) else shift
            parts.append((exponent, rest))
        if not np.isfinite(shift):
            raise CannotEvaluate("the outer integrand vanishes or overflows in float64")
        total: Any = 0.0
        for exponent, rest in parts:
            total = total + np.exp(exponent - shift) * rest
        if np.isnan(total).any():
            total = np.where(np.isnan(total), 0.0, total)
        return total, shift

    def conditioning(
        self,
        point: list[float],
        means: list[float],
        logs: list[float],
        scales: list[float],
        tokens: list[tuple[float, float]],
    ) -> float:
        """Roundings of the result in units of the roundoff: exponents at the peak, amplified by the powers.

        ``tokens`` are, per moment, the mean token and the ratio sum |terms| / |sum| there.
        """
        sizes = self.code.sizes(point, means, logs, scales, self.p)
        terms = [self.code.terms(point, means, logs, scales, self.p)[t] for t in self.active]
        shift = max(float(exponent) for exponent, _ in terms)
        shares = [
            float(np.exp(exponent - shift) * rest * self.constants.coefficients[t])
            for t, (exponent, rest) in zip(self.active, terms)
        ]
        whole = max(abs(sum(shares)), TINY)
        weight = [
            (4.0 + float(self.code.token_exponent(i, token, self.p)[1]))
            * cancelled
            * (abs(log) if m.is_survival else 1.0)
            for i, ((token, cancelled), log, m) in enumerate(zip(tokens, logs, self.form.moments))
        ]
        total = 16.0
        for t, share in zip(self.active, shares):
            powers = self.constants.powers[t]
            inside = sum(abs(float(n)) * w for n, w in zip(powers, weight) if n != 0)
            total += (float(sizes[t]) + inside) * abs(share) / whole
        return total


@dataclass(slots=True)
class PlacedKernel:
    """Nodes, log slopes and scaled weights (one row per moment; then the same on the two coarser meshes) of one kernel."""

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


class DenseFloat:
    """Any kernel, one or two Laplace variables: M = exp(-u kappa) @ weights."""

    def __init__(self, outer: FloatOuter) -> None:
        self.outer, self.code, self.form, self.p = outer, outer.code, outer.form, outer.p
        self.constants = outer.constants
        self.moments_of = [
            [i for i, m in enumerate(self.form.moments) if m.kernel == kernel] for kernel in self.form.kernels
        ]

    def place(self, found: Layout, level: int) -> list[PlacedKernel]:
        """Nodes and weights of every kernel at a level."""
        placed = []
        for k, own in enumerate(found.pieces):
            mesh = joined(own, FLOAT, level)
            if len(mesh.nodes) > MOST_NODES:
                raise CannotEvaluate(f"a token integral needs more than {MOST_NODES} float64 nodes")
            slopes, parts = self.code.weights(k, mesh.nodes, self.p)
            rows = np.empty((len(parts), len(mesh.nodes)))
            scales = []
            for row, (exponent, rest), i in zip(rows, parts, self.moments_of[k]):
                bell = self.form.moments[i].bell is not None
                height = 0.0 if bell else float(np.max(exponent, where=np.isfinite(exponent), initial=-np.inf))
                np.multiply(np.exp(exponent - height), rest * mesh.weights, out=row)
                scales.append(float(self.constants.bells[i][2]) if bell else height)
            lost = ~np.isfinite(rows)
            if lost.any():
                exponents = np.array([exponent for exponent, _ in parts])
                if np.any(exponents[lost] > np.max(exponents, where=np.isfinite(exponents), initial=-np.inf) - 600.0):
                    raise CannotEvaluate("a token weight overflows in float64")
                rows[lost] = 0.0
            placed.append(PlacedKernel(mesh, slopes, rows, scales))
        return placed

    def tables(self, v: list[Any], kernel: PlacedKernel) -> list[Any]:
        """exp(-u kappa) for every Laplace variable."""
        return [np.exp(-np.exp(w[:, None] + s)) for w, s in zip(v, kernel.slopes)]

    def moments(self, v: list[Any], placed: list[PlacedKernel], rows_of: list[Any], tables: list[list[Any]]) -> Any:
        """(means, logs) of every moment at the product of the outer nodes."""
        count = len(self.form.moments)
        means: list[Any] = [None] * count
        logs: list[Any] = [0.0] * count
        for kernel, rows, indices, factors in zip(placed, rows_of, self.moments_of, tables):
            if len(factors) == 1:
                products = factors[0] @ rows.T
                columns = [products[:, n] for n in range(len(indices))]
            else:
                columns = [(factors[0] * row) @ factors[1].T for row in rows]
            for n, i in enumerate(indices):
                means[i] = columns[n]
                if self.form.moments[i].is_survival:
                    factor = float(np.exp(kernel.scales[n]))
                    logs[i] = self._log_survival(means[i] * factor, v, kernel.slopes, rows[n] * factor, factors)
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

    def scales(self, placed: list[PlacedKernel]) -> list[float]:
        """Logarithmic scale of each moment."""
        scales = [0.0] * len(self.form.moments)
        for kernel, indices in zip(placed, self.moments_of):
            for n, i in enumerate(indices):
                scales[i] = kernel.scales[n]
        return scales

    @staticmethod
    def grid(v: list[Any]) -> list[Any]:
        """Outer nodes shaped for the product mesh."""
        return [v[0]] if len(v) == 1 else [v[0][:, None], v[1][None, :]]

    def run(self) -> tuple[float, float]:
        """The integral and its error.

        Raises:
            CannotEvaluate: where the integrand does not decay, or the meshes would be too large.
        """
        outer = self.outer
        found = layout(self.code, self.constants, self.p, outer.depth, outer.active)
        axes = len(found.windows)
        level, step = 1, outer_step(outer.tolerance)
        while True:
            placed = self.place(found, level)
            lines = [_line(low, high, step) for low, high in found.windows]
            v = [line[0] for line in lines]
            table_size = len(v[0]) * max(len(k.mesh.nodes) for k in placed)
            if table_size * (len(v[-1]) if axes == 2 else 1) > LARGEST_TABLE * (100 if axes == 2 else 1):
                raise CannotEvaluate("the table of exponentials is too large for float64")
            scales = self.scales(placed)
            tables = [self.tables(v, kernel) for kernel in placed]
            means, logs = self.moments(v, placed, [k.rows for k in placed], tables)
            values, shift = outer.values(self.grid(v), means, logs, scales)
            size = float(np.sum(np.abs(values)))
            quarter, half, full = (float(np.sum(values[(slice(None, None, s),) * axes])) * s**axes for s in (4, 2, 1))
            outer_error = geometric_error(quarter, half, full, size)
            inner_error = self.inner_error(v, placed, tables, scales, values, shift, axes)
            if outer_error < outer.tolerance and inner_error < outer.tolerance:
                break
            if level >= 8 or step < 1e-3:
                break
            if inner_error >= outer.tolerance:
                level += 2 if inner_error > 1e-3 else 1
            if outer_error >= outer.tolerance:
                step /= 2.0 if outer_error > 1e-3 else 1.5
        edge = sum(float(np.sum(np.abs(np.take(values, e, axis=n)))) * 8 for n in range(axes) for e in (0, -1))
        edge += self.cut(means, placed, tables, values)
        rounding = FLOAT.eps * self.conditioning(v, values, means, logs, placed, scales)
        relative = outer_error + inner_error + edge / size + rounding
        factor = float(np.prod([line[1] for line in lines])) * float(np.exp(shift))
        return full * factor, relative * size * factor

    def cut(self, means: list[Any], placed: list[PlacedKernel], tables: Any, values: Any) -> float:
        """What the ends of the token meshes leave out, in units of the outer values."""
        lost = 0.0
        for kernel, indices, factors in zip(placed, self.moments_of, tables):
            first, last = (factors[0][:, e] for e in (0, -1))
            if len(factors) == 2:
                first, last = (np.multiply.outer(factors[0][:, e], factors[1][:, e]) for e in (0, -1))
            for row, i in zip(kernel.rows, indices):
                power = max(abs(float(self.constants.powers[t][i])) for t in self.outer.active)
                ends = abs(row[0]) * first + abs(row[-1]) * last
                if power > 0:
                    share = np.minimum(8.0 * power * ends / np.maximum(np.abs(means[i]), TINY), 1.0)
                    lost += float(np.sum(np.abs(values) * share))
        return lost

    def inner_error(
        self,
        v: list[Any],
        placed: list[PlacedKernel],
        tables: Any,
        scales: list[float],
        values: Any,
        shift: float,
        axes: int,
    ) -> float:
        """Relative error of the token meshes, seen through the outer integrand at every few outer nodes."""
        stride = (slice(None, None, 4 if axes == 1 else 8),) * axes
        few = [w[stride[0]] for w in v]
        thin = [[factor[stride[0]] for factor in own] for own in tables]
        nested = [kernel.nested() for kernel in placed]
        found = [values[stride]]
        for times in (1, 2):
            means, logs = self.moments(few, placed, [n[times] for n in nested], thin)
            coarse, own_shift = self.outer.values(self.grid(few), means, logs, scales)
            found.append(coarse * np.exp(own_shift - shift))
        size = float(np.sum(np.abs(found[0])))
        half = float(np.sum(np.abs(found[1] - found[0])))
        quarter = float(np.sum(np.abs(found[2] - found[1])))
        return float(geometric_error(quarter + half, half, 0.0, size)) if size > 0 else 1.0

    def conditioning(
        self,
        v: list[Any],
        values: Any,
        means: list[Any],
        logs: list[Any],
        placed: list[PlacedKernel],
        scales: list[float],
    ) -> float:
        """See ``FloatOuter.conditioning``."""
        peak = np.unravel_index(int(np.argmax(np.abs(values))), values.shape)
        point = [float(w[i]) for w, i in zip(v, peak)]
        tokens: list[tuple[float, float]] = [(0.0, 1.0)] * len(means)
        for kernel, indices in zip(placed, self.moments_of):
            load = np.exp(-sum(np.exp(w + s) for w, s in zip(point, kernel.slopes)))
            for n, i in enumerate(indices):
                mass = kernel.rows[n] * load
                total, signed = float(np.sum(np.abs(mass))), abs(float(np.sum(mass)))
                centre = float(np.sum(kernel.mesh.nodes * np.abs(mass))) / max(total, TINY)
                tokens[i] = (centre, total / max(signed, TINY))
        at = [float(m[peak]) for m in means]
        at_logs = [float(g[peak]) if np.ndim(g) else 0.0 for g in logs]
        return self.outer.conditioning(point, at, at_logs, scales, tokens)


def _line(low: float, high: float, step: float) -> tuple[Any, float]:
    """Equally spaced nodes whose every second and fourth are meshes too, and their step."""
    count = 4 * max(2, int(np.ceil((high - low) / step / 4)))
    exact = (high - low) / count
    return low + exact * np.arange(count + 1), exact
