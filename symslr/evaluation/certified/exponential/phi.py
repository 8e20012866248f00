"""log E exp(-e^{t + s z}), z ~ N(0, 1), in floats, and the function that its moments are best bounded with."""

from __future__ import annotations

from functools import cache
from math import ceil, log, pi, sqrt

import numpy as np

from symslr.evaluation.certified.outer import FEW_COPIES, Array
from symslr.evaluation.numbers.wright_omega import wright_omega

STEPS_PER_UNIT = 10
"""Of the rule for a normal variable, good for the digits of float64."""
REACH = 9
"""It ends where less than 1e-18 is left, and further out for so many copies that what is left counts."""


@cache
def _normal(reach: int) -> tuple[Array, Array]:
    """Nodes and weights."""
    z = np.linspace(-REACH, reach, (REACH + reach) * STEPS_PER_UNIT + 1)
    return z, np.exp(-(z**2) / 2) / (STEPS_PER_UNIT * sqrt(2 * pi))


def log_phi(s: float, t: Array, copies: int) -> Array:
    """log E exp(-e^{t + s z}), to be multiplied by ``copies``: quadrature where it is near 1, else Laplace's method."""
    z, weight = _normal(max(REACH, ceil(sqrt(REACH**2 + 2 * log(copies))) if copies > FEW_COPIES else 0))
    exceedance = -np.expm1(-np.exp(np.minimum(t[:, None] + s * z, 700))) @ weight
    omega = wright_omega(t + 2 * log(s))
    saddle = -(omega**2 + 2 * omega) / (2 * s**2) - np.log1p(omega) / 2
    return np.where(exceedance < 0.999, np.log1p(-np.minimum(exceedance, 0.999)), saddle)
