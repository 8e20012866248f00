"""What is almost what a rule is for: it is left as it is, beside what is taken, or refused with the reason."""

from __future__ import annotations

import pytest
from sympy import (
    Abs,
    Derivative,
    Eq,
    Expr,
    Function,
    Heaviside,
    IndexedBase,
    Integral,
    KroneckerDelta,
    Le,
    Product,
    Rational,
    S,
    Sum,
    Symbol,
    cosh,
    erf,
    exp,
    expand,
    floor,
    log,
    oo,
    sign,
    simplify,
    sqrt,
    tanh,
)

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules import (
    AverageValues,
    CameronMartin,
    CompleteSquare,
    ConditionOnMaximum,
    ConstantEvenPart,
    Differentiate,
    DropFromDenominator,
    FlipSigns,
    GaussianErf,
    JensenForOthers,
    LaplaceRepresentation,
    Linearity,
    Minimise,
    MinimiseAtGivenSum,
    Nishimori,
    Parity,
    SelectedMean,
    Stein,
    WriteDensity,
)
from symslr.algebra.rules.blocks.deltas import SumOfDeltas
from symslr.algebra.rules.blocks.powers import LargestPower
from symslr.algebra.rules.inequalities.series import SeriesComparison
from symslr.algebra.rules.signs.events import VanishingSum
from symslr.algebra.rules.signs.law import SumOfSigns
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Minimum, Posterior
from symslr.expression.joint import JointMinimum
from symslr.expression.scored import ScoredActivation
from symslr.expression.signs import Indicator, Relu, Sign, SignExpectation, omega
from symslr.expression.special import NormalCdf
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw, normal
from symslr.model.symbols import L, chi, epsilon, l, m, x, z

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
    assert Stein().rewrite(SequenceExpectation(chi[epsilon] * Abs(chi[epsilon] - a), plain)) == SequenceExpectation(
        sign(chi[epsilon] - a), plain
    )
    chain = Derivation(SequenceExpectation(chi[epsilon] * own, plain)).apply(Stein())
    assert chain.result == SequenceExpectation(own.diff(chi[epsilon]), plain)
    assert "the open functions differentiable" in [hypothesis.text for hypothesis in chain.hypotheses]
    for jumping in (floor(own), sign(own), Heaviside(own - 1), own * floor(chi[epsilon])):
        with pytest.raises(RuleRefused, match="absolutely continuous"):
            Stein().rewrite(SequenceExpectation(chi[epsilon] * jumping, plain))


@pytest.mark.parametrize(
    ("expr", "reason"),
    [
        (one(exp(u**3)), "is not quadratic"),
        (one(exp(u * tanh(u))), "is not quadratic"),
        (one(exp(-(u**2) * tanh(u) ** 2)), "is not quadratic"),
        (one(exp(u + tanh(u))), "is not quadratic"),
        (one(exp(u**2 / 2)), "is not known to be positive"),
    ],
    ids=str,
)
def test_no_square_to_complete(expr: Expr, reason: str) -> None:
    with pytest.raises(RuleRefused, match=reason):
        CompleteSquare().rewrite(expr)


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
        (Sum(w[l] ** 2, (l, 1, L), (m, 1, 2)), "does not run over the tokens"),
        (Sum(w[l] ** 2, (l, 1, L)) + Sum(w[l] ** 2, (l, 1, L)) ** 2, "positive factor"),
        (Sum(w[l] ** 2, (l, 1, L)) + Sum(2 * w[l] ** 2, (l, 1, L)), "expected one sum of squares"),
        (Sum(w[l] ** 2, (l, 1, L)) ** 2, "positive factor"),
        (Sum(w[l] ** 2, (l, 1, L)) * u, "positive factor"),
        (Sum(w[l] ** 2, (l, 1, L)) * Symbol("g", nonnegative=True), "positive factor"),
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
    v = IndexedBase("v", real=True)
    beside = MinimiseAtGivenSum(w).rewrite(JointMinimum(square / 2 + LINE + u + v[1] ** 2, (w, v), L))
    assert (beside.families, beside.body) == ((v,), found + u + v[1] ** 2)


def test_a_tilt_may_be_any_number() -> None:
    for slope in (S.One, -S.One, a, u.func("s", real=True)):
        assert CameronMartin().rewrite(one(exp(slope * u) * u)) == exp(slope**2 / 2) * one(u + slope)
    for left in (u * exp(a), (1 + u) ** 2, (1 + u) ** 2 * exp(-(u**2))):
        assert CameronMartin().rewrite(one(left)) == one(left)


@pytest.mark.parametrize(
    "exponent", [u * tanh(u), u * Symbol("w", imaginary=True), u**2 * tanh(u) / 9, log(2 + u**2) * u], ids=str
)
def test_a_tilt_is_a_real_number(exponent: Expr) -> None:
    beside = tanh(u) ** 2
    assert CameronMartin().rewrite(one(beside * exp(exponent))) == one(beside * exp(exponent))
    shifted = CameronMartin().rewrite(one(beside * exp(exponent + a * u)))
    assert shifted == exp(a**2 / 2) * one(
        (beside * exp(exponent)).subs(u, u + a).replace(exp, lambda e: exp(expand(e)))
    )


def test_the_slope_of_a_size_is_that_of_a_real_number() -> None:
    mean = one(exp(a * u))
    slope = Derivative(mean, a)
    assert Differentiate().rewrite(Derivative(Abs(mean - 2), a)) == sign(mean - 2) * slope


def test_the_logarithm_of_what_is_not_positive_is_refused() -> None:
    n, g = Symbol("n", positive=True), Symbol("g", nonnegative=True)
    for wrong in (-g * n, -n, -(n**2) - g):
        with pytest.raises(RuleRefused, match="is not positive"):
            LargestPower(n).rewrite(log(wrong))
    with pytest.raises(RuleRefused, match="no term of"):
        LargestPower(n).rewrite(log(u * n))
    for open_, said in ((n + g, 1), (n - g, 2)):
        assert len(LargestPower(n).hypotheses(log(open_))) == said


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


def test_without_a_weight_no_token_is_selected() -> None:
    plain = SequenceExpectation(chi[epsilon], SpikedSLR().law.unweighted())
    assert SelectedMean().rewrite(plain) == plain


def test_a_sum_that_is_at_most_zero_vanishes_only_where_its_terms_are_nonnegative() -> None:
    k, n = Symbol("k", integer=True), Symbol("n", integer=True, positive=True)
    signs = Sum(Sign(omega, k), (k, 1, n))
    for left in (Le(signs, 0), Le(signs + a, 0), Eq(signs, 0), Le(Relu(signs) - 1, 0), Le(a, 1)):
        assert VanishingSum().rewrite(Indicator(left)) == Indicator(left)
    neurons = Sum(Relu(Sign(omega, k) * k), (k, 1, n))
    each = Product(Indicator(Le(k * Sign(omega, k), 0)), (k, 1, n))
    assert (
        VanishingSum().rewrite(Indicator(Le(neurons, 0))) == VanishingSum().rewrite(Indicator(Eq(neurons, 0))) == each
    )


def test_a_minimiser_that_may_be_at_the_end_of_the_range_is_inside() -> None:
    t, end = Symbol("t", nonnegative=True), Symbol("b", nonnegative=True)
    assert Minimise().rewrite(Minimum((t - end) ** 2 + a, t)) == a
    with pytest.raises(RuleRefused):
        Minimise().rewrite(Minimum((t - u) ** 2 + a, t))


def test_signs_are_flipped_in_the_score_and_not_in_the_kernel() -> None:
    paid = ScoredActivation.of(epsilon, Attention(2 + (1 - x - x**3) ** 2), -z[m] / 2 + chi[m])
    found = FlipSigns(z).rewrite(over(paid * chi[epsilon] * -z[epsilon]))
    assert found == over(paid.with_score(z[m] / 2 + chi[m]) * chi[epsilon] * z[epsilon])


def test_a_mean_has_values_of_its_own() -> None:
    inner = over(tanh(1 + z[epsilon]))
    assert FlipSigns(z).rewrite(over(-z[epsilon] * chi[epsilon] * inner)) == over(z[epsilon] * chi[epsilon] * inner)


@pytest.mark.parametrize("density", [exp(x - x**4), exp(-x - x**4), exp(-x - exp(-x)), normal(1).density], ids=str)
def test_a_law_that_leans_to_one_side_has_no_parity(density: Expr) -> None:
    law = ScalarLaw(density)
    half = ScalarLaw(2 * STANDARD_NORMAL.density, 0, oo)
    assert Parity().rewrite(ScalarExpectation(u**3, u, half)) == ScalarExpectation(u**3, u, half)
    for rule, body in ((Parity(), u**3), (ConstantEvenPart(), 1 / (1 + exp(u)))):
        assert rule.rewrite(one(body)) != one(body)
        assert rule.rewrite(ScalarExpectation(body, u, law)) == ScalarExpectation(body, u, law)


def test_only_what_holds_no_variable_is_a_real_letter() -> None:
    """A root of parameters is real where the line means something; what a root of the variable hides may have no mean."""
    c = Symbol("c", real=True)
    assert ConstantEvenPart().rewrite(one(sqrt(c) * tanh(u) + a)) == a
    for left in (u * (u**2 - c) ** Rational(-3, 2), u * (exp(u**2) - c) ** Rational(3, 2)):
        assert ConstantEvenPart().rewrite(one(left)) == one(left)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (exp(x / 2) / (1 + exp(x)), 1 / (2 * cosh(x / 2))),
        (3 * exp(x) / (1 + exp(x)) ** 2, 3 / (4 * cosh(x / 2) ** 2)),
        (exp(x) / (1 + exp(x)), exp(x) / (1 + exp(x))),
        (exp(x / 2) / (2 + exp(x)), exp(x / 2) / (2 + exp(x))),
    ],
    ids=str,
)
def test_a_density_is_written_beside_what_shows_the_symmetry(body: Expr, shown: Expr) -> None:
    found = WriteDensity().rewrite(one(body.subs(x, u)))
    assert found == Integral(shown * STANDARD_NORMAL.density, (x, -oo, oo))


def test_sums_without_a_posterior_are_no_average_over_it() -> None:
    posterior = Sum(Posterior(l, SpikedSLR().law) * chi[l] ** 2, (l, 1, L))
    share = Posterior(l, SpikedSLR().law)
    roots = over(Sum(share**a * tanh(chi[l]), (l, 1, L)))
    assert Nishimori().rewrite(roots) == over(share.at(epsilon) ** a / share.at(epsilon) * tanh(chi[epsilon]))
    with pytest.raises(RuleRefused, match="carries no posterior"):
        Nishimori().rewrite(over(Sum(share ** Symbol("g", nonnegative=True), (l, 1, L))))
    for body in (posterior + TOTAL, posterior * TOTAL, TOTAL * a):
        assert Nishimori().rewrite(over(body)) == over(body.xreplace({posterior: chi[epsilon] ** 2}))


def test_jensen_looks_at_means_over_sequences_alone() -> None:
    mean = SequenceExpectation(sqrt(TOTAL - exp(chi[epsilon])), SpikedSLR().law.unweighted())
    bound = JensenForOthers().rewrite(mean)
    for beside in (a, one(u**2), one(u**2 * LINE)):
        assert JensenForOthers().rewrite(beside + a * mean) == beside + a * bound
        assert JensenForOthers().hypotheses(beside + a * mean) == ()


@pytest.mark.parametrize("kernel", [1 + tanh(x), 1 - x + x**2, 1 + a**2 * x**2, exp(u * x), a * exp(-x)], ids=str)
def test_of_a_kernel_that_is_seen_to_be_nonnegative_nothing_is_assumed(kernel: Expr) -> None:
    assert _said_of_the_sign(kernel) == []


@pytest.mark.parametrize("kernel", [1 + a * tanh(x), a**2 - a * x + x**2], ids=str)
def test_of_a_kernel_with_parameters_the_sign_is_assumed_where_it_is_not_seen(kernel: Expr) -> None:
    assert len(_said_of_the_sign(kernel)) == 1


def _said_of_the_sign(kernel: Expr) -> list[str]:
    line = over(tanh(chi[epsilon]) / (1 + Sum(kernel.subs(x, chi[l]), (l, 1, L))))
    assert isinstance(LaplaceRepresentation().rewrite(line), Integral)
    return [said.text for said in LaplaceRepresentation().hypotheses(line) if "for every $x$" in said.text]


def test_a_series_with_two_formulas_for_its_coefficients_is_not_compared_by_one() -> None:
    """The even part of cosh(s + 1) lies below cosh(1) cosh(s) and the whole does not."""
    s = Symbol("s")
    for smaller in (cosh(s + 1), cosh(2 * s + 1)):
        for pair in ((smaller, cosh(1) * exp(2 * s**2)), (cosh(s), smaller)):
            with pytest.raises(RuleRefused, match="expected one formula for all"):
                SeriesComparison(*pair, s)


def test_letters_that_rules_bring_in_are_real() -> None:
    """A letter that is no real number would hide what is real or positive from the rules that come after."""
    k, n = Symbol("k", integer=True), Symbol("n", integer=True, positive=True)
    plain = SpikedSLR().law.unweighted()
    signs = SignExpectation(exp(a * Sum(Sign(omega, k), (k, 1, n))) * Sign(omega, 1), omega, n)
    made = [
        AverageValues(z).rewrite(over(tanh(z[epsilon] * chi[epsilon]))),
        ConditionOnMaximum().rewrite(SequenceExpectation(IsLargest.of(epsilon, L) * exp(-a * TOTAL), plain)),
        LaplaceRepresentation().rewrite(over(tanh(chi[epsilon]) / TOTAL)),
        MinimiseAtGivenSum(w).rewrite(JointMinimum(Sum(w[l] ** 2, (l, 1, L)) + LINE, (w,), L)),
        SumOfSigns().rewrite(signs),
    ]
    for expr in made:
        letters = {*(v for e in expr.atoms(Integral, Sum) for v in e.variables)}
        letters |= {e.variable for e in expr.atoms(ScalarExpectation, Minimum)}
        assert letters
        assert all(letter.is_real for letter in letters), expr
    assert all(v.is_integer and v.is_nonnegative for e in made[-1].atoms(Sum) for v in e.variables)
