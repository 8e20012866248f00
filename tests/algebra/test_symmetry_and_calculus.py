"""Sign symmetry, the chain rule, squares through a third point, means over one value: what they give, when they refuse."""

from __future__ import annotations

from math import exp
from typing import Any

import pytest
from sympy import Derivative, Expr, Function, Rational, S, Sum, Symbol, cos, sin
from sympy import exp as exp_

from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules import (
    AverageValues,
    ChainRule,
    FlipSigns,
    Minimise,
    OddMeans,
    PutInPlace,
    SlopeOfOddPart,
    SplitSquare,
    SplitVariance,
)
from symslr.expression.at import At
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Minimum
from symslr.expression.open_functions import OpenKernel
from symslr.expression.scored import ScoredActivation
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import L, a, c, chi, epsilon, eta, j, k, l, m, nu, xi, z, zeta
from symslr.referee.referee import referee

t, u, v = (Symbol(name, real=True) for name in "tuv")
SPIKED, MAX = SpikedSLR().law, MaxSLR().law
SIGMA = ScoredActivation.of(epsilon, softmax, a * chi[m] + c * z[m])


def number(expr: object, **values: object) -> float:
    return float(referee(expr, values, 12).value)


def test_flipped_signs_reach_the_scores_and_keep_the_mean() -> None:
    mirrored = SIGMA.with_score(a * chi[m] - c * z[m])
    node = SequenceExpectation((z[epsilon] - Sum(mirrored.at(l) * (z[l] - chi[l]), (l, 1, L))) ** 2, MAX)
    turned = FlipSigns(z).rewrite(node)
    residual = z[epsilon] - Sum(SIGMA.at(l) * (z[l] + chi[l]), (l, 1, L))
    assert turned in (SequenceExpectation(residual**2, MAX), SequenceExpectation((-residual) ** 2, MAX))
    values = {"L": 2, "nu": Rational(4, 5), "a": Rational(3, 5), "c": Rational(2, 5)}
    assert number(turned, **values) == pytest.approx(number(node, **values), rel=1e-4)  # sampled


def test_means_that_differ_by_a_sign_are_written_alike() -> None:
    left = SequenceExpectation((z[epsilon] + chi[epsilon]) ** 2, MAX)
    right = SequenceExpectation((z[epsilon] - chi[epsilon]) ** 2, MAX)
    rule = FlipSigns(z)
    assert rule.rewrite(left - right) == 0


def test_brackets_with_as_many_minus_signs_either_way_are_written_alike() -> None:
    one, other = (SequenceExpectation(Sum(body, (l, 1, L)) ** 2, MAX) for body in (z[l] - zeta[l], zeta[l] - z[l]))
    assert one != other
    assert FlipSigns(z, zeta).rewrite(one - other) == 0


@pytest.mark.parametrize("factor", [chi[l], -chi[l], -2 * u * chi[l]], ids=str)
def test_brackets_are_written_with_few_minus_signs_whatever_stands_before_them(factor: Expr) -> None:
    node = SequenceExpectation((z[epsilon] - Sum(factor * (z[l] - nu), (l, 1, L))) ** 2, MAX)
    (total,) = FlipSigns(z).rewrite(node).body.atoms(Sum)
    assert total.function == factor * (nu + z[l])


@pytest.mark.parametrize(
    ("base", "written"),
    [
        (Sum(z[l] - chi[l], (l, 1, L)), Sum(z[l] - chi[l], (l, 1, L))),
        (-zeta[epsilon] - 2 * u * (-chi[epsilon] - z[epsilon]), zeta[epsilon] - 2 * u * (chi[epsilon] + z[epsilon])),
        ((u - 1) ** 2 - chi[epsilon] - z[epsilon], -((u - 1) ** 2) + chi[epsilon] + z[epsilon]),
        ((u - 1) ** 2 - chi[epsilon], (u - 1) ** 2 - chi[epsilon]),
        (chi[epsilon] + Sum(-z[l] - chi[l], (l, 1, L)), chi[epsilon] - Sum(z[l] + chi[l], (l, 1, L))),
    ],
    ids=str,
)
def test_brackets_are_written_with_few_minus_signs(base: Expr, written: Expr) -> None:
    assert FlipSigns(eta).rewrite(SequenceExpectation(base**2, MAX)) == SequenceExpectation(written**2, MAX)


def test_the_noise_has_a_sign_of_its_own() -> None:
    for families, kept in (((z,), (xi - 2) * z[epsilon]), ((xi,), (2 - z[epsilon]) * xi), ((z, xi), xi * z[epsilon])):
        flipped = {z[epsilon]: -z[epsilon]} if z in families else {}
        flipped |= {xi: -xi} if xi in families else {}
        body = kept.xreplace(flipped) * chi[epsilon]
        assert FlipSigns(*families).rewrite(SequenceExpectation(body, MAX)).body in (body, kept * chi[epsilon])
        assert FlipSigns(*families).rewrite(SequenceExpectation(kept**3, MAX)).body in (
            kept**3,
            kept.xreplace(flipped) ** 3,
        )
    cube = SequenceExpectation((-zeta[epsilon] - chi[epsilon]) ** 3, MAX)
    assert FlipSigns(eta).rewrite(cube) == cube
    assert FlipSigns(xi).rewrite(SequenceExpectation(-xi * chi[epsilon], MAX)).body == xi * chi[epsilon]
    assert FlipSigns(z).rewrite(SequenceExpectation(-xi * chi[epsilon], MAX)).body == -xi * chi[epsilon]


def test_keys_may_not_change_their_signs() -> None:
    with pytest.raises(RuleRefused, match="expected some of"):
        FlipSigns(chi)


def test_odd_terms_go_and_even_ones_stay() -> None:
    body = (
        z[epsilon] * zeta[epsilon] + z[epsilon] ** 2 * chi[epsilon] + xi * Sum(z[l] ** 2, (l, 1, L)) + eta[epsilon] ** 3
    )
    assert OddMeans().rewrite(SequenceExpectation(body, SPIKED)) == SequenceExpectation(
        z[epsilon] ** 2 * chi[epsilon], SPIKED
    )


def test_a_value_inside_a_score_or_a_function_is_not_judged() -> None:
    for body in (z[epsilon] * SIGMA, z[epsilon] * exp_(z[epsilon]), z[epsilon] * (1 + z[epsilon]) ** 3):
        kept = OddMeans().rewrite(SequenceExpectation(body, MAX))
        assert kept.has(z)


def test_a_product_of_two_odd_terms_is_even() -> None:
    node = SequenceExpectation(Sum(z[l], (l, 1, L)) * z[epsilon], MAX)
    assert not OddMeans().match(node)
    assert OddMeans().rewrite(SequenceExpectation(Sum(z[l] * chi[l], (l, 1, L)) * z[epsilon] ** 2, MAX)) == 0
    square = SequenceExpectation((1 + chi[epsilon]) ** 2 * z[epsilon] ** 2, MAX)
    assert OddMeans().rewrite(square) == square
    three = z[epsilon] * z[j] * z[k]
    assert OddMeans().rewrite(SequenceExpectation(three * chi[epsilon], MAX)) == 0
    for even in (three * z[1], three * Sum(z[l], (l, 1, L)), three * z[epsilon]):
        assert not OddMeans().match(SequenceExpectation(even, MAX))


@pytest.mark.parametrize("family", [z, zeta, eta], ids=str)
def test_a_quotient_is_judged_by_both_its_parts(family: Any) -> None:
    value = family[epsilon]
    for odd in (value / (1 + value**2), value**3 / (2 + value**2), value * (value**2 + 1) ** -2):
        assert OddMeans().rewrite(SequenceExpectation(odd * chi[epsilon], MAX)) == 0
        assert not OddMeans().match(SequenceExpectation(value * odd * chi[epsilon], MAX))
    for infinite in (1 / (value + value**3), value * (value**3 - value) ** -2):
        assert not OddMeans().match(SequenceExpectation(infinite * chi[epsilon], MAX))
    for neither in (1 / (1 + value), value / (value + value**2), value * (2 + value**2) ** Rational(1, 3)):
        assert not OddMeans().match(SequenceExpectation(neither * chi[epsilon], MAX))


def test_chain_rule_in_two_variables() -> None:
    outer = Function("F")(u, v)
    curve = {u: sin(t), v: t**2}
    slope = ChainRule(outer, curve).rewrite(Derivative(outer.subs(curve, simultaneous=True), t))
    put_in = slope.replace(Function("F"), lambda x, y: x * y**2)
    done = put_in.replace(lambda node: isinstance(node, Derivative), lambda node: node.doit())
    found = PutInPlace().rewrite(done)
    assert (found - (sin(t) * t**4).diff(t)).simplify() == 0


def test_slopes_in_two_variables_at_one_place_are_two_numbers() -> None:
    """SymPy's Subs takes them for equal."""
    outer = Function("F")(u, v)
    slopes = ChainRule(outer, {u: 2 * t, v: 3 * t}).rewrite(
        At.of(Derivative(outer.subs({u: 2 * t, v: 3 * t}, simultaneous=True), t), {t: S.Zero})
    )
    assert slopes == 2 * At.of(Derivative(outer, u), {u: 0, v: 0}) + 3 * At.of(Derivative(outer, v), {u: 0, v: 0})
    assert len(slopes.atoms(At)) == 2


def test_referee_reads_a_slope_at_a_place() -> None:
    slope = At.of(Derivative(exp_(2 * u) * cos(v), u), {u: Rational(1, 2), v: S.Zero})
    assert number(slope) == pytest.approx(2 * exp(1), rel=1e-10)


def test_what_is_bound_at_a_place_is_not_replaced() -> None:
    node = At.of(Derivative(exp_(u * v), u), {u: v + 1})
    assert node.free_symbols == {v}
    assert node.subs(u, 7) == node


def test_slope_of_the_odd_part() -> None:
    formula = exp_(u) * (1 + v)
    node = At.of(Derivative(formula, u), {u: S.Zero, v: S.Zero})
    odd = SlopeOfOddPart(u, v).rewrite(node)
    assert odd != node
    assert number(odd) == pytest.approx(1, rel=1e-10)
    even = SlopeOfOddPart(u).rewrite(At.of(Derivative(cos(u), u), {u: S.Zero}))
    assert even == 0


def test_slope_of_the_odd_part_elsewhere_than_at_zero() -> None:
    with pytest.raises(RuleRefused, match="vanish"):
        SlopeOfOddPart(u).rewrite(At.of(Derivative(exp_(u), u), {u: S.One}))
    with pytest.raises(RuleRefused, match="vanish"):
        SlopeOfOddPart(u, v).rewrite(At.of(Derivative(exp_(u + v), u), {u: S.Zero, v: S.One}))
    other = At.of(Derivative(exp_(u + v), v), {u: S.Zero, v: S.Zero})
    assert SlopeOfOddPart(u).rewrite(other) == other
    for twice in ((u, u), (u, v)):
        other = At.of(Derivative(exp_(u + v) * (1 + u * v), *twice), {u: S.Zero, v: S.Zero})
        assert SlopeOfOddPart(u, v).rewrite(other) == other


def test_square_through_a_third_point() -> None:
    Y, F, P = z[epsilon], Sum(z[l], (l, 1, L)) / 3, Sum(chi[l] * z[l], (l, 1, L)) / 5
    node = SequenceExpectation((Y - F) ** 2, SPIKED)
    split = SplitSquare(F, P).rewrite(node)
    values = {"L": 2, "nu": Rational(6, 5)}
    assert number(split, **values) == pytest.approx(number(node, **values), rel=1e-10)
    with pytest.raises(RuleRefused, match="not a difference"):
        SplitSquare(Sum(eta[l], (l, 1, L)), P).rewrite(
            SequenceExpectation((Y - 2 * Sum(eta[l], (l, 1, L))) ** 2, SPIKED)
        )


def test_average_over_one_value_of_a_token() -> None:
    h = OpenKernel(a * chi[l] + eta[l]) * chi[l]
    node = SequenceExpectation(Sum(h, (l, 1, L)), MAX)
    averaged = AverageValues(eta).rewrite(node)
    assert not averaged.has(eta)
    values = {"L": 2, "nu": Rational(4, 5), "a": Rational(3, 5)}
    assert number(averaged, **values) == pytest.approx(number(node, **values), rel=1e-4)  # sampled


def test_values_of_several_tokens_are_not_averaged_one_by_one() -> None:
    total = Sum(eta[l] ** 2, (l, 1, L))
    with pytest.raises(RuleRefused, match="several tokens"):
        AverageValues(eta).rewrite(SequenceExpectation(total**2, MAX))
    with pytest.raises(RuleRefused, match="folded"):
        AverageValues(z).rewrite(SequenceExpectation(SIGMA, MAX))
    with pytest.raises(RuleRefused, match="expected z, zeta or eta"):
        AverageValues(chi)


def test_mean_square_and_variance() -> None:
    squared = ScalarExpectation((t + cos(t)) ** 2, t, STANDARD_NORMAL)
    split = SplitVariance().rewrite(squared)
    assert number(split) == pytest.approx(number(squared), rel=1e-10)
    assert len(split.atoms(ScalarExpectation)) == 2
    assert SplitVariance().rewrite(split) == split


def test_a_sign_at_infinity_that_is_known_is_put_in() -> None:
    """The leading coefficient L^2 + nu (L - 1) is positive for L >= 1."""
    lead = L**2 + nu * (L - 1)
    assert Minimise().rewrite(Minimum(lead * t**2 - 2 * t, t)).subs({L: 2, nu: 1}) == -Rational(1, 5)
    with pytest.raises(RuleRefused):
        Minimise().rewrite(Minimum((L - nu) * t**2 - 2 * t, t))
