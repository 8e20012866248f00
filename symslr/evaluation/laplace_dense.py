"""Laplace forms with any kernel and one or two Laplace variables in float64: one table of exponentials per kernel and axis.

Every axis has its own step. The moments are smooth in log u on the scale of what smooths them (a Gaussian over tokens, say),
which no rule here has to know: each axis starts coarse and is refined while its own nested rules differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symslr.evaluation.arithmetic import Float64
from symslr.evaluation.dense_tables import DETUNED, DenseTables, PlacedKernel
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace_coarse import Layout
from symslr.evaluation.laplace_float import FloatOuter, outer_step
from symslr.evaluation.laplace_layout import layout
from symslr.evaluation.mesh import joined
from symslr.evaluation.stretch import Stretch

FLOAT = Float64()
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
        self.outer, self.code, self.constants, self.p = outer, outer.code, outer.constants, outer.p

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
        tables, lines = DenseTables(outer, found.powers), _lines(found)
        if found.sunk_by_powers > DEEPEST:
            raise CannotEvaluate("a moment underflows in float64")
        axes, steps, level = len(found.windows), start.steps, max(start.level, self._first_level(found))
        placed = tables.place(found.pieces, level)
        for _ in range(14):
            self._check_size(lines, steps, placed)
            now = tables.outer_at(lines, steps, placed)
            size = float(np.sum(np.abs(now.values)))
            errors = [tables.axis_error(now.values, n, size) for n in range(axes)]
            inner = tables.inner_error(now, placed)
            doubt = 0.0
            if max(*errors, inner) < outer.tolerance:
                doubt = tables.doubt(now, lines, placed, size)
                if doubt < outer.tolerance:
                    break
                errors = [doubt] * axes
            if inner >= outer.tolerance and level < LEVELS:
                level += 2 if inner > 0.1 else 1
                placed = tables.place(found.pieces, level)
            steps = [self._refined(h, e, inner) for h, e in zip(steps, errors)]
        edge = sum(float(np.sum(np.abs(np.take(now.values, e, axis=n)))) * 8 for n in range(axes) for e in (0, -1))
        edge += tables.cut(now, placed)
        rounding = FLOAT.eps * tables.conditioning(now, placed)
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

    def _check_size(self, lines: list[Stretch], steps: list[float], placed: list[PlacedKernel]) -> None:
        counts = [line.length / step for line, step in zip(lines, steps)]
        nodes = max(len(kernel.mesh.nodes) for kernel in placed)
        if max(counts) * nodes > LARGEST_TABLE or float(np.prod(counts)) * nodes > MOST_WORK:
            raise CannotEvaluate("the table of exponentials is too large for float64")


def _lines(found: Layout) -> list[Stretch]:
    """The outer axes."""
    return [Stretch.over(window, peak) for window, peak in zip(found.windows, found.peaks)]
