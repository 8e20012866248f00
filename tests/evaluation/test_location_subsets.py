"""Several relevant tokens of many that are alike: samples with counts of coins as control variates."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location import bayes_value
from symslr.evaluation.location.bayes import bayes_means
from symslr.evaluation.location.samples.points import quadrature, sampled
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.subsets.coins import Coins
from symslr.evaluation.location.subsets.controls import ControlledRisk, Controls, subset_means
from symslr.evaluation.location.subsets.pairs import _series_power, pairs_means
from symslr.evaluation.location.tables.rules import FINE
from symslr.expression.value import Kind
from tests.evaluation.laws_of_location import SIGNS, VECTORS, task


@pytest.mark.parametrize("signal", ["1:1", SIGNS, "1/2:1/3,3/2:2/3"])
def test_means_of_counts_and_of_their_products_are_those_of_coins(signal: str) -> None:
    """Beside a rule over all keys of three tokens, two of which are relevant."""
    others = Setting.of(task(3, 2, location="subset(2)", signal=signal))
    controls = Controls.of(Coins.of(others, FINE), np.array([-1.0, 0.5, 2.0]), 3)

    def integrand(keys: Any, mass: Any) -> Any:
        found = controls.values(others.log_weights(keys))[1]
        return np.concatenate([mass @ found, ((found * mass[:, None]).T @ found).ravel()])

    means = quadrature(others, integrand, 60.0)
    assert means is not None
    count = len(controls.mean)
    np.testing.assert_allclose(controls.mean, means.rows[0][:count], atol=1e-9)
    np.testing.assert_allclose(controls.second.ravel(), means.rows[0][count:], atol=1e-9)


def test_the_chance_of_a_coin_is_its_mean_over_tokens_in_any_order() -> None:
    """Weights over 400 nats that do not rise with the node, as of an even signal: most tokens have odds far from even anywhere."""
    rng = np.random.default_rng(3)
    logs, mass = rng.uniform(-200.0, 200.0, 4000), rng.dirichlet(np.ones(4000))
    coins = Coins(logs, mass, mass, np.zeros(1), (3,), np.ones(1), 2)
    rho = rng.uniform(-240.0, 240.0, 200)
    known = expit(logs + rho[:, None]) @ mass
    np.testing.assert_allclose(coins.chance(rho), known, atol=2e-14)


def test_the_chance_of_a_coin_keeps_its_digits_where_likely_tokens_have_long_odds() -> None:
    """The one token with even odds is so unlikely, e^-200, that a usual one 150 nats below it decides."""
    logs, mass = np.array([0.0, -150.0, -600.0]), np.array([np.exp(-200.0), 1.0, 0.0])
    coins = Coins(logs, mass, mass, np.zeros(1), (3,), np.ones(1), 2)
    rho = np.array([-10.0, 0.0, 10.0])
    np.testing.assert_allclose(coins.chance(rho), expit(logs + rho[:, None]) @ mass, rtol=1e-9)


def test_one_token_left_out_carries_the_risk() -> None:
    """(L - s)/s^2 E F(rho) by a rule over the others beside the variance of the read-out by a rule over all."""
    setting = Setting.of(task(4, 2, location="subset(3)"))
    left = ControlledRisk.of(setting)
    without = ControlledRisk(left.others, left.factor, left.chance, left.controls, left.axes, 0 * left.shares)
    known = float(bayes_value(task(4, 2, location="subset(3)")))
    for one in (without, left):
        means = quadrature(one.others, lambda keys, mass, one=one: np.array([mass @ one.risk(keys)]), 60.0)
        assert means is not None
        assert means.estimate().value == pytest.approx(known, rel=1e-7)


@pytest.mark.parametrize(("length", "strength"), [(6, 3), (40, 6)])
def test_pairs_agree_with_their_series(length: int, strength: int) -> None:
    setting = Setting.of(task(length, strength, location="subset(2)"))
    found, known = subset_means(setting, 1.0), pairs_means(setting)
    assert found is not None
    assert known is not None
    part, exact = found.estimate(), known.estimate()
    assert abs(part.value - exact.value) < 4.5 * part.error
    assert part.error < 1e-4 * exact.value


@pytest.mark.parametrize("law", [{}, {"signal": SIGNS}, {"signal": VECTORS}])
def test_control_variates_leave_little(law: dict[str, Any]) -> None:
    """The scatter of single sequences with and without them, on the same points."""
    setting = Setting.of(task(12, 3, location="subset(3)", **law))
    left = ControlledRisk.of(setting)
    without = ControlledRisk(left.others, left.factor, left.chance, left.controls, left.axes, 0 * left.shares)
    means = [
        sampled(left.others, lambda keys, mass, one=one: np.array([mass @ one.risk(keys)]), 64).estimate()
        for one in (left, without)
    ]
    assert abs(means[0].value - means[1].value) < 4.5 * means[1].error
    assert means[0].error < 0.2 * means[1].error


@pytest.mark.parametrize("strength", [60, 400, 4000])
def test_a_signal_so_strong_that_few_sequences_carry_the_risk_is_refused_in_one_line(strength: int) -> None:
    """At nu = 60 a token falls with certainty but for 1e-26: what is left of it is no difference of numbers near 1."""
    with pytest.raises(CannotEvaluate, match="expected a weaker signal"):
        bayes_means(Setting.of(task(10, strength, location="subset(3)")), 0.5)


def test_log_rho_keeps_its_digits_where_all_but_certain_tokens_fall() -> None:
    """log e_{s-1}/e_s beside the subsets enumerated."""
    logs = np.array([[40.0, 41.0, 42.5, -38.0, -40.0], [55.0, 60.0, 50.0, 2.0, -60.0]])
    found = Controls(np.zeros(1), np.array([3]), 3, None, None).values(logs)[0]
    sums = [[logsumexp([sum(one) for one in combinations(row, size)]) for size in (2, 3)] for row in logs.tolist()]
    np.testing.assert_allclose(found, [less - all_of for less, all_of in sums], rtol=1e-13)


def test_other_laws_have_other_routes() -> None:
    assert subset_means(Setting.of(task(5, 2, location="subset(2)", prior=[1, 2, 3, 4, 5])), 1.0) is None
    assert subset_means(Setting.of(task(5, 2)), 1.0) is None
    assert subset_means(Setting.of(task(10**6, 20, location="subset(3)")), 1.0) is None
    assert subset_means(Setting.of(task(100, 2, location="subset(40)")), 1.0) is None
    means = bayes_means(Setting.of(task(300, 3, location="subset(3)")), 0.5)
    assert means.kind is Kind.STATISTICAL
    assert "control variates" in means.method


def test_two_of_a_hundred_agree_with_samples_of_the_definition() -> None:
    found = pairs_means(Setting.of(task(100, 4, location="subset(2)")))
    assert found is not None
    part = found.estimate()
    rng, count = np.random.default_rng(3), 20_000
    hidden = np.argsort(rng.random((count, 100)), axis=1)[:, :2]
    keys = rng.standard_normal((count, 100))
    np.put_along_axis(keys, hidden, np.take_along_axis(keys, hidden, axis=1) + 2.0, axis=1)
    w = np.exp(2.0 * keys - 2.0)
    whole = w.sum(axis=1, keepdims=True)
    p = 2 * w * (whole - w) / (whole**2 - np.sum(w**2, axis=1, keepdims=True))
    left = np.sum(p * (1 - p), axis=1) / 4
    assert abs(part.value - np.mean(left)) < 4.5 * np.std(left) / np.sqrt(count)
    assert part.error < 1e-10


@pytest.mark.parametrize("exponent", [2, 5, 6, 7, 96])
def test_a_power_of_a_series_is_the_product_written_out(exponent: int) -> None:
    series = [Fraction(1), Fraction(1, 3), Fraction(2, 7), Fraction(0), Fraction(5, 2), Fraction(1, 9)]
    known = [Fraction(1), *[Fraction(0)] * 5]
    for _ in range(exponent):
        known = [sum((known[k] * series[m - k] for k in range(m + 1)), Fraction(0)) for m in range(6)]
    found = _series_power(np.array(series, dtype=float), exponent)
    np.testing.assert_allclose(found, np.array(known, dtype=float), rtol=1e-14)
