"""Scales, signals and lengths beyond meshes: what answers there agrees with a mesh where both reach, and with the limit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import softmax as softmax_of
from scipy.stats import norm
from sympy import Expr, oo, tanh

from symslr.evaluation import evaluate, risk_at
from symslr.evaluation.errors import CannotEvaluate
from symslr.expression.value import Value
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax, softmax1, softplus
from symslr.model.symbols import x
from symslr.theory import bayes_risk, population_risk

SPIKED = SpikedSLR(nu=2, length=3, noise=0)


def agree(one: Value, two: Value) -> bool:
    return bool(abs(one.value - two.value) <= one.error + two.error)


def test_an_infinite_scale_attends_to_the_largest_token() -> None:
    """Its weights are 0 and 1, so the risk is 1 - P^2 with P = E Phi(x)^2 at x ~ N(sqrt(2), 1), the relevant key's."""
    hit, _ = quad(lambda key: norm.pdf(key - math.sqrt(2)) * norm.cdf(key) ** 2, -10, 12, epsabs=1e-13)
    found = risk_at(SPIKED, softmax, oo, {}, digits=5)
    assert abs(float(found) - (1 - hit**2)) <= float(found.error) < 1e-6


def test_the_limit_of_large_scales_is_taken_where_it_is_known() -> None:
    """softplus goes to max(x, 0): a series in 1/a had five digits, and at nu = 1000 there was none as tokens meet it too far out.

    Of two tokens the larger one is chosen: see ``test_the_infimum_of_softplus_at_an_infinite_signal``.
    """
    hit, squares = 3 / 4 + (1 / 2 + math.log(2) / math.pi) / 4, 3 / 4 + 1 / (2 * math.pi)
    truth = 1 - hit**2 / squares
    found = risk_at(MaxSLR(oo, length=2, noise=0), softplus, oo, {})
    assert abs(float(found) - truth) <= float(found.error) < 1e-11
    with pytest.raises(CannotEvaluate, match="at most 12"):
        risk_at(MaxSLR(oo, length=2, noise=0), softplus, oo, {}, digits=30)


def test_the_limit_of_large_scales_of_a_step() -> None:
    """1 + tanh goes to a step, and of negative tokens to the largest: held against sequences that are drawn."""
    found = risk_at(MaxSLR(10, length=2, noise=0), Attention(1 + tanh(x)), oo, {})
    keys = np.random.default_rng(1).standard_normal((2_000_000, 2))
    above, posterior = keys > 0, softmax_of(10 * keys, axis=1)
    largest = keys == keys.max(axis=1, keepdims=True)
    weights = np.where(above.any(axis=1, keepdims=True), above, largest).astype(float)
    weights /= weights.sum(axis=1, keepdims=True)
    hit, square = (posterior * weights).sum(axis=1), (weights**2).sum(axis=1)
    drawn = 1 - hit.mean() ** 2 / square.mean()
    spread = (
        np.std(-2 * hit.mean() / square.mean() * hit + (hit.mean() / square.mean()) ** 2 * square) / len(keys) ** 0.5
    )
    assert float(found.error) < 1e-11
    assert abs(float(found) - drawn) < 4 * spread < 2e-3


@pytest.mark.parametrize(
    ("length", "nu"), [(10**12, 60), (10**30, 200), (10**100, 500)], ids=["10^12", "10^30", "10^100"]
)
def test_huge_lengths_are_proved_and_agree_with_float64(length: int, nu: Expr) -> None:
    risk = bayes_risk(SpikedSLR(nu=nu, length=length, noise=0))
    proved, rough = evaluate(risk, digits=15), evaluate(risk, backend="numpy")
    assert proved.digits >= 15
    assert 1e-3 < float(proved) < 0.99
    assert agree(proved, rough)


def test_a_proof_over_a_window_of_too_many_nodes_is_refused_before_they_are_computed() -> None:
    """Regression: 5 x 10^8 nodes were, and the system ended the process for want of memory."""
    risk = population_risk(MaxSLR(10**5, length=100, noise=0), softmax1, 10**4)
    with pytest.raises(CannotEvaluate, match=r"takes 2e\+06 samples of a token: extreme parameters"):
        evaluate(risk, digits=15, backend="arb")
