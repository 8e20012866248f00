"""The scalar functions of a kernel that Python's ``math`` lacks, compiled."""

from __future__ import annotations

import math

from numba import njit


@njit
def _softplus(u: float) -> float:
    return max(u, 0.0) + math.log1p(math.exp(-abs(u)))


@njit
def _expit(u: float) -> float:
    small = math.exp(-abs(u))
    return (1.0 if u >= 0 else small) / (1.0 + small)


@njit
def _heaviside(u: float, middle: float = 0.5) -> float:
    return 1.0 if u > 0 else (0.0 if u < 0 else middle)


@njit
def _sign(u: float) -> float:
    return 1.0 if u > 0 else (-1.0 if u < 0 else 0.0)


NAMESPACE = {"SoftPlus": _softplus, "Expit": _expit, "Heaviside": _heaviside, "sign": _sign}
"""SymPy's name -> compiled function."""
