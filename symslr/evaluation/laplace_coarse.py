"""The moments of a Laplace form on coarse meshes, as logarithms, and the layout that they tell."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from sympy import exp as exp_

from symslr.evaluation.arithmetic import Float64
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace_code import Constants, LaplaceCode
from symslr.evaluation.mesh import Line, Piece, joined

FLOAT = Float64()
HIGHEST_POWER = 2
STEEPEST = 2.6
FINEST = 3


@dataclass(frozen=True)
class Layout:
    """Pieces of every kernel, windows of the outer variables, and how far moments sink below their weights.

    Attributes:
        pieces: intervals of the token variable, per kernel.
        windows: (low, high) of every v.
        peaks: every v at the largest value of the outer integrand, to within a step of the coarse table.
        sunk: for fixed point: the largest -log of a moment (relative to its largest weight) that matters.
        tokens: for every moment, the mean token at the peak of the outer integrand.
        tilts: for every moment under one exponential kernel, the whole power of u kappa that, taken out of the weight, brings
            its Gaussian nearest to those tokens.
        sunk_tilted: as ``sunk``, with these powers moved from the weights to the table.
        powers: for every moment and every Laplace variable, the power of u kappa that the weight is best relieved of.
        sunk_by_powers: as ``sunk``, with these.
    """

    pieces: list[tuple[Piece, ...]]
    windows: list[tuple[float, float]]
    peaks: list[float]
    sunk: float
    tokens: list[float]
    tilts: list[int]
    sunk_tilted: float
    powers: list[tuple[int, ...]]
    sunk_by_powers: float


class Coarse:
    """Logarithms of the moments and of the outer integrand on coarse meshes."""

    def __init__(
        self, code: LaplaceCode, constants: Constants, p: tuple[float, ...], active: list[int], pieces: list[Any]
    ) -> None:
        self.code, self.form, self.constants, self.p, self.active = code, code.form, constants, p, active
        self.pieces = pieces
        self.early: list[tuple[bool, bool]] = []
        self.kernels: list[Any] = []
        self.steep: list[bool] = []
        self.at: list[Any] = [None] * len(self.form.moments)
        self.tables: list[Any] = [None] * len(self.form.moments)
        self.totals: list[Any] = [None] * len(self.form.moments)
        self.sizes: dict[int, Any] = {}
        for k, own in enumerate(pieces):
            mesh, slopes, parts, steep = self._resolving(k, own)
            self.steep.append(steep)
            indices = [i for i, m in enumerate(self.form.moments) if m.kernel == self.form.kernels[k]]
            rows = []
            for i, (exponent, rest) in zip(indices, parts):
                height = constants.bells[i][2] if self.form.moments[i].bell is not None else 0.0
                row = exponent + np.log(np.abs(rest)) + np.log(mesh.weights) + height
                rows.append(np.where(np.isnan(row), -np.inf, row))
            self.kernels.append((indices, slopes, rows, mesh.nodes))

    def wider_pieces(self) -> list[tuple[Piece, ...]]:
        """The pieces, longer by half on each side where tokens at the end still matter.

        A Gaussian weight e^{a x} p(x) peaks at tokens that e^{-u kappa} may forbid; those that are left lie beyond its window.
        """
        wider: list[tuple[Piece, ...]] = []
        for own, (below, above) in zip(self.pieces, self.early):
            if below or above:
                (line,) = own
                half = (line.high - line.low) / 2
                own = (Line(line.low - below * half, line.high + above * half, line.step),)
            wider.append(own)
        return wider

    @property
    def is_complete(self) -> bool:
        """Whether no window depends on the smallest u: all weights are Gaussian."""
        return all(m.bell is not None and not m.rest.has(exp_) for m in self.form.moments)

    def _resolving(self, k: int, pieces: tuple[Piece, ...]) -> tuple[Any, Any, Any, bool]:
        """A mesh on which log kappa moves by about one between nodes, and whether it still moves by more.

        Where it does, a steep tilt is cut off between two nodes and sums over nodes would be wrong by orders of magnitude.
        """
        level, limit = 0, STEEPEST if all(isinstance(piece, Line) for piece in pieces) else 16 * STEEPEST
        while True:
            mesh = joined(pieces, FLOAT, level)
            slopes, parts = self.code.weights(k, mesh.nodes, self.p)
            moves = np.abs(np.diff(np.array(slopes), axis=-1))
            steepest = float(np.max(moves, where=np.isfinite(moves), initial=0.0))
            if steepest <= limit or level >= FINEST:
                return mesh, slopes, parts, steepest > limit
            level = min(FINEST, level + int(np.ceil(np.log2(steepest / limit))))

    def _sharpened(self, k: int, n: int, top: Any, v: list[Any]) -> tuple[Any, Any]:
        """(log of a moment, its token) from the maximum over x of log weight - u kappa, refined between the nodes."""
        x = self.kernels[k][3]
        low, high = x[np.maximum(top - 1, 0)], x[np.minimum(top + 1, len(x) - 1)]
        fractions = np.linspace(0.0, 1.0, 17)
        i = self.kernels[k][0][n]
        height = self.constants.bells[i][2] if self.form.moments[i].bell is not None else 0.0
        for _ in range(3):
            fine = low[..., None] + (high - low)[..., None] * fractions
            slopes, parts = self.code.weights(k, fine, self.p)
            load = sum(np.exp(w[..., None] + s) for w, s in zip(v, slopes))
            values = parts[n][0] + np.log(np.abs(parts[n][1])) + height - load
            values = np.where(np.isnan(values), -np.inf, values)
            best = np.argmax(values, axis=-1)[..., None]
            token = np.take_along_axis(fine, best, -1)[..., 0]
            peak = np.take_along_axis(values, best, -1)[..., 0]
            spacing = (high - low) / 16.0
            low, high = token - spacing, token + spacing
        return peak + np.log(spacing), token

    def first_windows(self) -> list[tuple[float, float]]:
        """From where u kappa is negligible to where exp(-u kappa) is."""
        windows = []
        for n in range(len(self.form.logs)):
            sizes = np.concatenate(
                [slopes[n][np.any(np.isfinite(rows), axis=0)] for _, slopes, rows, _ in self.kernels]
            )
            sizes = sizes[np.isfinite(sizes)]
            if not len(sizes):
                raise CannotEvaluate("a Laplace variable multiplies nothing: the integral over it does not converge")
            windows.append((-float(np.max(sizes)) - 20.0, -float(np.min(sizes)) + 4.0))
        return windows

    def logarithm(self, nodes: list[Any]) -> Any:
        """log |outer integrand| on the product mesh."""
        shape = tuple(len(v) for v in nodes)
        v = [w.reshape([-1 if m == n else 1 for m in range(len(nodes))]) for n, w in enumerate(nodes)]
        scales: list[Any] = [None] * len(self.form.moments)
        logs: list[Any] = [None] * len(self.form.moments)
        for k, (indices, slopes, rows, _) in enumerate(self.kernels):
            load = sum(np.exp(w[..., None] + s) for w, s in zip(v, slopes))
            load = np.where(np.isnan(load), np.inf, load)
            for n, (i, row) in enumerate(zip(indices, rows)):
                table = row - load
                top = np.max(table, axis=-1, initial=-1e300)
                total = top + np.log(np.sum(np.exp(table - top[..., None]), axis=-1))
                if self.steep[k] and not self.form.moments[i].is_survival:
                    total, self.at[i] = self._sharpened(k, n, np.argmax(table, axis=-1), v)
                scales[i] = total
                self.tables[i], self.totals[i] = table - total[..., None], total
                logs[i] = self._log_survival(row, load, total) if self.form.moments[i].is_survival else total
        ones = [1.0] * len(scales)
        terms = self.code.terms(v, ones, logs, scales, self.p)
        result = np.full(shape, -np.inf)
        for i in self.active:
            exponent, rest = terms[i]
            size = exponent + np.log(np.abs(rest * self.constants.coefficients[i]))
            self.sizes[i] = np.broadcast_to(np.where(np.isnan(size), -np.inf, size), shape)
            result = np.maximum(result, self.sizes[i])
        return result

    def _logarithm_with(self, moment: int, top: float) -> Any:
        """log |outer integrand| - top, of the terms in which a moment stands.

        Where they are negligible beside the others, the moment may sink: its value there does not matter.
        """
        own = [size for t, size in self.sizes.items() if float(self.constants.powers[t][moment]) != 0]
        return np.max(own, axis=0) - top if own else np.full_like(next(iter(self.sizes.values())), -np.inf)

    def layout(self, windows: list[tuple[float, float]], nodes: list[Any], logs: Any, depth: float) -> Layout:
        """What the last table showed: the tokens that matter, their means at the peak, and how far moments sink."""
        top = float(np.max(logs))
        peak = np.unravel_index(int(np.argmax(logs)), logs.shape)
        count = len(self.form.moments)
        tokens, tilts, powers = [0.0] * count, [0] * count, [(0,) * len(nodes)] * count
        pieces, sunk, sunk_tilted, sunk_by_powers = [], 0.0, 0.0, 0.0
        for (indices, slopes, rows, x), own in zip(self.kernels, self.pieces):
            sizes = [self._logarithm_with(i, top) for i in indices]
            matters = np.zeros(len(x), dtype=bool)
            for i, row, size in zip(indices, rows, sizes):
                share = np.exp(self.tables[i][peak])
                tokens[i] = float(np.sum(share * x) / np.sum(share)) if self.at[i] is None else float(self.at[i][peak])
                if self.form.moments[i].is_survival and self.constants.largest_power(self.form, self.active) > 0:
                    matters |= row > np.max(row) - depth
                matters |= np.any((self.tables[i] + size[..., None]).reshape(-1, len(x)) > -depth, axis=0)
                if self.at[i] is not None:
                    near = np.searchsorted(x, self.at[i][size > -depth])
                    matters[np.clip(near, 0, len(x) - 1)] = matters[np.clip(near - 1, 0, len(x) - 1)] = True
            index = np.flatnonzero(matters) if matters.any() else np.arange(len(x))
            on_line = len(own) == 1 and isinstance(own[0], Line)
            self.early.append((on_line and bool(index[0] == 0), on_line and bool(index[-1] == len(x) - 1)))
            if on_line:
                low, high = x[max(index[0] - 1, 0)], x[min(index[-1] + 1, len(x) - 1)]
                own = (Line(float(low), float(high), own[0].step),)
            pieces.append(own)
            kept = np.zeros(len(x), dtype=bool)
            kept[max(index[0] - 1, 0) : index[-1] + 2] = True
            for i, row, size in zip(indices, rows, sizes):
                inside = size > -depth
                powers[i], least = self._relieved(i, row[kept], [s[kept] for s in slopes], nodes, inside)
                sunk_by_powers = max(sunk_by_powers, least)
                sinking = float(np.max(row[kept])) - self.totals[i]
                sunk = max(sunk, float(np.max(sinking + size, where=inside, initial=0.0)))
                if len(nodes) == 1:
                    tilts[i], moved = self._tilted(i, row, x, kept, tokens[i], nodes[0])
                    sunk_tilted = max(sunk_tilted, float(np.max(moved + size, where=inside, initial=0.0)))
        at_peak = [float(v[i]) for v, i in zip(nodes, peak)]
        return Layout(pieces, windows, at_peak, sunk, tokens, tilts, sunk_tilted, powers, sunk_by_powers)

    def _relieved(
        self, i: int, row: Any, slopes: list[Any], nodes: list[Any], inside: Any
    ) -> tuple[tuple[int, ...], float]:
        """Powers q of u kappa, and the largest -log of the moment beside max(weight kappa^-q) max((u kappa)^q e^{-u kappa})."""
        best: tuple[tuple[int, ...], float] = ((0,) * len(nodes), np.inf)
        grid = np.meshgrid(*nodes, indexing="ij", sparse=True)
        highest = 0 if self.form.moments[i].is_survival else HIGHEST_POWER
        for q in itertools.product(range(highest + 1), repeat=len(nodes)):
            weight = row - sum(n * s for n, s in zip(q, slopes))
            height = float(np.max(weight, where=np.isfinite(weight), initial=-np.inf))
            height += sum(n * float(np.log(n)) - n for n in q if n)
            moved = height - self.totals[i] - sum(n * v for n, v in zip(q, grid))
            sunk = float(np.max(moved, where=inside, initial=0.0))
            if sunk < best[1] - 1.0:
                best = (q, sunk)
        return best

    def _tilted(self, i: int, row: Any, x: Any, kept: Any, token: float, v: Any) -> tuple[int, Any]:
        """The power q for a moment, and -log of the moment relative to its largest weight and table entry then."""
        moment = self.form.moments[i]
        curvature, own, _ = (float(value) for value in self.constants.bells[i])
        constant, rate = (float(value) for value in self.constants.exponentials[self.form.kernels.index(moment.kernel)])
        if moment.bell is None or moment.is_survival or rate == 0 or not constant > 0:
            return 0, float(np.max(row[kept])) - self.totals[i]
        q = round(2.0 * curvature * (token - own) / rate)
        largest = float(np.max((row - q * rate * x)[kept])) + (q * float(np.log(q)) - q if q > 0 else 0.0)
        return q, largest - self.totals[i] - q * (v + float(np.log(constant)))

    @staticmethod
    def _log_survival(row: Any, load: Any, total: Any) -> Any:
        weights = np.exp(row)
        missing = np.sum(weights * -np.expm1(-load), axis=-1) / np.sum(weights)
        return np.where(missing < 0.5, np.log1p(-np.minimum(missing, 0.5)), np.minimum(total, 0.0))
