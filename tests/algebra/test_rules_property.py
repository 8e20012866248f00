"""Random expressions: what a rule admits keeps its value, what it must refuse is refused.

Polynomials have exact moments at any length, so a coefficient that is wrong for L >= 5 alone is seen. The tests of a rule
carry its name: ``pytest tests/algebra -k Stein``.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sympy import (
    Abs,
    Expr,
    Ge,
    Integral,
    Lt,
    Ne,
    Rational,
    S,
    Sum,
    Symbol,
    erf,
    exp,
    sign,
    sqrt,
    tanh,
)

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules import (
    Algebra,
    AverageHiddenIndex,
    CameronMartin,
    ChangeOfMeasure,
    Collect,
    Conditioning,
    ConditionOnMaximum,
    Exchangeability,
    GaussianErf,
    GaussianMoments,
    GaussianProjection,
    Independence,
    LaplaceRepresentation,
    LikelihoodRatio,
    Linearity,
    Minimise,
    Nishimori,
    Parity,
    PickToken,
    Reweight,
    RotateNoise,
    Selection,
    Stein,
    SymmetricFactors,
    TurnTowardsKey,
    Unfold,
    WriteTokensOut,
)
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import ConditionalMean, Minimum, Posterior
from symslr.expression.scored import ScoredActivation
from symslr.expression.special import NormalCdf, OwensT, SkewNormal
from symslr.model.attention import Attention
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import STANDARD_NORMAL, laplace, student
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, eta, j, k, l, m, x, xi, z, zeta
from tests.algebra import strategies as random
from tests.algebra.brute import brute
from tests.algebra.exact import exact
from tests.algebra.strategies import KEY, UNWEIGHTED, token, total

FEW = settings(max_examples=4, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
SOME = settings(max_examples=7, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
TOLERANCE = {1: 3e-6, 2: 3e-6, 3: 1e-4}
"""As in cases.py; the token grids are the same."""

offset = Symbol("o", real=True)
scale = Symbol("s", real=True)


def mean(body: Expr, law: SequenceLaw = UNWEIGHTED) -> Expr:
    return SequenceExpectation(body, law)


def assert_same(before: Expr, after: Expr, lengths: tuple[int, ...] = (1, 2), **options: Any) -> None:
    assert after != before
    for length in lengths:
        one, two = (brute(side, {L: length}, **options) for side in (before, after))
        assert abs(one - two) <= TOLERANCE[length] * max(1.0, abs(one)), f"L = {length}: {one} is not {two}"


def assert_exact(before: Expr, after: Expr, lengths: tuple[int, ...] = (2, 5)) -> None:
    assert after != before
    for length in lengths:
        assert exact(before - after, length) == 0, f"L = {length}"


def assert_refused(rule: Rule, expr: Expr, reason: str) -> None:
    with pytest.raises(RuleRefused, match=reason):
        Derivation(expr).apply(rule)


def assert_left(rule: Rule, expr: Expr) -> None:
    assert rule.rewrite(expr) == expr


def conditions(rule: Rule, expr: Expr) -> set[Any]:
    return {hypothesis.condition for hypothesis in Derivation(expr).apply(rule).hypotheses}


# measure


@SOME
@given(random.weights(), random.attentions(), random.smooth())
def test_ChangeOfMeasure_keeps_the_mean(law: SequenceLaw, sigma: Expr, h: Expr) -> None:
    before = mean(sigma * token(tanh(h)), law)
    after = ChangeOfMeasure().rewrite(before)
    assert_same(before, after)


@FEW
@given(random.nonzero)
def test_ChangeOfMeasure_refuses_a_weight_without_mean_one(s: Expr) -> None:
    assert_refused(ChangeOfMeasure(), mean(KEY, SequenceLaw(exp(s * KEY), L)), "expected 1")


@FEW
@given(random.weights(), random.smooth(), random.kinked(), random.nonzero)
def test_Linearity_keeps_the_mean(law: SequenceLaw, f: Expr, h: Expr, s: Expr) -> None:
    before = mean((token(tanh(f)) + s) * (total(h) - scale * KEY) + s, law).subs(scale, s)
    assert_same(before, Linearity().rewrite(before))


@FEW
@given(random.polynomials(), random.nonzero)
def test_Linearity_counts_tokens(f: Expr, s: Expr) -> None:
    before = mean(total(f + s) * (KEY + 2 * total(x**2)))
    assert_exact(before, Linearity().rewrite(before))


@FEW
@given(random.positive, st.sampled_from([Rational(1), Rational(3, 4)]))
def test_Linearity_refuses_means_that_do_not_exist(s: Expr, dof: Expr) -> None:
    heavy = SequenceLaw(S.One, L, student(dof))
    assert_refused(Linearity(), mean(sqrt(s + KEY**2) - Abs(KEY), heavy), "does not exist")
    split = ScalarExpectation(s * (sqrt(1 + x**2) - Abs(x)), x, student(dof))
    assert_refused(Linearity(), split, "does not exist")


@FEW
@given(random.nonzero)
def test_Linearity_refuses_a_constant_under_a_weight_without_mean_one(s: Expr) -> None:
    law = SequenceLaw(exp(s * KEY), L)
    assert_refused(Linearity(), mean(KEY + 2, law), "expected 1")
    assert conditions(Linearity(), mean(2 * KEY + KEY**2, law)) == set()


@FEW
@given(random.nonzero)
def test_Linearity_assumes_what_parameters_decide(s: Expr) -> None:
    body = exp(scale * KEY**2) * (KEY + s) ** 2
    assert conditions(Linearity(), mean(body)) == {Lt(scale - Rational(1, 2), 0)}
    assert conditions(Linearity(), mean(KEY * chi[j] + s * KEY)) == {Ge(L, 2)}
    assert conditions(Linearity(), mean(KEY * (chi[k] + s))) == {Ge(L, 3)}
    assert conditions(Linearity(), (L - 1) * mean(KEY * (chi[j] + s))) == set()


@FEW
@given(random.weights(), random.polynomials(), random.nonzero)
def test_Conditioning_keeps_the_mean(law: SequenceLaw, f: Expr, s: Expr) -> None:
    label = z[epsilon] * token(f) + s * xi * z[epsilon] ** 2 + KEY
    before = mean(ConditionalMean(label, law) * (z[epsilon] + z[epsilon] ** 2), law)
    assert_same(before, Conditioning().rewrite(before))


@pytest.mark.parametrize("label", [Abs(xi), xi**2, exp(xi), 1 / (1 + xi**2), z[j], chi[1], xi * total(x)], ids=str)
def test_Conditioning_refuses_other_labels(label: Expr) -> None:
    for law in (UNWEIGHTED, SequenceLaw(KEY**2, L)):
        assert_refused(
            Conditioning(), mean(ConditionalMean(label + z[epsilon], law), law), "not affine|not a function of"
        )


@FEW
@given(random.weights(), random.smooth(), random.kinked())
def test_Nishimori_keeps_the_mean(law: SequenceLaw, f: Expr, h: Expr) -> None:
    before = mean(Sum(Posterior(l, law) * tanh(token(f, l)) * z[l] ** 2, (l, 1, L)) * total(tanh(h), m) + 2, law)
    assert_same(before, Nishimori().rewrite(before))


@FEW
@given(random.spikes(), random.parts(random.smooth()))
def test_Nishimori_refuses_averages_over_some_tokens(law: SequenceLaw, part: Sum) -> None:
    averaged = Sum(Posterior(l, law) * part.function, *part.limits)
    assert_refused(Nishimori(), mean(averaged, law), "does not run over the tokens")
    whole = Sum(Posterior(l, law) * part.function, (l, 1, L))
    assert_refused(Nishimori(), mean(whole * KEY, law), "depends on the hidden position")
    assert_refused(Nishimori(), mean(whole, UNWEIGHTED), "belongs to another law")


@SOME
@given(random.weights(), random.smooth())
def test_Reweight_keeps_the_mean(law: SequenceLaw, h: Expr) -> None:
    before = ChangeOfMeasure().rewrite(mean(token(tanh(h)), law))
    assert_same(before, Reweight(law).rewrite(before))


@FEW
@given(random.vanishing(), random.smooth())
def test_Reweight_refuses_weights_that_vanish(law: SequenceLaw, h: Expr) -> None:
    assert_refused(Reweight(law), mean(token(h)), "can vanish")


@FEW
@given(random.nonzero)
def test_Reweight_refuses_a_weight_without_mean_one(s: Expr) -> None:
    assert_refused(Reweight(SequenceLaw(exp(s * KEY), L)), mean(KEY), "expected 1")


@FEW
@given(random.positive, random.smooth())
def test_Selection_keeps_the_mean(s: Expr, h: Expr) -> None:
    for kernel in (exp(s * x), 1 + s * x**2):
        law = SequenceLaw(L * token(kernel) / total(kernel), L)
        before = mean(total(tanh(h)) ** 2 * z[1] ** 2, law)
        assert_same(before, Selection().rewrite(before))
        assert_left(Selection(), mean(KEY * total(h), law))


@FEW
@given(random.spikes(), random.smooth())
def test_Selection_refuses_weights_that_move_tokens(law: SequenceLaw, h: Expr) -> None:
    assert_refused(Selection(), mean(total(h), law), "does not sum to L")


@SOME
@given(random.smooth(), random.kinked(), random.kernels(), random.positive)
def test_Independence_keeps_the_mean(f: Expr, h: Expr, kernel: Expr, s: Expr) -> None:
    body = tanh(token(f)) * token(h, j) * exp(-s * total(kernel) - s)
    assert_same(mean(body), Independence().rewrite(mean(body)), (2, 3))
    assert_same(mean(body / token(h, j)), Independence().rewrite(mean(body / token(h, j))), (1, 2))


@FEW
@given(random.weights(), random.kinked(), random.parts(random.kernels()))
def test_Independence_under_weights_and_partial_sums(law: SequenceLaw, h: Expr, part: Sum) -> None:
    if law.relevant_factor is not None:
        assert_same(mean(token(h) * chi[j] ** 2, law), Independence().rewrite(mean(token(h) * chi[j] ** 2, law)), (2,))
    assert_refused(Independence(), mean(KEY * exp(-part)), "does not run over the tokens")
    assert conditions(Independence(), mean(KEY**2 * chi[j] ** 2)) == {Ge(L, 2)}


@FEW
@given(random.weights())
def test_LikelihoodRatio_keeps_the_mean(law: SequenceLaw) -> None:
    before = mean(Posterior(epsilon, law) ** 2 * tanh(KEY), law)
    assert_same(before, LikelihoodRatio().rewrite(before))


@FEW
@given(random.positive)
def test_LikelihoodRatio_refuses_weights_that_tie_tokens(s: Expr) -> None:
    pairs = SequenceLaw(exp(-s * KEY * total(x)), L)
    assert_refused(LikelihoodRatio(), mean(Posterior(epsilon, pairs), pairs), "no function of one token")


# symmetry


@SOME
@given(random.token_polynomials(), st.one_of(st.just(UNWEIGHTED), random.spikes()))
def test_Exchangeability_is_exact_at_any_length(body: Expr, law: SequenceLaw) -> None:
    assert_exact(mean(body, law), Exchangeability().rewrite(mean(body, law)))


@FEW
@given(random.weights(), random.attentions(), random.smooth())
def test_Exchangeability_keeps_the_mean(law: SequenceLaw, sigma: Expr, h: Expr) -> None:
    before = mean(Sum(sigma.at(l) ** 2, (l, 1, L)) * tanh(token(h)), law)
    assert_same(before, Exchangeability().rewrite(before))


@FEW
@given(random.parts(random.smooth()), random.smooth(), random.positive)
def test_Exchangeability_refuses_what_is_not_symmetric(part: Sum, h: Expr, s: Expr) -> None:
    rule, whole = Exchangeability(), total(h)
    assert_refused(rule, mean(part), "does not run over the tokens")
    assert_refused(rule, mean(whole * chi[j]), "names other tokens")
    assert_refused(rule, mean(whole / (s + chi[j] ** 2)), "names other tokens")
    assert_refused(rule, mean(whole * chi[1] ** 2), "names other tokens")
    for weight in (exp(s * chi[j] - s**2 / 2), exp(s * chi[2] - s**2 / 2), KEY**2 * (1 + tanh(s * chi[1]))):
        assert_refused(rule, mean(whole, SequenceLaw(weight, L)), "is not symmetric")


@SOME
@given(random.polynomials(), random.polynomials())
def test_AverageHiddenIndex_is_exact_at_any_length(f: Expr, h: Expr) -> None:
    before = mean(total(f) * (KEY * token(h) + 1) + total(h) * total(f))
    after = AverageHiddenIndex().rewrite(before)
    assert epsilon not in after.atoms(Symbol)
    assert_exact(before, after, (1, 5))


@FEW
@given(random.polynomials(), random.polynomials())
def test_AverageHiddenIndex_catches_no_index(f: Expr, h: Expr) -> None:
    for index in (l, m):
        before = mean(Sum(token(f, index) * KEY, (index, 1, L)) * KEY)
        assert_exact(before, AverageHiddenIndex().rewrite(before), (1, 3))
    both = mean(Sum(token(f, l) * KEY, (l, 1, L)) * Sum(token(h, m) * KEY**2, (m, 1, L)))
    assert_refused(AverageHiddenIndex(), both, "uses both summation indices")


@FEW
@given(random.spikes(), random.smooth())
def test_AverageHiddenIndex_refuses_weights_and_others(law: SequenceLaw, h: Expr) -> None:
    assert_refused(AverageHiddenIndex(), mean(token(h), law), "unweighted law alone")
    assert_refused(AverageHiddenIndex(), mean(token(h) * chi[j]), "others than epsilon")
    mixed = (z[epsilon] - ConditionalMean(z[epsilon], law)) ** 2
    assert_refused(AverageHiddenIndex(), mean(mixed), "conditional mean")


@SOME
@given(random.polynomials(), random.polynomials())
def test_PickToken_is_exact_at_any_length(f: Expr, h: Expr) -> None:
    for body in (total(f), total(f) * total(h, m), total(f) * chi[1] ** 2):
        assert_exact(mean(body), PickToken().rewrite(mean(body)), (1, 5))


@FEW
@given(random.parts(random.smooth()), random.smooth(), random.spikes())
def test_PickToken_leaves_other_sums(part: Sum, h: Expr, law: SequenceLaw) -> None:
    for body in (part, total(h) * KEY, total(h) * chi[j], total(h) * Sum(chi[m] * KEY, (m, 1, L)), total(h) * z[j]):
        assert_left(PickToken(), mean(body))
    assert_left(PickToken(), mean(total(h), law))


@FEW
@given(random.smooth(), random.kinked(), random.positive)
def test_ConditionOnMaximum_keeps_the_mean(f: Expr, h: Expr, s: Expr) -> None:
    largest = IsLargest.of(epsilon, L)
    for body, length in ((token(tanh(f)) * exp(-s * total(exp(x))), 2), (token(f) * token(h, j), 2)):
        before = mean(s * body * largest)
        one, two = (brute(side, {L: length}) for side in (before, ConditionOnMaximum().rewrite(before)))
        assert abs(one - two) <= 2e-4 * max(1.0, abs(one))


@FEW
@given(random.smooth(), random.parts(random.kernels()))
def test_ConditionOnMaximum_refuses_other_bodies(f: Expr, part: Sum) -> None:
    rule, largest = ConditionOnMaximum(), IsLargest.of(epsilon, L)
    assert_refused(rule, mean((1 - largest) * token(f)), "is not a factor")
    assert_refused(rule, mean(exp(largest) * largest), "is not a factor")
    assert_refused(rule, mean(token(f) * IsLargest.of(epsilon, L + 1)), "another token than the relevant one")
    assert_refused(rule, mean(largest * exp(-part)), "does not run over the tokens")
    assert conditions(rule, mean(largest * chi[j] ** 2)) == {Ge(L, 2)}


def test_ConditionOnMaximum_counts_the_others() -> None:
    """E of the indicator is 1/L; three others below the largest give the power L - 1 = 3 of its distribution function."""
    after = ConditionOnMaximum().rewrite(mean(IsLargest.of(epsilon, L)))
    for length in (1, 2, 4, 7):
        assert brute(after, {L: length}) == pytest.approx(1 / length, abs=1e-9)
    named = ConditionOnMaximum().rewrite(mean(IsLargest.of(epsilon, L) * exp(-total(x**2)) * chi[j] ** 2))
    whole = ConditionOnMaximum().rewrite(mean(IsLargest.of(epsilon, L) * exp(-total(x**2))))
    for expr, power in ((named, L - 2), (whole, L - 1)):
        assert any(item.exp == power for item in expr.atoms(type(x**L)))


@FEW
@given(random.attentions(), random.smooth())
def test_SymmetricFactors_keeps_the_mean(sigma: Expr, h: Expr) -> None:
    before = mean(Sum(sigma.at(l) ** 2 * tanh(token(h, l)), (l, 1, L)) * (1 + KEY))
    assert_same(before, SymmetricFactors().rewrite(before))


@FEW
@given(random.parts(random.smooth()))
def test_SymmetricFactors_refuses_partial_sums(part: Sum) -> None:
    assert_refused(SymmetricFactors(), mean(part), "does not run over the tokens")


# gaussian


@SOME
@given(random.spikes(), random.smooth(), random.smooth())
def test_CameronMartin_keeps_the_mean(law: SequenceLaw, f: Expr, h: Expr) -> None:
    before = mean(tanh(token(f)) * total(h) * z[epsilon] ** 2, law)
    assert_same(before, CameronMartin().rewrite(before))


@SOME
@given(random.spikes(), random.token_polynomials())
def test_CameronMartin_is_exact_at_any_length(law: SequenceLaw, body: Expr) -> None:
    assert_exact(mean(body, law), CameronMartin().rewrite(mean(body, law)), (1, 5))


@FEW
@given(random.nonzero, random.smooth())
def test_CameronMartin_on_scalars(s: Expr, h: Expr) -> None:
    before = ScalarExpectation(exp(s * x - s) * exp(x / 3) * tanh(h), x, STANDARD_NORMAL)
    assert_same(before, CameronMartin().rewrite(before), (1,))
    assert_left(CameronMartin(), ScalarExpectation(exp(s * x / 2) * h, x, laplace()))


@FEW
@given(random.weights(), random.spikes())
def test_CameronMartin_refuses_other_weights(law: SequenceLaw, spike: SequenceLaw) -> None:
    try:
        CameronMartin().rewrite(mean(KEY, law))
        assert_same(mean(KEY, law), CameronMartin().rewrite(mean(KEY, law)))
    except RuleRefused:
        assert law.weight.func != exp
    assert_refused(CameronMartin(), mean(ConditionalMean(z[epsilon], spike) ** 2, spike), "conditional mean")
    other = SequenceLaw(spike.weight, L, laplace())
    assert_refused(CameronMartin(), mean(KEY, other), "not a function of one standard normal token")


@SOME
@given(random.smooth(), random.kinked(), random.kernels())
def test_Stein_keeps_the_mean(f: Expr, h: Expr, kernel: Expr) -> None:
    for body in (KEY * token(f) * tanh(token(h)), KEY**2 * token(h) / total(kernel), KEY * token(f) * total(h)):
        assert_same(mean(body), Stein().rewrite(mean(body)))


@SOME
@given(random.token_polynomials())
def test_Stein_is_exact_at_any_length(body: Expr) -> None:
    product = body.expand() * KEY if body.is_Mul else KEY * body
    assert_exact(mean(product), Stein().rewrite(mean(product)), (1, 5))


@SOME
@given(random.jumping(), random.smooth(), random.weights())
def test_Stein_refuses_jumps_and_weights(jump: Expr, h: Expr, law: SequenceLaw) -> None:
    reason = "absolutely continuous|does not exist"
    assert_refused(Stein(), mean(KEY * token(jump) ** 3), reason)
    assert_refused(Stein(), mean(KEY * total(jump) * token(h)), reason)
    assert_refused(Stein(), mean(KEY * token(h), law), "reweighted")
    assert_refused(Stein(), mean(KEY * token(tanh(h)), SequenceLaw(S.One, L, laplace())), "not standard normal")
    for pole in (1 / Abs(KEY - scale), Abs(KEY) ** Rational(-1, 2), Abs(KEY + 1) ** KEY, 1 / sqrt(Abs(KEY**2 - 1))):
        assert_refused(Stein(), mean(KEY * pole * token(h)), "absolutely continuous")
    assert Stein().match(mean(KEY * token(tanh(h)) * sign(scale)))
    assert_refused(Stein(), mean(KEY * exp(KEY**2 / 2)), "does not exist")
    assert conditions(Stein(), mean(KEY * exp(scale * KEY**2))) == {Lt(scale - Rational(1, 2), 0)}


@SOME
@given(random.polynomials(), random.polynomials(), st.integers(0, 2), st.one_of(st.just(UNWEIGHTED), random.spikes()))
def test_GaussianMoments_is_exact_at_any_length(f: Expr, h: Expr, power: int, law: SequenceLaw) -> None:
    one = Sum(token(f, l) * z[l], (l, 1, L))
    two = Sum(token(h, m) * z[m], (m, 1, L))
    for body in (one * two * xi**2, one * z[epsilon] ** (2 * power + 1) * KEY, (one + zeta[epsilon]) ** 2 + z[j] * one):
        after = GaussianMoments().rewrite(mean(body, law))
        assert not after.atoms(Symbol) & {z.label, zeta.label, xi}
        assert_exact(mean(body, law), after, (3,))


@FEW
@given(random.polynomials(), random.spikes())
def test_GaussianMoments_of_the_relevant_token(f: Expr, law: SequenceLaw) -> None:
    before = mean(token(f) ** 2, law)
    after = GaussianMoments().rewrite(before)
    assert not after.has(SequenceExpectation)
    assert_exact(before, after, (1, 5))


@FEW
@given(random.parts(random.smooth()))
def test_GaussianMoments_refuses_partial_sums(part: Sum) -> None:
    some = Sum(part.function * z[l], *part.limits)
    assert_refused(GaussianMoments(), mean(some * Sum(z[l], (l, 1, L))), "does not run over the tokens")
    assert_refused(GaussianMoments(), mean(some * z[epsilon]), "does not run over the tokens")
    inner = Sum(z[m] * exp(Sum(chi[l] * chi[m], (l, 1, L))), (m, 1, L))
    assert_refused(
        GaussianMoments(), mean(Sum(z[l] * exp(Sum(chi[l] * chi[m], (m, 1, L))), (l, 1, L)) * inner), "would catch"
    )


@SOME
@given(random.nonzero, random.nonzero)
def test_GaussianErf_keeps_the_mean(slope: Expr, shift: Expr) -> None:
    for f in (erf(slope * x + shift), NormalCdf(slope * x + shift).definition()):
        before = ScalarExpectation((2 + f) ** 2 - shift * f, x, STANDARD_NORMAL)
        after = GaussianErf().rewrite(before)
        assert not after.has(ScalarExpectation)
        assert_same(before, after, (1,))


@FEW
@given(random.nonzero, random.nonzero)
def test_GaussianErf_of_the_distribution_function(slope: Expr, shift: Expr) -> None:
    phi = NormalCdf(slope * x + shift)
    after = GaussianErf().rewrite(ScalarExpectation(phi**2 + 3 * phi, x, STANDARD_NORMAL))
    plain = after.replace(SkewNormal, lambda h, s: NormalCdf(h) - 2 * OwensT(h, s))
    grid = ScalarExpectation(phi**2 + 3 * phi, x, STANDARD_NORMAL)
    one, two = (brute(side.replace(NormalCdf, lambda y: NormalCdf(y).definition()), {}) for side in (plain, grid))
    assert one == pytest.approx(two, abs=1e-7)


@FEW
@given(random.positive)
def test_GaussianErf_leaves_the_rest(s: Expr) -> None:
    for body, law in ((erf(s * x) * x, STANDARD_NORMAL), (erf(x**2), STANDARD_NORMAL), (erf(s * x), laplace())):
        assert_left(GaussianErf(), ScalarExpectation(body, x, law))


@SOME
@given(random.smooth(), random.kinked(), st.sampled_from([STANDARD_NORMAL, laplace(), student(5)]))
def test_Parity_only_where_the_mean_exists(f: Expr, h: Expr, law: Any) -> None:
    even = tanh(f) ** 2 + tanh(f.subs(x, -x)) ** 2
    assert Parity().rewrite(ScalarExpectation(x * even, x, law)) == 0
    assert_left(Parity(), ScalarExpectation(x * even, x, student(1)))
    assert_left(Parity(), ScalarExpectation(x**5 + x, x, student(4)))
    assert_left(Parity(), ScalarExpectation(even / x, x, law))
    assert_left(Parity(), ScalarExpectation(x * exp(x**2), x, law))
    assert_left(Parity(), ScalarExpectation(x * even, x, laplace(1)))
    assert_left(Parity(), ScalarExpectation(x * even + 1, x, law))


@FEW
@given(random.spikes(), st.integers(1, 3))
def test_WriteTokensOut_keeps_the_mean(law: SequenceLaw, length: int) -> None:
    at = SequenceLaw(law.weight, length)
    before = SequenceExpectation(Sum(chi[l] ** 2, (l, 1, length)) * KEY / (1 + Sum(exp(chi[l]), (l, 1, length))), at)
    assert_same(before, WriteTokensOut().rewrite(before), (length,))


@FEW
@given(random.smooth())
def test_WriteTokensOut_refuses_tokens_that_are_not_there(h: Expr) -> None:
    for length, other in ((1, j), (2, k), (1, k)):
        body = token(h) * Sum(chi[l] ** 2, (l, 1, length)) * chi[other]
        assert_refused(WriteTokensOut(), SequenceExpectation(body, SequenceLaw(S.One, length)), "do not have")
    part = SequenceExpectation(Sum(token(h, l), (l, 1, 2)), SequenceLaw(S.One, 3))
    assert_refused(WriteTokensOut(), part, "does not run over the tokens")


@FEW
@given(random.spikes(), random.nonzero, random.nonzero, random.smooth())
def test_GaussianProjection_keeps_the_mean(law: SequenceLaw, c: Expr, d: Expr, h: Expr) -> None:
    combination = c * KEY + d * chi[j]
    before = mean(tanh(h.subs(x, combination)), law)
    after = GaussianProjection(combination).rewrite(before)
    assert brute(after, {}, reach=3.6) == pytest.approx(brute(before, {L: 2}), abs=2e-5)


@FEW
@given(random.nonzero, random.nonzero)
def test_GaussianProjection_enforces_its_conditions(c: Expr, d: Expr) -> None:
    rule = GaussianProjection(c * KEY + d * chi[j])
    assert_refused(rule, mean(KEY * chi[j] * 3), "is not a function of")
    assert_refused(GaussianProjection(xi * KEY + chi[j]), mean(xi * KEY + chi[j]), "random coefficient")
    assert conditions(rule, mean((c * KEY + d * chi[j]) ** 2)) == {Ge(L, 2)}
    assert conditions(GaussianProjection(scale * KEY), mean(scale * KEY)) == {Ne(scale, 0)}


SQUARE, AFFINE = Attention(x**2, normaliser=None), Attention(2 + x, normaliser=None)


def loss(kernel: Attention, score: Expr) -> Expr:
    sigma = ScoredActivation.of(epsilon, kernel, score)
    return (z[epsilon] - Sum(sigma.at(l) * (z[l] + eta[l] / 3), (l, 1, L))) ** 2 + KEY * sigma


@FEW
@given(random.nonzero, random.nonzero, random.nonzero, random.spikes())
def test_RotateNoise_is_exact(a: Expr, b: Expr, c: Expr, law: SequenceLaw) -> None:
    for kernel in (AFFINE, SQUARE):
        before = mean(loss(kernel, a * chi[m] + b * z[m] + c * eta[m]), law)
        after = RotateNoise().rewrite(before)
        assert all(eta.label not in node.score.free_symbols for node in after.atoms(ScoredActivation))
        assert_exact(before, after, (2,) if kernel is AFFINE else (1,))


@FEW
@given(random.nonzero, random.nonzero, st.one_of(st.just(UNWEIGHTED), random.spikes()))
def test_TurnTowardsKey_is_exact(a: Expr, b: Expr, law: SequenceLaw) -> None:
    before = mean(loss(AFFINE, a * chi[m] + b * z[m]) + chi[j] * z[j], law)
    assert_exact(before, TurnTowardsKey().rewrite(before), (2,))


@FEW
@given(random.nonzero, random.nonzero)
def test_TurnTowardsKey_enforces_its_conditions(a: Expr, b: Expr) -> None:
    rule, score = TurnTowardsKey(), a * chi[m] + b * z[m]
    sigma = ScoredActivation.of(epsilon, AFFINE, score)
    assert_refused(rule, mean(sigma, SequenceLaw(S.One, L, laplace())), "not standard normal")
    assert_refused(rule, mean(sigma * Posterior(epsilon, UNWEIGHTED)), "functions of all tokens by name")
    assert_refused(rule, mean(Sum(sigma.at(l), (l, 1, L - 1))), "does not run over the tokens")
    assert_refused(rule, mean(sigma * chi[1]), "may belong to the relevant token")
    turned = ScoredActivation.of(epsilon, AFFINE, scale * chi[m])
    assert conditions(rule, mean(turned)) == {Ne(scale**2, 0)}
    rotated = ScoredActivation.of(epsilon, AFFINE, chi[m] + scale * eta[m])
    assert conditions(RotateNoise(), mean(rotated)) == {Ne(scale**2, 0)}


# laplace


@SOME
@given(random.kernels(), st.sampled_from([Rational(1, 2), S.One, Rational(5, 3), S(2), S(3)]), random.smooth())
def test_LaplaceRepresentation_keeps_the_mean(kernel: Expr, power: Expr, h: Expr) -> None:
    before = mean(tanh(token(h)) / (total(kernel) + 1) ** power)
    after = LaplaceRepresentation().rewrite(before)
    assert isinstance(after, Integral)
    assert_same(before, after)
    assert LaplaceRepresentation().hypotheses(before) == ()
    null = mean(KEY**4 * tanh(token(h)) ** 2 / total(x**2) ** power)
    assert isinstance(LaplaceRepresentation().rewrite(null), Integral)


@FEW
@given(random.smooth(), random.positive)
def test_LaplaceRepresentation_refuses_normalisers_that_vanish(h: Expr, s: Expr) -> None:
    from sympy import Heaviside, Max

    for kernel in (x, tanh(s * x), Max(x, 0), Heaviside(x), x**3 - s, Max(x - s, 0)):
        assert_refused(LaplaceRepresentation(), mean(tanh(token(h)) / total(kernel)), "not known to be positive")
    assert_refused(LaplaceRepresentation(), mean(token(h) / (total(exp(x)) - s)), "not known to be positive")


@FEW
@given(random.positive, random.smooth())
def test_LaplaceRepresentation_assumes_offsets(s: Expr, h: Expr) -> None:
    before = mean(tanh(token(h)) / (total(exp(s * x)) + offset))
    assert conditions(LaplaceRepresentation(), before) == {Ge(offset, 0)}
    positive = mean(tanh(token(h)) / (total(exp(s * x)) + Symbol("o", nonnegative=True)))
    assert conditions(LaplaceRepresentation(), positive) == set()


# minima and rewriting


@FEW
@given(random.nonzero)
def test_Minimise_enforces_its_conditions(s: Expr) -> None:
    t = Symbol("t", real=True)
    for variable in (Symbol("t", integer=True), Symbol("t", negative=True), Symbol("t")):
        assert_refused(Minimise(), Minimum(1 + (variable - s) ** 2, variable), "is not known to run over")
    assert_refused(Minimise(), Minimum(1 / (1 + scale**2 * t**2), t), "leading coefficient vanishes")
    assert Minimise().rewrite(Minimum(1 / (1 + s**2 * t**2), t)) == 0
    one = mean((1 - Sum(random.SOFT.at(l), (l, 1, L))) ** 2)
    assert_refused(Minimise(), Minimum(one * t**2 - 2 * t, t), "cannot decide|may fall without bound|falls")


RATIONAL = st.sampled_from(
    [
        (scale**2 - 1) / (scale - 1) + offset,
        scale * (offset + 1) / (scale * offset + scale),
        (1 + offset) ** 2 / (1 + scale) - (scale + 1) / (offset**2 + 1),
        (scale**3 - offset**3) / (scale - offset),
        sqrt(scale**2) + scale / Abs(scale),
    ]
)


@SOME
@given(
    RATIONAL, random.nonzero, random.nonzero, st.sampled_from(["expand", "factor", "together", "cancel", "simplify"])
)
def test_Algebra_and_Collect_keep_the_value(expr: Expr, s: Expr, o: Expr, how: str) -> None:
    for rule in (Algebra(how), Collect()):
        after = rule.rewrite(expr)
        values = {scale: s, offset: o + 3}
        assert (expr - after).subs(values).equals(0)
        poles = [h.condition for h in rule.hypotheses(expr)]
        for place in (0, 1, -1):
            at = {scale: place, offset: place}
            undefined = not expr.subs(at).is_finite
            assert not undefined or not after.subs(at).is_finite or any(c.subs(at) == S.false for c in poles)


def test_Algebra_says_what_it_cancels() -> None:
    assert conditions(Algebra("cancel"), (scale**2 - 1) / (scale - 1)) == {Ne(scale - 1, 0)}
    assert conditions(Algebra("cancel"), (scale + 1) / (scale**2 + 3 * scale + 2)) == {Ne(scale + 1, 0)}
    assert conditions(Algebra("factor"), scale**2 - 1) == set()
    value = mean(KEY, SequenceLaw(exp(KEY - Rational(1, 2)), L))
    (assumed,) = Derivation(scale * value / value**2 + scale * value**2 / value).apply(
        Algebra("cancel")
    ).hypotheses or (None,)
    assert assumed is None or assumed.condition == S.true


@FEW
@given(random.weights(), random.attentions())
def test_Unfold_keeps_the_mean(law: SequenceLaw, sigma: Expr) -> None:
    before = mean(sigma * Posterior(epsilon, law) * Sum(sigma.at(l), (l, 1, L)), law)
    after = Unfold().rewrite(before)
    assert not after.has(Posterior)
    assert_same(before, after)


# every rule on expectations over sequences


@pytest.mark.parametrize(
    "rule",
    [
        *(ChangeOfMeasure(), Stein(), Nishimori(), Selection(), Exchangeability(), PickToken(), AverageHiddenIndex()),
        *(CameronMartin(), GaussianMoments(), Independence(), LaplaceRepresentation(), ConditionOnMaximum()),
    ],
    ids=lambda rule: type(rule).__name__,
)
def test_free_indices_and_inner_means(rule: Rule) -> None:
    law = SequenceLaw(exp(KEY - Rational(1, 2)), L)
    assert_refused(rule, mean(chi[l] * KEY, law), "stands free")
    assert_refused(rule, mean(x * KEY, law), "stands free")
    y = Symbol("y", real=True)
    inner = ScalarExpectation(1 / (1 + (y * KEY) ** 2), y, STANDARD_NORMAL)
    assert_refused(rule, mean(inner, law), "stands inside another expectation")


def test_an_inner_mean_is_a_constant() -> None:
    inner = mean(KEY**2 * total(x**2), SequenceLaw(exp(KEY - Rational(1, 2)), L))
    after = PickToken().rewrite(mean(inner * total(x**2)))
    assert after == L * inner * mean(KEY**2)
