"""Bayes risks of laws of location against the definition on grids and samples, facts, and other evaluators."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import special
from sympy import Abs, Integer, Rational

from symslr import SpikedSLR, Task, evaluate, softmax
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location import bayes_value, least_value, risk_value
from symslr.evaluation.location.chains.bayes import chain_means
from symslr.evaluation.location.means import Estimate
from symslr.evaluation.location.posterior import configurations, posterior
from symslr.evaluation.location.samples.points import quadrature, refined, sampled
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.subsets.pairs import pairs_means
from symslr.expression.value import Kind, Value
from symslr.model.symbols import i, j, l, nu
from symslr.theory import bayes_risk
from tests.evaluation.laws_of_location import (
    CHAIN,
    EQUAL,
    HALF,
    LAWS,
    SIGNS,
    VECTORS,
    agree,
    brute_bayes,
    law_called,
    task,
)


@pytest.mark.parametrize("name", LAWS)
def test_bayes_risks_are_those_of_the_definition_on_a_grid(name: str) -> None:
    value = bayes_value(law_called(name), seconds=120.0)
    known = brute_bayes(law_called(name))
    assert abs(float(value) - known) < 5 * float(value.error) + 1e-8
    assert value.kind is not Kind.STATISTICAL
    assert value.digits >= 9 or known < 1e-12


def test_facts() -> None:
    plain = float(evaluate(bayes_risk(SpikedSLR()), {"L": 3, "nu": 2, "Delta": 0}))
    assert float(bayes_value(task())) == pytest.approx(plain, rel=1e-12)
    assert float(bayes_value(task(nu=1, key_covariance=EQUAL))) == pytest.approx(plain, rel=1e-12)
    assert float(bayes_value(law_called("chain"))) == pytest.approx(0.217, abs=5e-4)  # values independent
    both = task(key_covariance=CHAIN, value_covariance=CHAIN)
    assert float(bayes_value(both)) == pytest.approx(0.135, abs=5e-4)  # values correlated alike
    value, places = least_value(law_called("sign"), softmax)
    assert float(value) == pytest.approx(2 / 3, abs=1e-9)
    assert abs(float(places["a"])) < 1e-3
    matched, heads = least_value(law_called("sign"), softmax.having(heads=2))
    assert float(matched) == pytest.approx(float(bayes_value(law_called("sign"))), rel=1e-9)
    assert sorted(float(heads[name]) for name in ("a_1", "a_2")) == pytest.approx([-(2**0.5), 2**0.5], rel=1e-3)


def test_values_go_by_symbol_or_name() -> None:
    law = Task(length=3, noise=0, prior=2 ** (-l))
    assert (
        float(bayes_value(law, {"nu": 2}))
        == float(bayes_value(law, {nu: 2}))
        == float(bayes_value(law_called("prior")))
    )


def test_noise_adds_its_variance() -> None:
    noisy = Task(nu=2, length=3, noise=HALF, prior=2 ** (-l))
    assert float(bayes_value(noisy)) == pytest.approx(float(bayes_value(law_called("prior"))) + 0.25, rel=1e-12)
    assert float(risk_value(noisy, softmax, 1)) == pytest.approx(
        float(risk_value(law_called("prior"), softmax, 1)) + 0.25, rel=1e-12
    )


def test_digits_and_proofs_where_tokens_are_independent() -> None:
    float64 = bayes_value(law_called("prior"))
    proved = bayes_value(law_called("prior"), digits=25, backend="arb")
    assert proved.kind is Kind.CERTIFIED
    assert proved.digits >= 25
    agree(float64, float(proved), 1e-15)
    many = bayes_value(law_called("prior and sign"), digits=25)
    agree(bayes_value(law_called("prior and sign")), float(many), 1e-15)
    with pytest.raises(CannotEvaluate, match="no formula by one-token integrals"):
        bayes_value(law_called("chain"), digits=12, backend="arb")
    with pytest.raises(CannotEvaluate, match="of 20 digits"):
        bayes_value(law_called("chain"), digits=20)


def test_many_kinds_of_positions_are_one_table() -> None:
    """The table over log u beside one integral for each of few kinds, and beside the exchangeable formula where they are alike."""
    from symslr.evaluation.location.bayes import bayes_integral, bayes_means

    for law in (task(12, prior=1 / l, signal=SIGNS), task(8, prior=3 ** (-l))):
        formula = bayes_integral(law)
        assert formula is not None
        part = bayes_means(Setting.of(law)).estimate()
        assert abs(float(part.value) - float(evaluate(formula, {}))) < 1e-12
        assert part.error < 1e-12
    # a prior that all but ignores positions
    length = 10**5
    known = float(evaluate(bayes_risk(SpikedSLR()), {"L": length, "nu": 16, "Delta": 0}))
    tilted = bayes_value(task(length, 16, prior=1 + l / Integer(10) ** 14))
    agree(tilted, known, 1e-9)
    assert tilted.digits >= 11


def by_samples(law: Task) -> Value:
    setting = Setting.of(law)
    left = posterior(setting)
    sample = partial(sampled, setting, lambda keys, mass: np.array([mass @ left(keys)[1]]))
    means = refined(sample, lambda row: float(row[0]), 1e-3, 3.0)
    part = means.estimate()
    from mpmath import mpf

    return Value(mpf(part.value), mpf(part.error), Kind.STATISTICAL, 3, means.method)


LONG = {
    "prior and sign": lambda: task(20, prior=2 ** (-l), signal=SIGNS),
    "directions": lambda: task(9, signal=VECTORS, prior=1 / l),
    "chain": lambda: task(8, key_covariance=CHAIN, value_covariance=CHAIN, prior=1 / l, signal="1:1/2,2:1/2"),
    "coins": lambda: task(30, location="independent(1/8)", signal=SIGNS),
    "one correlation and sign": lambda: task(30, 6, key_covariance=EQUAL, signal=SIGNS),
    "one correlation, sizes and prior": lambda: task(
        20, 3, key_covariance=2 * EQUAL, signal="1:1/3,2:2/3", prior=1 / l
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_long_sequences_agree_with_samples(name: str) -> None:
    law = LONG[name]()
    exact, sampled = bayes_value(law), by_samples(law)
    assert exact.kind is not Kind.STATISTICAL
    assert exact.digits >= 10
    agree(sampled, float(exact))


def test_a_chain_is_walked_and_doubled_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    from symslr.evaluation.location.chains import bayes as chain

    law = Setting.of(task(13, key_covariance=CHAIN, value_covariance=Rational(1, 3) ** Abs(i - j)))
    walked = chain_means(law)
    monkeypatch.setattr(chain, "LONGEST_WALK", 0)
    doubled = chain_means(law)
    assert walked is not None
    assert doubled is not None
    assert walked.estimate().value == pytest.approx(doubled.estimate().value, rel=1e-12)
    independent = chain_means(Setting.of(task(13)))
    assert independent is not None
    assert independent.estimate().value == pytest.approx(float(bayes_value(task(13))), rel=1e-11)


def test_a_quadrature_and_samples_know_their_error() -> None:
    law = Setting.of(law_called("chains of both"))
    left = posterior(law)

    def integrand(keys: Any, mass: Any) -> Any:
        return np.array([mass @ left(keys)[1]])

    by_rules = quadrature(law, integrand, 60.0)
    assert by_rules is not None
    part = by_rules.estimate()
    assert abs(part.value - brute_bayes(law_called("chains of both"))) < 1e-8
    assert 0 < part.error < 1e-6
    means = refined(partial(sampled, law, integrand), lambda row: float(row[0]), 1e-3, 2.0)
    found = means.estimate()
    assert found.kind is Kind.STATISTICAL
    assert abs(found.value - part.value) < 4.5 * found.error
    assert found.error < 1e-3 * part.value


def test_a_rule_over_four_keys_gives_way_to_samples_in_time() -> None:
    law = task(4, location="subset(2)", prior=2 ** (-l))
    slow, quick = bayes_value(law, seconds=120.0), bayes_value(law, seconds=0.01)
    assert slow.kind is not Kind.STATISTICAL
    assert float(slow.error) < 1e-11
    assert quick.kind is Kind.STATISTICAL
    agree(quick, float(slow))


@pytest.mark.parametrize(
    "law",
    [
        {"location": "independent(1/(1+l))", "signal": SIGNS, "key_covariance": CHAIN},
        {"location": "subset(2)", "prior": 1 / l, "signal": "1:1/3,-1/2:2/3", "value_covariance": CHAIN},
        {"prior": 2 ** (-l), "key_covariance": 1 / (1 + (i - j) ** 2), "signal": SIGNS},
    ],
)
def test_a_rule_weighs_every_point_under_all_configurations_at_once(law: dict[str, Any]) -> None:
    """Masses of 1 in all, means of the keys, and the risk beside the definition, where configurations differ by position."""
    setting = Setting.of(task(3, 2, **law))
    every = configurations(setting)
    found = quadrature(
        setting, lambda keys, mass: np.concatenate([[mass.sum()], mass @ keys[..., 0]]), 60.0, alike=False
    )
    assert found is not None
    expected = np.sqrt(2) * np.exp(every.logs) @ every.signals[..., 0]
    np.testing.assert_allclose(found.rows[0], [1, *expected], atol=1e-12)
    assert by_all_keys(setting).value == pytest.approx(brute_bayes(task(3, 2, **law)), rel=1e-7)


def test_one_position_is_always_found() -> None:
    for law in (
        task(1, prior=1 / l),
        task(1, key_covariance=CHAIN, value_covariance=CHAIN),
        task(1, location="subset(1)"),
    ):
        assert float(bayes_value(law)) == pytest.approx(0, abs=1e-14)
        assert float(risk_value(law, softmax, 1)) == pytest.approx(0, abs=1e-14)


def test_no_signal_leaves_the_prior() -> None:
    shares = np.array([1, 1 / 2, 1 / 3]) / (1 + 1 / 2 + 1 / 3)
    for law in (task(nu=0, prior=1 / l), task(nu=0, prior=1 / l, key_covariance=CHAIN)):
        assert float(bayes_value(law)) == pytest.approx(1 - np.sum(shares**2), rel=1e-12)


def test_rare_errors_are_no_samples_business() -> None:
    with pytest.raises(CannotEvaluate, match="so few sequences carry it"):
        bayes_value(task(5, 100, key_covariance=CHAIN), seconds=0.2)


def by_all_keys(setting: Setting) -> Estimate:
    """The Bayes risk by a rule over all keys, under every hidden configuration or, where all are alike, under one."""
    left = posterior(setting)
    found = quadrature(setting, lambda keys, mass: np.array([mass @ left(keys)[1]]), 60.0)
    assert found is not None
    return found.estimate()


def test_two_of_many_by_integrals_below_the_largest_weight() -> None:
    """Against a rule over all four keys, one of three that is missing, samples of a long sequence, and its own error."""
    uneven = {"location": "subset(2)", "signal": "1:1/3,-2:2/3"}
    for law in (
        task(4, 4, location="subset(2)"),
        task(3, 2, location="subset(2)", signal=SIGNS),
        task(3, 1, **uneven),
    ):
        found, known = by_pairs(law), by_all_keys(Setting.of(law))
        assert abs(found.value - known.value) < known.error + found.error + 1e-11
        assert found.error < 1e-11 * found.value
    missing = float(bayes_value(task(3, 4)).value) / 4
    found = by_pairs(task(3, 4, location="subset(2)"))
    assert abs(found.value - missing) < found.error
    assert float(bayes_value(task(3, 4, location="subset(2)")).value) == pytest.approx(missing, rel=1e-13)
    for law in (task(20, 8, location="subset(2)"), task(12, 4, **uneven)):
        found, samples = by_pairs(law), by_samples(law)
        assert found.error < 1e-11 * found.value
        agree(samples, found.value)


def by_pairs(law: Task) -> Estimate:
    found = pairs_means(Setting.of(law))
    assert found is not None
    return found.estimate()


def test_masses_below_float64_are_not_drawn() -> None:
    """Two of eight along two directions: so many points of the law of one token have mass 0 that too few were left to draw."""
    law = task(8, Rational(57, 100), location="subset(2)", signal="(1,0):1/2,(0,1):1/2")
    agree(by_samples(law), float(bayes_value(law).value))


def test_the_irrelevant_positions_are_sought_where_they_are_fewer() -> None:
    """Against the route that does not know it."""
    law = task(3, 3, location="subset(2)", prior=1 / l)
    found = bayes_value(law)
    setting = Setting.of(law)
    known = by_all_keys(setting)
    assert abs(float(found.value) - known.value) < known.error + 1e-11
    assert found.digits >= 12
    assert bayes_value(task(3, 3, location="subset(3)")).value == 0


def test_keys_of_any_covariance_agree_with_samples_of_the_definition() -> None:
    law = task(45, 4, key_covariance=1 / (1 + Abs(i - j)))
    setting = Setting.of(law)
    found = refined(
        partial(sampled, setting, lambda keys, mass: np.array([mass @ posterior(setting)(keys)[1]])),
        lambda row: float(row[0]),
        1e-3,
        1.0,
    ).estimate()
    place, rng, count = np.arange(45), np.random.default_rng(7), 40_000
    covariance = 1 / (1 + np.abs(place[:, None] - place))
    inverse, hidden = np.linalg.inv(covariance), rng.integers(0, 45, count)
    keys = rng.standard_normal((count, 45)) @ np.linalg.cholesky(covariance).T
    keys[np.arange(count), hidden] += 2.0
    p = special.softmax(2.0 * keys @ inverse - 2.0 * np.diag(inverse), axis=1)
    left = 1 - np.sum(p**2, axis=1)
    assert abs(found.value - np.mean(left)) < 4.5 * np.hypot(found.error, np.std(left) / np.sqrt(count))
    assert found.error < 2e-3
