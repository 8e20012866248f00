"""Laplace forms in float64: the outer integrand, which every rule shares."""

from __future__ import annotations

from typing import Any

import numpy as np

from symslr.evaluation.arithmetic import Float64
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace_code import Constants, LaplaceCode

FLOAT = Float64()
TINY = 1e-300
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
