"""For each condition of a rule a case that it decides, beside one that it does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sympy import (
    Add,
    Expr,
    Function,
    Ge,
    Gt,
    Heaviside,
    Integral,
    KroneckerDelta,
    Rational,
    S,
    Sum,
    Symbol,
    cos,
    cosh,
    exp,
    log,
    oo,
    pi,
    sqrt,
    tanh,
)

from symslr.algebra.bodies import tokens_exist
from symslr.algebra.cite import Cite
from symslr.algebra.configurations import at_one, of_token, over_tokens
from symslr.algebra.denominators import cancelled
from symslr.algebra.derivation import Derivation
from symslr.algebra.existence import _is_bounded, exists
from symslr.algebra.exponentials import merge_exponentials
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.polynomial import on_letters, split_sums
from symslr.algebra.positivity import (
    bounded_below,
    holds_a_term,
    is_absolutely_continuous,
    is_analytic,
    is_nonnegative,
    is_positive,
    vanishes_on_null_set,
)
from symslr.algebra.reduction import merged_integrals
from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules import (
    CameronMartin,
    GaussianMoments,
    Linearity,
    Minimise,
    OddMeans,
    OnePower,
    RotateNoise,
    SmoothingTaylor,
    Stein,
    TransformMoments,
)
from symslr.algebra.rules.inequalities.laplace_transform import TwoMoments
from symslr.algebra.rules.inequalities.share import PowerOfOdds
from symslr.algebra.token_bounds import at_most_exponential
from symslr.algebra.weights import mean_one
from symslr.algebra.zeros import Zero, ZerosUnknown, real_zeros
from symslr.expression.configuration import ConfigurationExpectation, ShiftedDensity, exactly
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, Minimum, Posterior
from symslr.expression.scored import ScoredActivation
from symslr.expression.signs import Sign, SignExpectation, omega
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax
from symslr.model.configuration import ONE, ConfigurationLaw, ConfigurationPrior, r
from symslr.model.open_function import OpenFunction
from symslr.model.scalar_law import STANDARD_NORMAL, laplace, normal, student
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, a, chi, epsilon, eta, i, j, k, l, m, nu, x, z
from symslr.theory.asymptotics import ANGLE, LEVEL, gumbel_transform
from tests.check.toys import Say

KEY = chi[epsilon]
SPIKED, MAX = SpikedSLR().law, MaxSLR().law
PLAIN = SPIKED.unweighted()
c, t, u = (Symbol(name, real=True) for name in "ctu")
n = Symbol("n", integer=True, positive=True)
f = Function("f", real=True)


def tokens(h: Expr, last: Expr = L) -> Sum:
    return Sum(h.subs(x, chi[l]), (l, 1, last))


def over(body: Expr, law: SequenceLaw = PLAIN) -> SequenceExpectation:
    return SequenceExpectation(body, law)


def one(body: Expr) -> ScalarExpectation:
    return ScalarExpectation(body, u, STANDARD_NORMAL)


def test_a_mean_without_a_factor_to_trade_needs_nothing() -> None:
    """Neither that it exists nor that what is open in it has a slope."""
    beside = over(f(KEY)) + over(exp(KEY**2))
    assert Stein().hypotheses(beside + over(KEY * tanh(KEY))) == ()
    assert Stein().rewrite(beside + over(KEY**2)) == beside + 1


def test_only_a_power_of_unknown_sign_is_assumed_not_to_be_negative() -> None:
    rule = SmoothingTaylor(1 / nu, 1, TransformMoments(gumbel_transform(), ANGLE))
    s = Symbol("s", real=True)
    density = ScalarExpectation(normal().density.subs(x, LEVEL - s / nu), s, rule.moments.law)
    for power, said in (
        (Symbol("p", integer=True, nonnegative=True), []),
        (L - 1, []),
        (L, []),
        (Symbol("p", integer=True), [Ge(Symbol("p", integer=True), 0)]),
    ):
        term = Integral(density * density.func(density.body * LEVEL**0, s, density.law) ** power, (LEVEL, -oo, oo))
        assert [hypothesis.condition for hypothesis in rule.hypotheses(term)] == said, power


def test_a_power_of_an_odd_value_in_a_denominator_has_no_mean_to_vanish() -> None:
    """Regression: E[1/z] was 0 by symmetry; it does not exist."""
    assert OddMeans().rewrite(over(z[epsilon] ** 3 * KEY + KEY)) == over(KEY)
    for left in (1 / z[epsilon], KEY / z[epsilon] ** 3):
        assert OddMeans().rewrite(over(left + KEY)) == over(left + KEY)


@pytest.mark.parametrize(
    "positive",
    [
        Heaviside(KEY) + exp(KEY),
        tokens(exp(x)) - exp(KEY) + 1,
        tokens(exp(x)) + KEY**2,
        (KEY - 1) ** 2 * exp(KEY),
        tokens((x - a) ** 2),
        (KEY - chi[j]) ** 2,
        (Symbol("t", real=True) * KEY - 1) ** 2,
    ],
    ids=str,
)
def test_what_is_positive(positive: Expr) -> None:
    assert is_positive(positive)
    assert not is_positive(-positive)


def test_what_is_not_known_to_be_positive() -> None:
    t = Symbol("t", real=True)
    for other in (
        ((KEY + 1) ** 2 - KEY**2 - 2 * KEY - 1) ** 2,  # zero, though it does not look so
        (t * KEY) ** 2,  # zero everywhere at t = 0
        (t * KEY - t) ** 2,
        (r[j] ** 2 - r[j]) ** 2,  # zero wherever a token is relevant or not
        Heaviside(KEY) + Heaviside(KEY - 1),
        tokens(exp(x), 2) - exp(KEY),  # the relevant token need not be one of the two
        tokens(exp(x), L - 1) - exp(KEY),
        tokens(exp(x), L - 2),  # there may be none
    ):
        assert not is_positive(other), other
    assert is_nonnegative(tokens(exp(x), L - 2))
    assert holds_a_term(tokens(x))
    assert not holds_a_term(Sum(chi[l], (l, 2, L)))


@pytest.mark.parametrize(
    ("smooth", "expected"),
    [
        (KEY**2 + KEY, True),
        (KEY**-3, True),
        ((1 + KEY**2) ** c, True),
        (KEY ** Symbol("p", integer=True), True),
        (KEY**c, False),
        (log(1 + KEY**2), True),
        (log(KEY), False),
        (Heaviside(KEY), False),
    ],
    ids=str,
)
def test_what_is_analytic(smooth: Expr, expected: bool) -> None:
    assert is_analytic(smooth) is expected
    assert vanishes_on_null_set(smooth**2) is expected


def test_an_inner_index_is_not_caught_by_the_token() -> None:
    inner = Sum(chi[m] * chi[l], (l, 1, L))
    total = Sum(r[m] * inner, (m, 1, L))
    with pytest.raises(RuleRefused, match="would catch the token l"):
        of_token(total, 1, L, Linearity())
    with pytest.raises(RuleRefused, match="does not run over the tokens"):
        of_token(Sum(r[m] * chi[m], (m, 1, L - 1)), 1, L, Linearity())
    free = Sum(r[m] * chi[m] * Sum(chi[k], (k, 1, L)), (m, 1, L))
    assert of_token(free, 1, L, Linearity()) == chi[l] * Sum(chi[k], (k, 1, L))


def test_a_configuration_in_a_denominator_is_no_product_over_tokens() -> None:
    assert over_tokens(r[j] ** 2 * r[k], L, Linearity()).chosen == (j, k)
    for wrong in (1 / r[j], r[j] ** -2, r[j] ** c, sqrt(r[j])):
        with pytest.raises(RuleRefused, match="is no product over tokens"):
            over_tokens(wrong, L, Linearity())


def test_noise_in_the_scores_is_turned_whatever_its_coefficient() -> None:
    sigma = ScoredActivation.of(epsilon, softmax, chi[m])
    for size in (1, -1, 2):
        turned = RotateNoise().rewrite(over(sigma.with_score(z[m] + size * eta[m])))
        assert turned == over(sigma.with_score(sqrt(1 + size**2) * z[m]))
    for left in (z[m], -z[m], 2 * z[m] + chi[m], chi[m]):
        assert RotateNoise().rewrite(over(sigma.with_score(left))) == over(sigma.with_score(left))


@pytest.mark.parametrize("odd", [t, t**3, t**5, t - t**3])
def test_only_even_powers_are_seen_to_be_positive_everywhere(odd: Expr) -> None:
    def sign(expr: Expr) -> int | None:
        return 1 if expr.is_positive else 0 if expr.is_nonnegative else None

    for even in (a**2 * t**4 + 1, exp(a) * t**6 + a**2 * t**2 + 2, (1 + a**2) * (t**4 + t**2 + 3)):
        assert real_zeros(even, t, sign) == []
        with pytest.raises(ZerosUnknown):
            real_zeros(even + c * odd, t, sign)


def test_exponentials_are_merged_in_products_alone() -> None:
    s = Symbol("s", real=True)
    assert merge_exponentials(KEY * exp(KEY * s) * exp(c - KEY * s)) == KEY * exp(c)
    assert merge_exponentials(exp(KEY) * exp(KEY + c) * exp(tanh(s))) == exp(2 * KEY + c) * exp(tanh(s))
    assert OnePower(a).rewrite((1 + a) * exp(a + c * log(a)) * exp(-a)) == (1 + a) * a**c
    assert merge_exponentials(KEY * exp(c * (s + 1))) == KEY * exp(c * s + c)
    assert merge_exponentials(KEY * exp(c * (s + 1)) + exp(c * (s + 1))) == KEY * exp(c * s + c) + exp(c * (s + 1))
    for left in (KEY * exp(c * (s + tanh(s))), KEY * exp(c * (s + tokens(x))), exp(c * (s + 1)), c * (s + 1)):
        assert merge_exponentials(left) == left


def test_what_is_printed_of_a_weight() -> None:
    g = OpenFunction.of("g", epsilon)
    assert Hypothesis.of_weight(SequenceLaw(g, L)).text.startswith(r"$g")
    assert r"g(\epsilon,\chi) = " not in Hypothesis.of_weight(SequenceLaw(g, L)).text
    assert Hypothesis.of_weight(SequenceLaw(f(KEY), L)).text.startswith(r"$g(\epsilon,\chi) = f")


def test_a_bounded_body_has_a_mean_under_any_weight() -> None:
    wild = SequenceLaw(OpenFunction.of("g", epsilon), L, laplace())
    for bounded in (
        tanh(KEY) * Heaviside(chi[j]),
        1 + tanh(KEY),
        (2 + tanh(KEY) * tanh(chi[j])) ** a.func("p", positive=True),
    ):
        assert exists(over(bounded, wild)) == S.true
    assert exists(over(Activation.of(epsilon, softmax, a), wild)) == S.true
    assert exists(over(KEY, wild)) is None


def test_an_attention_is_as_large_as_its_kernel_where_it_is_not_normalised() -> None:
    wild, mild = exp(x**2), exp(x)
    for kernel, normalised, expected in ((wild, True, S.true), (mild, True, S.true), (mild, False, S.true)):
        sigma = Activation.of(epsilon, Attention(kernel, "sum" if normalised else None), a)
        assert at_most_exponential(sigma)
        assert exists(over(sigma * KEY)) == expected
    assert exists(over(Activation.of(epsilon, Attention(wild, None), a) * KEY)) is not S.true


def test_what_couples_tokens_with_their_values_is_bounded_where_it_is_seen_to_be() -> None:
    heavy = SequenceLaw(S.One, L, laplace())
    assert exists(over(KEY**2 * exp(-(KEY**2) * z[j] ** 2), heavy)) == S.true
    assert exists(over(KEY**2 * exp(KEY * z[j]), heavy)) is None
    assert exists(over(Sum(exp(Posterior(l, SPIKED) * chi[l] ** 2), (l, 1, L)), heavy)) is None
    assert exists(over(Sum(exp(chi[l] / 2) * z[l] ** 2, (l, 1, L)), heavy)) == S.true


def test_a_transform_with_a_kink_at_zero_has_no_moments() -> None:
    """That of the Cauchy law is exp(-|w|): its moments are infinite."""
    w = Symbol("w", real=True)
    start = Integral(cos(w * x) / (1 + x**2), (x, -oo, oo))
    for wrong in (pi * exp(-abs(w)), pi / (1 + abs(w) ** 3), (1 + (w**2 + w**4) ** Rational(3, 2)) ** -1, log(w**2)):
        rule = TransformMoments(Derivation(start).apply(Say(lambda expr, wrong=wrong: wrong)), w)
        with pytest.raises(RuleRefused, match="is not analytic"):
            rule.rewrite(Integral(x**4 / (1 + x**2), (x, -oo, oo)))


def test_odd_moments_vanish_and_even_ones_do_not() -> None:
    found = GaussianMoments().rewrite(over((z[epsilon] ** 3 + z[epsilon] ** 2 + z[epsilon] * z[j] * z[k]) * tanh(KEY)))
    assert found == over(tanh(KEY))


def test_a_configuration_with_one_relevant_token() -> None:
    assert at_one(r[i], i, L, Linearity()) == 1
    assert at_one(r[j], i, L, Linearity()) == KroneckerDelta(i, j)
    assert at_one(r[j] * c + r[i], i, L, Linearity()) == c * KroneckerDelta(i, j) + 1


def test_a_mean_over_signs_is_a_finite_sum() -> None:
    assert exists(SignExpectation(one(exp(u * Sign(omega, 1))) ** 2, omega, n)) == S.true


def test_a_sum_grows_as_its_terms() -> None:
    for mild in (tokens(exp(x)), tokens(exp(x)) ** c.func("p", positive=True) * KEY, 1 / tokens(cosh(x))):
        assert at_most_exponential(mild)
    assert not at_most_exponential(tokens(exp(x**2)))
    assert not at_most_exponential((1 + KEY**2) ** (KEY**2))
    for divergent in (tokens(x**2) ** 2, tokens(x**4)):
        assert exists(over(divergent, SequenceLaw(S.One, L, student(4)))) is None
    assert exists(over(tokens(x) ** 2, SequenceLaw(S.One, L, student(4)))) == S.true


def test_a_hyperbolic_cosine_of_an_imaginary_number_is_no_positive_one() -> None:
    assert is_positive(cosh(KEY + f(KEY)))
    assert not is_positive(cosh(Symbol("w", imaginary=True) + 1))
    assert not is_positive(cosh(Symbol("w", imaginary=True)))


def test_a_weight_that_selects_leaves_the_tokens_as_they_are() -> None:
    chosen = SequenceLaw(L * f(KEY) / Sum(f(chi[m]), (m, 1, L)), L, laplace())
    assert chosen.is_selection
    assert exists(over(KEY**2, chosen)) == S.true


def test_the_mean_of_a_weight_is_found_where_it_can_be() -> None:
    """By a check where L is the length or one token alone carries the weight; else it is assumed."""
    several = exp(a * (KEY - chi[j]) / 2 - a**2 / 4)
    assert mean_one([SPIKED, MAX], Linearity()) == ()
    assert mean_one([SequenceLaw(exp(KEY - S.Half), S(3))], Linearity()) == ()
    for wrong in (SequenceLaw(exp(KEY), S(3)), SequenceLaw(exp(KEY), L), SequenceLaw(tokens(x**2), L)):
        with pytest.raises(RuleRefused, match="mean"):
            mean_one([wrong], Linearity())
    (assumed,) = mean_one([SequenceLaw(several, S(3))], Linearity())
    assert assumed.text.endswith("=1$")


@pytest.mark.parametrize(
    ("line", "sign", "certain"),
    [
        (Symbol("q", real=True) * t - c, lambda e: 1, True),
        (Symbol("q", real=True) * t - c, lambda e: -1, True),
        (Symbol("q", real=True) * t - c, lambda e: 0, False),
        (Symbol("q", real=True, nonzero=True) * t - c, lambda e: None, True),
        (a * t - Symbol("w"), lambda e: 1, False),
    ],
)
def test_the_zero_of_a_line(line: Expr, sign: Callable[[Expr], int | None], certain: bool) -> None:
    (zero,) = real_zeros(line, t, sign)
    assert zero == Zero(zero.place, 1, certain)
    assert line.subs(t, zero.place) == 0


def test_letters_are_as_positive_as_what_they_stand_for() -> None:
    seen: list[Expr] = []
    on_letters(lambda e: seen.append(e) or e, exp(c), (exp,))
    on_letters(lambda e: seen.append(e) or e, Heaviside(c), (Heaviside,))
    on_letters(lambda e: seen.append(e) or e, abs(c), (Function,))
    assert [letter.is_positive for letter in seen] == [True, None, None]


def test_two_integrals_in_a_product_stay_two() -> None:
    first, second = Integral(exp(-u), (u, 0, oo)), Integral(exp(-2 * t), (t, 0, oo))
    merged = Integral(3 * exp(-u) + KEY * exp(-u), (u, 0, oo))
    assert merged_integrals(3 * first + KEY * first) == merged
    for left in (3 * first * second, over(KEY) * first, 3 * first * second + over(KEY) * first):
        assert merged_integrals(left) == left


def test_a_sum_that_begins_later_has_fewer_terms() -> None:
    for limits in (((l, 2, L),), ((l, 1, L), (m, 1, L))):
        split = split_sums(Sum(a + chi[l], *limits))
        assert split == a * Sum(1, *limits) + Sum(chi[l], *limits)
    assert split_sums(tokens(a + x)) == a * L + tokens(x)


def test_a_bound_on_a_laplace_transform_leaves_other_means() -> None:
    rule = TwoMoments(S(2))
    for left in (one(u**2), one(u**-2), one(tanh(u))):
        assert rule.rewrite(left + one(exp(-(u**2)))) == left + 1 - one(u**2) + one(u**4)


def test_odds_are_those_of_what_is_written_as_one_minus_a_share() -> None:
    rule = PowerOfOdds(S.One, S.One)
    for left in (one(exp(u) / 3), one(exp(-(u**2))), over(S.Half + exp(KEY)), over(exp(KEY) / tokens(exp(x)))):
        assert rule.rewrite(left) == left
    assert rule.rewrite(over(1 - exp(KEY) / tokens(exp(x)))) == over((tokens(exp(x)) - exp(KEY)) * exp(-KEY))


def test_a_sum_without_zeros_has_a_smooth_logarithm() -> None:
    assert is_absolutely_continuous(log(tokens(exp(x))), chi)
    assert is_absolutely_continuous(tokens(cosh(x)) ** c, chi)
    for jumping in (log(tokens(x)), tokens(x**2) ** -1, log(tokens(exp(x), L - 2))):
        assert not is_absolutely_continuous(jumping, chi)


def test_a_square_of_a_sum_without_folded_names_is_not_zero() -> None:
    curve = over((1 + KEY) ** 2)
    found = Minimise().rewrite(Minimum(curve * t**2 - 2 * t * c, t))
    assert (found + c**2 / curve).simplify() == 0


def test_denominators_inside_of_means_are_not_lost() -> None:
    assert cancelled(over(1 / (KEY - a)) / c, S.One) == (*cancelled(1 / c, S.One),)
    assert cancelled(tokens(1 / x), S.One) == ()


def test_citations_take_hypotheses_along() -> None:
    weight = OpenFunction.of("g", epsilon)
    chain = Derivation(over(2 * KEY + 1, SequenceLaw(weight, L))).apply(Linearity())
    assert chain.cited == ()
    texts = [item.text for item in chain.hypotheses]
    assert texts
    assert [item.text for item in Cite(chain).hypotheses(chain.start)] == texts
    using = Derivation(a * chain.start).apply(Cite(chain))
    assert using.cited == (chain,)
    covariance = Function("K")(l, m)
    prior = ConfigurationPrior(exactly(1, L), ONE, L)
    law = ConfigurationLaw(prior, ShiftedDensity.of((sqrt(nu) * r[l],), covariance, L), covariance)
    hidden = Derivation(ConfigurationExpectation(Sum(r[l] * chi[l], (l, 1, L)), law))
    assert [item.text for item in Cite(hidden).hypotheses(hidden.start)] == [
        r"the covariance $K{\left(l,m \right)}$ of the keys positive definite"
    ]


def test_a_value_of_unknown_sign_is_assumed_and_nothing_else() -> None:
    strength, b = Symbol("strength", positive=True), Symbol("b", positive=True)
    theorem = Derivation(one(exp(strength * u))).apply(CameronMartin())
    q = Symbol("q", nonnegative=True)
    cited = Cite(theorem, {strength: sqrt(q) * b})
    assert [item.condition for item in cited.hypotheses(one(exp(sqrt(q) * b * u)))] == [Gt(q, 0)]
    g = Symbol("g", nonnegative=True)
    from_zero = Derivation(one(exp(g * u))).apply(CameronMartin())
    assert [item.condition for item in Cite(from_zero, {g: c + 1}).hypotheses(one(exp((c + 1) * u)))] == [Ge(c + 1, 0)]
    counted = Derivation(one(n * u + exp(u))).apply(Linearity())
    for wrong in (c * a, c + 1):
        with pytest.raises(RuleRefused, match="is not known to be"):
            Cite(counted, {n: wrong})


def test_a_token_that_is_named_inside_of_a_factor_has_to_be_there() -> None:
    named = over(tanh(chi[j]))
    assert tokens_exist((L - 1) * named, Linearity()) == ()
    assert [item.condition for item in tokens_exist(2 * named, Linearity())] == [Ge(L, 2)]
    assert [item.condition for item in tokens_exist(2 * over((L - 1) * chi[j]), Linearity())] == [Ge(L, 2)]
    assert tokens_exist(Add((L - 1) * named, over(KEY)) * a, Linearity()) == ()


def test_a_positive_factor_does_not_hide_a_zero() -> None:
    """A product has no zero where no factor has one; an exponential has none, whatever stands in it."""
    assert bounded_below(exp(Function("h")(u)))
    assert not bounded_below(exp(z[1]) * z[1] ** 2)


def test_only_what_is_normalised_is_bounded() -> None:
    """Weights of softmax lie between 0 and 1; those of linear attention grow with a token, wherever its 1 stands."""
    assert _is_bounded(Activation.of(epsilon, softmax, a))
    assert not _is_bounded(Activation.of(epsilon, linear, a))


def test_a_denominator_that_is_neither_even_nor_odd_says_nothing() -> None:
    odd = SequenceExpectation(z[epsilon] / (1 + z[epsilon] ** 2), SPIKED)
    neither = SequenceExpectation(z[epsilon] / (1 + exp(z[epsilon])), SPIKED)
    assert OddMeans().rewrite(odd) == 0
    assert not OddMeans().match(neither)


def test_a_token_need_not_exist_where_its_factor_vanishes() -> None:
    """log L times a mean over a second token says nothing at L = 1; (L - 1)(L - 2) covers a third, L - 1 alone does not."""
    second, third = over(chi[j]), over(chi[j] * chi[k])
    assert tokens_exist(log(L) * second, Linearity()) == ()
    assert tokens_exist((L - 1) * (L - 2) * third, Linearity()) == ()
    assert [item.condition for item in tokens_exist((L - 1) * third, Linearity())] == [Ge(L, 3)]
