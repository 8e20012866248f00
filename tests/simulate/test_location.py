"""Draws of laws of location against their definition, the enumerated posterior, and attentions given as functions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax as plain_softmax
from sympy import Abs, Rational, Symbol

from symslr.model.symbols import i, j, l
from symslr.model.task import Task
from symslr.simulate.location import (
    LocationSampler,
    Posterior,
    bayes_location_monte_carlo,
    entmax,
    heads,
    location_monte_carlo,
    sigmoid,
    softmax,
    sparsemax,
    top,
    train_heads,
)
from symslr.simulate.recipe import Recipe

rho = Symbol("rho", positive=True)
CHAIN = rho ** Abs(i - j)
VALUES = {"nu": 2, "L": 4, "Delta": Rational(1, 2), "rho": Rational(1, 2)}
SIZE = 80_000
REFERENCE = {"spiked": 0.352423268884167, "chain": 0.21692444591516, "chain, values alike": 0.13493157699791}
"""Bayes risks at L = 3, nu = 2, rho = 1/2 without noise, by the referee's grids."""


def frequency(flags: np.ndarray, expected: float) -> float:
    """z-score of a frequency."""
    return float((flags.mean() - expected) / np.sqrt(expected * (1 - expected) / len(flags)))


def test_which_positions_are_relevant() -> None:
    rng = np.random.default_rng(1)
    one = LocationSampler.of(Task(prior=2**-l), VALUES).draw(SIZE, rng)
    assert np.all(one.relevant.sum(axis=1) == 1)
    for place in range(4):
        assert abs(frequency(one.relevant[:, place], 2.0 ** -(place + 1) / (15 / 16))) < 4.5
    coins = LocationSampler.of(Task(location="independent(1/(2+l))"), VALUES).draw(SIZE, rng)
    for place in range(4):
        assert abs(frequency(coins.relevant[:, place], 1 / (3 + place))) < 4.5
    assert abs(frequency(coins.relevant[:, 0] & coins.relevant[:, 1], 1 / 12)) < 4.5


def test_subsets_with_a_prior() -> None:
    """P(S) against the product of weights, every subset of two of four."""
    sampler = LocationSampler.of(Task(location="subset(2)", prior=l**2), VALUES)
    sample = sampler.draw(SIZE, np.random.default_rng(2))
    weights = {(a, b): (a + 1) ** 2 * (b + 1) ** 2 for a in range(4) for b in range(a + 1, 4)}
    for (a, b), weight in weights.items():
        share = weight / sum(weights.values())
        assert abs(frequency(sample.relevant[:, a] & sample.relevant[:, b], share)) < 4.5
    assert np.array_equal(sample.read_out, sample.relevant / 2)


def test_keys_and_values_have_their_covariances() -> None:
    task = Task(key_covariance=CHAIN, value_covariance=CHAIN, signal="(1,0):1/4,(0,-2):3/4")
    sample = LocationSampler.of(task, VALUES).draw(SIZE, np.random.default_rng(3))
    noise = sample.chi - np.sqrt(2) * sample.signal
    wanted = 0.5 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    for drawn in (noise[:, :, 0], noise[:, :, 1], sample.z):
        assert np.cov(drawn.T) == pytest.approx(wanted, abs=0.02)
    assert abs(np.corrcoef(noise[:, 0, 0], noise[:, 0, 1])[0, 1]) < 0.02
    drawn = sample.signal[sample.relevant]
    assert abs(frequency(drawn[:, 0] == 1, 0.25)) < 4.5
    assert np.all(sample.signal[~sample.relevant] == 0)
    residual = sample.y - np.sum(sample.read_out * sample.z, axis=1)
    assert residual.std() == pytest.approx(0.5, abs=0.01)


def test_the_posterior_of_one_position_is_softmax_with_a_bias() -> None:
    sampler = LocationSampler.of(Task(prior=3**-l), VALUES)
    chi = sampler.draw(50, np.random.default_rng(4)).chi
    expected = plain_softmax(np.sqrt(2) * chi[:, :, 0] - np.arange(4) * np.log(3), axis=1)
    assert Posterior.of(sampler).attention(chi) == pytest.approx(expected, rel=1e-12)


def test_the_posterior_of_coins_is_a_sigmoid() -> None:
    sampler = LocationSampler.of(Task(location="independent(1/8)"), VALUES)
    chi = sampler.draw(50, np.random.default_rng(5)).chi
    expected = sigmoid(-1 - np.log(7))(np.sqrt(2) * chi[:, :, 0])
    assert Posterior.of(sampler).attention(chi) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", REFERENCE)
def test_bayes_risks(name: str) -> None:
    keys, values = (None, CHAIN)["chain" in name], (None, CHAIN)["alike" in name]
    task = Task(key_covariance=keys, value_covariance=values)
    found = bayes_location_monte_carlo(task, {**VALUES, "L": 3, "Delta": 0}, size=SIZE, seed=7)
    assert abs(found.z_score(REFERENCE[name])) < 4


def test_the_optimal_attention_is_not_beaten() -> None:
    """On the same sequences every other attention loses, even with its best value vector."""
    task = Task(signal="1:1/2,-1:1/2")
    scale = np.sqrt(2.0)
    tried = {
        "softmax": lambda chi: softmax(scale * chi[:, :, 0]),
        "sparsemax": lambda chi: sparsemax(scale * chi[:, :, 0]),
        "entmax": lambda chi: entmax(np.abs(scale * chi[:, :, 0])),
        "top 2": lambda chi: top(2)(np.abs(chi[:, :, 0])),
        "separate heads": heads([[scale], [-scale]], [0.5, 0.5], joint=False),
    }
    best = bayes_location_monte_carlo(task, VALUES, size=SIZE, seed=8)
    joint = location_monte_carlo(task, heads([[scale], [-scale]], [0.5, 0.5], joint=True), VALUES, size=SIZE, seed=8)
    assert joint.mean == pytest.approx(best.mean, rel=1e-10)
    for name, attention in tried.items():
        found = location_monte_carlo(task, attention, VALUES, size=SIZE, seed=8, value_norm=None, name=name)
        assert found.mean > best.mean + 3 * best.standard_error, name


def test_sparse_attentions_solve_their_equations() -> None:
    scores = np.random.default_rng(9).normal(size=(200, 5)) * 2
    for weights, power in ((sparsemax(scores), 1), (entmax(scores), 2)):
        assert weights.sum(axis=1) == pytest.approx(np.ones(200))
        assert np.any(weights == 0)
        level = np.where(weights > 0, scores / power - weights ** (1 / power), np.nan)
        assert np.nanmax(level, axis=1) == pytest.approx(np.nanmin(level, axis=1), abs=1e-9)
        outside = np.where(weights == 0, scores / power, -np.inf).max(axis=1)
        assert np.all(outside <= np.nanmax(level, axis=1) + 1e-9)
    kept = top(2)(scores)
    assert np.all((kept > 0).sum(axis=1) == 2)


def test_a_trained_head_finds_the_direction_of_the_signal() -> None:
    """One head on spiked keys: its key goes to sqrt(nu) k*, its value vector to v*."""
    recipe = Recipe("adam", steps=400, batch=256, rate=0.05, dimension=6)
    found = train_heads(Task(), {"nu": 4, "L": 3, "Delta": 0}, 1, recipe, 1)
    assert found.keys[0, 0] == pytest.approx(2, abs=0.2)
    assert found.values[0] == pytest.approx(1, abs=0.05)
    assert found.outside[0] < 0.3
    again = train_heads(Task(), {"nu": 4, "L": 3, "Delta": 0}, 1, recipe, 1)
    assert np.array_equal(again.keys, found.keys)


def test_what_cannot_be_trained_is_refused() -> None:
    with pytest.raises(ValueError, match="expected at least 3"):
        train_heads(Task(signal="(1,0):1"), VALUES, 1, Recipe("adam", dimension=2), 1)
    with pytest.raises(ValueError, match="expected 'adam' for a layer"):
        train_heads(Task(), VALUES, 1, Recipe("sgd"), 1)


def test_what_cannot_be_sampled_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a number for nu"):
        LocationSampler.of(Task(), {"L": 3, "Delta": 0})
    with pytest.raises(ValueError, match="expected a fixed length"):
        LocationSampler.of(Task(length={1: Rational(1, 2), 2: Rational(1, 2)}), VALUES)
    coins = LocationSampler.of(Task(location="independent(1/3)"), {**VALUES, "L": 40})
    with pytest.raises(ValueError, match="can be written out"):
        Posterior.of(coins)
    signs = Task(location="subset(4)", signal="1:1/2,-1:1/2")
    with pytest.raises(ValueError, match="expected at most 5000 to write out"):
        Posterior.of(LocationSampler.of(signs, {**VALUES, "L": 12}))
