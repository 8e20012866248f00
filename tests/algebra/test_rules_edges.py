"""Edges of the rules' conditions: the case next to each one that is admitted is left alone or refused, with its reason.

Every test here caught a wrong rule that the others had let pass (``make mutants``).
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from sympy import (
    Derivative,
    Expr,
    Function,
    Gt,
    IndexedBase,
    Integral,
    KroneckerDelta,
    Mod,
    Product,
    Rational,
    S,
    Sum,
    Symbol,
    cos,
    cosh,
    erf,
    exp,
    factorial2,
    lambdify,
    log,
    oo,
    pi,
    sqrt,
    symbols,
    tanh,
)

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules import (
    AverageValues,
    Centre,
    ChainRule,
    Collect,
    CompleteSquare,
    DropFromDenominator,
    EvaluateTermwise,
    FlipSigns,
    GaussianByParts,
    GaussianErf,
    GaussianProjection,
    GeometricSeries,
    MinimiseAtGivenSum,
    Nishimori,
    RotateNoise,
    SelectedMean,
    Selection,
    SlopeOfOddPart,
    SplitVariance,
    Substitute,
    TransformMoments,
    TurnTowardsKey,
)
from symslr.algebra.rules.asymptotics.smoothing import PHI, Smoothed, SmoothingTaylor, _above, _Ways
from symslr.algebra.rules.asymptotics.substitution import exponentials_split
from symslr.algebra.rules.blocks.deltas import MarkedTerm
from symslr.algebra.rules.blocks.places import Places, bounds
from symslr.algebra.rules.blocks.powers import LargestPower
from symslr.algebra.rules.blocks.stacked import StackedBlocks
from symslr.algebra.rules.blocks.sums import InterchangeSums
from symslr.algebra.rules.inequalities.positive_factor import PositiveFactor
from symslr.algebra.rules.inequalities.series import SeriesComparison
from symslr.algebra.rules.signs.independence import IndependentSigns
from symslr.expression.at import At
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import ConditionalMean, Minimum, Posterior
from symslr.expression.joint import AtMinimiser, JointMinimum
from symslr.expression.scored import ScoredActivation
from symslr.expression.signs import Indicator, Sign, SignExpectation, omega
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax1
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw, laplace, normal
from symslr.model.symbols import L, chi, epsilon, eta, j, k, l, m, x, z
from symslr.theory.asymptotics import ANGLE, FREQUENCY, LEVEL, gumbel_transform, sech_transform

s, t, u, w, y = (Symbol(name, real=True) for name in "stuwy")
a, b = symbols("a b", positive=True)
zero_or_more = Symbol("v", nonnegative=True)
N, D = symbols("N D", integer=True, positive=True)
i, g = Symbol("i", integer=True, positive=True), Symbol("g", integer=True, nonnegative=True)
row, column = Symbol("p", integer=True, positive=True), Symbol("q", integer=True, positive=True)
SPIKED, MAX = SpikedSLR().law, MaxSLR().law
f = Function("f")


def name(item: object) -> str:
    """Of a rule its class, of an expression nothing: ids that are the same in every run."""
    return type(item).__name__ if isinstance(item, Rule) else ""


def over(body: Expr, law: object = SPIKED) -> SequenceExpectation:
    return SequenceExpectation(body, law)


SIGMA = ScoredActivation.of(epsilon, softmax1, chi[m] / 2 + z[m])
NESTED = Sum(SIGMA.at(l) * Sum(z[m] * chi[l], (m, 1, L)), (l, 1, L))
KERNEL = Sum(exp(chi[l]), (l, 1, L))
W = IndexedBase("w", real=True)
QUARTIC = ScalarLaw(exp(-(x**4) - x**2 / 2))
SECH = TransformMoments(sech_transform(1), FREQUENCY)
GUMBEL_MOMENTS = TransformMoments(gumbel_transform(), ANGLE)
SMOOTHED = ScalarExpectation(normal().density.subs(x, LEVEL - s / a), s, GUMBEL_MOMENTS.law)
"""The normal density, smoothed: to a power that may be 0 it has no integral."""


@pytest.mark.parametrize(
    ("rule", "expr", "reason"),
    [
        (GaussianProjection(chi[epsilon] + chi[epsilon] * chi[j]), over(chi[epsilon]), "not a linear combination"),
        (GaussianProjection(chi[epsilon] + chi[j] ** 2), over(chi[epsilon]), "not a linear combination"),
        (GaussianProjection(chi[epsilon] + z[epsilon]), over(chi[epsilon]), "not a linear combination"),
        (GaussianProjection(chi[j] - chi[k]), over(chi[j] - chi[k]), "does not contain the relevant token"),
        (TurnTowardsKey(), over(NESTED), "stands inside another|does not run"),
        (AverageValues(z), over(ConditionalMean(z[epsilon], SPIKED) * z[epsilon]), "stands in a folded name"),
        (AverageValues(z), over(z[epsilon] * z[j]), "of several tokens"),
        (AverageValues(z), over(Sum(z[l] * chi[l], (l, 1, L)) * Sum(tanh(z[l]), (l, 1, L))), "of several tokens"),
        (AverageValues(z), over(Sum(z[l] * chi[l], (l, 1, L)) * tanh(z[epsilon])), "of several tokens"),
        (PositiveFactor(sqrt(2) + sqrt(3) - sqrt(5 + 2 * sqrt(6))), Indicator(Gt(s, t)), "expected a positive one"),
        (PositiveFactor(S.Zero), Indicator(Gt(s, t)), "expected a positive one"),
        (Nishimori(), over(Sum(Posterior(S.One, SPIKED) * tanh(chi[l]), (l, 1, L))), "carries no posterior"),
        (Nishimori(), over(Sum(tanh(chi[l]) / Posterior(l, SPIKED), (l, 1, L))), "carries no posterior"),
        (SelectedMean(), over(chi[epsilon]), "selects no token"),
        (DropFromDenominator(S.One), over(chi[k] / KERNEL), "names epsilon, k"),
        (DropFromDenominator(S.One), over(Sum(chi[m], (m, 1, L)) / KERNEL), "expected functions of"),
        (MarkedTerm(g), Sum(f(KroneckerDelta(g, D - g)), (g, 0, D)), "name one place"),
        (GeometricSeries(a, 2), s / (3 * a), "no ratio"),
        (GaussianByParts(), ScalarExpectation(u * f(u), u, STANDARD_NORMAL), "has no derivative"),
        (Centre(), ScalarExpectation(x**2, x, QUARTIC), "is not Gaussian"),
        (SmoothingTaylor(1 / a, 2, GUMBEL_MOMENTS), Integral(SMOOTHED**g, (LEVEL, -oo, oo)), "known to be integrable"),
        (InterchangeSums(row), Sum(Sum(exp(row * column), (column, -oo, 0)) / row, (row, 1, N)), "is infinite"),
        (InterchangeSums(row), Sum(Sum(exp(-row * column), (column, 1, N)) / row, (row, 1, oo)), "is infinite"),
        (IndependentSigns(), SignExpectation(Product(2 + Sign(omega, row - 1), (row, 1, N)), omega, N), "none of the"),
    ],
    ids=name,
)
def test_refused(rule: Rule, expr: Expr, reason: str) -> None:
    with pytest.raises(RuleRefused, match=reason):
        rule.rewrite(expr)


@pytest.mark.parametrize(
    ("rule", "expr"),
    [
        (CompleteSquare(), ScalarExpectation(exp(s) * tanh(u), u, STANDARD_NORMAL)),
        (CompleteSquare(), ScalarExpectation(exp(u / 3) * u, u, laplace())),
        (Selection(), SequenceExpectation(Sum(chi[l] ** 2, (l, 1, L)), SPIKED.unweighted())),
        (SelectedMean(), over(chi[epsilon] ** 2, MAX)),
        (AverageValues(z), over(chi[epsilon] * eta[epsilon])),
        (RotateNoise(), over(z[epsilon] * eta[epsilon])),
        (MinimiseAtGivenSum(IndexedBase("v")), JointMinimum(Sum(W[l] ** 2 + W[l], (l, 1, L)), (W,), L)),
        (SplitVariance(), ScalarExpectation(u**3, u, STANDARD_NORMAL)),
        (SplitVariance(), ScalarExpectation(tanh(u), u, STANDARD_NORMAL)),
        (StackedBlocks(row, g), Sum(row, (row, 1, N))),
        (InterchangeSums(row), Sum(column * Sum(f(column, i), (i, 1, N)), (column, 1, N))),
        (ChainRule(f(u), {u: t}), At.of(Derivative(f(w) * w, w), {w: a})),
        (ChainRule(f(u), {u: t}), At.of(w**2, {w: a})),
        (SlopeOfOddPart(u, w), At.of(u**2 + w, {u: S.Zero, w: a})),
        (GaussianErf(), ScalarExpectation(u**2 + tanh(u), u, STANDARD_NORMAL)),
        (SECH, Integral(x**2 / cosh(2 * x), (x, 0, oo))),
        (Substitute(exp(-t), t), Integral(exp(-u - w), (u, 0, oo), (w, 0, oo))),
    ],
    ids=name,
)
def test_left(rule: Rule, expr: Expr) -> None:
    assert rule.rewrite(expr) == expr


def test_terms_are_put_together_and_taken_apart() -> None:
    term = chi[epsilon] * z[epsilon]
    assert Collect().rewrite(over(a * term + term + 2 * z[j])) == over((a + 1) * term + 2 * z[j])
    family = IndexedBase("w", real=True)
    least = JointMinimum(Sum((family[l] - t) ** 2, (l, 1, L)), (family,), L)
    total = Sum(family[l], (l, 1, L))
    value = t + chi[epsilon] ** 2 / 3 + s * total
    split = t + chi[epsilon] ** 2 / 3 + s * AtMinimiser(total, least)
    assert EvaluateTermwise().rewrite(AtMinimiser(value, least)) == split
    mixed = ScalarExpectation(erf(u) + tanh(u) + erf(u) ** 3, u, STANDARD_NORMAL)
    assert GaussianErf().rewrite(mixed).atoms(ScalarExpectation) == {mixed.with_body(h) for h in (tanh(u), erf(u) ** 3)}


def test_without_a_weight_a_projection_has_no_mean() -> None:
    combination = 2 * chi[epsilon] - chi[j]
    projected = GaussianProjection(combination).rewrite(over(tanh(combination), SPIKED.unweighted()))
    assert projected == ScalarExpectation(tanh(x), x, normal(0, 5))


def test_a_family_without_signs_is_refused() -> None:
    with pytest.raises(RuleRefused, match="expected some of"):
        FlipSigns(chi)
    with pytest.raises(RuleRefused, match="expected z, zeta or eta"):
        AverageValues(chi)
    assert AverageValues(z).rewrite(over(z[epsilon] ** 2 * eta[epsilon])).atoms(ScalarExpectation)
    assert AverageValues(z).rewrite(over(chi[epsilon] * Sum(tanh(z[l]), (l, 1, L)))).atoms(ScalarExpectation)


@pytest.mark.parametrize(
    "start",
    [
        Integral(cos(FREQUENCY * x) * x / cosh(x), (x, -oo, oo)),
        Integral(cos(FREQUENCY * x) * exp(-(x**2) - y**2), (x, -oo, oo), (y, -oo, oo)),
        Integral(cos(FREQUENCY * x) * exp(-(x**2) * FREQUENCY**2), (x, -oo, oo)),
        ScalarExpectation(exp(2 * FREQUENCY * u), u, STANDARD_NORMAL),
    ],
    ids=str,
)
def test_moments_need_the_transform_of_a_nonnegative_function(start: Expr) -> None:
    with pytest.raises(ValueError, match="known to be nonnegative"):
        TransformMoments(Derivation(start), FREQUENCY)


def test_places() -> None:
    """What is not known to be whole, positive or linear is not taken for it."""
    places = Places(StackedBlocks(row, g), Minimum(row, row))
    assert not places.whole(a / N)
    assert not places.whole(N / a)
    assert not places.whole(Rational(1, 2))
    assert not places.surely_positive(Mod(row, D))
    assert places.surely_positive(Mod(row, D) + 1)
    assert places.equal(Mod(row, D), D) is False
    assert places.equal(D, Mod(row, D)) is False
    for period, same in ((2 * D, True), (3 * D, None)):
        assert places.equal(Mod(row + D * column, period), Mod(row - D * column, period)) is same
    assert places.equal(Mod(row, D), S.Zero) is places.equal(D - 1, Mod(row, D)) is None
    assert not places.assumed
    for crooked in (
        Mod(row, D) ** 2,
        Mod(row, D) - Mod(row, D) ** 2,
        N * Mod(row, D),
        Mod(row, Symbol("d", integer=True)),
    ):
        assert bounds(crooked) == (crooked, crooked)
    assert bounds(3 - 2 * Mod(row, D) + N) == (5 - 2 * D + N, 3 + N)


def test_an_index_lies_between_the_ends_of_its_sum_and_no_further() -> None:
    index = Symbol("o", integer=True)
    places = Places(StackedBlocks(row, g), Sum(index, (index, 0, N)))
    for place in (index, N - index):
        assert places.inside(place, 0, N)
        for low, high in ((1, N), (0, N - 1)):
            with pytest.raises(RuleRefused, match="at every index"):
                places.inside(place, low, high)
    assert not places.assumed


def test_logarithms_and_inequalities_at_the_edge() -> None:
    rate = Symbol("r", real=True)
    kept = exp(rate * log(zero_or_more))
    assert exponentials_split(kept) == kept
    assert exponentials_split(exp(rate * log(a) + rate)) == a**rate * exp(rate)
    event = Indicator(Gt(2 * s, 6 * t))
    assert PositiveFactor(S(2)).rewrite(event) == Indicator(Gt(s, 3 * t))
    inside = Indicator(Gt(s * (a * t + a * u), a * w))
    assert PositiveFactor(a).rewrite(inside) == Indicator(Gt(s * (t + u), w))
    assert PositiveFactor(a).rewrite(Indicator(Gt(s * (a * t + u), a * w))) == Indicator(Gt(s * (a * t + u) / a, w))
    assert SeriesComparison(exp(w), exp(2 * w), w).rewrite(exp(zero_or_more)) == exp(2 * zero_or_more)
    assert LargestPower(N).rewrite(log(g * N**2 + N)) == log(N) + log(1 + g * N)
    conditions = [h.condition for h in LargestPower(N).hypotheses(log(N - 1))]
    assert conditions == [Gt(N, 1), Gt(N - 1, 0)]


@pytest.mark.parametrize("polynomial", [S.One, x, x**2 - 1, 2 - 3 * x + x**3, None], ids=str)
def test_norms_of_smoothed_functions_lie_above(polynomial: Expr | None) -> None:
    """|h^(k)| in the sup norm and in the L1 norm on a fine grid: at most the bound, and not much less."""
    item, count = Smoothed(polynomial, S.One, STANDARD_NORMAL), 4
    grid = np.linspace(-9, 9, 4001)
    density = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi)
    slopes = item.derivatives(count)
    assert len(slopes) == count
    for k_, slope in enumerate(slopes):
        if polynomial is None and k_ == 0:
            assert item.norms(count, integrable=False)[0] == 1
            continue
        values = np.abs(lambdify(x, slope / PHI)(grid) * density)
        for norm, integrable in ((values.max(), False), (values.sum() * (grid[1] - grid[0]), True)):
            bound = float(item.norms(count, integrable=integrable)[k_])
            assert norm <= bound * (1 + 1e-9) <= 4 * norm


def test_slopes_of_smoothed_functions() -> None:
    """(Q phi)' = (Q' - x Q) phi: the k-th slope of phi itself is (-1)^k He_k phi."""
    assert Smoothed(S.One, S.One, STANDARD_NORMAL).derivatives(4) == [
        PHI,
        -x * PHI,
        (x**2 - 1) * PHI,
        (3 * x - x**3) * PHI,
    ]
    area = Smoothed(x**3, S.One, STANDARD_NORMAL).norms(1, integrable=True)
    assert area == [sqrt(factorial2(5))]


@pytest.mark.parametrize("number", [Rational(1, 700), Rational(3, 7), S.One, pi**3, S(98765)], ids=str)
def test_bounds_are_rounded_up_to_two_digits(number: Expr) -> None:
    above = _above(number)
    assert number <= above <= number * Rational(111, 100)
    assert len(f"{Decimal(above.p) / Decimal(above.q):e}".partition("e")[0].rstrip("0").replace(".", "")) <= 2
    ways = _Ways()
    letter = ways(L, 2)
    bound = ways.rounded_up(number * letter + 2 * number * letter + a * letter**2)
    assert (bound - _above(3 * number) * L * (L - 1) / 2 - a * (L * (L - 1) / 2) ** 2).expand() == 0
    assert ways(S(4), 2) == 6
