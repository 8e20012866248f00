"""Random expressions: rules about laws and weights keep the value of what they admit and refuse the rest.

The tests of a rule carry its name: ``pytest tests/algebra -k Reweight``.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import (
    Abs,
    Expr,
    Ge,
    Lt,
    Rational,
    S,
    Sum,
    exp,
    sqrt,
    tanh,
)

from symslr.algebra.rules import (
    ChangeOfMeasure,
    Conditioning,
    Independence,
    LikelihoodRatio,
    Linearity,
    Nishimori,
    Reweight,
    Selection,
)
from symslr.expression.expectation import ScalarExpectation
from symslr.expression.folded import ConditionalMean, Posterior
from symslr.model.scalar_law import student
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, j, k, l, m, x, xi, z
from tests.algebra import strategies as random
from tests.algebra.both_sides import (
    FEW,
    SOME,
    assert_exact,
    assert_left,
    assert_refused,
    assert_same,
    conditions,
    mean,
    scale,
)
from tests.algebra.strategies import KEY, UNWEIGHTED, token, total


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
    assert conditions(Linearity(), mean(s * exp(scale * KEY**2))) == set(), "a mean that is not split exists as before"
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
