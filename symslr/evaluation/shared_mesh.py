"""The shared mesh, for one exponential kernel kappa = C e^{s x}: the table depends on v + s x alone.

With one step h for v = log(u C) and h/s for x, a moment is the correlation of one vector exp(-e^t) with weights on x:
O(n) exponentials for the whole table. Source: symslr's own; see docs/proofs.md for its certified sister.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from symslr.evaluation.arithmetic import Float64
from symslr.evaluation.convergence import geometric_error
from symslr.evaluation.laplace_float import LARGE_POWER, TINY, FloatOuter, outer_step
from symslr.evaluation.laplace_layout import Layout, layout

FLOAT = Float64()
SMALLEST_SHARE = 0.2
"""Where s is so small that the shared step would be this fraction of the usual one, the plain table is cheaper."""
WIDE = 220.0
"""Above this span of s x the windows are found in logarithms first, and weights are tilted to the tokens that matter."""
MOST_NODES = 120_000


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of all moments on x = (first + k) step/rate, k < count, and the tilt q of each.

    A moment is exp(scale - q t) times the correlation of exp(q t - e^t) with its row, t = v + log C: a tilt moves the Gaussian
    of the row to the tokens that matter, so that neither factor underflows.
    """

    first: int
    step: float
    x: Any
    rows: Any
    tilts: list[float]
    scales: list[float]


def widest(outer: FloatOuter) -> float:
    """Largest step of x: a Gaussian of width w has the error exp(-pi^2 w^2/h^2), seen at twice the step."""
    width = min(1.0 / float(np.sqrt(-bell[0])) for bell in outer.constants.bells)
    return 2.2 * width / float(np.sqrt(2.0 - np.log(outer.tolerance)))


class SharedMesh:
    """One evaluation on the shared mesh."""

    def __init__(self, outer: FloatOuter) -> None:
        self.outer, self.code, self.form, self.p = outer, outer.code, outer.form, outer.p

    @staticmethod
    def fits(outer: FloatOuter) -> bool:
        """Whether the form is one exponential kernel on the line with Gaussian weights and no kinks."""
        form = outer.form
        if len(form.logs) > 1 or len(form.kernels) > 1 or form.kinks[0] or any(m.bell is None for m in form.moments):
            return False
        constant, rate = outer.constants.exponentials[0]
        low, high = outer.constants.ends[0]
        if not constant > 0 or rate == 0 or np.isfinite(low) or np.isfinite(high):
            return False
        if not all(bell[0] < 0 for bell in outer.constants.bells):
            return False
        return bool(widest(outer) * abs(rate) > SMALLEST_SHARE * outer_step(outer.tolerance))

    def run(self) -> tuple[float, float] | None:
        """The integral and its error; None where the plain table has to take over."""
        outer = self.outer
        bells = outer.constants.bells
        rate = float(outer.constants.exponentials[0][1])
        step = min(outer_step(outer.tolerance), widest(outer) * abs(rate))
        reaches = [float(np.sqrt(-outer.depth / bell[0])) for bell in bells]
        span = max(b[1] + r for b, r in zip(bells, reaches)) - min(b[1] - r for b, r in zip(bells, reaches))
        found = None
        if span * abs(rate) > WIDE:
            found = layout(self.code, outer.constants, self.p, outer.depth, outer.active)
        stride = self._stride(step, rate)
        weights = None
        for _ in range(14):
            if weights is None:
                weights = self._weights(step, rate, reaches, found)
                if weights is None or len(weights.x) > MOST_NODES:
                    return None
                window = self._window(weights) if found is None else self._aligned(found, step)
                if window is None:
                    return None
            assert window is not None  # it was made with the weights
            value, error, outer_error, inner_error = self._sum(*window, stride, weights)
            if max(outer_error, inner_error) < outer.tolerance:
                break
            if inner_error >= outer.tolerance or stride == 1:
                step, weights = step / 1.5, None
            stride = max(1, stride // 2 if outer_error >= outer.tolerance else stride)
        return value, error

    def _stride(self, step: float, rate: float) -> int:
        """Steps of the shared mesh between the outer nodes.

        A Gaussian over tokens makes the moments smooth in v on the scale s of its width, however sharp e^{-e^t} is.
        """
        if not self.form.is_smoothed:
            return 1
        return max(1, int(0.6 * widest(self.outer) * abs(rate) / step))

    def _weights(self, step: float, rate: float, reaches: list[float], found: Layout | None) -> Weights | None:
        """Weights at one step: around their own centres, or tilted to the tokens that a layout found."""
        bells, moments = self.outer.constants.bells, self.form.moments
        centres = [float(bell[1]) for bell in bells]
        if found is not None:
            centres = [c if m.is_survival else token for c, token, m in zip(centres, found.tokens, moments)]
        low = min(c - r for c, r in zip(centres, reaches))
        high = max(c + r for c, r in zip(centres, reaches))
        ends = sorted((low * rate, high * rate))
        first = int(np.floor(ends[0] / step)) - 1
        count = 4 * (int(np.ceil((ends[1] / step - first + 1) / 4))) + 1
        x = np.arange(first, first + count) * (step / rate)
        _, parts = self.code.weights(0, x, self.p)
        rows = np.empty((len(parts), count))
        tilts, scales = [], []
        for i, (row, (exponent, rest), (curvature, own, height), centre) in enumerate(zip(rows, parts, bells, centres)):
            tilt = 0.0 if centre == own else (centre - own) * 2.0 * curvature / rate
            np.multiply(np.exp(exponent if tilt == 0.0 else curvature * (x - centre) ** 2), rest, out=row)
            tilts.append(tilt)
            if tilt != 0.0:
                height = self.code.token_exponent(i, centre, self.p)[0] - tilt * rate * centre
            scales.append(float(height))
        rows *= step / abs(rate)
        return Weights(first, step, x, rows, tilts, scales) if np.isfinite(rows).all() else None

    @property
    def _shift(self) -> float:
        """log C, with t = v + log C + s x."""
        return float(np.log(self.outer.constants.exponentials[0][0]))

    def _aligned(self, found: Layout, step: float) -> tuple[int, int]:
        """The window of a layout on the shared mesh."""
        low, high = found.windows[0]
        start = int(np.floor((low + self._shift) / step))
        return start, start + 4 * max(2, int(np.ceil((high - low) / step / 4)) + 1)

    def _window(self, weights: Weights) -> tuple[int, int] | None:
        """The part of the v-mesh that matters, found on every eighth node of v and every fourth of x."""
        across, count, step = 8, len(weights.x), weights.step
        start = int(np.floor(-(weights.first + count) - self.outer.depth / step))
        stop = int(np.ceil(-weights.first + 6.0 / step))
        thin = weights.rows[:, ::4] * 4.0
        for _ in range(6):
            powers = np.exp(np.arange(start + weights.first, stop + weights.first + count) * step)
            table = sliding_window_view(np.exp(-powers), count)[::across, ::4]
            means = list((table @ thin.T).T)
            lost = None
            if self._needs_missing:
                lost = sliding_window_view(-np.expm1(-powers), count)[::across, ::4] @ thin[self._survivors[0]]
            v = np.arange(start, start + across * len(means[0]), across) * step - self._shift
            values, _ = self.outer.values([v], means, self._logs(means, lost, weights), weights.scales)
            inside = np.flatnonzero(np.log(np.abs(values)) > -self.outer.depth)
            if not len(inside):
                return None
            if inside[0] > 0 and inside[-1] < len(v) - 1:
                low, high = start + across * (int(inside[0]) - 1), start + across * (int(inside[-1]) + 1)
                return low, low + 4 * ((high - low) // 4)
            reach = (stop - start) // 2
            start = start - reach if inside[0] == 0 else start
            stop = stop + reach if inside[-1] == len(v) - 1 else stop
        return None

    @property
    def _survivors(self) -> list[int]:
        return [i for i, m in enumerate(self.form.moments) if m.is_survival]

    @property
    def _needs_missing(self) -> bool:
        return self.outer.power > LARGE_POWER and bool(self._survivors)

    def _logs(self, means: list[Any], lost: Any, weights: Weights) -> list[Any]:
        logs: list[Any] = [0.0] * len(means)
        for i in self._survivors:
            factor = np.exp(weights.scales[i])
            logs[i] = np.log(np.maximum(means[i] * factor, TINY))
            if lost is not None:
                missing = lost * factor
                logs[i] = np.where(missing < 0.5, np.log1p(-np.minimum(missing, 0.5)), logs[i])
        return logs

    def _sum(self, start: int, stop: int, stride: int, weights: Weights) -> tuple[float, float, float, float]:
        """Value, error and the errors of the outer and of the token mesh, on rows start, start + stride, ... of the mesh."""
        outer, rows, count, step = self.outer, weights.rows, len(weights.x), weights.step
        steps = 4 * max(2, -(-(stop - start) // (4 * stride)))
        t = np.arange(start + weights.first, start + steps * stride + weights.first + count) * step
        powers = np.exp(t)
        plain = sliding_window_view(np.exp(-powers), count)[::stride]
        levels = self._nested(rows)
        means: list[Any] = [None] * len(rows)
        together = [i for i, q in enumerate(weights.tilts) if q == 0.0]
        if together:
            products = plain @ levels[:, together].reshape(-1, count).T
            for n, i in enumerate(together):
                means[i] = products[:, n :: len(together)].T.ravel()
        tables = [plain] * len(rows)
        for i, q in enumerate(weights.tilts):
            if q != 0.0:
                tables[i] = sliding_window_view(np.exp(q * t - powers), count)[::stride]
                means[i] = (tables[i] @ levels[:, i].T).T.ravel()
        lost = None
        if self._needs_missing:
            missing = sliding_window_view(-np.expm1(-powers), count)[::stride]
            lost = (missing @ levels[:, self._survivors[0]].T).T.ravel()
        v = (start + stride * np.arange(steps + 1)) * step - self._shift
        thrice = np.concatenate([v, v, v])
        logs = self._logs(means, lost, weights)
        scales: list[Any] = [
            c if q == 0.0 else c - q * (thrice + self._shift) for c, q in zip(weights.scales, weights.tilts)
        ]
        values, top = outer.values([thrice], means, logs, scales)
        fine, middle, coarse = values.reshape(3, -1)
        size = float(np.sum(np.abs(fine)))
        full, half, quarter = (float(np.sum(fine[::n])) * n for n in (1, 2, 4))
        outer_error = float(geometric_error(quarter, half, full, size))
        near, far = float(np.sum(np.abs(middle - fine))), float(np.sum(np.abs(coarse - middle)))
        inner_error = float(geometric_error(far + near, near, 0.0, size))
        edge = 8.0 * float(abs(fine[0]) + abs(fine[-1])) / size
        peak = int(np.argmax(np.abs(fine)))
        roundings = self._conditioning(peak, v, means, logs, scales, weights, tables)
        relative = (
            outer_error + inner_error + edge + FLOAT.eps * roundings + self._cut(fine, means, weights, tables, size)
        )
        factor = step * stride * float(np.exp(top))
        return full * factor, relative * size * factor, outer_error, inner_error

    @staticmethod
    def _nested(rows: Any) -> Any:
        """Weights on the mesh and on those with two and four times the step, zero elsewhere: (3, moments, nodes)."""
        levels = np.zeros((3, *rows.shape))
        levels[0] = rows
        levels[1][:, ::2] = 2.0 * rows[:, ::2]
        levels[2][:, ::4] = 4.0 * rows[:, ::4]
        return levels

    def _conditioning(
        self,
        peak: int,
        v: Any,
        means: list[Any],
        logs: list[Any],
        scales: list[Any],
        weights: Weights,
        tables: list[Any],
    ) -> float:
        tokens = []
        for row, table in zip(weights.rows, tables):
            mass = row * table[peak]
            total = float(np.sum(np.abs(mass)))
            tokens.append(
                (float(np.abs(mass) @ weights.x) / max(total, TINY), total / max(abs(float(np.sum(mass))), TINY))
            )

        def at(column: Any) -> float:
            return float(column[peak]) if np.ndim(column) else float(column)

        where = [float(v[peak])]
        return self.outer.conditioning(
            where, [at(m) for m in means], [at(g) for g in logs], [at(c) for c in scales], tokens
        )

    def _cut(self, fine: Any, means: list[Any], weights: Weights, tables: list[Any], size: float) -> float:
        """What the ends of the token mesh leave out, relative, seen at every outer node through the moments."""
        n = len(fine)
        outer_weights = np.abs(fine) / size
        lost = 0.0
        for i, (row, mean, table) in enumerate(zip(weights.rows, means, tables)):
            power = max(abs(float(self.outer.constants.powers[t][i])) for t in self.outer.active)
            if power > 0:
                ends = abs(row[0]) * table[:, 0] + abs(row[-1]) * table[:, -1]
                lost += 4.0 * power * float(outer_weights @ (ends / np.maximum(np.abs(mean[:n]), TINY)))
        return lost
