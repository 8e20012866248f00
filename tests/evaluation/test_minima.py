"""Risks of kernels with kinks at any scale of the key, and their minima, against sums over two tokens from the definition."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy.optimize import minimize_scalar
from sympy import Max, Min, Rational, exp

from symslr.evaluation import CannotEvaluate, evaluate, minimise
from symslr.evaluation.fixed_outer import FixedOuter
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR
from symslr.model.symbols import a, x
from symslr.theory import population_risk

ELU = Attention(Max(x, 0) + exp(Min(x, 0)), name="elu+1")
RELU = Attention(1 + Max(x, 0), name="1+relu")
LEAKY = Attention(Rational(1, 10) + Max(x, 0), name="relu+.1")
BY_HAND = {
    "elu+1": lambda t: np.where(t > 0, 1 + t, np.exp(np.minimum(t, 0))),
    "1+relu": lambda t: 1 + np.maximum(t, 0),
    "relu+.1": lambda t: 0.1 + np.maximum(t, 0),
}
NU = 2.0
PAIR = {"L": 2, "nu": 2, "Delta": 0}


def risk_of_a_pair(kernel: str, scale: float) -> float:
    """1 - E[s_1]^2 / E[s_1^2 + s_2^2] for two tokens, the first one shifted: Gauss-Legendre on pieces that end at the kink."""
    edges = np.concatenate([-np.geomspace(13, 1e-3, 30), [0.0], np.geomspace(1e-3, 13, 30)])
    nodes, weights = leggauss(12)
    half = np.diff(edges)[:, None] / 2
    token = (edges[:-1, None] + half * (1 + nodes)).ravel()
    mass = (half * weights).ravel() * np.exp(-(token**2) / 2) / np.sqrt(2 * np.pi)
    value = BY_HAND[kernel](scale * token)
    first = mass * np.exp(np.sqrt(NU) * token - NU / 2)
    share = value[:, None] / (value[:, None] + value[None, :])
    return float(1 - (first @ share @ mass) ** 2 / (first @ (share**2 + (1 - share) ** 2) @ mass))


@pytest.mark.parametrize("attention", [ELU, RELU], ids=lambda item: item.name)
@pytest.mark.parametrize("scale", [-3, -0.001, 0.05, 1, 2, 3, 8])
def test_a_moment_may_vanish_where_others_keep_the_integral_alive(attention, scale) -> None:
    # Worst difference over the table: 3e-15.
    value = evaluate(population_risk(SpikedSLR(), attention), {**PAIR, "a": scale}, backend="numpy")
    assert value.digits >= 11
    assert abs(float(value) - risk_of_a_pair(attention.name, scale)) < float(value.error) + 1e-12


def test_mpmath_agrees_where_a_moment_vanishes() -> None:
    risk, at = population_risk(SpikedSLR(), ELU), {"L": 3, "nu": 2, "Delta": 0, "a": 2}
    rough, fine = (evaluate(risk, at, backend=name, digits=12) for name in ("numpy", "mpmath"))
    assert abs(rough.value - fine.value) <= rough.error + fine.error


def test_a_fixed_point_that_would_fill_the_memory_is_refused() -> None:
    outer = FixedOuter.__new__(FixedOuter)
    outer.arithmetic, outer.power = SimpleNamespace(bits=60), 0.0
    with pytest.raises(CannotEvaluate, match="too far for a fixed point"):
        outer.set_bits(5e12)


@pytest.mark.parametrize("attention", [ELU, RELU, LEAKY], ids=lambda item: item.name)
def test_least_risk_of_a_kernel_with_a_kink(attention) -> None:
    value, place = minimise(population_risk(SpikedSLR(), attention), [a], PAIR)
    found = minimize_scalar(
        lambda scale: risk_of_a_pair(attention.name, scale),
        bracket=[float(place[a]) * factor for factor in (0.5, 1.0, 2.0)],
        options={"xtol": 1e-7},
    )
    assert abs(float(value) - found.fun) < float(value.error) + 1e-12
    assert abs(float(place[a]) - found.x) < 1e-5 * abs(found.x) + float(place[a].error)


def test_dividing_a_kernel_and_its_scale_changes_nothing() -> None:
    """1 + relu(a x) and .1 + relu(a x/10) are one attention."""
    at = {"L": 3, "nu": 2, "Delta": 0}
    (one, wide), (other, near) = (minimise(population_risk(SpikedSLR(), kernel), [a], at) for kernel in (RELU, LEAKY))
    assert abs(one.value - other.value) <= one.error + other.error
    assert abs(wide[a].value - 10 * near[a].value) <= wide[a].error + 10 * near[a].error
