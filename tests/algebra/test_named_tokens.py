"""Tokens by other names: one chosen by its number or by a letter, a sum over another index, a signal written out."""

from __future__ import annotations

import pytest
from sympy import Abs, Expr, Integer, Product, Rational, Sum, exp, sqrt, tanh

from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules import (
    AverageHiddenIndex,
    CameronMartin,
    ChainPrecision,
    ChangeOfMeasure,
    Exchangeability,
    GaussianMoments,
    GivenNumberRelevant,
    Independence,
    IndependentRelevance,
    IndependentTokens,
    Linearity,
    Nishimori,
    OneRelevantToken,
    PickToken,
    RankOnePrecision,
    Reweight,
    Stein,
    SymmetricFactors,
)
from symslr.expression.configuration import (
    ConfigurationExpectation,
    ConfigurationMean,
    Precision,
    ShiftedDensity,
    exactly,
    one_of,
)
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Posterior
from symslr.model.catalogue import SpikedSLR
from symslr.model.configuration import ALIKE, ONE, ConfigurationLaw, ConfigurationPrior, r, theta
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, i, k, l, m, nu
from symslr.referee.referee import referee
from tests.algebra.cases import assert_equal
from tests.algebra.configurations import keys, number

BY_PLACE = Product((l / Integer(2)) ** r[l], (l, 1, L))
BODY = exp(Sum(sqrt(nu) * chi[i] * r[i] / 2, (i, 1, L)))
RULES = {
    OneRelevantToken(): one_of(l / Integer(2), L),
    IndependentRelevance(): BY_PLACE,
    GivenNumberRelevant(): exactly(2, L) * BY_PLACE,
}


@pytest.mark.parametrize("token", [Integer(2), k], ids=str)
@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_the_token_that_is_chosen_has_its_own_share(rule: Rule, token: Expr) -> None:
    """The prior depends on the position: every token has another share."""
    for body in (r[token] * BODY, 3 * r[token] ** 2 * BODY):
        before = ConfigurationMean(body, ConfigurationPrior(RULES[rule], ONE, L))
        after = rule.rewrite(before)
        assert not after.has(ConfigurationMean)
        for length in (3, 4):
            env = {L: length, nu: 1.3, k: 3, **keys(length, 7)}
            assert number(after, env) == pytest.approx(number(before, env), rel=1e-11)


@pytest.mark.parametrize("index", [l, i, k], ids=str)
@pytest.mark.parametrize("shift", [sqrt(nu) * r[l], sqrt(nu) * theta * r[l], theta * r[l] / l], ids=str)
def test_tokens_one_by_one_under_any_index_and_with_the_signal_by_name(shift: Expr, index: Expr) -> None:
    law = ConfigurationLaw(ConfigurationPrior(BY_PLACE, ONE, L), ShiftedDensity.of((shift,), ALIKE, L))
    before = ConfigurationExpectation(Sum((r[index] + Rational(1, 2)) * chi[index] / (1 + index), (index, 1, L)), law)
    after = IndependentTokens().rewrite(before)
    assert not after.has(ConfigurationExpectation, theta, r)
    one, two = (referee(side, {"L": 2, "nu": Rational(13, 10)}, digits=10) for side in (before, after))
    assert one.digits >= 8
    assert abs(one.value - two.value) <= 20 * (one.error + two.error) + abs(one.value) * 1e-9


COVARIANCES = {RankOnePrecision(): 3 * ALIKE / 5 + Rational(2, 5), ChainPrecision(): Rational(2, 5) ** Abs(l - m)}


@pytest.mark.parametrize("places", [(k, i), (k, l), (i, l), (l, k), (l, l)], ids=str)
@pytest.mark.parametrize("rule", COVARIANCES, ids=["alike", "chain"])
def test_an_inverse_under_a_sum_is_taken_by_rows_where_its_column_is_summed(
    rule: Rule, places: tuple[Expr, Expr]
) -> None:
    before = Sum(Precision(COVARIANCES[rule], *places, L) * chi[l] * l, (l, 1, L))
    after = rule.rewrite(before)
    assert not after.has(Precision)
    for length in (3, 4):
        env = {L: length, k: 1, i: 2, **keys(length, 8)}
        assert number(after, env) == pytest.approx(number(before, env), rel=1e-11)


PLAIN, SHIFTED = SpikedSLR().law.unweighted(), SpikedSLR().law
OWN, FIRST = chi[epsilon], chi[1]
TOTAL = Sum(exp(chi[l]), (l, 1, L))


@pytest.mark.parametrize("law", [PLAIN, SHIFTED], ids=["plain", "shifted"])
@pytest.mark.parametrize(
    "rule",
    [
        *(Stein(), CameronMartin(), ChangeOfMeasure(), Exchangeability(), Linearity(), AverageHiddenIndex()),
        *(PickToken(), Reweight(SHIFTED), Nishimori(), GaussianMoments(), SymmetricFactors(), Independence()),
    ],
    ids=lambda rule: type(rule).__name__,
)
def test_the_first_token_may_be_the_relevant_one(rule: Rule, law: SequenceLaw) -> None:
    """Regression: E_g[tanh chi_1] was 0 after the shift, and E_0[chi_eps tanh chi_1] after integration by parts."""
    posterior = Sum(Posterior(l, SHIFTED) * chi[l], (l, 1, L))
    for body in (OWN * tanh(FIRST), FIRST**2 + OWN, tanh(FIRST) * TOTAL * exp(-OWN), FIRST * posterior):
        before = SequenceExpectation(body, law)
        try:
            after = rule.rewrite(before)
        except RuleRefused:
            continue
        if after != before:
            assert_equal(before, after, lengths=(2,))
