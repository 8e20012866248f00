"""The shared mesh at any precision: one vector exp(-e^t), and moments as products of integer polynomials."""

from __future__ import annotations

from dataclasses import dataclass
from operator import mul
from typing import Any

import mpmath
import numpy as np
from flint import fmpz_poly

from symslr.evaluation.convergence import geometric_error, unextrapolated_error
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.fixed_outer import FixedOuter, integers
from symslr.evaluation.mesh import Line

MOST_NODES = 400_000


@dataclass(frozen=True, slots=True)
class Placed:
    """Integer weights and tables, each with its unit, on the mesh with this step; rows start at ``start``."""

    start: int
    length: int
    step: Any
    shift: Any
    weights: list[tuple[list[int], Any]]
    heights: list[Any]
    tables: list[tuple[list[int], Any]]


class SharedFixed:
    """One evaluation; see ``shared_mesh.SharedMesh`` for the mesh."""

    def __init__(self, outer: FixedOuter) -> None:
        self.outer, self.code, self.form, self.p = outer, outer.code, outer.form, outer.p

    @staticmethod
    def fits(outer: FixedOuter) -> bool:
        """Whether the form is one exponential kernel on the line with Gaussian weights and no kinks."""
        form = outer.form
        if len(form.logs) > 1 or len(form.kernels) > 1 or form.kinks[0] or any(m.bell is None for m in form.moments):
            return False
        constant, rate = outer.constants.exponentials[0]
        low, high = outer.constants.ends[0]
        if not constant > 0 or rate == 0 or not (mpmath.isinf(low) and mpmath.isinf(high)):
            return False
        return bool(SharedFixed._widest(outer) * abs(rate) > 0.1 * outer.step)

    @staticmethod
    def _widest(outer: FixedOuter) -> float:
        """Largest step of x: a Gaussian of width w has the error exp(-pi^2 w^2/h^2), seen at twice the step."""
        width = min(1.0 / float(np.sqrt(-float(bell[0]))) for bell in outer.constants.bells)
        return 2.2 * width / float(np.sqrt(2.0 + outer.decay))

    def run(self) -> tuple[Any, Any]:
        """The integral and its error.

        Raises:
            CannotEvaluate: where the mesh does not converge.
        """
        outer = self.outer
        rate = outer.constants.exponentials[0][1]
        outer.set_bits(outer.layout.sunk_tilted)
        widest = self._widest(outer) * abs(float(rate))
        step = min(outer.step, widest)
        stride = max(1, int(0.6 * widest / step)) if self.form.is_smoothed else 1
        placed = None
        for _ in range(14):
            placed = placed or self._placed(step, rate)
            value, error, outer_error, inner_error = self._sum(placed, stride)
            if max(outer_error, inner_error) < outer.tolerance:
                return value, error
            if inner_error >= outer.tolerance or stride == 1:
                step, placed = step / 1.4, None
            stride = max(1, stride // 2 if outer_error >= outer.tolerance else stride)
        raise CannotEvaluate("mpmath: the shared mesh does not converge geometrically")

    def _placed(self, rough_step: float, rate: Any) -> Placed:
        """Weights of every moment on one mesh, and the tables that go with them."""
        outer, arithmetic, bits = self.outer, self.outer.arithmetic, self.outer.bits
        (piece,) = outer.layout.pieces[0]
        assert isinstance(piece, Line)
        step = mpmath.mpf(rough_step)
        shift = mpmath.log(outer.constants.exponentials[0][0])
        ends = sorted((piece.low * float(rate), piece.high * float(rate)))
        first = int(np.floor(ends[0] / rough_step))
        count = 4 * int(np.ceil((ends[1] / rough_step - first) / 4)) + 1
        low, high = outer.layout.windows[0]
        start = int(np.floor((low + float(shift)) / rough_step))
        length = int(np.ceil((high - low) / rough_step)) + 1
        span = length + 4 * max(2, int(0.6 * self._widest(outer) * abs(float(rate)) / rough_step) + 1) * 2 + count
        if span > MOST_NODES:
            raise CannotEvaluate("mpmath: the shared mesh would be too large; ask for fewer digits")
        x = step / rate * arithmetic.integers(first, first + count)
        _, parts = self.code.weights(0, x, self.p)
        weights, heights = [], []
        tilts = outer.layout.tilts
        for i, ((exponent, rest), (curvature, own, height)) in enumerate(zip(parts, outer.constants.bells)):
            if tilts[i]:
                centre = own + tilts[i] * rate / (2 * curvature)
                exponent = curvature * (x - centre) ** 2
                height = self.code.token_exponent(i, centre, self.p)[0] - tilts[i] * rate * centre
            weights.append(integers(arithmetic.exp(exponent) * rest * (step / abs(rate)), bits))
            heights.append(height)
        tables = self._tables(start + first, span, step, bits, tilts)
        return Placed(start, length, step, shift, weights, heights, tables)

    def _sum(self, placed: Placed, stride: int) -> tuple[Any, Any, Any, Any]:
        """Value, error, and the errors of the outer and of the token mesh, on every few rows of the shared mesh."""
        outer = self.outer
        rows = 4 * max(2, -(-placed.length // (4 * stride))) + 1
        t = placed.step * (placed.start + stride * outer.arithmetic.integers(0, rows))
        v = t - placed.shift
        scales = [height - tilt * t for height, tilt in zip(placed.heights, outer.layout.tilts)]
        found = []
        for coarser in (1, 2, 4):
            means = [
                self._correlated(table, row, unit * own * coarser, rows, stride, coarser)
                for (table, own), (row, unit) in zip(placed.tables, placed.weights)
            ]
            found.append((means, outer.values([v], means, scales)))
        means, values = found[0]
        mass = np.sum(abs(values))
        outer_error = unextrapolated_error(values)
        near, far = (np.sum(abs(found[n][1] - found[n - 1][1])) / mass for n in (1, 2))
        inner_error = geometric_error(far + near, near, mpmath.mpf(0), mpmath.mpf(1))
        edges = 8 * (abs(values[0]) + abs(values[-1])) / mass
        rounding = outer.rounding([v], means, values, len(placed.weights[0][0]), scales)
        relative = outer_error + inner_error + edges + rounding + self._cut(values, mass, means, placed, stride)
        factor = placed.step * stride
        return np.sum(values) * factor, relative * mass * factor, outer_error, inner_error

    @staticmethod
    def _tables(start: int, count: int, step: Any, bits: int, tilts: list[int]) -> list[tuple[list[int], Any]]:
        """exp(q t - e^t) at t = (start + i) step for every q, as integers and their unit."""
        with mpmath.workprec(bits + 20):
            ratio, power = mpmath.exp(step), mpmath.exp(step * start)
            powers, table = [], []
            for _ in range(count):
                powers.append(power)
                table.append(mpmath.exp(-power))
                power *= ratio
            tables = {q: integers([e * u**q for e, u in zip(table, powers)], bits) for q in set(tilts)}
        return [tables[q] for q in tilts]

    @staticmethod
    def _correlated(table: list[int], row: list[int], unit: Any, rows: int, stride: int, coarser: int) -> Any:
        """sum_k row_k table_(i+k) over k = 0, coarser, 2 coarser, ... for i = 0, stride, ..., (rows - 1) stride."""
        count, thin = len(row), row[::coarser]
        starts = range(0, rows * stride, stride)
        if stride > 2:
            sums = [sum(map(mul, thin, table[i : i + count : coarser])) for i in starts]
        else:
            reverse = fmpz_poly(thin[::-1])
            products = [fmpz_poly(table[n::coarser]) * reverse for n in range(coarser)]
            sums = [int(products[i % coarser][i // coarser + len(thin) - 1]) for i in starts]
        return np.array([mpmath.mpf(n) * unit for n in sums], dtype=object)

    def _cut(self, values: Any, mass: Any, means: list[Any], placed: Placed, stride: int) -> Any:
        """What the ends of the token mesh leave out, relative, seen at every outer node through the moments."""
        lost = mpmath.mpf(0)
        for i, ((row, unit), (table, own), mean) in enumerate(zip(placed.weights, placed.tables, means)):
            power = max(abs(float(self.outer.constants.powers[t][i])) for t in self.outer.active)
            scale = unit * own * 4 * power
            for n, (value, moment) in enumerate(zip(values, mean)):
                ends = abs(row[0]) * table[n * stride] + abs(row[-1]) * table[n * stride + len(row) - 1]
                if ends and moment:
                    lost += abs(value) / mass * ends * scale / abs(moment)
        return lost
