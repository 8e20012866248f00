"""The shared mesh at any precision: one vector exp(-e^t), and moments as products of integer polynomials."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
from flint import fmpz_poly

from symslr.evaluate.convergence import geometric_error
from symslr.evaluate.errors import CannotEvaluate
from symslr.evaluate.fixed_outer import FixedOuter, integers
from symslr.evaluate.mesh import Line

MOST_NODES = 400_000


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
        rate = self.outer.constants.exponentials[0][1]
        step = min(self.outer.step, self._widest(self.outer) * abs(float(rate)))
        for _ in range(8):
            value, error, mesh_error = self._at(step, rate)
            if mesh_error < self.outer.tolerance:
                return value, error
            step /= 1.4
        raise CannotEvaluate("mpmath: the shared mesh does not converge geometrically")

    def _at(self, rough_step: float, rate: Any) -> tuple[Any, Any, Any]:
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
        rows = 4 * int(np.ceil((high - low) / rough_step / 4)) + 5
        if rows + count > MOST_NODES:
            raise CannotEvaluate("mpmath: the shared mesh would be too large; ask for fewer digits")
        x = step / rate * arithmetic.integers(first, first + count)
        _, parts = self.code.weights(0, x, self.p)
        spacing = step / abs(rate)
        weights = [integers(arithmetic.exp(exponent) * rest * spacing, bits) for exponent, rest in parts]
        table = self._table(start + first, rows + count - 1, step, bits)
        v = step * arithmetic.integers(start, start + rows) - shift
        found = []
        for stride in (1, 2, 4):
            means = [self._correlated(table[::stride], row[::stride], unit * stride, bits) for row, unit in weights]
            found.append((means, outer.values([v[::stride]], means)))
        means, values = found[0]
        mass = np.sum(abs(values))
        full, half, quarter = (np.sum(own) * stride for (_, own), stride in zip(found, (1, 2, 4)))
        mesh_error = geometric_error(quarter, half, full, mass)
        edges = 8 * (abs(values[0]) + abs(values[-1])) / mass
        rounding = outer.rounding([v], means, values, count)
        relative = mesh_error + edges + rounding + self._cut(values, mass, means, weights, table)
        return full * step, relative * mass * step, mesh_error

    @staticmethod
    def _table(start: int, count: int, step: Any, bits: int) -> list[int]:
        """exp(-e^t) at t = (start + i) step, in units of 2^-bits."""
        with mpmath.workprec(bits + 20):
            ratio, power = mpmath.exp(step), mpmath.exp(step * start)
            table = []
            for _ in range(count):
                table.append(int(mpmath.ldexp(mpmath.exp(-power), bits)))
                power *= ratio
        return table

    @staticmethod
    def _correlated(table: list[int], row: list[int], unit: Any, bits: int) -> Any:
        """sum_k row_k table_(i+k) for every i, by one product of polynomials."""
        product = fmpz_poly(table) * fmpz_poly(row[::-1])
        scale = unit * mpmath.ldexp(1, -bits)
        count = len(row)
        return np.array([mpmath.mpf(int(product[i])) * scale for i in range(count - 1, len(table))], dtype=object)

    def _cut(self, values: Any, mass: Any, means: list[Any], weights: list[Any], table: list[int]) -> Any:
        """What the ends of the token mesh leave out, relative, seen at every outer node through the moments."""
        lost = mpmath.mpf(0)
        for i, ((row, unit), mean) in enumerate(zip(weights, means)):
            power = max(abs(float(self.outer.constants.powers[t][i])) for t in self.outer.active)
            scale = unit * mpmath.ldexp(1, -self.outer.bits) * 4 * power
            for n, (value, moment) in enumerate(zip(values, mean)):
                ends = abs(row[0]) * table[n] + abs(row[-1]) * table[n + len(row) - 1]
                if ends and moment:
                    lost += abs(value) / mass * ends * scale / abs(moment)
        return lost
