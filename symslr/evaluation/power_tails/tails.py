"""Laplace forms under token laws with a power tail and a kernel that grows exponentially, in float64.

Here the outer integrand itself has a power tail in v = log u: exp(-u kappa) cuts the tokens where kappa = 1/u, and for kappa =
exp(a x) that place moves as -v/a into the tail of the law. Both variables therefore run on meshes with algebraic reach,
v = v_0 + width sinh t, and every v has a token mesh of its own with one centre at its cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace.code import Constants, LaplaceCode
from symslr.evaluation.laplace.family import Family, Moments
from symslr.evaluation.laplace.table import TINY
from symslr.evaluation.numbers.arithmetic import Float64
from symslr.evaluation.power_tails.centred_mesh import CentredMesh
from symslr.evaluation.quadrature.convergence import geometric_error
from symslr.evaluation.quadrature.scan import scan

FLOAT = Float64()
FAR, FURTHER = 1e6, 1e12
"""Tokens between which tails are told apart."""
STEEPEST_POWER = 60.0
"""A density that falls faster than with this power is no power tail."""
SEEN = 0.01
"""Rounding of a logarithm up to which it is still told from others."""
EXPONENTIAL = 1e3
"""log kappa moves by less between the two far tokens where kappa is algebraic."""
FIRST_STEPS = (0.25, 0.25)
"""Steps of t and of the token meshes to begin with."""
HALVINGS = 7
DETUNED = 1.3
BLOCK = 200_000
"""Numbers in one array: what stays in the cache."""
MOST_NODES = 40_000_000
BISECTIONS = 64


def has_power_tail(code: LaplaceCode, constants: Constants, p: tuple[float, ...]) -> bool:
    """Whether some token law has a power tail on a side where log kappa is no longer a logarithm itself."""
    far = np.array([-FURTHER, -FAR, FAR, FURTHER])
    for k, (low, high) in enumerate(constants.ends):
        ends = np.isinf([float(low), float(high)])
        slopes, parts = code.weights(k, np.clip(far, float(low), float(high)), p)
        moves = [np.abs(np.array([s[0] - s[1], s[3] - s[2]])) for s in slopes]
        exponential = ends & np.any([~(m < EXPONENTIAL) for m in moves], axis=0)
        for exponent, rest in parts:
            row = exponent + np.log(np.abs(rest))
            q = _power(row, slopes[0])
            if q and not float(np.nanmax(np.abs(slopes[0]))) * FLOAT.eps < SEEN:
                continue
            row = row - q * slopes[0] if q else row
            fall = np.array([row[1] - row[0], row[2] - row[3]]) / np.log(FURTHER / FAR)
            if np.any(exponential & (fall > 1.0) & (fall < STEEPEST_POWER)):
                return True
    return False


def _power(row: Any, slope: Any) -> int:
    """q of a weight kappa^q p, from where kappa grows or falls exponentially (the first or the last two far tokens)."""
    for i, j in ((2, 3), (1, 0)):
        move = slope[j] - slope[i]
        if np.isfinite(move) and abs(move) > EXPONENTIAL and np.isfinite(row[j] - row[i]):
            return round(float((row[j] - row[i]) / move))
    return 0


@dataclass(slots=True)
class Table:
    """The outer integrand on a mesh of v, with the rules of coarser token meshes beside it; all divided by exp(shift)."""

    v: Any
    weights: Any
    values: Any
    coarser: list[Any]
    ends: Any
    shift: float


class PowerTails:
    """One Laplace variable, a monotone kernel without kinks on the whole line."""

    def __init__(self, outer: Family) -> None:
        self.outer, self.code, self.form, self.p = outer, outer.code, outer.form, outer.p
        self.constants = outer.constants
        if (
            len(self.form.logs) > 1
            or any(self.form.kinks)
            or not np.all(np.isinf(np.array(self.constants.ends, float)))
        ):
            raise CannotEvaluate(REFUSED)
        self.moments_of = [
            [i for i, m in enumerate(self.form.moments) if m.kernel == kernel] for kernel in self.form.kernels
        ]
        self.placed = [self._placed(k) for k in range(len(self.form.kernels))]

    def run(self) -> tuple[float, float]:
        """The integral and its error.

        Raises:
            CannotEvaluate: where the kernel is not monotone, the integrand does not decay, or meshes would be too large.
        """
        tolerance = self.outer.tolerance
        window = self._window()
        steps = list(FIRST_STEPS)
        for _ in range(HALVINGS):
            now = self._table(window, steps)
            size = float(np.sum(np.abs(now.values) * now.weights))
            outer = self._outer_error(now, size)
            inner = self._inner_error(now, size)
            doubt = 0.0
            if max(outer, inner) < tolerance:
                other = self._table(window, [step * DETUNED for step in steps])
                change = np.sum(other.values * other.weights) * np.exp(other.shift - now.shift)
                doubt = float(abs(change - np.sum(now.values * now.weights)) / size)
                if doubt < tolerance:
                    break
            if outer >= tolerance or doubt >= tolerance:
                steps[0] /= 2.0 if outer > 1e-4 else 1.5
            if inner >= tolerance or doubt >= tolerance:
                steps[1] /= 2.0 if inner > 1e-4 else 1.5
        edge = float(np.sum(now.weights * now.ends)) + 8.0 * sum(abs(now.values[e]) * now.weights[e] for e in (0, -1))
        # A place v + log kappa(x) = 0 far out in the tail is known to a rounding of v.
        rounding = FLOAT.eps * float(np.sum(np.abs(now.values) * now.weights * (64.0 + 4.0 * np.abs(now.v))))
        factor = float(np.exp(now.shift))
        error = (outer + inner + doubt) * size + edge + rounding
        return float(np.sum(now.values * now.weights)) * factor, error * factor

    def _placed(self, k: int) -> tuple[Any, Any, float]:
        """(centres, widths, reach) of the laws under a kernel.

        Raises:
            CannotEvaluate: where the kernel is not monotone or a law has no window.
        """
        far = np.array([-FURTHER, -FAR, FAR, FURTHER])
        slopes, parts = self.code.weights(k, far, self.p)
        powers = [_power(exponent + np.log(np.abs(rest)), slopes[0]) for exponent, rest in parts]
        windows = []
        for row, q in enumerate(powers):

            def log_weight(x: Any, row: int = row, q: int = q) -> Any:
                slopes, parts = self.code.weights(k, x, self.p)
                exponent, rest = parts[row]
                values = exponent + np.log(np.abs(rest)) - (q * slopes[0] if q else 0.0)
                return np.where(np.abs(q * slopes[0]) * FLOAT.eps > SEEN, -np.inf, values) if q else values

            window = scan(log_weight, -np.inf, np.inf, self.outer.depth)
            if window is None:
                raise CannotEvaluate("a token integral has a weight that vanishes everywhere")
            windows.append(window)
        grid = np.sinh(np.linspace(-50.0, 50.0, 4001))
        slope = self.code.weights(k, grid, self.p)[0][0]
        moves = np.diff(slope[np.isfinite(slope)])
        if not (np.all(moves >= 0) or np.all(moves <= 0)):
            raise CannotEvaluate(REFUSED)
        found: list[tuple[float, float]] = []
        for window in sorted(windows, key=lambda w: w.width):
            if all(abs(window.peak - centre) > width for centre, width in found):
                found.append((window.peak, window.width / 2))
        reach = max(max(abs(w.low), abs(w.high)) for w in windows)
        centres, widths = np.array(found).T
        return centres, widths, 4.0 * reach

    def _slope(self, k: int, x: Any) -> Any:
        slope = self.code.weights(k, x, self.p)[0][0]
        return np.where(np.isnan(slope), -np.inf, slope)

    def _cuts(self, k: int, v: Any, reach: float) -> tuple[Any, Any]:
        """Where v + log kappa(x) = 0, and over which width it moves by one."""
        low = np.full(len(v), -np.arcsinh(reach))
        high = -low
        rising = bool(self._slope(k, np.array([1.0]))[0] > self._slope(k, np.array([-1.0]))[0])
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            beyond = (v + self._slope(k, np.sinh(middle)) > 0) == rising
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        y, near = (low + high) / 2, 1e-4
        moved = np.abs(self._slope(k, np.sinh(y + near)) - self._slope(k, np.sinh(y - near)))
        width = np.abs(np.sinh(y + near) - np.sinh(y - near)) / np.maximum(moved, TINY)
        return np.sinh(y), np.clip(width, 1e-6, reach)

    def _moments(self, v: Any, step: float) -> tuple[list[Any], list[Any], list[Any], Any]:
        """(means, logs, scales) per rule (full, half, quarter token mesh) of every moment, and what the meshes' ends leave out."""
        count = len(self.form.moments)
        means: list[list[Any]] = [[None] * count for _ in range(3)]
        logs: list[list[Any]] = [[0.0] * count for _ in range(3)]
        scales: list[Any] = [0.0] * count
        lost = np.zeros(len(v))
        for k, (fixed, widths, reach) in enumerate(self.placed):
            cut, width = self._cuts(k, v, reach)
            centres = np.column_stack([np.tile(fixed, (len(v), 1)), cut])
            mesh = CentredMesh.of(centres, np.column_stack([np.tile(widths, (len(v), 1)), width]), reach, step)
            shape = mesh.nodes.shape
            slopes, parts = self.code.weights(k, mesh.nodes.ravel(), self.p)
            load = np.exp(v[:, None] + np.where(np.isnan(slopes[0]), -np.inf, slopes[0]).reshape(shape))
            for i, (exponent, rest) in zip(self.moments_of[k], parts):
                gaussian = self.form.moments[i].gaussian
                height = float(self.constants.gaussians[i][2]) if gaussian is not None else 0.0
                row = (exponent + height).reshape(shape)
                rest = rest.reshape(shape)
                size = row - load + np.log(np.abs(rest))
                size = np.where(np.isnan(size), -np.inf, size)
                top = np.max(size, axis=-1)
                mass = np.exp(size - top[:, None]) * np.sign(rest) * mesh.weights
                scales[i] = top
                total = np.sum(np.abs(mass), axis=-1)
                # Beyond its last node a power tail of at least x^-(1 + 1/2) holds twice its density times its distance.
                gap = (
                    2.0 * reach * (np.abs(mass[:, 0] / mesh.weights[:, 0]) + np.abs(mass[:, -1] / mesh.weights[:, -1]))
                )
                power = max(abs(float(self.constants.powers[t][i])) for t in self.outer.active)
                lost = lost + np.minimum(power * gap / np.maximum(total, TINY), 1.0)
                survival = self.form.moments[i].is_survival
                missing = np.exp(row) * rest * -np.expm1(-load) * mesh.weights if survival else mass
                for n in range(3):
                    nth = np.sum(mass[:, :: 2**n], axis=-1) * 2**n
                    means[n][i] = nth
                    if survival:
                        gone = np.sum(missing[:, :: 2**n], axis=-1) * 2**n
                        whole = np.log(np.maximum(nth, TINY)) + top
                        logs[n][i] = np.where(gone < 0.5, np.log1p(-np.minimum(gone, 0.5)), whole)
        return means, logs, scales, lost

    def _on(self, v: Any, step: float) -> tuple[list[Any], Any, float]:
        """Outer values on v with the full, half and quarter token meshes, what their ends leave out, and the shift."""
        nodes = sum(2.0 * 3.0 * np.log(reach) for _, _, reach in self.placed) / step
        if nodes * len(v) > MOST_NODES:
            raise CannotEvaluate("the token meshes of a power tail are too large for float64")
        blocks = np.array_split(v, max(1, int(np.ceil(nodes * len(v) / BLOCK))))
        found = [self._moments(block, step) for block in blocks]
        values, shifts = [], []
        for n in range(3):
            means, logs = (
                [
                    np.concatenate([np.broadcast_to(f[m][n][i], b.shape) for f, b in zip(found, blocks)])
                    for i in range(len(self.form.moments))
                ]
                for m in (0, 1)
            )
            scales: list[Any] = [
                np.concatenate([np.broadcast_to(f[2][i], b.shape) for f, b in zip(found, blocks)])
                for i in range(len(self.form.moments))
            ]
            terms, (shift,) = self.outer.values([v], Moments(means, logs, scales))
            values.append(self.outer.sums(terms)[0])
            shifts.append(float(shift))
        values = [own * np.exp(shift - shifts[0]) for own, shift in zip(values, shifts)]
        return values, np.concatenate([f[3] for f in found]), shifts[0]

    def _window(self) -> tuple[float, float, float, float]:
        """(centre, width, lowest t, highest t) of v = centre + width sinh t."""
        centres, widths, reach = self.placed[0]
        around = np.concatenate([centres - widths, centres + widths])
        slopes = -self._slope(0, around)
        slopes = slopes[np.isfinite(slopes)]
        if not len(slopes):
            raise CannotEvaluate("a Laplace variable multiplies nothing: the integral over it does not converge")
        centre = float(np.median(slopes))
        width = max(1.0, float(np.max(slopes) - np.min(slopes)) / 2)
        ends = -self._slope(0, np.array([-reach, reach]))
        furthest = max(float(np.max(np.abs(np.where(np.isfinite(ends), ends, 0.0) - centre))), 100.0 * width)
        t = np.linspace(-1.0, 1.0, 201) * float(np.arcsinh(furthest / width))
        v = centre + width * np.sinh(t)
        values, _, _ = self._on(v, 2 * FIRST_STEPS[1])
        mass = np.abs(values[0]) * np.cosh(t)
        keep = np.flatnonzero(mass > np.max(mass) * np.exp(-self.outer.depth))
        return centre, width, float(t[max(keep[0] - 1, 0)]), float(t[min(keep[-1] + 1, len(t) - 1)])

    def _table(self, window: tuple[float, float, float, float], steps: list[float]) -> Table:
        centre, width, low, high = window
        count = 4 * max(2, int(np.ceil((high - low) / steps[0] / 4)))
        t = np.linspace(low, high, count + 1)
        v = centre + width * np.sinh(t)
        weights = (high - low) / count * width * np.cosh(t)
        (full, *coarser), ends, shift = self._on(v, steps[1])
        return Table(v, weights, full, coarser, np.abs(full) * np.minimum(ends, 1.0), shift)

    @staticmethod
    def _outer_error(now: Table, size: float) -> float:
        line = now.values * now.weights
        quarter, half, full = (float(np.sum(line[::s])) * s for s in (4, 2, 1))
        return float(geometric_error(quarter, half, full, size))

    @staticmethod
    def _inner_error(now: Table, size: float) -> float:
        half, quarter = now.coarser
        last = float(np.sum(np.abs(half - now.values) * now.weights))
        first = float(np.sum(np.abs(quarter - half) * now.weights))
        return float(geometric_error(first + last, last, 0.0, size))


REFUSED = (
    "a token law with a power tail under a kernel that grows exponentially is evaluated in float64 for one normaliser and a "
    "monotone kernel without kinks on the whole line; found another (a bounded kernel such as p1/p0 has no such limits)"
)
