"""Bumps and dips of a kernel between the nodes of a rule, as any has at a large scale of the key."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from sympy import Rational, exp

from symslr.evaluation import evaluate
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR
from symslr.model.symbols import x
from symslr.theory import population_risk

ONE_POINT_ONE = Rational(11, 10)
KERNELS = {
    "bump": (1 + exp(-50 * x**2), lambda t: 1 + np.exp(-50 * t * t)),
    "beside": (1 + exp(-50 * (x - 1) ** 2), lambda t: 1 + np.exp(-50 * (t - 1) ** 2)),
    "dip": (1 - Rational(9, 10) * exp(-50 * x**2), lambda t: 1 - 0.9 * np.exp(-50 * t * t)),
    "small": (1 + exp(-50 * x**2) / 10**6, lambda t: 1 + 1e-6 * np.exp(-50 * t * t)),
    "far": (1 + exp(-50 * (x - 20) ** 2), lambda t: 1 + np.exp(-50 * (t - 20) ** 2)),
    "on a slope": (exp(x) + 10 * exp(-50 * (x - 1) ** 2), lambda t: np.exp(t) + 10 * np.exp(-50 * (t - 1) ** 2)),
    "narrow": (1 + exp(-(10**8) * (x - ONE_POINT_ONE) ** 2), lambda t: 1 + np.exp(-1e8 * (t - 1.1) ** 2)),
    "narrow tails": (1 + 1 / (1 + 10**10 * (x - ONE_POINT_ONE) ** 2), lambda t: 1 + 1 / (1 + 1e10 * (t - 1.1) ** 2)),
    "two": (1 + exp(-(10**7) * (x**2 - 2) ** 2), lambda t: 1 + np.exp(-1e7 * (t * t - 2) ** 2)),
    "nearly zero": (x**2 + Rational(1, 10**6), lambda t: t * t + 1e-6),
}
CENTRES = (0.0, 1.0, 20.0, 1.1, 2**0.5, -(2**0.5))
NU = 2.0


def risk_of_a_pair(kernel: str, scale: float) -> float:
    """From the definition for two tokens, the first one shifted: Gauss-Legendre on pieces that shrink towards the centres."""
    nodes, weights = leggauss(14)
    edges = np.concatenate([[c / scale + s * r for s in (-1, 1)] for c in CENTRES for r in np.geomspace(1e-7, 26, 100)])
    edges = np.unique(np.concatenate([edges, np.array(CENTRES) / scale]))
    edges = edges[(edges > -9.5) & (edges < 11)]
    half = np.diff(edges)[:, None] / 2
    token = (edges[:-1, None] + half * (1 + nodes)).ravel()
    mass = (half * weights).ravel() * np.exp(-(token**2) / 2) / np.sqrt(2 * np.pi)
    kept = mass > 1e-21
    token, mass = token[kept], mass[kept]
    value, first = KERNELS[kernel][1](scale * token), mass * np.exp(np.sqrt(NU) * token - NU / 2)
    mean = norm = 0.0
    for part in np.array_split(np.arange(len(token)), len(token) // 400 + 1):
        share = value[part, None] / (value[part, None] + value[None, :])
        mean += first[part] @ (share @ mass)
        norm += first[part] @ ((share**2 + (1 - share) ** 2) @ mass)
    return float(1 - mean * mean / norm)


@pytest.mark.parametrize(
    ("kernel", "scale"),
    [
        ("bump", 9),
        ("bump", 300),
        ("beside", 40),
        ("dip", 40),
        ("small", 9),
        ("far", 9),
        ("on a slope", 9),
        ("narrow", 1),
        ("narrow", 3),
        ("narrow tails", 1),
        ("two", 1),
        ("nearly zero", 9),
    ],
)
def test_no_bump_is_passed_over(kernel: str, scale: int) -> None:
    """Regression: two tokens with the bump had the risk 1/2 of equal weights at scale 9, with an error of 4e-14."""
    attention = Attention(KERNELS[kernel][0], name=kernel)
    value = evaluate(population_risk(SpikedSLR(noise=0), attention), {"L": 2, "nu": 2, "a": scale}, backend="numpy")
    assert abs(float(value.value) - risk_of_a_pair(kernel, scale)) <= float(value.error) + 3e-14
    assert float(value.error) < 1e-12
