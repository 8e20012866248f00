"""Rules over hidden configurations: both sides the same number by brute enumeration or by the referee, and what they refuse."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Abs, Expr, Function, Integer, KroneckerDelta, Product, Rational, S, Sum, Symbol, exp, sqrt

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules import (
    AbsorbWeight,
    AverageConfiguration,
    BayesRule,
    ChainPrecision,
    ChangeOfMeasure,
    CommonPart,
    Conditioning,
    FactorOutOfSums,
    GivenNumberRelevant,
    IndependentRelevance,
    IndependentTokens,
    LogisticForm,
    OneRelevantToken,
    RankOnePrecision,
    ScaleKeys,
    ShiftKeys,
    SumOverSignal,
    Unfold,
    ValueCovariance,
)
from symslr.expression.configuration import (
    ConfigurationExpectation,
    ConfigurationMean,
    ElementarySymmetric,
    PosteriorMean,
    Precision,
    ShiftedDensity,
    exactly,
    one_of,
)
from symslr.expression.folded import ConditionalMean
from symslr.model.configuration import (
    ALIKE,
    ONE,
    ConfigurationLaw,
    ConfigurationPrior,
    Directions,
    OwnSignals,
    Signal,
    r,
    theta,
)
from symslr.model.open_function import OpenFunction
from symslr.model.symbols import Delta, L, chi, epsilon, i, j, k, l, m, nu, xi, z
from symslr.referee.referee import referee
from tests.algebra.configurations import keys, number
from tests.algebra.strategies import nonzero, positive

SEEDS = st.integers(0, 10**6)
BODY = exp(Sum(sqrt(nu) * chi[i] * r[i] / 2, (i, 1, L)) - Sum(r[i] ** 2, (i, 1, L)) / 3)
COUPLED = exp(Sum(r[i] * Sum(r[j] * chi[j], (j, 1, L)), (i, 1, L)) / 5)
PLAIN = ConfigurationPrior(exactly(1, L), ONE, L)
SIGN = Signal((theta,), [((1,), Rational(1, 2)), ((-1,), Rational(1, 2))])
COMMON = Rational(3, 5) * ALIKE + Rational(2, 5)
CHAIN = Rational(2, 5) ** Abs(l - m)
LAW = ConfigurationLaw(PLAIN, ShiftedDensity.of((sqrt(nu) * r[l],), ALIKE, L))
ALIKE_LAW = ConfigurationLaw(PLAIN, ShiftedDensity.of((sqrt(nu) * r[l],), COMMON, L), COMMON)
COINS = ConfigurationLaw(ConfigurationPrior(Product(exp(r[l] / 3), (l, 1, L)), ONE, L), LAW.weight)


def agree(before: Expr, after: Expr, seed: int, *, place: int = 1, lengths: tuple[int, ...] = (1, 2, 3)) -> None:
    """Both sides are the same at random keys; a free position is ``place``."""
    assert after != before
    for length in lengths:
        env = {L: length, nu: 1.3, l: min(place, length), **keys(length, seed)}
        assert number(after, env) == pytest.approx(number(before, env), rel=1e-11, abs=1e-13)


def same_mean(rule: Rule, before: Expr, lengths: tuple[int, ...] = (2, 3), **values: object) -> Expr:
    """The rule changes an expectation and leaves its value."""
    after = rule.rewrite(before)
    assert after != before
    for length in lengths:
        at = {"L": length, "nu": Rational(13, 10), "Delta": Rational(2, 5), **values}
        one, two = (referee(side, at, digits=13) for side in (before, after))
        assert abs(one.value - two.value) <= 20 * (one.error + two.error) + abs(one.value) * 1e-12
        assert one.digits >= 8
    return after


def tokens(summand: Expr, index: Expr = l) -> Sum:
    return Sum(summand, (index, 1, L))


@st.composite
def priors(draw: st.DrawFn, *, one: bool) -> ConfigurationPrior:
    """Priors with exactly one relevant token, or with tokens relevant by themselves."""
    a, b = draw(positive), draw(positive)
    weight = draw(st.sampled_from([S.One, a**l, 1 / (b + l), exp(-a * l), 1 + (l - b) ** 2]))
    return ConfigurationPrior(one_of(weight, L) if one else Product((a * weight) ** r[l], (l, 1, L)), ONE, L)


@settings(max_examples=5, deadline=None)
@given(priors(one=True), SEEDS, st.sampled_from([S.One, r[l], r[l] ** 2]))
def test_one_relevant_token(prior: ConfigurationPrior, seed: int, chosen: Expr) -> None:
    for body in (BODY, COUPLED, 1 + tokens(chi[i] * r[i], i) ** 2):
        before = ConfigurationMean(chosen * body, prior)
        agree(before, OneRelevantToken().rewrite(before), seed, place=2)


@settings(max_examples=5, deadline=None)
@given(priors(one=False), SEEDS, st.sampled_from([S.One, r[l], 3 * r[l] ** 2]))
def test_independent_relevance(prior: ConfigurationPrior, seed: int, chosen: Expr) -> None:
    before = ConfigurationMean(chosen * BODY * Product((1 + chi[i] ** 2) ** r[i], (i, 1, L)), prior)
    agree(before, IndependentRelevance().rewrite(before), seed, place=3)


@settings(max_examples=5, deadline=None)
@given(positive, st.sampled_from([1, 2]), SEEDS, st.sampled_from([S.One, r[l]]))
def test_a_given_number_of_relevant_tokens(share: Rational, count: int, seed: int, chosen: Expr) -> None:
    mass = (2 + share) * exactly(count, L) * Product((share / (share + l)) ** r[l] * (1 + l) ** (1 - r[l]), (l, 1, L))
    for body in (BODY, BODY * Product((2 + chi[i] ** 2) ** (1 - r[i]), (i, 1, L))):
        before = ConfigurationMean(chosen * body, ConfigurationPrior(mass, ONE, L))
        agree(before, GivenNumberRelevant().rewrite(before), seed, place=2, lengths=(2, 3))


@settings(max_examples=5, deadline=None)
@given(nonzero, nonzero, positive, SEEDS)
def test_the_sum_over_the_signal(one: Rational, two: Rational, share: Rational, seed: int) -> None:
    signal = Signal((theta,), [((one,), share), ((two,), S.One)])
    body = r[l] * exp(theta * tokens(chi[i] * r[i], i) - theta**2 / 2)
    before = ConfigurationMean(body, ConfigurationPrior(one_of(l, L), signal, L))
    after = SumOverSignal().rewrite(before)
    assert not any(node.body.has(theta) for node in after.atoms(ConfigurationMean))
    agree(before, after, seed, place=2)


def test_a_signal_that_is_always_one_is_put_in() -> None:
    plain = ConfigurationPrior(one_of(l, L), ONE, L)
    assert SumOverSignal().rewrite(ConfigurationMean(theta * r[1], plain)) == ConfigurationMean(r[1], plain)
    assert SumOverSignal().rewrite(ConfigurationMean(r[1], plain)) == ConfigurationMean(r[1], plain)


def test_the_components_of_a_signal_are_put_in_at_once_and_all_of_them() -> None:
    s, t = (Symbol(name, real=True) for name in ("s", "t"))
    body = exp(s + 2 * t) * r[1]
    swapped = ConfigurationPrior(one_of(l, L), Signal((s, t), [((t, s), S.One)]), L)
    assert SumOverSignal().rewrite(ConfigurationMean(body, swapped)).body == exp(t + 2 * s) * r[1]
    short = ConfigurationPrior(one_of(l, L), Signal((s, t), [((1,), S.One)]), L)
    with pytest.raises(ValueError, match="zip"):
        SumOverSignal().rewrite(ConfigurationMean(body, short))


def test_a_component_of_the_signal_that_is_zero_leaves_no_sum() -> None:
    t = Symbol("t_1", real=True)
    signal = Signal((t,), [((0,), S.One), ((1,), S.One)])
    before = ConfigurationMean(exp(tokens(t * chi[i] * r[i], i)), ConfigurationPrior(exactly(1, L), signal, L))
    after = SumOverSignal().rewrite(before)
    assert len(after.atoms(Sum)) == 2  # that of the prior and one exponent
    agree(before, after, 5)


@settings(max_examples=4, deadline=None)
@given(SEEDS, nonzero)
def test_common_factors(seed: int, share: Rational) -> None:
    power = exp(sqrt(nu) * chi[m] + share * nu - tokens(chi[k], k))
    for before in (
        exp(chi[l] - nu / 2) / tokens(exp(chi[m] - nu / 2) * nu, m),
        tokens(power * (1 + m), m) / tokens(power, m),
        ElementarySymmetric.of(Integer(2), power, m, L) / ElementarySymmetric.of(Integer(1), power, m, L, l),
        tokens((exp(chi[m] - nu) / 2 + 3 * exp(-chi[m] - nu)) * m, m),
    ):
        after = FactorOutOfSums().rewrite(before)
        agree(before, after, seed, place=2, lengths=(2, 3))
        assert not any(nu in s.free_symbols for s in after.atoms(Sum) if s.function.has(exp) and not s.has(sqrt(nu)))


@settings(max_examples=4, deadline=None)
@given(positive, positive, SEEDS)
def test_the_logistic_form(c: Rational, y: Rational, seed: int) -> None:
    power = exp(sqrt(nu) * chi[l] - nu / 2)
    before = 3 * c * power / (y + c * power)
    after = LogisticForm().rewrite(before)
    agree(before, after, seed)
    third = 3 * nu * c * power / (y + nu + c * power)
    agree(third, LogisticForm().rewrite(third), seed)
    free = Symbol("c", real=True)
    assert [h.text for h in LogisticForm().hypotheses(free * power / (1 + free * power))] == [r"$c \neq 0$"]
    tilted = chi[l] * exp(chi[l])
    for other in (
        *(chi[l] / (chi[l] + 2), chi[l] ** 2 / (chi[l] ** 2 + c), exp(c) / (exp(c) + chi[l])),
        *(tilted / (tilted + 2), power / (power + chi[l]), power / (2 + exp(-chi[l]))),
    ):
        assert LogisticForm().rewrite(other) == other


@settings(max_examples=4, deadline=None)
@given(positive, positive, SEEDS)
def test_inverses_of_covariances(a: Rational, b: Rational, seed: int) -> None:
    common, chain = a * ALIKE + b, (a / 2) ** Abs(l - m)
    for covariance, rule in ((common, RankOnePrecision()), (chain, ChainPrecision())):
        row = tokens(Precision(covariance, l, j, L) * chi[j], j)
        for place in (1, 2, 3):
            agree(row, rule.rewrite(row), seed, place=place)
            for entry in (Precision(covariance, l, l, L), Precision(covariance, l, 2, L)):
                agree(entry, rule.rewrite(entry), seed, place=place, lengths=(2, 3))
    assert [h.text for h in ChainPrecision().hypotheses(Precision(nu ** Abs(l - m), l, l, L))] == [r"$\nu < 1$"]
    assert ChainPrecision().hypotheses(Precision(CHAIN, l, l, L)) == ()
    free = Precision(Delta * ALIKE + 1, l, l, L)
    assert [h.text for h in RankOnePrecision().hypotheses(free)] == [r"$\Delta > 0$"]


def test_the_posterior_is_written_out() -> None:
    law = ConfigurationLaw(
        ConfigurationPrior(one_of(l, L), SIGN, L), ShiftedDensity.of((theta * r[l],), CHAIN, L), CHAIN
    )
    before = PosteriorMean(r[l], law)
    agree(before, Unfold(PosteriorMean).rewrite(before), 3, place=2)


def test_a_shifted_density_is_written_out() -> None:
    for covariance in (ALIKE, CHAIN):
        body = r[l] * ShiftedDensity.of((sqrt(nu) * r[l] - l,), covariance, L)
        before = ConfigurationMean(body, PLAIN)
        agree(before, Unfold(ShiftedDensity).rewrite(before), 4, place=2)


def test_values_are_integrated_out_by_their_covariance() -> None:
    """Of independent keys with a mean of 2 the coefficients of two tokens have a mean product."""
    form = tokens((2 + r[l]) * z[l]) - 2 * tokens(chi[m] * z[m], m) + Delta * xi + tokens(chi[k], k) * xi + chi[1]
    for values in (ALIKE, CHAIN, COMMON):
        law = ConfigurationLaw(PLAIN, LAW.weight, ALIKE, values)
        after = same_mean(ValueCovariance(), ConfigurationExpectation(form**2, law), (2,))
        assert not after.has(z, xi)
    noise = mean((Delta * xi + chi[1]) ** 2, LAW)
    assert same_mean(ValueCovariance(), noise, (2,)) == Delta**2 + mean(chi[1] ** 2, LAW)
    assert ValueCovariance().rewrite(mean(tokens(z[l]) ** 2)) == tokens(S.One)


def test_change_of_measure_and_back() -> None:
    body = tokens(r[l] * chi[l] ** 2)
    before = ConfigurationExpectation(body, LAW)
    after = same_mean(ChangeOfMeasure(), before)
    assert AbsorbWeight(LAW).rewrite(after) == before


def test_the_configuration_is_averaged_over_first_and_last() -> None:
    body = LAW.weight * (1 + chi[1] ** 2) * r[1]
    before = ConfigurationExpectation(body, LAW.unweighted())
    after = same_mean(AverageConfiguration(), before)
    assert after.has(ConfigurationMean)
    assert AverageConfiguration(backwards=True).rewrite(after) == before


def test_bayes_rule_clears_the_mean_of_the_weight() -> None:
    total = ConfigurationMean(LAW.weight, LAW.prior)
    before = ConfigurationExpectation(total * tokens(PosteriorMean(r[l], LAW) * chi[l]), LAW.unweighted())
    after = same_mean(BayesRule(), before)
    assert not after.has(PosteriorMean)
    other = ConfigurationMean(LAW.weight**2, LAW.prior)
    untouched = ConfigurationExpectation(other * PosteriorMean(r[1], LAW), LAW.unweighted())
    assert BayesRule().rewrite(untouched) == untouched
    for power in (Symbol("p", real=True), Symbol("q", nonnegative=True), -S.One):
        kept = ConfigurationExpectation(total * PosteriorMean(r[1], LAW) ** power, LAW.unweighted())
        assert BayesRule().rewrite(kept) == kept


def test_keys_are_shifted_and_back() -> None:
    body = tokens((r[l] - 1 / (1 + exp(-chi[l]))) ** 2)
    for law in (LAW, ALIKE_LAW):
        after = same_mean(ShiftKeys(), ConfigurationExpectation(body, law))
        back = ShiftKeys(law).rewrite(after)
        assert back.law == law
        same_mean(ShiftKeys(law), after)
    directions = Signal((theta,), [((1,), S.One)])
    two = Directions(ALIKE, Integer(2))
    law = ConfigurationLaw(
        ConfigurationPrior(exactly(1, L), directions, L), ShiftedDensity.of((r[l], -theta * r[l]), ALIKE, L), two
    )
    moved = ShiftKeys().rewrite(ConfigurationExpectation(chi[1, 1] * chi[2, 2] * r[1], law))
    assert moved.body == r[1] * (chi[1, 1] + r[1]) * (chi[2, 2] - theta * r[2])


def test_the_common_part_and_the_scale_of_keys() -> None:
    share = exp(2 * chi[l]) / tokens(exp(2 * chi[m]), m)
    before = ConfigurationExpectation(tokens((r[l] - share) ** 2), ALIKE_LAW.unweighted())
    after = same_mean(CommonPart(), before)
    assert after.law.keys == Rational(3, 5) * ALIKE
    assert same_mean(ScaleKeys(), after).law.keys == ALIKE


def test_what_scales_keys_is_assumed_positive_and_no_more() -> None:
    scale = Symbol("s", real=True)
    said = ScaleKeys().hypotheses(mean(chi[1] ** 2, FREE.with_keys(scale * ALIKE)))
    assert [hypothesis.condition for hypothesis in said] == [scale > 0]
    for own, shared, wanted in (
        (Symbol("s", nonnegative=True), S.One, [">"]),
        (scale, scale, [">", ">="]),
        (Symbol("s", positive=True), Symbol("c", nonnegative=True), []),
        (scale, S.Zero, []),
    ):
        keys = FREE.with_keys(own * ALIKE + shared)
        assert [h.condition.rel_op for h in CommonPart().hypotheses(mean(chi[1] - chi[2], keys))] == wanted


def test_independent_tokens() -> None:
    body = tokens((r[l] - 1 / (1 + exp(-chi[l]))) ** 2 * chi[l])
    same_mean(IndependentTokens(), ConfigurationExpectation(body, COINS))
    biased = ConfigurationPrior(Product(l ** r[l], (l, 1, L)), ONE, L)
    same_mean(IndependentTokens(), ConfigurationExpectation(body, ConfigurationLaw(biased, COINS.weight)))
    for other in (Sum(body.function, (l, 2, L)), Sum(body.function, (l, 1, L - 1)), body**2, r[1] * chi[1]):
        left = ConfigurationExpectation(other, COINS)
        assert IndependentTokens().rewrite(left) == left


TWO = ConfigurationPrior(exactly(2, L), ONE, L)
MIXED = ConfigurationPrior(1 + tokens(r[l]), ONE, L)
NONE = ConfigurationPrior(exactly(nu, L), ONE, L)
SIGNED = ConfigurationPrior(exactly(1, L), SIGN, L)
FREE, FREE_ALIKE = LAW.unweighted(), ALIKE_LAW.unweighted()
SOFT = exp(chi[l]) / tokens(exp(chi[m]), m)
SEVERAL = ConfigurationLaw(PLAIN, S.One, Directions(ALIKE, Integer(2)))


def mean(body: Expr, law: ConfigurationLaw = FREE) -> Expr:
    return ConfigurationExpectation(body, law)


REFUSED: list[tuple[Rule, Expr, str]] = [
    (OneRelevantToken(), ConfigurationMean(BODY, SIGNED), "the signal is still averaged over"),
    (OneRelevantToken(), ConfigurationMean(BODY, TWO), "does not say that exactly one token is relevant"),
    (OneRelevantToken(), ConfigurationMean(r[1] * r[2], PLAIN), "asks for several relevant tokens"),
    (OneRelevantToken(), ConfigurationMean(Sum(r[i], (i, 2, L)), PLAIN), "does not run over the tokens 1, ..."),
    (OneRelevantToken(), ConfigurationMean(r[l] * chi[m] * chi[k], PLAIN), "uses all summation indices"),
    (IndependentRelevance(), ConfigurationMean(BODY, MIXED), "is no product over tokens"),
    (IndependentRelevance(), ConfigurationMean(COUPLED, COINS.prior), "couples the tokens"),
    (IndependentRelevance(), ConfigurationMean(r[1] * r[2], COINS.prior), "is no product over tokens, one of which"),
    (GivenNumberRelevant(), ConfigurationMean(BODY, MIXED), "does not say how many tokens are relevant"),
    (GivenNumberRelevant(), ConfigurationMean(r[1] * r[2], TWO), "is no product over tokens, one of which"),
    (
        GivenNumberRelevant(),
        ConfigurationMean(r[1], ConfigurationPrior(exactly(0, L), ONE, L)),
        "expected at least one, since one is chosen",
    ),
    (SumOverSignal(), ConfigurationMean(theta, ConfigurationPrior(S.One, OpenFunction.of("Q"), L)), "is left open"),
    (
        SumOverSignal(),
        ConfigurationMean(r[1], ConfigurationPrior(S.One, OwnSignals((theta,), [((1,), S.One), ((2,), S.One)]), L)),
        "every relevant token has a signal of its own",
    ),
    (RankOnePrecision(), Precision(CHAIN, l, l, L), "is not a multiple of the identity plus a constant"),
    (RankOnePrecision(), Precision(S.One, l, l, L), "is not a multiple of the identity plus a constant"),
    (RankOnePrecision(), Precision(ALIKE + l * m / 9, l, l, L), "is not a multiple of the identity plus a constant"),
    (ChainPrecision(), Precision(COMMON, l, l, L), "is not rho^|l - m|"),
    (AverageConfiguration(), mean(r[1], LAW), "independent under the unweighted law alone"),
    (
        AverageConfiguration(backwards=True),
        mean(r[1] * ConfigurationMean(r[2], PLAIN)),
        "holds the configuration outside of a mean over it",
    ),
    (AverageConfiguration(backwards=True), mean(ConfigurationMean(r[2], TWO)), "is a mean under another prior"),
    (
        AverageConfiguration(backwards=True),
        mean(ConfigurationMean(r[2] * chi[1], PLAIN) ** 2),
        "is not linear in means over configurations",
    ),
    (ValueCovariance(), mean(tokens(r[l] * z[l])), "is not the square of a linear form in values and noise"),
    (ValueCovariance(), mean((tokens(z[l] ** 2) + xi) ** 2), "is not linear in the values"),
    (ValueCovariance(), mean((tokens(z[l] * z[1]) + xi) ** 2), "is not the square of a linear form"),
    (ValueCovariance(), mean((tokens(z[l] * xi) + xi) ** 2), "is not the square of a linear form"),
    (ValueCovariance(), mean((Sum(z[l], (l, 2, L)) + xi) ** 2), "does not run over the tokens 1, ..."),
    (ValueCovariance(), mean((tokens(z[l]) + xi**2) ** 2), "neither a sum over values nor a multiple of the noise"),
    (ValueCovariance(), mean((xi * tokens(z[l]) + xi) ** 2), "is not the square of a linear form"),
    (ValueCovariance(), mean(xi**2, ConfigurationLaw(PLAIN, 1 + chi[1] ** 2)), "is not known to be a density"),
    (ShiftKeys(), mean(chi[1], ConfigurationLaw(PLAIN, exp(chi[1]))), "is not that of a shift of Gaussian keys"),
    (ShiftKeys(), mean(PosteriorMean(r[1], LAW), LAW), "holds functions of the keys by name"),
    (CommonPart(), mean(chi[1], ALIKE_LAW), "shift the keys first"),
    (CommonPart(), mean(chi[1] ** 2, FREE_ALIKE), "is not seen to stay the same where all keys move"),
    (CommonPart(), mean(PosteriorMean(r[1], LAW), FREE_ALIKE), "holds functions of the keys by name"),
    (ScaleKeys(), mean(chi[1], FREE_ALIKE), "expected independent ones"),
    (ScaleKeys(), mean(chi[1], ConfigurationLaw(PLAIN, LAW.weight, 2 * ALIKE)), "shift the keys first"),
    (ScaleKeys(), mean(PosteriorMean(r[1], LAW), LAW.unweighted()), "holds functions of the keys by name"),
    (ScaleKeys(), mean(chi[1, 1], SEVERAL), "the keys have several directions"),
    (ScaleKeys(), mean(chi[1], LAW.unweighted().with_keys(CHAIN)), "is not a multiple of the identity plus a constant"),
    (IndependentTokens(), mean(tokens(SOFT), COINS), "is no function of one token"),
    (IndependentTokens(), mean(tokens(chi[l] * chi[1]), COINS), "is no function of one token"),
    (IndependentTokens(), mean(tokens(chi[l]), ALIKE_LAW), "or their keys are correlated"),
    (IndependentTokens(), mean(tokens(theta * chi[l]), ConfigurationLaw(SIGNED, S.One)), "share a signal"),
    (
        IndependentTokens(),
        mean(tokens(chi[l]), ConfigurationLaw(ConfigurationPrior(r[1], ONE, L), S.One)),
        "a token is chosen in the prior or in the weight",
    ),
    (
        IndependentTokens(),
        mean(tokens(chi[l]), ConfigurationLaw(COINS.prior, 2 * r[1])),
        "a token is chosen in the prior or in the weight",
    ),
    (Conditioning(), ConditionalMean(r[1] * z[1], LAW), "is no sum over tokens of values with coefficients"),
    (Conditioning(), ConditionalMean(tokens(r[l] * z[l] ** 2), LAW), "is no sum over tokens of values"),
    (Conditioning(), ConditionalMean(Sum(r[l] * z[l], (l, 2, L)), LAW), "is no sum over tokens of values"),
    (AbsorbWeight(LAW), mean(chi[1]), "does not hold the weight"),
]


@pytest.mark.parametrize(("rule", "expr", "reason"), REFUSED)
def test_refuses_with_the_reason(rule: Rule, expr: Expr, reason: str) -> None:
    with pytest.raises(RuleRefused) as refusal:
        Derivation(expr).apply(rule)
    assert str(refusal.value).startswith(rule.name)
    assert reason in str(refusal.value)


def test_a_density_of_other_keys_is_no_weight_of_these() -> None:
    """The weight is a density for keys of its own covariance: under others E_0[w] is not 1."""
    wrong = ConfigurationLaw(PLAIN, ShiftedDensity.of((sqrt(nu) * r[l],), COMMON, L), ALIKE)
    with pytest.raises(RuleRefused, match="not known to be a density"):
        Derivation(mean(tokens(r[l] * chi[l]), wrong)).apply(ChangeOfMeasure())
    assert float(referee(mean(S.One * r[1] + r[2], wrong), {"L": 2, "nu": 1}, digits=10).value) != pytest.approx(
        1, abs=0.01
    )


def test_hypotheses_of_a_law_that_is_left_open() -> None:
    covariance = Function("K")(l, m)
    law = ConfigurationLaw(PLAIN, ShiftedDensity.of((sqrt(nu) * r[l],), covariance, L), covariance)
    said = [h.text for h in Derivation(mean(tokens(r[l] * chi[l]), law)).hypotheses]
    assert said == [r"the covariance $K{\left(l,m \right)}$ of the keys positive definite"]


def test_a_token_of_its_own_name_is_not_caught() -> None:
    before = ConfigurationMean(r[epsilon] * BODY, PLAIN)
    after = OneRelevantToken().rewrite(before)
    env = {L: 3, nu: 1.3, epsilon: 2, **keys(3, 1)}
    assert number(after, env) == pytest.approx(number(before, env))
    assert KroneckerDelta(1, epsilon) not in after.atoms(KroneckerDelta)
