"""What is almost what a rule is for: it is left as it is, beside what is taken, or refused with the reason."""

from __future__ import annotations

import pytest
from sympy import (
    Abs,
    Derivative,
    Expr,
    Function,
    Heaviside,
    IndexedBase,
    KroneckerDelta,
    S,
    Sum,
    Symbol,
    erf,
    exp,
    floor,
    log,
    sign,
    simplify,
    sqrt,
    tanh,
)

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules import (
    CompleteSquare,
    Differentiate,
    DropFromDenominator,
    GaussianErf,
    HeatEquation,
    Linearity,
    MinimiseAtGivenSum,
    Stein,
)
from symslr.algebra.rules.blocks.deltas import SumOfDeltas
from symslr.algebra.rules.blocks.powers import LargestPower
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.joint import JointMinimum
from symslr.expression.named import NamedFunction
from symslr.expression.special import NormalCdf
from symslr.model.catalogue import SpikedSLR
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import L, chi, epsilon, l

a, u = Symbol("a", positive=True), Symbol("u", real=True)
TOTAL = Sum(exp(chi[l]), (l, 1, L))


def one(body: Expr) -> ScalarExpectation:
    return ScalarExpectation(body, u, STANDARD_NORMAL)


def over(body: Expr) -> SequenceExpectation:
    return SequenceExpectation(body, SpikedSLR().law)


def test_what_is_left_stands_beside_what_is_taken() -> None:
    for left in (
        tanh(u),
        u * erf(u),
        erf(u) ** 3,
        erf(u**2),
        erf(u) * erf(u + 1),
        NormalCdf(u) * tanh(u),
        sqrt(2 + erf(u)),
    ):
        assert GaussianErf().rewrite(one(a * left + 2 * erf(u + a) + 1)) == a * one(left) + 2 * erf(a / sqrt(3)) + 1


@pytest.mark.parametrize(
    "body", [exp(epsilon) / TOTAL**2, chi[epsilon] * sqrt(TOTAL), TOTAL, chi[epsilon] / (2 + TOTAL)]
)
def test_what_is_no_quotient_by_a_sum_has_nothing_to_drop(body: Expr) -> None:
    assert DropFromDenominator(S.One).rewrite(over(body)) == over(body)


def test_an_open_function_is_assumed_to_be_smooth_and_no_other() -> None:
    plain = SpikedSLR().law.unweighted()
    f = Function("f", real=True)
    own = f(chi[epsilon])
    chain = Derivation(SequenceExpectation(chi[epsilon] * own, plain)).apply(Stein())
    assert chain.result == SequenceExpectation(own.diff(chi[epsilon]), plain)
    assert "the open functions differentiable" in [hypothesis.text for hypothesis in chain.hypotheses]
    for jumping in (floor(own), sign(own), Heaviside(own - 1), own * floor(chi[epsilon])):
        with pytest.raises(RuleRefused, match="absolutely continuous"):
            Stein().rewrite(SequenceExpectation(chi[epsilon] * jumping, plain))


@pytest.mark.parametrize(
    ("rule", "expr", "reason"),
    [
        (CompleteSquare(), one(exp(u**3)), "is not quadratic"),
        (CompleteSquare(), one(exp(u * tanh(u))), "is not quadratic"),
        (CompleteSquare(), one(exp(-(u**2) * tanh(u) ** 2)), "is not quadratic"),
        (CompleteSquare(), one(exp(u + tanh(u))), "is not quadratic"),
        (CompleteSquare(), one(exp(u**2 / 2)), "is not known to be positive"),
    ],
    ids=str,
)
def test_refused(rule: Rule, expr: Expr, reason: str) -> None:
    with pytest.raises(RuleRefused, match=reason):
        rule.rewrite(expr)


w = IndexedBase("w", real=True)
LINE = Sum(l * w[l], (l, 1, L))


@pytest.mark.parametrize(
    ("square", "reason"),
    [
        (Sum(w[l] ** 2 + 2 * a * w[l], (l, 1, L)), "is no squared distance"),
        (Sum(w[l] ** 2 + 1, (l, 1, L)), "is no squared distance"),
        (Sum(a * w[l] ** 2, (l, 1, L)), "is no squared distance"),
        (-Sum(-((w[l] - a) ** 2), (l, 1, L)), "is no squared distance"),
        (Sum(w[l] ** 4 + w[l] ** 2, (l, 1, L)), "is not quadratic"),
        (Sum(w[l] ** 2, (l, 2, L)), "does not run over the tokens"),
        (Sum(w[l] ** 2, (l, 1, L)) ** 2, "positive factor"),
        (Sum(w[l] ** 2, (l, 1, L)) * u, "positive factor"),
        (Sum(w[l] ** 2, (l, 1, L)) + w[1], "outside of sums over tokens"),
        (Sum(w[l] ** 2, (l, 1, L)) * (2 + sqrt(1 + Sum(w[l] ** 2, (l, 1, L)))), "positive factor"),
    ],
    ids=str,
)
def test_what_is_no_distance_has_no_minimum_at_a_given_sum(square: Expr, reason: str) -> None:
    with pytest.raises(RuleRefused, match=reason):
        MinimiseAtGivenSum(w).rewrite(JointMinimum(square + LINE**2, (w,), L))


def test_a_distance_times_a_number_is_one() -> None:
    square = Sum(3 * w[l] ** 2 - 6 * a * l * w[l] + 3 * a**2 * l**2, (l, 1, L))
    found = MinimiseAtGivenSum(w).rewrite(JointMinimum(square / 2 + LINE, (w,), L))
    place, norm = found.variable, Sum(l**2, (l, 1, L))
    assert simplify(found.body - (S(3) / 2 * (place - a * norm) ** 2 / norm + place)) == 0


def test_the_slope_of_a_size_is_that_of_a_real_number() -> None:
    mean = one(exp(a * u))
    slope = Derivative(mean, a)
    assert Differentiate().rewrite(Derivative(Abs(mean - 2), a)) == sign(mean - 2) * slope


def test_a_function_of_one_variable_or_three_is_no_channel() -> None:
    t, q = Symbol("t", real=True), Symbol("q", real=True)
    for variables in ({t: a}, {t: a, q: a, u: a}):
        named = NamedFunction.of(Symbol("Z"), exp(t + q - q / 2), variables).differentiated(*[1] * len(variables))
        assert HeatEquation().rewrite(named) == named


def test_the_logarithm_of_what_is_not_positive_is_refused() -> None:
    n, g = Symbol("n", positive=True), Symbol("g", nonnegative=True)
    for wrong in (-g * n, -n, -(n**2) - g):
        with pytest.raises(RuleRefused, match="is not positive"):
            LargestPower(n).rewrite(log(wrong))
    with pytest.raises(RuleRefused, match="no term of"):
        LargestPower(n).rewrite(log(u * n))


def test_what_stands_inside_of_functions_is_not_multiplied_out() -> None:
    k = Symbol("k", integer=True)
    inside = exp(a * (u + k))
    found = SumOfDeltas(k).rewrite(Sum(KroneckerDelta(k, 2) * (u + inside) * inside, (k, 1, 3)))
    assert found == u * exp(a * (u + 2)) + exp(a * (u + 2)) ** 2


def test_only_means_that_are_split_have_to_exist() -> None:
    endless = one(exp(u**2))
    assert Linearity().rewrite(one(a * exp(u**2))) == a * endless
    assert Linearity().hypotheses(one(a * exp(u**2))) == ()
    with pytest.raises(RuleRefused, match="does not exist"):
        Linearity().rewrite(one(exp(u**2) - u))
