"""The exchangeable reduction is the expectation it came from, for every weight, kernel, length and sign of the scale."""

from __future__ import annotations

from itertools import product

import pytest
from sympy import Abs, Expr, Integral, Rational, Sum, Symbol, exp, log, oo, sin

from symslr.algebra.reduction import reduce
from symslr.algebra.rule import RuleRefused
from symslr.expression.expectation import Expectation, ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, Posterior
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, a, chi, epsilon, l, nu, x
from tests.algebra.brute import brute
from tests.algebra.cases import ATTENTIONS, CASES, assert_equal, attention_of

BODIES = {
    "hit": lambda s: s,
    "hit squared": lambda s: s**2,
    "miss squared": lambda s: (1 - s) ** 2,
    "norm": lambda s: Sum(s.at(l) ** 2, (l, 1, L)),
    "others": lambda s: Sum(s.at(l) ** 2, (l, 1, L)) - s**2,
    "cube": lambda s: s**3,
    "overlap with the posterior's key": lambda s: s * chi[epsilon],
}

FAST = ["spiked", "square", "spread", "laplace"]

PAIRS = [
    (case, attention, body)
    for (i, case), (j, attention), (k, body) in product(enumerate(FAST), enumerate(ATTENTIONS), enumerate(BODIES))
    if (i + j + k) % len(FAST) == 1
]
"""A quarter of all triples, with every two of a weight, a kernel and a body together."""


def is_reduced(expr: Expr) -> bool:
    return not expr.has(SequenceExpectation, Activation, Posterior, Sum)


@pytest.mark.parametrize(("case", "attention", "body"), PAIRS)
def test_weights_of_one_token(case: str, attention: str, body: str) -> None:
    sides = SequenceExpectation(BODIES[body](attention_of(attention)), CASES[case].law)
    reduced = reduce(sides)
    assert is_reduced(reduced)
    for scale in (0.7, -1.1):
        assert_equal(sides, reduced, (1, 2), values={a: scale}, **CASES[case].options)


@pytest.mark.parametrize("attention", ["softmax", "softmax1", "quartic", "sigmoid", "rectified, offset"])
@pytest.mark.parametrize("case", ["max", "square selection"])
def test_selections_take_a_second_laplace_variable(case: str, attention: str) -> None:
    for body in ("miss squared", "norm"):
        sides = SequenceExpectation(BODIES[body](attention_of(attention)), CASES[case].law)
        reduced = reduce(sides)
        assert is_reduced(reduced)
        assert_equal(sides, reduced, (1, 2), values={a: -0.9}, **CASES[case].options)


@pytest.mark.parametrize("attention", ["quartic", "sigmoid, offset", "absolute"])
def test_heavy_tails(attention: str) -> None:
    case = CASES["student"]
    sides = SequenceExpectation(BODIES["norm"](attention_of(attention)), case.law)
    reduced = reduce(sides)
    assert is_reduced(reduced)
    for length in (1, 2):
        values = {L: length, a: 0.6}
        # the mesh ends at |x| = 200, where 3e-7 of the mass is left and a quartic kernel is large
        left, right = brute(sides, values, **case.options), brute(reduced, values, **case.options)
        assert left == pytest.approx(right, rel=2e-5)


@pytest.mark.parametrize("case", ["spiked", "max", "spread"])
def test_three_and_four_tokens(case: str) -> None:
    """Only from three tokens on do two of them differ from each other and from the relevant one."""
    sigma = attention_of("softplus")
    sides = SequenceExpectation((1 - sigma) ** 2, CASES[case].law)
    assert_equal(sides, reduce(sides), (3,), **CASES[case].options)
    if case == "spiked":
        assert_equal(sides, reduce(sides), (4,))


@pytest.mark.parametrize("case", CASES)
def test_bayes_error(case: str) -> None:
    law = CASES[case].law
    sides = SequenceExpectation(1 - Posterior(epsilon, law), law)
    reduced = reduce(sides)
    assert is_reduced(reduced)
    assert_equal(sides, reduced, (1, 2, 3) if case in ("spiked", "max") else (1, 2), **CASES[case].options)


def test_the_error_is_a_sum_of_positive_integrals() -> None:
    """No constant to cancel: each term is an integral of products of means of positive functions."""
    law = SpikedSLR().law
    reduced = reduce(SequenceExpectation(1 - Posterior(epsilon, law), law))
    assert isinstance(reduced, Integral)
    assert all(factor.body.is_positive for factor in reduced.atoms(ScalarExpectation))


def test_the_largest_token() -> None:
    """max-SLR at nu = infinity, where the posterior is an indicator: half a grid step of brute force is left."""
    law = MaxSLR(nu=oo).law
    for body in (chi[epsilon], attention_of("softmax"), attention_of("sigmoid") ** 2):
        sides = SequenceExpectation(body, law)
        reduced = reduce(sides)
        assert is_reduced(reduced)
        for length in (1, 2):
            values = {L: length, a: 0.7}
            assert brute(sides, values) == pytest.approx(brute(reduced, values), abs=3e-5)


@pytest.mark.parametrize("name", ["u", "t", "y", "u_3"])
def test_a_parameter_may_carry_the_name_of_an_integration_variable(name: str) -> None:
    """Regression: a kernel with a parameter u was captured by the Laplace variable u, and 0.573 became nan."""
    tasks = (SpikedSLR(), 1e-8), (MaxSLR(), 1e-6), (MaxSLR(nu=oo), 3e-5)
    for parameter, some in ((Symbol(name, positive=True), tasks[:1]), (Symbol(name, real=True), tasks)):
        sigma = Activation.of(epsilon, Attention(exp(parameter * x)), a)
        expected = Activation.of(epsilon, softmax, a / 2)
        for task, tolerance in some:
            sides = SequenceExpectation(sigma, task.law)
            values = {L: 2, nu: 0.8, a: 0.7}
            named = brute(reduce(sides), {**values, parameter: 0.5})
            assert named == pytest.approx(brute(SequenceExpectation(expected, task.law), values), abs=tolerance)


def test_reduction_leaves_other_expressions_alone() -> None:
    scalar = ScalarExpectation(x**2, x, SpikedSLR().base)
    for expr in (nu + 1, scalar, Rational(1, 3)):
        assert reduce(expr) == expr


def test_one_token_alone_takes_all_attention() -> None:
    """Regression: powers of a sigmoid were expanded, so that they no longer cancelled against its normaliser."""
    for kernel in (1 / (1 + exp(-x)), log(1 + exp(x)), 1 + x**4):
        sigma = Activation.of(epsilon, Attention(kernel), a)
        law = SpikedSLR(length=1).law
        others = SequenceExpectation(Sum(sigma.at(l) ** 2, (l, 1, L)) - sigma**2, law)
        assert reduce(others.subs(L, 1)) == 0


def test_reduction_goes_into_products_and_powers() -> None:
    mean = SequenceExpectation(attention_of("sigmoid"), SpikedSLR().law)
    assert_equal(1 - nu * mean**2 / (1 + mean), reduce(1 - nu * mean**2 / (1 + mean)))


@pytest.mark.parametrize(
    ("weight", "body", "reason"),
    [
        (1, log(Sum(exp(chi[l]), (l, 1, L))), "not a polynomial in sums"),
        (1, 1 / Sum(chi[l], (l, 1, L)), "not known to be positive"),
        (1, Sum(chi[l] ** 2, (l, 1, L)) ** 3, "at most 2"),
        (1, exp(chi[epsilon] * Sum(chi[l], (l, 1, L))), "polynomial in sums|product over tokens"),
        (exp(chi[epsilon] * Sum(sin(chi[l]), (l, 1, L))), chi[epsilon], "polynomial in sums|product over tokens"),
    ],
)
def test_what_it_cannot_reduce_it_refuses(weight: Expr, body: Expr, reason: str) -> None:
    with pytest.raises(RuleRefused, match=reason):
        reduce(SequenceExpectation(body, SequenceLaw(weight, L)))


def test_kinks_and_absolute_values_survive() -> None:
    sides = SequenceExpectation(Abs(chi[epsilon]) / (1 + Sum(Abs(chi[l]), (l, 1, L))), SequenceLaw(1, L))
    reduced = reduce(sides)
    assert not reduced.has(Sum)
    assert reduced.has(Expectation)
    assert_equal(sides, reduced)
