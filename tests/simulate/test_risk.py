"""Monte Carlo risks against reference values, closed forms and quadrature, and path against path."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import special
from scipy.optimize import minimize
from sympy import Rational, exp, oo

from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, erf, linear, softmax, softmax1, softplus
from symslr.model.symbols import Delta, L, c, nu, x
from symslr.simulate import (
    Estimate,
    Overlaps,
    activation,
    bayes_monte_carlo,
    risk_monte_carlo,
    sample_projections,
)
from symslr.simulate.projections import at_position
from symslr.simulate.sequences import orthogonal_frame

SIZE = 200_000
LIMIT = 4.5


def z_between(first: Estimate, second: Estimate) -> float:
    return (first.mean - second.mean) / float(np.hypot(first.standard_error, second.standard_error))


BAYES_SPIKED = {
    (2, 1): 0.324943297662434592837598527778,
    (2, 5): 0.0843965125386967278684072653549,
    (3, 2): 0.352423268884167107072769293457,
    (100, 5): 0.745326342555008759491495297704,
}


@pytest.mark.parametrize(("length", "signal"), BAYES_SPIKED)
def test_bayes_risk_of_the_spiked_task(length: int, signal: int) -> None:
    size = SIZE if length < 100 else 50_000
    values = {nu: signal, L: length, Delta: 0}
    found = bayes_monte_carlo(SpikedSLR(), values, size=size, seed=101)
    attention = risk_monte_carlo(SpikedSLR(), softmax, values, size=size, seed=102, scale=signal**0.5)
    assert abs(found.z_score(BAYES_SPIKED[length, signal])) < LIMIT
    assert abs(attention.z_score(BAYES_SPIKED[length, signal])) < LIMIT
    assert (found.size, found.seed, found.effective_size) == (size, 101, size)


def test_three_routes_to_one_bayes_risk() -> None:
    values, exact = {nu: 2, L: 3, Delta: 0.5}, BAYES_SPIKED[3, 2] + 0.25
    routes = [
        bayes_monte_carlo(SpikedSLR(), values, size=SIZE, seed=111, path="sequences", dimension=4),
        bayes_monte_carlo(SpikedSLR(), values, size=SIZE, seed=112, reweighted=True),
        bayes_monte_carlo(SpikedSLR(), values, size=SIZE, seed=113, path="sequences", dimension=2, reweighted=True),
    ]
    for route in routes:
        assert abs(route.z_score(exact)) < LIMIT, route.method
    assert routes[1].effective_size < SIZE / 4


def test_bayes_rule_of_a_random_length_averages_the_lengths() -> None:
    task = SpikedSLR(1, length={1: Rational(1, 4), 2: Rational(3, 4)}, noise=0)
    found = bayes_monte_carlo(task, {}, size=SIZE, seed=121)
    assert abs(found.z_score(0.75 * BAYES_SPIKED[2, 1])) < LIMIT  # one token alone leaves nothing to find


def _linear_spiked(length: float, signal: float) -> float:
    return length * (length - 1) / (length**2 + signal * (length - 1))


@pytest.mark.parametrize(("length", "signal"), [(3, 1), (10, 5), (4, 0)])
def test_linear_attention_on_the_spiked_task(length: int, signal: int) -> None:
    scale = signal**0.5 * (length - 1) / length
    first, second = _linear_moments(length, signal, scale)
    values = {nu: signal, L: length, Delta: 0}
    found = risk_monte_carlo(SpikedSLR(), linear, values, size=SIZE, seed=131, scale=scale, value_norm=first / second)
    assert abs(found.z_score(_linear_spiked(length, signal))) < LIMIT


def _linear_moments(length: float, signal: float, scale: float, R_kk: float = 0.0) -> tuple[float, float]:
    """E sigma_eps and E ||sigma||^2 of 1 + chi, with chi_eps ~ N(scale sqrt(nu), scale^2 + R_kk)."""
    shift, variance = scale * signal**0.5, scale**2 + R_kk
    return 1 + shift, length * (1 + variance) + 2 * shift + shift**2


def test_linear_attention_of_a_random_length_sees_the_mean_length_alone() -> None:
    mean, signal = 3.0, 2.0
    task = SpikedSLR(2, length={1: Rational(1, 2), 5: Rational(1, 2)}, noise=0)
    scale = signal**0.5 * (mean - 1) / mean
    first, second = _linear_moments(mean, signal, scale)
    found = risk_monte_carlo(task, linear, {}, size=SIZE, seed=132, scale=scale, value_norm=first / second)
    assert abs(found.z_score(_linear_spiked(mean, signal))) < LIMIT


@pytest.mark.parametrize("length", [2, 3])
def test_linear_attention_on_the_hard_selection_task(length: int) -> None:
    mean_of_maximum = {2: np.pi**-0.5, 3: 1.5 * np.pi**-0.5}[length]
    exact = 1 - (1 + mean_of_maximum**2) / length
    # Regression on sum z and sum chi z: y correlates 1 and mu with them, each of variance L, so a = mu and m = 1/L.
    found = risk_monte_carlo(
        MaxSLR(),
        linear,
        {"nu": oo, "L": length, "Delta": 0},
        size=SIZE,
        seed=141,
        scale=mean_of_maximum,
        value_norm=1 / length,
    )
    assert abs(found.z_score(exact)) < LIMIT


def test_softmax_is_bayes_rule_of_the_selection_task_at_any_strength() -> None:
    """One seed, one draw, and two predictors that are the same function: the means agree to rounding."""
    for signal in (0.5, 30, 1000):
        values = {nu: signal, L: 4, Delta: 0.1}
        bayes = bayes_monte_carlo(MaxSLR(), values, size=20_000, seed=151)
        attention = risk_monte_carlo(MaxSLR(), softmax, values, size=20_000, seed=151, scale=signal)
        assert attention.mean == pytest.approx(bayes.mean, rel=1e-9)


def test_stein_links_the_selected_score_to_bayes_risk() -> None:
    """E chi_epsilon = nu E_Bayes at Delta = 0 in max-SLR (integration by parts)."""
    sample = sample_projections(MaxSLR().law.subs(L, 5), {nu: 3}, SIZE, np.random.default_rng(155))
    score = at_position(sample.chi, sample.epsilon)
    bayes = bayes_monte_carlo(MaxSLR(), {nu: 3, L: 5, Delta: 0}, size=SIZE, seed=156)
    error = np.hypot(score.std() / SIZE**0.5, 3 * bayes.standard_error)
    assert abs(score.mean() - 3 * bayes.mean) < LIMIT * error


def _minimal_risk_by_tensor_quadrature(kernel: object, *, free: int) -> tuple[float, np.ndarray, float]:
    """Minimum of 1 - (E sigma_eps)^2 / E||sigma||^2 at L = 3, nu = 1, its argument, and the best value norm."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(48)
    grid = np.stack(np.meshgrid(nodes + 1, nodes, nodes, indexing="ij"), axis=-1)
    mass = np.einsum("i,j,k->ijk", weights, weights, weights) / (2 * np.pi) ** 1.5

    def moments(parameters: np.ndarray) -> tuple[float, float]:
        sigma = kernel(grid, *parameters)
        return float(np.sum(mass * sigma[..., 0])), float(np.sum(mass * np.sum(sigma**2, axis=-1)))

    def risk(parameters: np.ndarray) -> float:
        first, second = moments(parameters)
        return 1 - first**2 / second

    best = minimize(risk, np.full(free, 0.8), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-13})
    first, second = moments(best.x)
    return best.fun, best.x, first / second


def _normalised(kernel: np.ndarray) -> np.ndarray:
    return kernel / kernel.sum(axis=-1, keepdims=True)


def test_minimal_risks_of_the_reference_table() -> None:
    values = {nu: 1, L: 3, Delta: 0}
    cases = [
        (softmax, lambda t, a: _normalised(np.exp(a * t)), 1, 0.481125799),
        (softplus, lambda t, a: _normalised(np.logaddexp(0, a * t)), 1, 0.487278116),
        (erf, lambda t, a, shift: 1 + special.erf(shift + a * t), 2, 0.539896503),
    ]
    for attention, kernel, free, exact in cases:
        best, parameters, value_norm = _minimal_risk_by_tensor_quadrature(kernel, free=free)
        assert best == pytest.approx(exact, abs=2e-9)  # the table's nine digits, by a third route
        given = values if free == 1 else values | {c: float(parameters[1])}
        scale = float(parameters[0])
        found = risk_monte_carlo(SpikedSLR(), attention, given, size=SIZE, seed=161, scale=scale, value_norm=value_norm)
        assert abs(found.z_score(exact)) < LIMIT, attention.name


@pytest.mark.parametrize("attention", [softmax, softmax1, linear, softplus], ids=lambda item: item.name)
def test_seven_order_parameters_agree_on_both_paths(attention: Attention) -> None:
    overlaps = Overlaps(m_kk=0.9, m_vv=0.7, q_kk=1.6, q_vv=0.9, m_kv=-0.3, m_vk=0.25, q_kv=0.2)
    values = {nu: 1.5, L: 3, Delta: 0.2}
    fast = risk_monte_carlo(SpikedSLR(), attention, values, size=SIZE, seed=171, overlaps=overlaps)
    slow = risk_monte_carlo(
        SpikedSLR(), attention, values, size=SIZE, seed=172, overlaps=overlaps, path="sequences", dimension=6
    )
    assert abs(z_between(fast, slow)) < LIMIT


def test_noise_outside_the_hidden_directions_adds_its_variance() -> None:
    overlaps = Overlaps.aligned(0.8, 0.6, R_kk=0.5, R_vv=0.4)
    first, second = _linear_moments(3, 2, 0.8, R_kk=0.5)
    exact = 1 - 2 * 0.6 * first + (0.36 + 0.4) * second
    for path, dimension in (("projections", None), ("sequences", 4)):
        found = risk_monte_carlo(
            SpikedSLR(),
            linear,
            {nu: 2, L: 3, Delta: 0},
            size=SIZE,
            seed=181,
            overlaps=overlaps,
            path=path,
            dimension=dimension,
        )
        assert abs(found.z_score(exact)) < LIMIT


def test_vectors_have_the_overlaps_asked_for() -> None:
    rng = np.random.default_rng(191)
    k_star, v_star = orthogonal_frame(9, 2, rng)
    overlaps = Overlaps(m_kk=0.9, m_vv=0.7, q_kk=1.6, q_vv=0.9, m_kv=-0.3, m_vk=0.25, q_kv=0.2)
    k, v = overlaps.vectors(k_star, v_star, rng)
    found = [k @ k_star, v @ v_star, k @ k, v @ v, k @ v_star, v @ k_star, k @ v]
    assert np.array(found) / 9 == pytest.approx([0.9, 0.7, 1.6, 0.9, -0.3, 0.25, 0.2], abs=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_activation_survives_any_score(scale: float) -> None:
    tokens = scale * np.array([[3.0, -2.0, 1.0], [-4.0, -3.0, -6.0]])
    weights = activation(softmax, {})(tokens)
    assert weights.sum(axis=1) == pytest.approx([1, 1])
    assert activation(softmax1, {})(tokens)[1].sum() == pytest.approx(np.exp(scale * -3).sum(), rel=0.5, abs=1e-300)
    positive = activation(softplus, {})(tokens)
    assert positive.sum(axis=1) == pytest.approx([1, 1])
    if scale == 1e3:
        assert positive[0] == pytest.approx([0.75, 0, 0.25])
        assert positive[1] == pytest.approx([0, 1, 0])


def test_memory_stays_bounded() -> None:
    tracemalloc.start()
    values = {nu: 2, L: 50, Delta: 0}
    risk_monte_carlo(SpikedSLR(), softmax, values, size=2_000, seed=1, path="sequences", dimension=100)
    risk_monte_carlo(SpikedSLR(), softmax, values, size=200_000, seed=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e8


@pytest.mark.parametrize(
    ("keywords", "found"),
    [
        ({"path": "tokens"}, "expected 'projections' or 'sequences'"),
        ({"path": "sequences"}, "dimension: found None"),
        ({"dimension": 3}, "dimension: found 3"),
        ({"size": 0}, "size: found 0"),
        ({"size": 1}, "at least 2 samples"),
        ({"values": {L: 3, Delta: 0}}, "a number for nu"),
        ({"values": {nu: 1, Delta: 0}}, "expected a number for L"),
        ({"values": {nu: 1, L: 3}}, "a number for Delta"),
        ({"attention": erf}, "a number for c"),
        ({"attention": Attention(exp(x), None), "scale": 1e3}, "not finite"),
    ],
)
def test_bad_input_is_refused_in_one_line(keywords: dict, found: str) -> None:
    arguments = {"attention": softmax, "values": {nu: 1, L: 3, Delta: 0}, "size": 100, "seed": 0} | keywords
    with pytest.raises(ValueError, match=found) as caught:
        risk_monte_carlo(SpikedSLR(), **arguments)
    assert "\n" not in str(caught.value)


def test_impossible_overlaps_are_refused() -> None:
    with pytest.raises(ValueError, match="q - m m"):
        Overlaps(m_kk=1, m_vv=1, q_kk=0.5, q_vv=1)
