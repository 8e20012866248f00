"""Random expressions: minima, rewriting, and what every rule on expectations does with a mean inside of a mean.

The tests of a rule carry its name: ``pytest tests/algebra -k Minimise``.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import (
    Abs,
    Expr,
    Ne,
    Rational,
    S,
    Sum,
    Symbol,
    exp,
    sqrt,
)

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule
from symslr.algebra.rules import (
    Algebra,
    AverageHiddenIndex,
    CameronMartin,
    ChangeOfMeasure,
    Collect,
    ConditionOnMaximum,
    Exchangeability,
    GaussianMoments,
    Independence,
    LaplaceRepresentation,
    Minimise,
    Nishimori,
    PickToken,
    Selection,
    Stein,
    Unfold,
)
from symslr.expression.expectation import ScalarExpectation
from symslr.expression.folded import Minimum, Posterior
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, l, x
from tests.algebra import strategies as random
from tests.algebra.both_sides import (
    FEW,
    SOME,
    assert_refused,
    assert_same,
    conditions,
    mean,
    offset,
    scale,
)
from tests.algebra.strategies import KEY, total

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
