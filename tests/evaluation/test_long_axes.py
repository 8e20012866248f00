"""Integrals whose axis an offset ends, and powers of 10^5 tokens: against the limit in closed form, and drawn sequences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sympy import Expr, Integer, Integral, Rational, exp, log

from benchmarks.weights import mean_of
from symslr.budget import processor_time
from symslr.evaluation import Value, evaluate, risk_at
from symslr.evaluation.laplace import survey
from symslr.evaluation.laplace.floats import FloatSums
from symslr.evaluation.quadrature.mesh import SinhMap
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax, softmax1
from symslr.model.scalar_law import ScalarLaw, laplace, normal
from symslr.model.symbols import L, a, x
from symslr.theory import population_risk

HUGE = Integer(10) ** 8
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
def test_the_weight_of_a_token_among_one_is_one(kernel: Expr, scale: float, power: int) -> None:
    """Of a sequence of L tokens, at L = 1. Seen from 48 places alone it was 0.485 +- 1e-11, without the tokens x > 0."""
    integral = mean_of(kernel, normal(), (power,), L)
    found = evaluate(integral, {"a": scale, "L": 1}, digits=6, backend="numpy")
    assert abs(float(found) - 1) <= float(found.error) < 1e-6


@pytest.mark.parametrize("law", [normal(1, 2), laplace()], ids=["normal", "laplace"])
@pytest.mark.parametrize(("kernel", "scale"), [*ALONE, (exp(a * x) / (1 + exp(a * x / 2)), 100)])
def test_the_weight_of_a_token_alone_is_one(kernel: Expr, scale: float, law: ScalarLaw) -> None:
    """As an integral over u it was 0.77 +- 4e-5 under e^(ax) / (1 + e^(ax/2)): carried out over u first it is exact."""
    for power in (1, 2):
        found = evaluate(mean_of(kernel, law, (power,)), {"a": scale}, digits=10)
        assert abs(float(found) - 1) <= float(found.error) < 1e-10


@pytest.mark.parametrize("kernel", [log(1 + exp(a * x)), log(1 + exp(a * x)) ** 2, 1 / (1 + exp(-a * x))])
@pytest.mark.parametrize("digits", [4, 10])
def test_the_weights_of_two_tokens_add_up(kernel: Expr, digits: int) -> None:
    """E[s_1^2] + E[s_1 s_2] = 1/2. Without tokens that count at large u alone E[s_1 s_2] was short by 2e-7, claimed to 1e-14."""
    squares, products = (
        evaluate(mean_of(kernel, laplace(), powers, 2), {"a": 8}, digits=digits, backend="numpy")
        for powers in ((2,), (1, 1))
    )
    assert abs(float(squares) + float(products) - 0.5) <= float(squares.error + products.error) < 10.0**-digits


TWO_SLOPES = exp(a * x) + exp(3 * a * x), normal(1, 2), 10, 3


def half(kernel: Expr, law: ScalarLaw, scale: float, digits: int) -> Value:
    """E[s_1^2] + E[s_1 s_2] = 1/2 of two tokens, as one integral."""
    square, product = (mean_of(kernel, law, powers, 2) for powers in ((2,), (1, 1)))
    joined = Integral(square.function + product.function, *square.limits)
    return evaluate(joined, {"a": scale}, digits=digits, backend="numpy")


@pytest.mark.parametrize(
    ("kernel", "law", "scale", "digits"),
    [
        TWO_SLOPES,
        (exp(a * x) + exp(3 * a * x), normal(1, 2), 14, 5),
        (1 + exp(a * x), normal(), 160, 4),
        (exp(2 * a * x) + log(1 + exp(a * x)), normal(), 60, 4),
    ],
)
@pytest.mark.parametrize("without", ["other steps", "bends"])
def test_what_bends_between_nodes_far_apart(
    kernel: Expr, law: ScalarLaw, scale: float, digits: int, without: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one centre the axis had a kink between nodes 6 nats apart: 3 digits of 1/2 were claimed and off by six errors.

    It is a centre now; where none is found, nodes at other steps show that something is missing. Either is enough here.
    """
    if without == "bends":
        monkeypatch.setattr(survey, "bends", lambda x, logs: [])
    else:
        monkeypatch.setattr(FloatSums, "doubt", 0.0)
    found = half(kernel, law, scale, digits)
    assert abs(float(found) - 0.5) <= float(found.error) < 10.0**-digits


@pytest.mark.parametrize("rate", [2, 40, 3000])
def test_places_where_log_kappa_bends(rate: float) -> None:
    tokens = np.linspace(-3.0, 3.0, max(400, int(6 * rate)))
    assert survey.bends(tokens, rate * tokens + 1.0) == []
    for other in (0.0, 3.0):
        logs = np.logaddexp(rate * tokens, other * rate * (tokens - 1.0))
        (place, *more) = survey.bends(tokens, logs)
        meeting = 0.0 if other == 0.0 else -1.5 * rate
        assert abs(place - meeting) < 10.0
        assert all(abs(one - meeting) < 30.0 for one in more)


def test_an_axis_with_two_centres_has_short_steps_at_both() -> None:
    axis = SinhMap.over((-1000.0, 4.0), [-200.0, 0.0])
    v, density, step = axis.nodes(0.1)
    assert np.allclose(v[[0, -1]], [-1000.0, 4.0], atol=1e-9)
    for centre in (-200.0, 0.0):
        assert np.min(np.diff(v)[np.abs(v[1:] - centre) < 5.0]) < 0.15
    sums = [np.sum(np.exp(-((v - centre) ** 2)) * density) * step for centre in (-200.0, 0.0)]
    assert np.allclose(sums, math.sqrt(math.pi), rtol=1e-13)


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
