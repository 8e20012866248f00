"""Fits are stationary, find what can be found in closed form, and are kept apart where they differ."""

from __future__ import annotations

import numpy as np
import pytest

from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR, linear, softmax
from symslr.model.symbols import L
from symslr.simulate.erm import (
    AttentionRegressor,
    EmpiricalRisk,
    erm_replicates,
    find_minima,
    fit_attention,
    fresh_risk,
    lowest_fit,
    sample_training_set,
)
from symslr.simulate.sequences import SequenceSampler

VALUES = {"nu": 4, "Delta": 0.2, "L": 3}


def risk_of(attention: Attention = softmax, size: int = 600, dimension: int = 60, ridge: float = 0.2) -> EmpiricalRisk:
    data = sample_training_set(SpikedSLR(), VALUES, size, dimension, np.random.default_rng(11))
    return EmpiricalRisk(data, attention, ridge, ridge, {})


def test_value_vector_of_a_fit_is_the_ridge_regression_at_its_key() -> None:
    risk = risk_of()
    fit = fit_attention(risk, start="informed")
    assert fit.converged
    assert fit.reduction < 1e-5
    X, y, D = risk.data.X, risk.data.y, risk.data.dimension
    scores = X @ fit.k / np.sqrt(D)
    sigma = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    features = np.einsum("nl,nld->nd", sigma, X) / np.sqrt(D)
    exact = np.linalg.solve(features.T @ features + risk.r_v * np.eye(D), features.T @ y)
    np.testing.assert_allclose(fit.v, exact, atol=1e-6 * np.abs(exact).max())


def test_optimisers_that_agree_are_one_minimum_and_others_are_kept() -> None:
    risk = risk_of()
    together = find_minima(risk, starts=["informed"], optimisers=["L-BFGS-B", "CG"])
    assert len(together) == 1
    assert {fit.optimiser for fit in together[0]} == {"L-BFGS-B", "CG"}
    data = risk.data
    swapped = np.stack([data.v_star, data.k_star])
    apart = find_minima(risk, starts=["informed", 4 * swapped])
    assert sum(len(group) for group in apart) == 2
    assert apart[0][0].loss <= apart[-1][0].loss
    assert all(fit.converged for group in apart for fit in group)


def test_a_seed_fixes_the_whole_replicate() -> None:
    options = {"alpha": 6, "dimension": 60, "r_k": 0.5, "r_v": 0.5, "fresh": 20_000}
    first, second = (erm_replicates(SpikedSLR(), linear, VALUES, seeds=[3], **options) for _ in range(2))
    assert first.risk == second.risk
    both = erm_replicates(SpikedSLR(), linear, VALUES, seeds=[3, 4], **options)
    assert both.runs[0].risk.mean == first.risk
    assert both.runs[1].risk.mean != first.risk
    assert both.standard_error > 0


def test_float32_lands_beside_float64() -> None:
    risk = risk_of()
    single = EmpiricalRisk(type(risk.data).of(risk.data.X.astype(np.float32), risk.data.y), softmax, 0.2, 0.2, {})
    start = np.stack([risk.data.k_star, risk.data.v_star])
    fits = [fit_attention(each, start=start) for each in (risk, single)]
    assert all(fit.converged for fit in fits)
    assert fits[0].is_same_minimum(fits[1])


def test_risk_by_projections_is_the_risk_on_fresh_tokens() -> None:
    risk = risk_of()
    data = risk.data
    fit = fit_attention(risk, start="informed")
    fast = fresh_risk(SpikedSLR(), softmax, VALUES, fit.overlaps(data.k_star, data.v_star), size=200_000, seed=1)
    rng = np.random.default_rng(12)
    sampler = SequenceSampler.of(SpikedSLR().law.subs(L, 3), VALUES, data.dimension, rng)
    sampler = SequenceSampler(sampler.length, sampler.rule, data.k_star, data.v_star)
    fresh = sampler.draw(40_000, rng)
    model = AttentionRegressor(softmax)
    model.k_, model.v_, model.result_ = fit.k, fit.v, fit
    losses = (fresh.label(0.2) - model.predict(fresh.X)) ** 2
    slow, error = losses.mean(), losses.std() / np.sqrt(len(losses))
    assert abs(fast.mean - slow) < 4.5 * np.hypot(error, fast.standard_error)


def test_regressor_is_a_fit_with_the_usual_interface() -> None:
    risk = risk_of()
    model = AttentionRegressor("softmax", r_k=0.2, r_v=0.2, seed=5).fit(risk.data.X, risk.data.y)
    assert model.result_.converged
    assert model.result_.gradient_norm < 1e-4
    expected = fit_attention(risk, start="random", seed=5)
    np.testing.assert_array_equal(model.k_, expected.k)
    assert 0.5 < model.score(risk.data.X, risk.data.y) < 1
    again = AttentionRegressor(**{**model.get_params(), "r_k": 0.3}).set_params(r_k=0.2)
    np.testing.assert_array_equal(again.fit(risk.data.X, risk.data.y).v_, model.v_)
    with pytest.raises(ValueError, match="expected fit"):
        AttentionRegressor().predict(risk.data.X)
    with pytest.raises(ValueError, match="parameter: found 'ridge'"):
        model.set_params(ridge=1)
    with pytest.raises(ValueError, match="attention: found 'soft'"):
        AttentionRegressor("soft").fit(risk.data.X, risk.data.y)


def test_refusals() -> None:
    risk = risk_of()
    with pytest.raises(ValueError, match="optimiser: found 'Newton'"):
        fit_attention(risk, optimiser="Newton")
    with pytest.raises(ValueError, match="start: found 'warm'"):
        fit_attention(risk, start="warm")
    with pytest.raises(ValueError, match=r"start: found shape \(3,\)"):
        fit_attention(risk, start=np.ones(3))
    plain = EmpiricalRisk(type(risk.data).of(risk.data.X, risk.data.y), softmax, 0.2, 0.2, {})
    with pytest.raises(ValueError, match="k\\* and v\\* are not known"):
        fit_attention(plain, start="informed")


def test_the_lowest_fit_is_the_lowest_minimum_and_stops_once_it_is_met_twice() -> None:
    risk = risk_of(size=120, ridge=0.02)
    one, other = (fit_attention(risk, start=start, seed=1) for start in ("informed", "random"))
    assert not one.is_same_minimum(other)
    kept = lowest_fit(risk, starts=["random", "informed"], seeds=[1, 0])
    assert kept.loss == min(one.loss, other.loss)
    # The last start has no such name: it is not reached.
    again = lowest_fit(risk, starts=["informed", "informed", "unused"], seeds=[0, 0, 0])
    assert again.loss == one.loss
