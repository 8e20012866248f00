"""The outer integrand of a Laplace form at any precision, and what every fixed-point rule shares."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np

from symslr.evaluation.arithmetic import Multiprecision
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace_coarse import Layout
from symslr.evaluation.laplace_code import Constants, LaplaceCode
from symslr.evaluation.laplace_layout import layout
from symslr.evaluation.mesh import Line

DEEPEST = 1e6
"""Largest -log of a moment, beside its weight, that a fixed point keeps: a million and a half bits a number."""


class FixedOuter:
    """The outer integrand at given parameters; ``rough`` is the float64 code of the same form, which places the meshes."""

    def __init__(
        self, code: LaplaceCode, rough: LaplaceCode, p: tuple[Any, ...], arithmetic: Multiprecision, tolerance: Any
    ) -> None:
        self.code, self.form, self.p = code, code.form, p
        self.arithmetic, self.tolerance = arithmetic, tolerance
        self.constants: Constants = code.constants(p)
        self.active = [i for i, c in enumerate(self.constants.coefficients) if c != 0]
        self.power = max(
            (abs(float(self.constants.powers[t][i])) for t in self.active for i in range(len(self.form.moments))),
            default=0.0,
        )
        self.decay = float(-mpmath.log(tolerance))
        self.depth = self.decay + 10.0 + float(np.log1p(self.power))
        self._rough = rough
        self.bits = 0
        self.layout: Layout

    @property
    def step(self) -> float:
        """First step of v: twice it usually meets the tolerance."""
        return 0.48 * float(np.pi) ** 2 / (2.0 + self.decay)

    @property
    def guard(self) -> int:
        """Bits that a large power takes from the logarithm of a moment."""
        return 10 + int(np.log2(2 + self.power))

    def find_layout(self) -> None:
        """Windows from logarithms in float64, and the bits that keep every moment that matters."""
        floats = tuple(float(v) for v in self.p)
        with np.errstate(all="ignore"):
            self.layout = layout(self._rough, self._rough.constants(floats), floats, self.depth, self.active)
        self.set_bits(self.layout.sunk)

    def set_bits(self, sunk: float) -> None:
        """Bits of the fixed point, for moments that sink by exp(-sunk) below their weights.

        Raises:
            CannotEvaluate: where they would fill the memory.
        """
        if sunk > DEEPEST:
            raise CannotEvaluate(f"mpmath: a moment sinks by exp(-{sunk:.2g}), too far for a fixed point")
        self.bits = self.arithmetic.bits + int(sunk / np.log(2)) + self.guard + 14

    @property
    def first_level(self) -> int:
        """A level at which the Gaussian factors, and singularities at a distance of about 2, are resolved."""
        level = 1
        for pieces in self.layout.pieces:
            for piece in pieces:
                wanted = 0.24 if not isinstance(piece, Line) else piece.step * 2.0
                wanted = min(wanted * np.sqrt(34.0 / self.decay), wanted * 0.5 + 10.0 / self.decay)
                level = max(level, int(np.round(np.log2(piece.step / wanted))) + 1)
        return level

    def values(self, grid: list[Any], means: list[Any], scales: list[Any] | None = None) -> Any:
        """Values on the outer mesh."""
        logs = [
            self._log(mean) if moment.is_survival else mpmath.mpf(0) for moment, mean in zip(self.form.moments, means)
        ]
        terms = self.code.terms(grid, means, logs, scales or self.heights, self.p)
        total: Any = mpmath.mpf(0)
        for i in self.active:
            exponent, rest = terms[i]
            total = total + self.arithmetic.exp(exponent) * rest * self.constants.coefficients[i]
        return total + means[0] * 0

    def _log(self, survival: Any) -> Any:
        """log M; where M has sunk into the rounding of the table, the logarithm of that rounding."""
        floor = mpmath.ldexp(1, -self.bits)
        return self.arithmetic.log(np.where(survival > floor, survival, floor))

    @property
    def heights(self) -> list[Any]:
        """Logarithmic scale of each moment."""
        moments = zip(self.form.moments, self.constants.bells)
        return [bell[2] if m.bell is not None else mpmath.mpf(0) for m, bell in moments]

    def rounding(
        self, grid: list[Any], means: list[Any], values: Any, tokens: int, scales: list[Any] | None = None
    ) -> Any:
        """Relative rounding error of the integral: exponents at the peak, and the sums over tokens.

        Large powers cost nothing here: ``guard`` bits are carried for them.
        """
        peak = np.unravel_index(int(np.argmax(np.abs(values))), values.shape)
        point = [np.broadcast_to(g, values.shape)[peak] for g in grid]
        at = [mean[peak] for mean in means]
        logs = [mpmath.log(abs(m)) if moment.is_survival else mpmath.mpf(0) for m, moment in zip(at, self.form.moments)]
        heights = [np.broadcast_to(scale, values.shape)[peak] for scale in scales or self.heights]
        sizes = self.code.sizes(point, at, logs, heights, self.p)
        units = 16 + tokens + 4 * max(float(sizes[i]) for i in self.active) + 8 * self.depth
        return self.arithmetic.eps * units


def integers(weights: Any, bits: int) -> tuple[list[int], Any]:
    """Weights as integers times a unit, ``bits`` bits below the largest."""
    top = max(abs(w) for w in weights)
    unit = mpmath.ldexp(1, mpmath.frexp(top)[1] - bits)
    return [int(mpmath.nint(w / unit)) for w in weights], unit
