"""The proximal problem of linear attention: one increasing scalar equation per sample, at any length."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from symslr.evaluation.finite_sample.samples.points import Array
from symslr.evaluation.numbers.compiled import compile_float
from symslr.theory.finite_sample import RESIDUAL, UU, UW, WW, V_a, V_v, dual_slope, y

MOST_STEPS = 200
"""Of Newton's method in a bracket; halving alone takes fifty."""


@cache
def _compiled() -> Any:
    slope = dual_slope()
    return compile_float([RESIDUAL, UU, UW, WW, y, V_a, V_v], [slope, slope.diff(RESIDUAL)])


def dual_residual(uu: Array, uw: Array, ww: Array, label: Array, width_a: float, width_v: float) -> Array:
    """The residual rho = y - a.z at the global minimum of |a-u|^2/(2 V_a) + |z-w|^2/(2 V_v) + (y - a.z)^2/2.

    The dual function of rho is concave on rho^2 V_a V_v < 1; its slope is solved for zero by Newton's method inside a
    shrinking bracket, which cannot fail.

    Args:
        uu, uw, ww: inner products of the fields u and w over the tokens.
    """
    slope = _compiled()
    edge = 1 / np.sqrt(width_a * width_v)
    low, high = np.full_like(label, -edge), np.full_like(label, edge)
    rho = np.clip((label - uw) / (1 + width_a * ww + width_v * uu), 0.9 * low, 0.9 * high)
    for _ in range(MOST_STEPS):
        value, derivative = slope(rho, uu, uw, ww, label, width_a, width_v)
        low, high = np.where(value > 0, rho, low), np.where(value > 0, high, rho)
        step = value / derivative
        # beside the edge the rounding of a slope is larger than a settled step: the bracket closes around its sign
        settled = (np.abs(step) <= 1e-14 * (1 + np.abs(rho))) | (high - low <= 1e-15 * edge)
        newton = rho - step
        inside = (newton > low) & (newton < high)
        rho = np.where(settled, rho, np.where(inside, newton, (low + high) / 2))
        if np.all(settled):
            break
    return rho
