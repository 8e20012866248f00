"""Trapezoid rules on the line: nodes and weights chosen from the scale of the integrand."""

from __future__ import annotations

from functools import cache
from math import gamma

import numpy as np

from symslr.evaluation.landscape.moments.kernel import Array

REACH = 8.4
"""Standard deviations beyond which a normal has mass 4e-17."""

MOST = 20_000
"""Nodes on one side of a mesh."""

LOG_STEP = 0.36
"""Step in log u and, times the scale of the scores, in the scores: exp(-pi^2/0.36) = 1e-12 by the strip |Im| < pi/2."""

LEFT = 27.0
"""The integrand falls as e^v where u = e^v is small: e^-27 = 2e-12."""

FEW = 10
"""(0.2/(pi/2))^20 10! is 5e-12: the error at the largest scale at which so few nodes are used."""

RIGHT = 4.5
"""exp(-e^4.5) is 1e-39."""


def normal_nodes(scale: float, refined: float = 1.0, wider: float = 1.0) -> tuple[Array, Array]:
    """Nodes x and weights of N(0, 1) for a function of scale * x that varies on the scale of exp(-e^y).

    ``wider`` multiplies the step where what it leaves out oscillates in a variable that is summed over afterwards.

    Raises:
        ValueError: where that takes too many nodes.
    """
    step = wider * min(LOG_STEP / max(scale, 1e-300), 0.5) / refined
    if not step * MOST > REACH:
        raise ValueError(
            f"landscape: found scores that vary by {scale:.3g} per key; expected a smaller m_kk, q_kk or nu"
        )
    count = int(np.ceil(REACH / step))
    nodes: Array = np.arange(-count, count + 1, dtype=np.float64) * step
    weights = np.exp(-(nodes**2) / 2)
    return nodes, np.asarray(weights / weights.sum(), dtype=float)


@cache
def few_normal_nodes() -> tuple[Array, Array]:
    """Gauss-Hermite nodes and weights of N(0, 1), for a function that is nearly a polynomial of low degree."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(FEW)
    return np.asarray(nodes, dtype=float), np.asarray(weights / weights.sum(), dtype=float)


def laplace_nodes(low: float, high: float, refined: float = 1.0, wider: float = 1.0) -> tuple[Array, Array]:
    """Nodes u and weights of du for kernels between e^low and e^high where it matters: u in (e^(-high), e^(-low)).

    ``wider`` multiplies the step where the integrand is known to vary slowly.
    """
    step = wider * LOG_STEP / refined
    v = np.arange(-high - LEFT, -low + RIGHT + step, step)
    u = np.exp(v)
    return u, step * u


def kernel_range(kappa: Array, mass: Array, tokens: int, offset: float) -> tuple[float, float]:
    """log of the sizes between which the normaliser matters: E[min(1, u S)] and P(S < 1/u) are below 1e-12 outside.

    Args:
        kappa, mass: values of the kernel over one token and their probabilities, any shape.
        tokens: how many iid ones the normaliser has at least.

    Raises:
        ValueError: where float64 does not hold these sizes.
    """
    flat, weights = kappa.ravel(), mass.ravel()
    order = np.argsort(flat)
    below = np.cumsum(weights[order])
    first = int(np.searchsorted(below, 1e-13 ** (1 / tokens) * below[-1]))
    least, mean = float(flat[order[first]]), float(flat @ weights)
    if not (least > 0 or np.any(flat > 0)) or not np.isfinite(mean):
        raise ValueError(
            "landscape: found scores at which the kernel is 0 or infinite in float64; expected a smaller m_kk, q_kk or nu"
        )
    if least <= 0:
        least = float(flat[flat > 0].min())
    low, high = float(np.log(least)), float(np.log(mean))
    return (max(low, np.log(offset)), max(high, np.log(offset))) if offset > 0 else (low, high)


def inverse_power(u: Array, weights: Array, power: int, offset: float) -> Array:
    """Weights of 1/S^power = int u^(power-1)/Gamma(power) e^(-u S) du with the offset's factor e^(-u o)."""
    return weights * u ** (power - 1) * np.exp(-u * offset) / gamma(power)
