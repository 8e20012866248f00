"""Upper bounds on means over sequences: they lie above, by the referee, and turn false where a constant is moved."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Expr, Gt, Integer, Le, Piecewise, Pow, Rational, S, Sum, Symbol, cos, exp, log, sin, sqrt

from symslr.algebra.bound import Bound
from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.hypothesis import holds
from symslr.algebra.positivity import is_nonnegative
from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules import (
    CameronMartin,
    CauchySchwarz,
    ConstantEvenPart,
    JensenForOthers,
    LargestByExponentials,
    OnePower,
    PowerBelowExponential,
    PowerOfOdds,
    ShareBelowLevel,
    TwoMoments,
)
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.special import NormalCdf
from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import STANDARD_NORMAL, laplace, normal
from symslr.model.symbols import L, a, chi, epsilon, j, m, nu, x
from symslr.referee.referee import referee

SPIKED = SpikedSLR()
FEW = settings(max_examples=5, deadline=None)
KEY = chi[epsilon]
shares = st.integers(0, 10).map(lambda tenths: Rational(tenths, 10))
positive = st.integers(1, 30).map(lambda tenths: Rational(tenths, 10))
KERNELS = (exp(x), 1 + x**2, log(1 + exp(x)))
VALUES = {L: 3, nu: Rational(13, 10)}


def tokens(h: Expr) -> Sum:
    return Sum(h.subs(x, chi[m]), (m, 1, L))


def mean(body: Expr, law: Any = SPIKED.law) -> Expr:
    return SequenceExpectation(body, law)


def one(body: Expr, law: Any = STANDARD_NORMAL) -> Expr:
    return ScalarExpectation(body, x, law)


def share(kernel: Expr, offset: Expr = S.Zero) -> Expr:
    return kernel.subs(x, chi[epsilon]) / (offset + tokens(kernel))


def numbers(rule: Any, before: Expr, values: dict[Any, Any] | None = None) -> tuple[float, float, float]:
    """Both sides and what the difference may err."""
    sides = [referee(side, {**VALUES, **(values or {})}, 13) for side in (before, rule.rewrite(before))]
    return float(sides[0].value), float(sides[1].value), 10 * float(sides[0].error + sides[1].error) + 1e-12


def assert_above(rule: Bound, before: Expr, values: dict[Any, Any] | None = None) -> None:
    assert rule.rewrite(before) != before
    left, right, error = numbers(rule, before, values)
    assert left <= right + error, f"{left} is not below {right}"


@FEW
@given(st.sampled_from(KERNELS), shares, shares, st.sampled_from([0, 1, 3]), st.sampled_from([2, 4]))
def test_PowerOfOdds_lies_above(kernel: Expr, t: Expr, r: Expr, offset: int, length: int) -> None:
    before = mean(1 - share(kernel, Integer(offset)))
    assert_above(PowerOfOdds(t, r), before, {L: length})


def test_PowerOfOdds_is_sharp_where_odds_are_small_and_needs_its_conditions() -> None:
    kernel = exp(4 * x)
    left, right, _ = numbers(PowerOfOdds(S.One, S.One), mean(1 - share(kernel)), {nu: 60})
    assert right < 20 * left < 1
    alone = one(1 - 3 / (3 + exp(x)))
    assert_above(PowerOfOdds(S.One, Rational(1, 3)), alone)
    rule = PowerOfOdds(Symbol("t", nonnegative=True), Rational(1, 2))
    assert {h.condition for h in rule.hypotheses(alone)} == {Le(Symbol("t", nonnegative=True), 1)}
    beyond = PowerOfOdds(Integer(3), S.One)
    assert [h.condition for h in beyond.hypotheses(alone)] == [Le(3, 1)]
    assert not holds(Le(3, 1), {})
    left, right, error = numbers(beyond, mean(1 - share(exp(x / 4))), {nu: 64, L: 23})
    assert left > right + error  # t <= 1 is needed


@FEW
@given(st.sampled_from(KERNELS), positive, shares, positive, st.sampled_from([0, 2]))
def test_ShareBelowLevel_lies_above(kernel: Expr, level: Expr, power: Expr, rate: Expr, offset: int) -> None:
    assert_above(ShareBelowLevel(level, power, rate), mean(share(kernel, Integer(offset))))


def test_ShareBelowLevel_says_something_of_many_tokens() -> None:
    found = mean(share(exp(x)))
    left, right, _ = numbers(ShareBelowLevel(Integer(15), S.One, Integer(6)), found, {L: 23})
    assert left < right < 3.5 * left
    hypotheses = ShareBelowLevel(L - 1, Symbol("s", nonnegative=True), S.One).hypotheses(found)
    assert {h.condition for h in hypotheses} == {Le(Symbol("s", nonnegative=True), 1), Gt(L - 1, 0)}
    assert not ShareBelowLevel(Integer(15), S.One, S.One).hypotheses(found)
    (never,) = ShareBelowLevel(Integer(15), Rational(3, 2), S.One).hypotheses(found)
    assert never.condition == S.false
    with pytest.raises(RuleRefused, match="never holds"):
        Derivation(found).apply(ShareBelowLevel(Integer(15), Rational(3, 2), S.One))


def test_PowerOfOdds_and_ShareBelowLevel_are_what_their_statements_say() -> None:
    own, others = exp(KEY), tokens(exp(x))
    odds = (tokens(exp(x / 2)) - exp(KEY / 2)) ** Rational(1, 3) * exp(-KEY / 6)
    assert PowerOfOdds(S.Half, Rational(1, 3)).rewrite(mean(1 - own / others)) == mean(odds)
    assert PowerOfOdds(S.One, S.One).rewrite(one(1 - 3 / (3 + exp(x)))) == one(exp(x) / 3)
    biased = (2 + tokens(exp(x / 2)) - exp(KEY / 2)) ** Rational(1, 3) * exp(-KEY / 6)
    assert PowerOfOdds(S.Half, Rational(1, 3)).rewrite(mean(1 - own / (4 + others))) == mean(biased)
    below = ShareBelowLevel(Integer(3), S.Half, Integer(5)).rewrite(mean(share(exp(x), Integer(4))))
    rest = 4 + others - own
    assert (below.body - sqrt(own / 3) - exp(5 - Rational(5, 3) * rest)).expand() == 0
    missed = LargestByExponentials(Integer(2), S.Half).rewrite(mean(1 - IsLargest.of(epsilon, L)))
    assert missed == mean(sqrt(tokens(exp(2 * x)) - exp(2 * KEY)) * exp(-KEY))
    assert LargestByExponentials(S.One, S.One).hypotheses(mean(KEY)) == ()
    (open_,) = LargestByExponentials(S.One, nu).hypotheses(mean(KEY))
    assert open_.condition == Le(nu, 1)
    for other in (mean(KEY**2), mean(IsLargest.of(epsilon, L) * KEY), one(x**2)):
        assert LargestByExponentials(S.One, S.One).rewrite(other) == other
    # a level far above all tokens, with a rate that feels the rest: e^u is needed
    assert_above(ShareBelowLevel(Integer(100), S.One, Integer(100)), mean(share(exp(x))), {L: 2, nu: 4})
    assert_above(
        LargestByExponentials(S.One, Rational(1, 99)), mean(1 - IsLargest.of(epsilon, L)), {L: 6, nu: Rational(1, 100)}
    )


@FEW
@given(positive, shares, st.sampled_from([2, 3, 6]))
def test_LargestByExponentials_lies_above(rate: Expr, outer: Expr, length: int) -> None:
    assert_above(LargestByExponentials(rate, outer), mean(1 - IsLargest.of(epsilon, L)), {L: length})


@FEW
@given(st.sampled_from(KERNELS), shares.filter(lambda r: r > 0), st.sampled_from([2, 5]))
def test_JensenForOthers_lies_above(kernel: Expr, r: Expr, length: int) -> None:
    others = tokens(kernel) - kernel.subs(x, chi[epsilon])
    assert_above(JensenForOthers(), mean(others ** (r / 2) * exp(chi[epsilon] / 3)), {L: length})
    assert_above(JensenForOthers(), mean(1 - share(kernel)), {L: length})


def test_JensenForOthers_assumes_what_makes_a_power_concave() -> None:
    others = tokens(exp(x)) - exp(chi[epsilon])
    assert JensenForOthers().hypotheses(mean(1 - (1 + others) ** -nu)) == ()
    (condition,) = {h.condition for h in JensenForOthers().hypotheses(mean((1 + others) ** a))}
    assert [condition.subs(a, power) for power in (Rational(1, 2), 1, Rational(3, 2))] == [True, True, False]
    with pytest.raises(RuleRefused, match="is convex in"):
        JensenForOthers().hypotheses(mean((1 + others) ** (1 + nu)))
    p, q = (Symbol(name, nonpositive=True) for name in "pq")
    (condition,) = {h.condition for h in JensenForOthers().hypotheses(mean(p * q * others**2))}
    assert [condition.subs({p: -level, q: -1}) for level in (0, 1)] == [True, False]


def test_what_is_no_share_of_all_tokens_is_left() -> None:
    part = Sum(exp(chi[m]), (m, 1, L - 1))
    for other in (1 - exp(KEY) / part, 1 - exp(KEY) / (part + tokens(exp(x))), 1 - exp(KEY) / (2 + KEY**2)):
        assert not PowerOfOdds(S.One, S.One).match(mean(other))
    for other in (exp(x) / tokens(exp(x)), x / (x + exp(x)), x / (x + x**2)):
        assert not PowerOfOdds(S.One, S.One).match(one(1 - other))
    bound = PowerOfOdds(S.One, S.Half).rewrite(mean(1 - share(exp(-x))))
    assert PowerOfOdds(S.One, S.Half).rewrite(mean(1 - share(exp(-x))) - mean(KEY**2)) == bound - mean(KEY**2)
    assert_above(PowerOfOdds(S.One, S.Half), mean(1 - share(exp(-x))), {L: 3})
    assert JensenForOthers().hypotheses(mean(KEY**2)) == ()


def test_JensenForOthers_is_an_equality_for_what_is_linear() -> None:
    others = tokens(exp(x)) - exp(chi[epsilon])
    left, right, error = numbers(JensenForOthers(), mean(others * chi[epsilon] ** 2))
    assert abs(left - right) <= error
    for beside in (KEY**2, NormalCdf(KEY), 1 + KEY**2, Symbol("c", nonnegative=True)):
        assert JensenForOthers().match(mean(beside * sqrt(others)))


@FEW
@given(positive, positive, st.integers(10, 20).map(lambda tenths: Rational(tenths, 10)))
def test_TwoMoments_and_PowerBelowExponential_lie_above(scale: Expr, size: Expr, order: Expr) -> None:
    transform = one(exp(-size * exp(scale * x / 2)))
    assert_above(TwoMoments(order), transform)
    assert_above(PowerBelowExponential(), transform ** (L - 1))
    both = TwoMoments(order).rewrite(PowerBelowExponential().rewrite(transform ** (L - 1)))
    assert float(referee(both, VALUES, 13).value) >= float(referee(transform ** (L - 1), VALUES, 13).value)


def test_TwoMoments_is_the_expansion_of_a_small_variable() -> None:
    for other in (one(exp(x)), one(exp(-x)), one(x**2), nu):
        assert TwoMoments(Integer(2)).rewrite(other) == other
    assert PowerBelowExponential().rewrite(nu**L * one(exp(x))) == nu**L * one(exp(x))
    assert PowerBelowExponential().rewrite(one(exp(x)) ** L) == exp(L * (one(exp(x)) - 1))
    left, right, _ = numbers(TwoMoments(Integer(2)), one(exp(-exp(x) / 100)))
    assert right - left == pytest.approx(float(exp(2)) / 2 / 10**4, rel=0.05)
    order = Symbol("p", positive=True)
    assert {h.text for h in TwoMoments(order).hypotheses(one(exp(-exp(x))))} == {r"$p \geq 1$", r"$p \leq 2$"}


def test_CauchySchwarz_lies_above_and_is_attained() -> None:
    weight, rest = exp(x - S.Half), exp(x - S.Half) + 2
    explained = one(weight * (1 + x**2)) ** 2 / one(rest * (1 + x**2) ** 2)
    assert_above(CauchySchwarz(), explained)
    maybe_zero = Symbol("c", nonnegative=True)
    assert CauchySchwarz().rewrite(maybe_zero * explained) == maybe_zero * CauchySchwarz().rewrite(explained)
    for other in (one(weight) / one(rest), one(weight) ** 2 / one(rest) ** 2, one(weight) ** 2 * one(rest), nu * a):
        assert CauchySchwarz().rewrite(other) == other
    assert CauchySchwarz().rewrite(one(x) ** 2 / one(rest)) == one(x**2 / rest)
    best = one(weight * weight / rest) ** 2 / one(rest * (weight / rest) ** 2)
    left, right, error = numbers(CauchySchwarz(), best)
    assert abs(left - right) <= error


def test_ConstantEvenPart_finds_the_half_of_a_logistic_function() -> None:
    assert ConstantEvenPart().rewrite(one(1 / (1 + exp(3 * x)))) == S.Half
    assert ConstantEvenPart().rewrite(one(2 + x**3)) == 2
    for left_alone in (one(1 / (2 + exp(x))), one(x, normal(1, 1)), one(1 / x, laplace())):
        assert ConstantEvenPart().rewrite(left_alone) == left_alone


def test_ConstantEvenPart_takes_the_roots_of_parameters_for_real() -> None:
    """In a body as it stands, and in one whose factors alone show that the mean exists."""
    root = sqrt(Symbol("s", real=True))
    assert ConstantEvenPart().rewrite(one(x * exp(-(x**2)) + 1 / (1 + exp(root * x)))) == S.Half
    assert ConstantEvenPart().rewrite(one(1 / (root + root * exp(root * x)))) == 1 / (2 * root)


def test_OnePower_collects_what_is_a_power() -> None:
    y = L - 1
    found = OnePower(y).rewrite(3 * (y * exp(a**2 * log(y) / 2)) ** 2 * exp(-a * log(y)))
    assert found == 3 * y ** (a**2 - a + 2)
    assert OnePower(y).rewrite(exp(nu * y * exp(-2 * log(y))) + log(y)) == exp(nu / y) + log(y)
    apart = (cos(nu) ** 2 + sin(nu) ** 2) * a - 2
    assert OnePower(y).rewrite(apart * log(y)) == apart * log(y)
    with pytest.raises(RuleRefused, match="so nothing says that"):
        OnePower(y).rewrite(y**2)


@FEW
@given(positive, positive, st.integers(-3, 3))
def test_OnePower_keeps_the_value(p: Expr, q: Expr, n: int) -> None:
    y = 1 + nu**2
    whole = y**p * exp(q * log(y))
    for expr in (
        log(y) * (1 + whole),
        (nu + y**n) * (p + log(y)) * exp(nu + n * log(y)),
        exp(p * nu * whole + log(y) * q) + log(y) ** 2 * y,
        nu ** (n + 4) * whole * exp(-nu) / (q + whole * log(y)),
    ):
        found = OnePower(y).rewrite(expr)
        for at in (Rational(3, 7), Rational(11, 5)):
            assert float(found.subs(nu, at)) == pytest.approx(float(expr.subs(nu, at)), rel=1e-12)


def test_a_sum_over_the_others_is_not_negative() -> None:
    others = tokens(exp(x)) - exp(chi[epsilon])
    assert is_nonnegative(others)
    assert is_nonnegative(nu * tokens(x**2) - nu * chi[epsilon] ** 2)
    assert is_nonnegative(L + exp(a * x) - 1)
    assert not is_nonnegative(tokens(exp(x)) - 2 * exp(chi[epsilon]))
    assert not is_nonnegative(tokens(x) - chi[epsilon])


def test_a_citation_may_assume_the_sign_of_a_formula_and_of_nothing_else() -> None:
    chain = Derivation(mean(exp(a * chi[epsilon])), name="moment").apply(CameronMartin())
    kappa = Symbol("kappa", positive=True)
    strength = 2 * kappa * log(L - 1)
    cited = Derivation(chain.start.subs(nu, strength)).apply(Cite(chain, {nu: strength}))
    assert [h.text for h in cited.hypotheses] == ["$L > 2$"]
    assert not holds(cited.hypotheses[0].condition, {L: Integer(1)})
    assert not holds(cited.hypotheses[0].condition, {L: Integer(2)})
    assert holds(cited.hypotheses[0].condition, {L: Integer(3)})
    for wrong in (-kappa, Symbol("t", real=True), Symbol("q")):
        with pytest.raises(RuleRefused, match="is not known to be"):
            Cite(chain, {nu: wrong})


HOCKEY_STICK = Piecewise((0, tokens(exp(x)) < exp(KEY) + 3), (tokens(exp(x)) - exp(KEY) - 3, True))
"""Convex in the sum over the others, by its kink alone: regression, its mean was called at most what it is at the mean."""

REFUSALS = [
    (lambda: PowerOfOdds(a, S.One), None, "expected one that is nonnegative"),
    (lambda: ShareBelowLevel(S.One, a, S.One), None, "expected a number that is nonnegative"),
    (lambda: ShareBelowLevel(KEY, S.One, S.One), None, "expected a positive number"),
    (lambda: ShareBelowLevel(S.Zero, S.One, S.One), None, "expected a positive number"),
    (lambda: ShareBelowLevel(-nu, S.One, S.One), None, "expected a positive number"),
    (lambda: LargestByExponentials(a, S.One), None, "expected a number that is nonnegative"),
    (lambda: TwoMoments(a), None, "expected one that is positive"),
    (lambda: PowerOfOdds(S.One, S.One), mean(1 - exp(KEY) / tokens(exp(2 * x))), "is not the relevant token's term"),
    (lambda: PowerOfOdds(S.One, S.One), mean(1 - KEY / tokens(x)), "is not known to be positive"),
    (lambda: PowerOfOdds(S.One, S.One), mean(1 - share(exp(x), a)), "is not known to be a nonnegative number"),
    (JensenForOthers, mean(share(exp(x))), "is convex in"),
    (JensenForOthers, mean((tokens(exp(x)) - exp(KEY)) ** 2), "is convex in"),
    (JensenForOthers, mean(KEY * sqrt(tokens(exp(x)))), "is not known to be concave"),
    (JensenForOthers, mean(HOCKEY_STICK), "is not known to be continuous"),
    (JensenForOthers, mean(log((tokens(exp(x)) - exp(KEY) - 3) ** 2)), "is not known to be continuous"),
    (JensenForOthers, mean(sqrt(Sum(exp(chi[m]), (m, 1, L - 1)))), "is no sum over all tokens"),
    (JensenForOthers, mean(tokens(x)), "of what is known to be nonnegative"),
    (JensenForOthers, mean(sqrt(tokens(exp(x)) + exp(chi[j]))), "names other tokens beside"),
    (JensenForOthers, mean(sqrt(tokens(exp(x))), MaxSLR().law), "is not a function of the relevant token"),
    (PowerBelowExponential, Pow(one(x), L), "a nonnegative power of a nonnegative mean"),
    (PowerBelowExponential, 1 - one(exp(x)) ** L, "is not known to grow"),
    (CauchySchwarz, one(x) ** 2 / one(exp(x), normal(1, 1)), "are means under different laws"),
    (CauchySchwarz, one(x) ** 2 / one(x**3 + 2), "is not known to be nonnegative"),
    (CauchySchwarz, one(exp(x)) ** 2 / one(x**2), "is not known to vanish only where"),
    (CauchySchwarz, a * one(x) ** 2 / one(exp(x)), "is not known to be nonnegative"),
]


@pytest.mark.parametrize(("made", "expr", "reason"), REFUSALS)
def test_what_is_refused(made: Any, expr: Expr | None, reason: str) -> None:
    with pytest.raises(RuleRefused, match=reason):
        made().rewrite(expr)


def test_a_mean_that_does_not_exist_bounds_nothing() -> None:
    with pytest.raises(RuleRefused, match="does not exist"):
        TwoMoments(Integer(2)).rewrite(one(exp(-exp(x**2 / 3))))
    assert one(exp(x)).is_nonnegative
    assert one(x).is_nonnegative is None
