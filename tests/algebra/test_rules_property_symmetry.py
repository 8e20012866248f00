"""Random expressions: rules about the symmetry of tokens keep the value of what they admit and refuse the rest.

Polynomials have exact moments at any length, so a coefficient that is wrong for L >= 5 alone is seen.

The tests of a rule carry its name: ``pytest tests/algebra -k PickToken``.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import (
    Expr,
    Ge,
    Integral,
    Sum,
    Symbol,
    exp,
    tanh,
)

from symslr.algebra.rules import (
    AverageHiddenIndex,
    ConditionOnMaximum,
    Exchangeability,
    PickToken,
    SymmetricFactors,
)
from symslr.expression.folded import ConditionalMean
from symslr.model.largest import IsLargest
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, j, l, m, x, z
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
)
from tests.algebra.brute import brute
from tests.algebra.strategies import KEY, UNWEIGHTED, token, total


@SOME
@given(random.token_polynomials(), st.one_of(st.just(UNWEIGHTED), random.spikes()))
def test_Exchangeability_is_exact_at_any_length(body: Expr, law: SequenceLaw) -> None:
    assert_exact(mean(body, law), Exchangeability().rewrite(mean(body, law)))


@FEW
@given(random.weights(), random.attentions(), random.smooth())
def test_Exchangeability_keeps_the_mean(law: SequenceLaw, sigma: Expr, h: Expr) -> None:
    before = mean(Sum(sigma.at(l) ** 2, (l, 1, L)) * tanh(token(h)), law)
    assert_same(before, Exchangeability().rewrite(before))
    assert_left(Exchangeability(), mean(exp(KEY) * chi[j] ** 2, law))


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
    assert_left(AverageHiddenIndex(), mean(total(h)))


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
    shared = exp(-s * total(exp(x)))
    for body, length in ((token(tanh(f)) * shared, 2), (token(f) * token(h, j), 2), (token(tanh(h), j) * shared, 2)):
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
    assert not after.has(Integral)
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
