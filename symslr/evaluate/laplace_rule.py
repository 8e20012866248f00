"""Laplace forms in float64: trapezoid in v = log u, one table of exponentials per kernel, three nested meshes at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluate.arithmetic import Float64
from symslr.evaluate.convergence import geometric_error
from symslr.evaluate.errors import CannotEvaluate
from symslr.evaluate.laplace_code import Constants, LaplaceCode
from symslr.evaluate.mesh import Line, Piece, joined
from symslr.evaluate.token_mesh import token_pieces

FLOAT = Float64()
DEPTH = 46.0
"""Contributions below exp(-46) = 1e-20 of the largest one are left out."""
OUTER_STEP = 0.22
"""First step of v: exp(-pi^2/h) = 3e-20 is the error of a bounded analytic integrand in the strip |Im v| < pi/2."""
COARSE = 48
MOST_NODES = 6_000
LARGEST_TABLE = 40_000_000


@dataclass(slots=True)
class Tables:
    """Scaled moments on the outer mesh (axis 0: moments) and their logarithms where they are survival functions."""

    means: list[Any]
    logs: list[Any]


class FloatLaplace:
    """One evaluation of a Laplace form at given parameters."""

    def __init__(self, code: LaplaceCode, p: tuple[float, ...], tolerance: float) -> None:
        self.code, self.form, self.p, self.tolerance = code, code.form, p, tolerance
        self.constants: Constants = code.constants(p)
        self.active = [i for i, c in enumerate(self.constants.coefficients) if c != 0]
        self.largest_power = max(
            (abs(float(n)) for i in self.active for n, m in zip(self.constants.powers[i], self.form.moments) if m.is_survival),
            default=0.0,
        )
        self.depth = DEPTH + np.log1p(self.largest_power)
        self.moments_of = [
            [i for i, m in enumerate(self.form.moments) if m.kernel == kernel] for kernel in self.form.kernels
        ]

    # -- tables ----------------------------------------------------------------------------------------------------

    def place(self, pieces: list[tuple[Piece, ...]], level: int) -> list[PlacedKernel]:
        """Nodes and weights of every kernel at a level."""
        placed = []
        for k, own in enumerate(pieces):
            mesh = joined(own, FLOAT, level)
            if len(mesh.nodes) > MOST_NODES:
                raise CannotEvaluate(f"an inner integral needs more than {MOST_NODES} float64 nodes")
            slopes, parts = self.code.weights(k, mesh.nodes, self.p)
            rows = np.empty((len(parts), len(mesh.nodes)))
            scales = []
            for row, (exponent, rest), i in zip(rows, parts, self.moments_of[k]):
                bell = self.form.moments[i].bell is not None
                height = 0.0 if bell else float(np.max(exponent, where=np.isfinite(exponent), initial=-np.inf))
                row[:] = np.exp(exponent - height) * rest
                row[~(np.isfinite(row))] = 0.0
                row *= mesh.weights
                scales.append(self.constants.bells[i][2] if bell else height)
            placed.append(PlacedKernel(mesh, slopes, rows, scales))
        return placed

    def tables(self, v: list[Any], placed: list[PlacedKernel], coarser: int = 0) -> Tables:
        """Moments at the product of the outer nodes."""
        count = len(self.form.moments)
        means: list[Any] = [None] * count
        logs: list[Any] = [None] * count
        for kernel, indices in zip(placed, self.moments_of):
            rows, slopes = kernel.rows, kernel.slopes
            if coarser:
                keep = kernel.mesh.nested[coarser - 1]
                rows, slopes = rows[:, keep] * 2**coarser, [s[keep] for s in slopes]
            factors = [np.exp(-np.exp(w)[:, None] * s) for w, s in zip(v, slopes)]
            if len(factors) == 1:
                products = factors[0] @ rows.T
                columns = [products[:, n] for n in range(len(indices))]
            else:
                columns = [(factors[0] * row) @ factors[1].T for row in rows]
            for n, i in enumerate(indices):
                means[i] = columns[n]
                if self.form.moments[i].is_survival:
                    logs[i] = self._log_survival(means[i] * np.exp(kernel.scales[n]), v, slopes, rows[n] * np.exp(kernel.scales[n]), factors)
                else:
                    logs[i] = np.zeros_like(means[i])
        return Tables(means, logs)

    def _log_survival(self, mean: Any, v: list[Any], slopes: list[Any], row: Any, factors: list[Any]) -> Any:
        if self.largest_power <= 8:
            return np.log(np.maximum(mean, 1e-300))
        lost = [-np.expm1(-np.exp(w)[:, None] * s) for w, s in zip(v, slopes)]
        if len(v) == 1:
            missing = lost[0] @ row
        else:
            missing = (lost[0] @ row)[:, None] + (factors[0] * row) @ lost[1].T
        return np.where(missing < 0.5, np.log1p(-np.minimum(missing, 0.5)), np.log(np.maximum(mean, 1e-300)))

    def scales(self, placed: list[PlacedKernel]) -> list[float]:
        """Logarithmic scale of each moment."""
        scales = [0.0] * len(self.form.moments)
        for kernel, indices in zip(placed, self.moments_of):
            for n, i in enumerate(indices):
                scales[i] = kernel.scales[n]
        return scales

    # -- outer integrand -------------------------------------------------------------------------------------------

    def integrand(self, v: list[Any], tables: Tables, scales: list[float]) -> tuple[Any, float]:
        """Values on the outer mesh, divided by exp(shift)."""
        grid = [v[0]] if len(v) == 1 else [v[0][:, None], v[1][None, :]]
        terms = self.code.terms(grid, tables.means, tables.logs, scales, self.p)
        exponents, rests = [], []
        shift = -np.inf
        for i in self.active:
            exponent, rest = terms[i]
            rest = rest * self.constants.coefficients[i]
            with np.errstate(divide="ignore"):
                size = np.nan_to_num(exponent + np.log(np.abs(rest)), nan=-np.inf, posinf=np.inf)
            exponents.append(exponent)
            rests.append(rest)
            shift = max(shift, float(np.max(size)))
        if shift == -np.inf:
            return np.zeros(np.shape(tables.means[0])), 0.0
        total = 0.0
        for exponent, rest in zip(exponents, rests):
            value = np.exp(np.minimum(exponent - shift, 700.0)) * rest
            total = total + np.where(np.isnan(value), 0.0, value)
        return np.broadcast_to(total, np.shape(tables.means[0])), shift

    # -- the window of v -------------------------------------------------------------------------------------------

    def outer_window(self, pieces: list[tuple[Piece, ...]]) -> list[tuple[float, float]]:
        """Where the outer integrand exceeds exp(-depth) of its maximum, from a coarse table that grows until it holds it."""
        placed = self.place(pieces, 0)
        scales = self.scales(placed)
        windows = []
        for n in range(len(self.form.logs)):
            sizes = np.concatenate([np.abs(k.slopes[n][np.any(k.rows != 0, axis=0)]) for k in placed])
            sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
            if not len(sizes):
                raise CannotEvaluate("a Laplace variable multiplies nothing: the integral over it does not converge")
            windows.append((-float(np.log(np.max(sizes))) - 20.0, -float(np.log(np.min(sizes))) + 4.0))
        for _ in range(40):
            nodes = [np.linspace(low, high, COARSE) for low, high in windows]
            values, shift = self.integrand(nodes, self.tables(nodes, placed), scales)
            if not np.any(values):
                raise CannotEvaluate("the outer integrand vanishes in float64")
            with np.errstate(divide="ignore"):
                logs = np.log(np.abs(values))
            above = logs > np.max(logs) - self.depth
            found = []
            for n, (low, high) in enumerate(windows):
                line = np.any(above, axis=tuple(m for m in range(len(windows)) if m != n))
                index = np.flatnonzero(line)
                step = nodes[n][1] - nodes[n][0]
                new_low = nodes[n][index[0]] - step
                new_high = nodes[n][index[-1]] + step
                if index[0] == 0:
                    new_low = low - (high - low) / 2
                if index[-1] == COARSE - 1:
                    new_high = high + (high - low) / 2
                found.append((new_low, new_high))
            settled = all(
                low <= new[0] + 1e-9 and new[1] <= high + 1e-9 and (new[1] - new[0]) > 0.6 * (high - low)
                for (low, high), new in zip(windows, found)
            )
            if settled:
                return found
            if any(new[1] - new[0] > 1e5 for new in found):
                break
            windows = found
        raise CannotEvaluate("the outer integrand decays too slowly: the integral may not converge")

    # -- the result ------------------------------------------------------------------------------------------------

    def run(self) -> tuple[float, float]:
        """The integral and its error."""
        if not self.active:
            return 0.0, 0.0
        with np.errstate(all="ignore"):
            pieces = token_pieces(self.code, self.constants, self.p, self.depth)
            return self._run(pieces)

    def _run(self, pieces: list[tuple[Piece, ...]]) -> tuple[float, float]:
        windows = self.outer_window(pieces)
        dimensions = len(windows)
        outer_level, inner_level = 0, self.inner_level(pieces, windows)
        while True:
            outer = [Line(low, high, OUTER_STEP).mesh(FLOAT, outer_level) for low, high in windows]
            v = [m.nodes for m in outer]
            area = float(np.prod([m.weights[0] for m in outer]))
            placed = self.place(pieces, inner_level)
            if len(v[0]) * max(len(k.mesh.nodes) for k in placed) > LARGEST_TABLE:
                raise CannotEvaluate("the table of exponentials is too large for float64")
            scales = self.scales(placed)
            tables = self.tables(v, placed)
            values, shift = self.integrand(v, tables, scales)
            size = float(np.sum(np.abs(values)))
            sums = [float(np.sum(values[(slice(None, None, s),) * dimensions])) * s**dimensions for s in (4, 2, 1)]
            outer_error = geometric_error(*sums, size)
            if outer_error < self.tolerance or outer_level >= 5:
                break
            outer_level += 1
        few = [w[:: max(1, len(w) // 40)] for w in v]
        while True:
            inner_error = self.inner_error(few, placed, scales)
            if inner_error < self.tolerance or inner_level >= 8:
                break
            inner_level += 1
            placed = self.place(pieces, inner_level)
            tables = self.tables(v, placed)
            values, shift = self.integrand(v, tables, scales)
            size = float(np.sum(np.abs(values)))
            sums[2] = float(np.sum(values))
        edge = sum(
            float(np.sum(np.abs(np.take(values, e, axis=n)))) * 8 for n in range(dimensions) for e in (0, -1)
        )
        rounding = FLOAT.eps * self.conditioning(v, values, tables, placed, scales)
        relative = outer_error + inner_error + edge / size + rounding
        factor = area * float(np.exp(shift))
        return sums[2] * factor, relative * size * factor

    def inner_level(self, pieces: list[tuple[Piece, ...]], windows: list[tuple[float, float]]) -> int:
        """First level of the token meshes at which three nested meshes agree on a few outer nodes."""
        few = [np.linspace(low, high, 24) for low, high in windows]
        for level in range(1, 8):
            placed = self.place(pieces, level)
            if self.inner_error(few, placed, self.scales(placed)) < self.tolerance:
                return level
        return 8

    def inner_error(self, v: list[Any], placed: list[PlacedKernel], scales: list[float]) -> float:
        """Relative error of the token meshes, seen through the outer integrand at the nodes v."""
        found = []
        reference = None
        for coarser in (2, 1, 0):
            values, shift = self.integrand(v, self.tables(v, placed, coarser), scales)
            reference = shift if reference is None else reference
            found.append(values * np.exp(shift - reference))
        size = float(np.sum(np.abs(found[2])))
        quarter = float(np.sum(np.abs(found[0] - found[1])))
        half = float(np.sum(np.abs(found[1] - found[2])))
        return float(geometric_error(quarter + half, half, 0.0, size)) if size > 0 else 1.0

    def conditioning(
        self, v: list[Any], values: Any, tables: Tables, placed: list[PlacedKernel], scales: list[float]
    ) -> float:
        """Roundings of the result in units of the roundoff: exponents at the peak, amplified by the powers."""
        peak = np.unravel_index(int(np.argmax(np.abs(values))), values.shape)
        point = [float(w[i]) for w, i in zip(v, peak)]
        means = [float(m[peak]) for m in tables.means]
        logs = [float(m[peak]) for m in tables.logs]
        sizes = self.code.sizes(point, means, logs, scales, self.p)
        total = 8.0 + max(float(sizes[i]) for i in self.active)
        for kernel, indices in zip(placed, self.moments_of):
            load = sum(np.exp(w) * s for w, s in zip(point, kernel.slopes))
            for n, i in enumerate(indices):
                mass = np.abs(kernel.rows[n]) * np.exp(-load)
                mean_x = float(np.sum(kernel.mesh.nodes * mass) / np.sum(mass))
                size = 4.0 + self.code.token_size(i, mean_x, self.p)
                power = max(abs(float(self.constants.powers[t][i])) for t in self.active)
                if self.form.moments[i].is_survival:
                    size *= power * abs(logs[i])
                else:
                    size *= power * float(np.sum(mass) / max(abs(np.sum(kernel.rows[n] * np.exp(-load))), 1e-300))
                total += size
        return total


@dataclass(slots=True)
class PlacedKernel:
    """Nodes, slopes and scaled weights (one row per moment) of one kernel."""

    mesh: Any
    slopes: list[Any]
    rows: Any
    scales: list[float]
