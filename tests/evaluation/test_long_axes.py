"""Integrals whose axis an offset ends, and powers of 10^5 tokens: against the limit in closed form, and drawn sequences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sympy import Expr, Integer, Integral, Rational, Symbol, exp, log, oo

from symslr.budget import processor_time
from symslr.evaluation import evaluate, risk_at
from symslr.expression.expectation import ScalarExpectation
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax, softmax1
from symslr.model.scalar_law import normal
from symslr.model.symbols import a, x
from symslr.theory import population_risk

HUGE = Integer(10) ** 8
u = Symbol("u", positive=True)
ALONE = (
    (log(1 + exp(a * x)), 131.3046875),
    (log(1 + exp(a * x)), 200),
    (log(1 + exp(a * x)), 300),
    (log(1 + exp(a * x)) ** 2, 150),
    (Rational(1, 100) + log(1 + exp(a * (x - 1))), 200),
)
"""Kernels, and scales at which half of the tokens lie within a few nats of an axis of a thousand."""


@pytest.mark.parametrize(("kernel", "scale"), ALONE)
@pytest.mark.parametrize("power", [1, 2])
def test_the_weight_of_a_token_alone_is_one(kernel: Expr, scale: float, power: int) -> None:
    """kappa^p / kappa^p as an integral over u. Looked at from 48 places alone it was 0.485 +- 1e-11, without the tokens x > 0."""
    moment = ScalarExpectation(kernel**power * exp(-u * kernel), x, normal())
    found = evaluate(Integral(u ** (power - 1) * moment, (u, 0, oo)), {"a": scale}, digits=6, backend="numpy")
    assert abs(float(found) - 1) <= float(found.error) < 1e-6


def of_the_limit(shift: float, length: int) -> float:
    """The risk of attending to the largest key where that is positive, the relevant one being N(shift, 1)."""
    hit, _ = quad(lambda key: norm.pdf(key - shift) * norm.cdf(key) ** (length - 1), 0, 12 + shift, epsabs=1e-13)
    return 1 - hit**2 / (1 - norm.cdf(-shift) * 0.5 ** (length - 1))


@pytest.mark.parametrize("scale", [HUGE, -HUGE])
def test_a_huge_scale_of_a_kernel_with_an_offset_is_near_its_limit(scale: Integer) -> None:
    """Within some 10^-8 of it. exp(-u) ends within a step of an axis of 10^9: meshes gave no value in a minute."""
    with processor_time(20):
        found = risk_at(SpikedSLR(nu=2, length=3, noise=0), softmax1, scale, {}, digits=5)
    expected = of_the_limit(math.copysign(math.sqrt(2), scale), 3)
    assert abs(float(found) - expected) <= float(found.error) + 1e-7
    assert found.error < 1e-5


def test_a_selection_by_a_weak_weight_at_a_steep_offset() -> None:
    """The product mesh took a second for every digit where softmax-1 is steep and nu is not."""
    with processor_time(4):
        found = evaluate(
            population_risk(MaxSLR(length=2, noise=0), softmax1, 150), {"nu": Rational(2)}, digits=6, backend="numpy"
        )
    rng = np.random.default_rng(1)
    keys = rng.standard_normal((400_000, 2))
    top = np.maximum(0.0, 150 * keys.max(axis=1))
    weights = (
        np.exp(150 * keys - top[:, None]) / (np.exp(150 * keys - top[:, None]).sum(axis=1) + np.exp(-top))[:, None]
    )
    posterior = np.exp(2 * keys)
    posterior /= posterior.sum(axis=1, keepdims=True)
    hit, square = (posterior * weights).sum(axis=1), (weights**2).sum(axis=1)
    drawn = 1 - hit.mean() ** 2 / square.mean()
    slope = -2 * hit.mean() / square.mean() * (hit - hit.mean()) + hit.mean() ** 2 / square.mean() ** 2 * (
        square - square.mean()
    )
    assert abs(float(found) - drawn) < 4 * slope.std() / math.sqrt(len(keys)) + float(found.error)
    assert found.error < 1e-6


def test_the_power_of_a_hundred_thousand_tokens_on_a_coarse_mesh() -> None:
    """There it is e^1000 times too large, and what was divided by that was 0 on the fine mesh, or no number."""
    found = evaluate(
        population_risk(MaxSLR(length=137927, noise=0), softmax, Rational(538, 25)),
        {"nu": 331},
        digits=6,
        backend="numpy",
    )
    rng = np.random.default_rng(2)
    hits, squares = [], []
    for _ in range(200):
        keys = np.sort(rng.standard_normal(137927))[-30_000:]
        weights, posterior = (np.exp(rate * (keys - keys[-1])) for rate in (21.52, 331.0))
        weights, posterior = weights / weights.sum(), posterior / posterior.sum()
        hits.append(weights @ posterior)
        squares.append(weights @ weights)
    hit, square = np.array(hits), np.array(squares)
    ratio = hit.mean() / square.mean()
    spread = (-2 * ratio * (hit - hit.mean()) + ratio**2 * (square - square.mean())).std()
    assert abs(float(found) - (1 - hit.mean() * ratio)) < 4 * spread / math.sqrt(len(hit)) + float(found.error)
    assert found.error < 1e-6
