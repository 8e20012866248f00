"""Rules of calculus: what they make is what finite differences say, and what they must refuse."""

import math
from fractions import Fraction

import pytest
from sympy import (
    Abs,
    Derivative,
    Expr,
    Function,
    Heaviside,
    IndexedBase,
    Max,
    Piecewise,
    Rational,
    S,
    Sum,
    Symbol,
    atan,
    cos,
    exp,
    floor,
    latex,
    log,
    sign,
    tanh,
)

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules import (
    Abbreviate,
    CompleteSquare,
    Differentiate,
    DifferentiateMean,
    Envelope,
    ExpandLogarithm,
    FlipSigns,
    GaussianByParts,
    GaussianMoments,
    HeatEquation,
    MinimiseAtGivenSum,
    SolveLinear,
)
from symslr.expression.convolution import GaussianConvolution
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import ConditionalMean, Minimum
from symslr.expression.joint import JointMinimum, Solution
from symslr.model.catalogue import SpikedSLR
from symslr.model.scalar_law import laplace, normal
from symslr.model.symbols import L, epsilon, l, m, z
from symslr.referee.referee import referee

t, u = Symbol("t", real=True), Symbol("u", real=True)
r, s = Symbol("r", positive=True), Symbol("s", positive=True)
p, w, o = (IndexedBase(name, real=True) for name in ("p", "w", "o"))
AT = {"r": Fraction(7, 10), "s": Fraction(13, 10), "t": Fraction(2, 5), "L": 2}


def agree(before, rule, digits=13):
    after = rule.rewrite(before)
    one, two = (referee(side, AT, digits) for side in (before, after))
    assert abs(one.value - two.value) <= 10 * (one.error + two.error)
    return after


@pytest.mark.parametrize(
    "body", [u**2 * exp(-s * u**2), u * exp(s * u / 3), exp(-s * u**2 / 2 + r * u), u**3 * exp(-r * u**2 + s * u + 1)]
)
def test_completing_the_square(body):
    agree(ScalarExpectation(body, u, normal()), CompleteSquare())


def test_completing_the_square_refuses_what_has_no_mean():
    with pytest.raises(RuleRefused, match="positive"):
        CompleteSquare().rewrite(ScalarExpectation(exp(s * u**2), u, normal()))


@pytest.mark.parametrize("h", [exp(s * u / 2), log(1 + s * u**2), 1 / (1 + exp(-s * u)), Abs(u), Max(u, -1)])
def test_integration_by_parts(h):
    after = agree(ScalarExpectation(u * h + h, u, normal()), GaussianByParts())
    assert after == ScalarExpectation(h.diff(u) + h, u, normal())


@pytest.mark.parametrize(
    "h",
    [
        *(Heaviside(u), sign(u), floor(u), Piecewise((0, u > 0), (u**2, True))),
        *(tanh(1 / u), atan(1 / u), 1 / (1 + exp(1 / u)), 1 / (u - 1), log(u**2), (u**2 - 1) ** Rational(1, 3)),
    ],
    ids=str,
)
def test_integration_by_parts_refuses_jumps_and_poles(h):
    """Regression: E[u tanh(1/u)] > 0 was the mean of the slope of tanh(1/u), which is negative everywhere."""
    with pytest.raises(RuleRefused, match="not known to be absolutely continuous"):
        GaussianByParts().rewrite(ScalarExpectation(u * h, u, normal()))


def test_integration_by_parts_refuses_what_it_cannot_differentiate():
    with pytest.raises(RuleRefused, match="has no derivative in"):
        GaussianByParts().rewrite(ScalarExpectation(u * Function("f")(u), u, normal()))


def test_integration_by_parts_refuses_another_law():
    with pytest.raises(RuleRefused, match="normal"):
        GaussianByParts().rewrite(ScalarExpectation(u * exp(u / 4), u, laplace()))


def test_derivative_of_a_mean():
    agree(Derivative(ScalarExpectation(log(1 + s * u**2), u, normal()), s), DifferentiateMean())
    with pytest.raises(RuleRefused, match="depends"):
        DifferentiateMean().rewrite(Derivative(ScalarExpectation(u**2, u, normal(0, s)), s))


@pytest.mark.parametrize(
    "body",
    [sign(u - s) * u, Heaviside(u * s - 1), Piecewise((u, u > s), (0, True)), floor(u + s), exp(sign(u - s))],
    ids=str,
)
def test_no_derivative_is_taken_inside_of_a_mean_through_a_jump(body: Expr) -> None:
    """d/ds E sign(u - s) is -2 p(s), and the slope of sign is 0 almost everywhere."""
    with pytest.raises(RuleRefused, match="jumps where s moves"):
        DifferentiateMean().rewrite(Derivative(ScalarExpectation(body, u, normal()), s))


@pytest.mark.parametrize("body", [Abs(u - s), Max(u, s), sign(u) * s], ids=str)
def test_a_kink_is_no_jump(body: Expr) -> None:
    after = DifferentiateMean().rewrite(Derivative(ScalarExpectation(body, u, normal()), s))
    assert after == ScalarExpectation(Derivative(body, s), u, normal())


def test_differentiation_goes_as_far_as_the_chain_rule():
    mean = ScalarExpectation(log(1 + s * u**2), u, normal())
    after = agree(Derivative(s * exp(mean) + r, s), Differentiate())
    assert after == exp(mean) + s * exp(mean) * Derivative(mean, s)


def test_a_linear_equation_is_solved_and_a_zero_coefficient_is_named():
    agree(Solution(r * t - s + 2 * t, t), SolveLinear())
    mean = ScalarExpectation(u**2 * exp(s * u), u, normal())
    agree(Solution(mean * t - s, t), SolveLinear())
    x = Symbol("x", real=True)
    (hypothesis,) = SolveLinear().hypotheses(Solution(x * t - s, t))
    assert hypothesis.condition.subs(x, 0) == False  # noqa: E712


@pytest.mark.parametrize("body", [t**2 - s, t**2 + t - s, exp(t) - 1, r + s])
def test_other_equations_are_refused(body):
    with pytest.raises(RuleRefused):
        SolveLinear().rewrite(Solution(body, t))


@pytest.mark.parametrize("function", [exp(-(t**2) / 2), sign(t - Rational(1, 3)), t**3 + cos(t)])
@pytest.mark.parametrize("orders", [(0, 1), (1, 1), (0, 2)])
def test_the_heat_equation(function, orders):
    """Derivatives in the variance by differentiating the density, against twice as many in the mean; P may jump."""
    convolution = GaussianConvolution.of(Symbol("Z"), function, t, r / 3, s / 2).differentiated(*orders)
    after = agree(convolution, HeatEquation())
    assert after.atoms(GaussianConvolution).pop().orders == (orders[0] + 2 * orders[1], 0)


def test_the_heat_equation_leaves_what_is_not_differentiated_in_the_variance():
    convolution = GaussianConvolution.of(Symbol("Z"), exp(t), t, r, s).differentiated(2)
    assert HeatEquation().rewrite(convolution) == convolution


@pytest.mark.parametrize("orders", [(1, 0), (2, 0), (0, 1), (1, 1)])
def test_derivatives_of_a_convolution_are_those_of_the_density(orders):
    """E e^z = e^(omega + V/2): each derivative in omega is a factor 1, each in V one half."""
    convolution = GaussianConvolution.of(Symbol("Z"), exp(t), t, r / 3, s / 2).differentiated(*orders)
    value = referee(convolution, {"r": Fraction(2), "s": Fraction(3)}, 20)
    assert float(value.value) == pytest.approx(2.0 ** -orders[1] * math.exp(2 / 3 + 3 / 4), rel=1e-14)


def test_a_convolution_differentiates_through_its_mean_and_its_variance():
    z_ = GaussianConvolution.of(Symbol("Z"), exp(t), t, r * u, 1 - r)
    assert z_.diff(r) == u * z_.differentiated(1) - z_.differentiated(0, 1)
    assert GaussianConvolution.of(Symbol("Z"), s * t, t, r, s).diff(s) is not None  # unevaluated: s stands in P too
    assert z_.subs(t, s) == z_
    assert latex(z_.differentiated(2, 1)) == r"Z_{\omega \omega V}"
    assert z_.free_symbols == {r, u}


def test_integration_by_parts_divides_by_no_convolution_that_may_vanish():
    above, mixed = (GaussianConvolution.of(Symbol("Z"), function, t, u / 2, S.Half) for function in (exp(t), t))
    agree(ScalarExpectation(u * log(above), u, normal()), GaussianByParts())
    for wrong in (1 / mixed, 1 / above.differentiated(1)):
        with pytest.raises(RuleRefused, match="not known to be absolutely continuous"):
            GaussianByParts().rewrite(ScalarExpectation(u * wrong, u, normal()))


@pytest.mark.parametrize(
    "body", [Abs(u), u * sign(u), Abs(u) ** 3, sign(u) + u**2, (Abs(u) - r) ** 2, u**2 * Abs(u), sign(u) * u**4]
)
def test_absolute_moments(body):
    assert not agree(ScalarExpectation(body, u, normal()), GaussianMoments()).has(ScalarExpectation)


def test_the_logarithm_of_a_product():
    agree(log(r * exp(t) / s), ExpandLogarithm())
    assert ExpandLogarithm().rewrite(log(t**2 + 1)) == log(t**2 + 1)


def joint(centre=None, link=None, sign=1):
    centre = t + l if centre is None else centre
    line = Sum(l * w[l], (l, 1, L))
    return JointMinimum(
        sign * Sum((w[l] - centre) ** 2, (l, 1, L)) / (2 * r) + (link or (lambda v: (s - v) ** 2))(line), (w,), L
    )


def test_minimum_at_a_given_sum():
    from symslr.algebra.rules import Minimise

    chain = Derivation(joint()).apply(MinimiseAtGivenSum(w))
    assert [hypothesis.text for hypothesis in chain.hypotheses] == [r"$\sum_{l=1}^{L} l^{2} > 0$"]
    numbers = [referee(line, {**AT, "L": n}, 13).value for n in (3,) for line in (chain.start, chain.result)]
    assert abs(numbers[0] - numbers[1]) < 1e-11
    assert Minimise().match(chain.result)


def test_a_line_and_a_distance_may_have_indices_of_their_own():
    """Regression: the weight of a sum over m stood in a sum over l."""
    one, two = (
        JointMinimum(Sum((w[l] - t - l) ** 2, (l, 1, L)) + Sum(i * w[i], (i, 1, L)) ** 2, (w,), L) for i in (l, m)
    )
    assert MinimiseAtGivenSum(w).rewrite(two) == MinimiseAtGivenSum(w).rewrite(one)
    assert MinimiseAtGivenSum(w).hypotheses(two) == MinimiseAtGivenSum(w).hypotheses(one)


def test_minimum_at_a_given_sum_needs_a_distance():
    with pytest.raises(RuleRefused, match="positive"):
        MinimiseAtGivenSum(w).rewrite(joint(sign=-1))
    two = joint(link=lambda v: v * Sum(w[l], (l, 1, L)))
    with pytest.raises(RuleRefused, match="linear sum"):
        MinimiseAtGivenSum(w).rewrite(two)
    shifted = joint(link=lambda v: 1 / (1 + Sum(l * w[l] + l**2, (l, 1, L)) ** 2))
    with pytest.raises(RuleRefused, match="is not linear in"):
        MinimiseAtGivenSum(w).rewrite(shifted)
    with pytest.raises(RuleRefused, match="names another token than its own"):
        MinimiseAtGivenSum(w).rewrite(joint(centre=w[1]))


def test_the_envelope_theorem_at_a_joint_minimum():
    before = Derivative(joint(), t)
    agree(before, Envelope())
    closed = Derivative(Minimum((u - t) ** 2 + t * u, u), t)
    assert Envelope().hypotheses(closed) == ()
    for line in (before, before + closed):
        assert "unique" in Envelope().hypotheses(line)[0].text
    with pytest.raises(RuleRefused, match="parameter"):
        Envelope().rewrite(Derivative(joint(), t, t))


def test_an_abbreviation_must_give_the_variable_back():
    class Name(Symbol):
        def definition(self):
            return (t - s) / r

    name = Name("f", real=True)
    rule = Abbreviate(t, s + r * name, name)
    assert rule.rewrite(t**2) == (s + r * name) ** 2
    apart = Sum((u + s) ** 2 * l, (l, 1, 5))
    assert rule.rewrite(t * apart) == (s + r * name) * apart
    with pytest.raises(RuleRefused, match="is not t"):
        Abbreviate(t, s - r * name, name)
    with pytest.raises(RuleRefused, match="has no definition"):
        Abbreviate(t, s + r * name, s)


def test_signs_do_not_change_inside_a_conditional_mean():
    law = SpikedSLR().law
    hidden = SequenceExpectation(z[epsilon] * ConditionalMean(z[epsilon], law), law)
    with pytest.raises(RuleRefused, match="has integrated its values out; write it out first"):
        FlipSigns(z).rewrite(hidden)
