"""Laplace forms with any kernel and one or two Laplace variables in float64: one table of exponentials per kernel and axis.

Every axis has its own step. The moments are smooth in log u on the scale of what smooths them (a Gaussian over tokens, say),
which no rule here has to know: each axis starts coarse and is refined while its own nested rules differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluation.arithmetic import Float64
from symslr.evaluation.convergence import geometric_error
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace_float import LARGE_POWER, TINY, FloatOuter, outer_step
from symslr.evaluation.laplace_layout import Layout, layout
from symslr.evaluation.mesh import Mesh, joined
from symslr.evaluation.stretch import Stretch

FLOAT = Float64()
MOST_NODES = 40_000
MOST_WORK = 4e9
"""Multiplications in one contraction: a second or two."""
LARGEST_TABLE = 3e7
FIRST_NODES = {1: 48, 2: 32}
"""Steps per window at which the outer variables start."""
DEEPEST = 600.0
"""A moment this far below its weights, as -log, is lost to underflow."""
LEVELS = 11
SPARE = 1e-2
"""Where the error is this far below the tolerance, the next point starts from a coarser mesh."""
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


@dataclass(frozen=True, slots=True)
class Placement:
    """Where an integral was found to live: a layout, steps of the outer axes and the level of the token meshes.

    ``is_kept`` tells whether the integrand still filled these windows and died inside them.
    """

    p: tuple[float, ...]
    found: Layout
    steps: list[float]
    level: int
    is_kept: bool = True

    def is_near(self, p: tuple[float, ...]) -> bool:
        """Whether all parameters have the same sign and moved by less than a third."""
        return all(abs(new - old) <= 0.34 * min(abs(new), abs(old)) for new, old in zip(p, self.p))


class DenseFloat:
    """Any kernel, one or two Laplace variables: M = (u kappa)^q exp(-u kappa) @ weights."""

    def __init__(self, outer: FloatOuter) -> None:
        self.outer, self.code, self.form, self.p = outer, outer.code, outer.form, outer.p
        self.constants = outer.constants
        self.moments_of = [
            [i for i, m in enumerate(self.form.moments) if m.kernel == kernel] for kernel in self.form.kernels
        ]
        self.powers: list[tuple[int, ...]] = []

    def run(self) -> tuple[float, float]:
        """The integral and its error.

        Raises:
            CannotEvaluate: where the integrand does not decay, or the meshes would be too large.
        """
        value, error, _ = self._refine(self._found())
        return value, error

    def near(self, known: Placement | None) -> tuple[float, float, Placement]:
        """The integral, its error and the meshes used, which are tried at neighbouring parameters before new ones are sought."""
        if known is not None and known.is_near(self.p):
            try:
                value, error, used = self._refine(known)
                if used.is_kept:
                    return value, error, used
            except CannotEvaluate:
                pass
        return self._refine(self._found())

    def _found(self) -> Placement:
        """Windows from logarithms, and first steps."""
        outer = self.outer
        found = layout(self.code, self.constants, self.p, outer.depth, outer.active)
        smallest = outer_step(outer.tolerance)
        steps = [max(smallest, line.length / FIRST_NODES[len(found.windows)]) for line in _lines(found)]
        return Placement(self.p, found, steps, 0)

    def _refine(self, start: Placement) -> tuple[float, float, Placement]:
        outer, found = self.outer, start.found
        self.powers = found.powers
        if found.sunk_by_powers > DEEPEST:
            raise CannotEvaluate("a moment underflows in float64")
        axes, steps, level = len(found.windows), start.steps, max(start.level, self._first_level(found))
        placed = self._place(found, level)
        for _ in range(14):
            self._check_size(found, steps, placed)
            now = self._outer(found, steps, placed)
            size = float(np.sum(np.abs(now.values)))
            errors = [self._axis_error(now.values, n, size) for n in range(axes)]
            inner = self._inner_error(now, placed)
            doubt = 0.0
            if max(*errors, inner) < outer.tolerance:
                doubt = self._doubt(now, found, placed, size)
                if doubt < outer.tolerance:
                    break
                errors = [doubt] * axes
            if inner >= outer.tolerance and level < LEVELS:
                level += 2 if inner > 0.1 else 1
                placed = self._place(found, level)
            steps = [self._refined(h, e, inner) for h, e in zip(steps, errors)]
        edge = sum(float(np.sum(np.abs(np.take(now.values, e, axis=n)))) * 8 for n in range(axes) for e in (0, -1))
        edge += self._cut(now, placed)
        rounding = FLOAT.eps * self._conditioning(now, placed)
        relative = sum(errors) + doubt + inner + edge / size + rounding
        factor = float(np.prod(now.steps)) * float(np.exp(now.shift))
        kept = edge / size < outer.tolerance and all(
            np.sum(np.max(np.abs(now.values), axis=tuple(m for m in range(axes) if m != n)) > 1e-9 * np.max(now.values))
            > len(now.v[n]) / 5
            for n in range(axes)
        )
        spare = outer.tolerance * SPARE
        loose = [h * DETUNED if doubt < spare and e < spare else h for h, e in zip(now.steps, errors)]
        used = Placement(self.p, found, loose, level - 1 if inner < spare * spare else level, kept)
        return float(np.sum(now.values)) * factor, relative * size * factor, used

    def _doubt(self, now: Outer, found: Layout, placed: list[PlacedKernel], size: float) -> float:
        """Relative error told by a mesh that is coarser in all directions and nested in none.

        Nested rules on few nodes may agree by chance. The error exp(-c/h) itself would be the change to the power r, but
        where the integrand is a ridge across both axes it was found up to eight times larger than that.
        """
        other = self._outer(found, [step * DETUNED for step in now.steps], placed)
        mine, its = (float(np.sum(o.values)) * float(np.prod(o.steps)) for o in (now, other))
        change = abs(its * np.exp(other.shift - now.shift) - mine) / (size * float(np.prod(now.steps)))
        return float(change)

    def _refined(self, step: float, error: float, inner: float) -> float:
        """The next step of an axis; a token mesh that is far too coarse spoils the sight of it."""
        if error < self.outer.tolerance or inner > 0.1:
            return step
        return step / (2.0 if error > 1e-4 else 1.5)

    def _first_level(self, found: Layout) -> int:
        """The level at which log kappa moves by no more between nodes than exp(-u kappa) needs at this tolerance."""
        target = 8.2 / -float(np.log(self.outer.tolerance))
        level = 0
        for k, own in enumerate(found.pieces):
            mesh = joined(own, FLOAT, 0)
            slopes, _ = self.code.weights(k, mesh.nodes, self.p)
            moves = np.abs(np.diff(np.array(slopes), axis=-1))
            steepest = float(np.max(moves, where=np.isfinite(moves), initial=0.0))
            level = max(level, int(np.ceil(np.log2(max(steepest / target, 1.0)))))
        return min(max(level, 1), LEVELS)

    def _check_size(self, found: Layout, steps: list[float], placed: list[PlacedKernel]) -> None:
        counts = [line.length / step for line, step in zip(_lines(found), steps)]
        nodes = max(len(kernel.mesh.nodes) for kernel in placed)
        if max(counts) * nodes > LARGEST_TABLE or float(np.prod(counts)) * nodes > MOST_WORK:
            raise CannotEvaluate("the table of exponentials is too large for float64")

    def _place(self, found: Layout, level: int) -> list[PlacedKernel]:
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

    def _outer(self, found: Layout, steps: list[float], placed: list[PlacedKernel]) -> Outer:
        lines = [line.nodes(step) for line, step in zip(_lines(found), steps)]
        v = [line[0] for line in lines]
        density = np.multiply.outer(*(line[1] for line in lines)) if len(lines) == 2 else lines[0][1]
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
        return Outer(v, density, [line[2] for line in lines], tables, means, logs, scales, values * density, shift)

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

    @staticmethod
    def _axis_error(values: Any, axis: int, size: float) -> float:
        """Relative error of the rule along one axis, from its rules with two and four times the step."""
        line = np.sum(values, axis=1 - axis) if values.ndim == 2 else values
        quarter, half, full = (float(np.sum(line[::s])) * s for s in (4, 2, 1))
        return float(geometric_error(quarter, half, full, size))

    def _inner_error(self, now: Outer, placed: list[PlacedKernel]) -> float:
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

    def _cut(self, now: Outer, placed: list[PlacedKernel]) -> float:
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

    def _conditioning(self, now: Outer, placed: list[PlacedKernel]) -> float:
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


def _lines(found: Layout) -> list[Stretch]:
    """The outer axes."""
    return [Stretch.over(window, peak) for window, peak in zip(found.windows, found.peaks)]
