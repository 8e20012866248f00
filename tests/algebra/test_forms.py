"""The form in which rules leave a line, and its neighbours: what is taken beside what is left, each condition by itself."""

from __future__ import annotations

import pytest
from sympy import (
    Abs,
    Derivative,
    Expr,
    IndexedBase,
    Integral,
    KroneckerDelta,
    Limit,
    Mod,
    Product,
    Rational,
    S,
    Sum,
    Symbol,
    cos,
    cosh,
    exp,
    log,
    oo,
    sign,
    tanh,
)

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules import (
    Abbreviate,
    AverageConfiguration,
    ChainPrecision,
    ChainRule,
    Collect,
    CollectTerms,
    CommonPart,
    Convolution,
    Differentiate,
    DifferentiateMean,
    DivideThrough,
    DropFromDenominator,
    FactorOutOfSums,
    GammaIntegral,
    GaussianTaylor,
    GeometricSeries,
    GivenNumberRelevant,
    IndependentRelevance,
    IndependentTokens,
    LaplaceRepresentation,
    LargestPower,
    LogisticForm,
    OnePower,
    OneRelevantToken,
    PowersOf,
    RankOnePrecision,
    ReadDensity,
    ScaleKeys,
    SechTransform,
    ShiftKeys,
    SlopeOfOddPart,
    SmoothingTaylor,
    SplitSquare,
    StackedBlocks,
    Substitute,
    SumLinearity,
    SumOfDeltas,
    TakeLimit,
    TransformMoments,
    Unfold,
)
from symslr.algebra.rules.asymptotics.substitution import exponentials_split, with_exponents_expanded
from symslr.algebra.rules.blocks.places import Places
from symslr.expression.at import At
from symslr.expression.configuration import (
    ConfigurationExpectation,
    ConfigurationMean,
    Precision,
    ShiftedDensity,
    exactly,
)
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, Posterior
from symslr.model.catalogue import SpikedSLR, softmax
from symslr.model.configuration import ALIKE, ONE, ConfigurationLaw, ConfigurationPrior, r, theta
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import STANDARD_NORMAL, normal
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, j, l, m, nu, x
from symslr.referee.referee import referee
from symslr.theory.asymptotics import ANGLE, FREQUENCY, gumbel_transform, sech_transform
from tests.algebra.configurations import keys, number

a, b, c = (Symbol(name, positive=True) for name in "abc")
s, t, u, v, w, y = (Symbol(name, real=True) for name in "stuvwy")
N, D = (Symbol(name, integer=True, positive=True) for name in "ND")
k, g, row = (Symbol(name, integer=True) for name in ("k", "g", "row"))
SPIKED = SpikedSLR().law
PLAIN = ConfigurationPrior(exactly(1, L), ONE, L)
COINS = Product(exp(r[l] / 3), (l, 1, L))
LAW = ConfigurationLaw(PLAIN, ShiftedDensity.of((r[l],), ALIKE, L))
TWO = exactly(2, L)
BODY = exp(Sum(r[l] * chi[l], (l, 1, L)))


def one(body: Expr) -> ScalarExpectation:
    return ScalarExpectation(body, u, STANDARD_NORMAL)


def over(body: Expr, law: SequenceLaw = SPIKED) -> SequenceExpectation:
    return SequenceExpectation(body, law)


def mean(body: Expr, law: ConfigurationLaw = LAW) -> ConfigurationExpectation:
    return ConfigurationExpectation(body, law)


def tokens(summand: Expr, index: Expr = l) -> Sum:
    return Sum(summand, (index, 1, L))


def value(expr: Expr, **values: object) -> float:
    return float(referee(expr, values, 9).value)


FIRST, SECOND = tokens(chi[l]), tokens(chi[l] ** 2)
LEVEL = Integral(exp(-v) * one(exp(-v * u**2)) ** nu, (v, 0, oo))
POWER = exp(chi[1])


COINED = ConfigurationLaw(ConfigurationPrior(COINS, ONE, L), LAW.weight)
LONGER = SequenceLaw(1 + tanh(chi[epsilon]) / L, L)
SECH = TransformMoments(sech_transform(1), FREQUENCY)
GUMBEL_MOMENTS = TransformMoments(gumbel_transform(), ANGLE)

SOFT = Activation.of(epsilon, softmax, S.One)
MOVING = ScalarExpectation(STANDARD_NORMAL.density.subs(x, y - s / (1 + y**2)), s, GUMBEL_MOMENTS.law)


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        (Differentiate(), Derivative(Abs(a + one(tanh(u))), a), sign(a + one(tanh(u)))),
        (GeometricSeries(c, 2), 1 / (1 + 1 / c), 1 - 1 / c),
        (LargestPower(N), log(1 / (1 + N)), -log(N) - log(1 + 1 / N)),
        (LargestPower(N), log(N + 1) + tanh((s + t) ** 2), log(N) + log(1 + 1 / N) + tanh((s + t) ** 2)),
        (LargestPower(N), log(a * N / (a * N + 1)), log(a) - log(a + 1 / N)),
        (CollectTerms(), exp(-u) * (a + b), a * exp(-u) + b * exp(-u)),
        (CollectTerms(Sum), a * FIRST + (b + 1) * FIRST + SECOND, (a + b + 1) * FIRST + SECOND),
        (StackedBlocks(k, g), Product(2 + Mod(k, 3), (k, 1, 6)), Product((2 + g) ** 2, (g, 0, 2))),
        (
            AverageConfiguration(backwards=True),
            mean(ConfigurationMean(r[1] * chi[1], PLAIN) * chi[2] + chi[1] ** 2, LAW.unweighted()),
            mean(r[1] * chi[1] * chi[2] + chi[1] ** 2, LAW.unweighted()),
        ),
        (
            AverageConfiguration(backwards=True),
            mean(tokens(nu * l * ConfigurationMean(r[l] * chi[l], PLAIN)) * chi[1], LAW.unweighted()),
            mean(nu * tokens(l * r[l] * chi[l]) * chi[1], LAW.unweighted()),
        ),
        (Unfold(ShiftedDensity), mean(LAW.weight * r[1], LAW), mean(LAW.weight.doit() * r[1], LAW)),
    ],
    ids=lambda item: type(item).__name__ if isinstance(item, Rule) else "",
)
def test_taken(rule: Rule, before: Expr, after: Expr) -> None:
    assert rule.rewrite(before) == after


@pytest.mark.parametrize(
    ("rule", "expr"),
    [
        (Collect(), over((1 + a * chi[epsilon] + chi[epsilon]) ** 2)),
        (LogisticForm(), POWER / (POWER + 2) ** 2),
        (FactorOutOfSums(), tokens(exp(u * (chi[l] + 1)) + 2)),
        (LargestPower(N), log(a + 1)),
        (OnePower(a), log(a) + one(exp(t * log(a)) * tanh(u))),
        (SumLinearity(k), Sum(exp(a * (u + k)), (k, 1, N))),
        (LogisticForm(), exp(nu) / (exp(nu) + 2)),
        (FactorOutOfSums(), Sum(l * chi[m], (l, 1, 2), (m, 1, L))),
        (AverageConfiguration(backwards=True), mean(r[1], LAW.unweighted())),
        (SlopeOfOddPart(u, v), At.of(Derivative(exp(u) * cos(v), u, u), {u: S.Zero, v: S.Zero})),
        (SumLinearity(k), Sum(row, (k, 1, 2), (row, 1, 3))),
        (StackedBlocks(k, g), Sum(Mod(k, 2), (k, 1, 4), (row, 1, 2))),
        (SechTransform(), Integral(cos(x) / cosh(x), (x, -oo, oo), (y, 0, 1))),
        (ReadDensity(STANDARD_NORMAL), Integral(exp(-(x**2) - y**2), (x, -oo, oo), (y, -oo, oo))),
        (GUMBEL_MOMENTS, ScalarExpectation((x + 1) ** 2, x, GUMBEL_MOMENTS.law)),
        (GUMBEL_MOMENTS, ScalarExpectation(Abs(x) ** 2 / x**3, x, GUMBEL_MOMENTS.law)),
        (GUMBEL_MOMENTS, ScalarExpectation(tanh(x) ** 2, x, GUMBEL_MOMENTS.law)),
        (DropFromDenominator(S.One), over(chi[epsilon] / (tokens(exp(chi[l])) * tokens(exp(2 * chi[l]))))),
        (SplitSquare(FIRST, SECOND), over((chi[epsilon] - FIRST) ** 4)),
        (PowersOf(N), exp(log(N) ** 2)),
        (SlopeOfOddPart(u, v), At.of(Derivative(exp(u) * exp(v), u, v), {u: S.Zero, v: S.Zero})),
    ],
    ids=lambda item: type(item).__name__ if isinstance(item, Rule) else "",
)
def test_left(rule: Rule, expr: Expr) -> None:
    assert rule.rewrite(expr) == expr


@pytest.mark.parametrize(
    ("rule", "expr", "reason"),
    [
        (IndependentRelevance(), ConfigurationMean(BODY, ConfigurationPrior(r[1] * COINS, ONE, L)), "one of which"),
        (GivenNumberRelevant(), ConfigurationMean(BODY, ConfigurationPrior(r[1] * TWO, ONE, L)), "one of which"),
        (ScaleKeys(), mean(chi[1], LAW.unweighted().with_keys(ALIKE + l * m / 9)), "plus a constant"),
        (ScaleKeys(), mean(chi[1], LAW.unweighted().with_keys(l * ALIKE)), "plus a constant"),
        (IndependentTokens(), mean(tokens(chi[l] * tokens(chi[l])), COINED), "no function of one token"),
        (ChainPrecision(), Precision((1 / (S.One + l)) ** Abs(l - m), 1, 2, L), "is not rho"),
        (ChainPrecision(), Precision(Rational(1, 3) ** ((l - m) ** 2), 1, 2, L), "is not rho"),
        (GeometricSeries(c, 1), a / (1 + c + c**2), "is no ratio"),
        (GeometricSeries(c, 1), a / (c - Symbol("g", nonnegative=True)), "opposite signs"),
        (TakeLimit(), Limit(cos(a), a, oo), "finds no limit"),
        (TakeLimit(), Limit((-1) ** a, a, oo), "finds no limit"),
        (TakeLimit(), Limit(Abs(u) / u, u, 0, "+-"), "does not exist"),
        (SECH, Integral(x**2 / cosh(exp(FREQUENCY) * x), (x, -oo, oo)), "in which the transform is differentiated"),
        (SECH, Integral(1 / (x**2 * cosh(2 * x)), (x, -oo, oo)), "is no even moment"),
        (GaussianTaylor(1), Integral(exp(-(x**2)), (x, -oo, oo), (y, 0, 1)), "no integral over the line"),
        (DropFromDenominator(S.One), over(chi[1] / tokens(exp(chi[l]))), "expected functions of"),
        (DropFromDenominator(S.One), over(SOFT / tokens(exp(chi[l]))), "expected functions of"),
        (DropFromDenominator(S.One), over(IsLargest.of(epsilon, L) / tokens(exp(chi[l]))), "expected functions of"),
        (DropFromDenominator(S.One), over(Posterior(epsilon, SPIKED) / tokens(exp(chi[l]))), "expected functions of"),
        (CommonPart(), mean(tokens(chi[t] ** 2, t), LAW.unweighted().with_keys(ALIKE + 1)), "to stay the same where"),
        (
            SmoothingTaylor(1 / (1 + y**2), 1, GUMBEL_MOMENTS),
            Integral(MOVING, (y, -oo, oo)),
            "is no mean of a function",
        ),
        (DropFromDenominator(S.One), over(chi[j] / tokens(exp(chi[l])), LONGER), "of the relevant token alone"),
        (SplitSquare(FIRST, SECOND), over((chi[epsilon] - 2 * FIRST) ** 2), "is not a difference"),
        (SumOfDeltas(k), Sum(KroneckerDelta(k, 2), (k, row, 3), (row, 1, 2)), "depend on its indices"),
        (SumOfDeltas(k), Sum(KroneckerDelta(k, 2), (k, 1, row), (row, 2, 3)), "depend on its indices"),
        (SumOfDeltas(k), Sum(KroneckerDelta(k, 2), (k, 1, 3), (row, k, 3)), "depend on its indices"),
        (OneRelevantToken(), ConfigurationMean(theta * r[1], PLAIN), "still averaged over"),
        (DifferentiateMean(), Derivative(over(chi[epsilon], SequenceLaw(exp(a * chi[epsilon]), L)), a), "depends on a"),
    ],
    ids=lambda item: type(item).__name__ if isinstance(item, Rule) else "",
)
def test_refused(rule: Rule, expr: Expr, reason: str) -> None:
    with pytest.raises(RuleRefused, match=reason):
        rule.rewrite(expr)


@pytest.mark.parametrize("kernel", [exp(x) - x, 1 + x / (1 + x**2), 1 + tanh(x) ** 3], ids=str)
def test_the_sign_of_a_kernel_without_parameters_is_decided(kernel: Expr) -> None:
    """It is nonnegative by its values where no sign is seen in its form: nothing is left to assume."""
    line = over(tanh(chi[epsilon]) / (1 + tokens(kernel.subs(x, chi[l]))))
    assert isinstance(LaplaceRepresentation().rewrite(line), Integral)
    assert not [said for said in LaplaceRepresentation().hypotheses(line) if "for every" in said.text]


def test_of_a_normaliser_that_may_vanish_there_is_no_integral() -> None:
    scale = Symbol("g", nonnegative=True)
    with pytest.raises(RuleRefused, match="not known to be positive"):
        LaplaceRepresentation().rewrite(over(tanh(chi[epsilon]) / (scale * tokens(exp(chi[l])) + scale)))


def test_a_parameter_of_the_kernel_is_no_offset() -> None:
    said = LaplaceRepresentation().hypotheses(over(tanh(chi[epsilon]) / (t + tokens(exp(s * chi[l])))))
    assert [str(hypothesis.condition) for hypothesis in said] == ["t >= 0"]


def test_of_means_without_a_normaliser_nothing_has_to_exist() -> None:
    assert LaplaceRepresentation().hypotheses(over(exp(chi[epsilon] ** 2))) == ()


def test_covariances_are_assumed_to_be_positive() -> None:
    said = RankOnePrecision().hypotheses(Precision(a * ALIKE + s, l, m, L) + Precision(2 * ALIKE + 1, l, m, L))
    assert [hypothesis.condition for hypothesis in said] == [L * s + a > 0]
    said = RankOnePrecision().hypotheses(Precision(s * ALIKE + t, l, m, L))
    assert [hypothesis.condition for hypothesis in said] == [s > 0, L * t + s > 0]


def test_the_power_of_a_gamma_integral_is_assumed_to_be_positive() -> None:
    power = Symbol("g", nonnegative=True)
    said = GammaIntegral().hypotheses(Integral(a ** (power - 1) * exp(-a), (a, 0, oo)))
    assert [hypothesis.condition for hypothesis in said] == [power > 0]
    assert exponentials_split(u * exp(u * log(a) + u)) == u * a**u * exp(u)


def test_truncated_series_term_by_term() -> None:
    """The remainder is the first term left out, and no more: a looser one would hide a wrong coefficient."""
    line = Integral(-5 * exp(-b * x**2) / cosh(x), (x, -oo, oo))

    def moment(order: int) -> Expr:
        return Integral(x ** (2 * order) / cosh(x), (x, -oo, oo))

    kept = -5 * (moment(0) - b * moment(1) + b**2 * moment(2) / 2 - b**3 * moment(3) / 6)
    assert (GaussianTaylor(4).rewrite(line) - kept).expand() == 0
    assert GaussianTaylor(4).remainder(line).xreplace({1 / Abs(cosh(x)): 1 / cosh(x)}) == 5 * b**4 * moment(4) / 24
    ratio = -a / (b + 2 * c)
    terms = [-a / (2 * c) * (-b / (2 * c)) ** order for order in range(4)]
    assert (GeometricSeries(c, 3).rewrite(ratio) - sum(terms[:3])).expand() == 0
    assert GeometricSeries(c, 3).remainder(ratio) == Abs(terms[3])


def test_what_a_rule_is_given_is_looked_at_before_it_is_used() -> None:
    for sizes in ((N, u), (u, N), (u,)):
        with pytest.raises(RuleRefused, match="expected positive numbers"):
            LargestPower(*sizes)
    with pytest.raises(RuleRefused, match="not that of a shift"):
        ShiftKeys(ConfigurationLaw(PLAIN, exp(chi[1])))


def test_nothing_is_said_of_a_logarithm_of_a_positive_number() -> None:
    assert [said.text for said in LargestPower(N).hypotheses(log(N + 1))] == ["$N>1$"]
    assert DivideThrough(N).hypotheses(a / N) == ()
    assert [said.text for said in DivideThrough(u).hypotheses(a / N)] == [r"$u \neq 0$"]


def test_a_power_that_may_be_zero_is_not_divided_by() -> None:
    after = Substitute(exp(-y), y).rewrite(LEVEL)
    assert after.atoms(ScalarExpectation) == {one(exp(-(u**2) * exp(-y)))}
    assert with_exponents_expanded(exp(-exp(a * (u - y)))) == exp(-exp(a * u - a * y))
    assert with_exponents_expanded(exp(u) * exp(v) * exp(-exp(u))) == exp(u + v) * exp(-exp(u))


def test_exponents_of_a_product_add_up() -> None:
    """The exponential of the base itself is no power of it; it stays beside those that are."""
    before = exp(a) * exp(t * log(a)) * exp(w * log(a) + u) + log(a)
    after = OnePower(a).rewrite(before)
    at = {"a": Rational(7, 3), "t": Rational(1, 2), "w": Rational(-2, 7), "u": Rational(3, 5)}
    assert value(after, **at) == pytest.approx(value(before, **at))
    assert OnePower(a).rewrite(exp(t * (a + log(a)))) == exp(t * a + t * log(a))


def test_what_is_divided_by_in_a_convolution_vanishes_nowhere() -> None:
    """This law has a density, and that is zero at zero."""
    with pytest.raises(ValueError, match="expected a distribution function"):
        Convolution(exp(-exp(-(x**3))), a, y)


def test_coordinates_that_change_places_are_put_in_at_once() -> None:
    outer, inner = exp(u) * w**2, {u: w * t, w: u + t}
    along = exp(w * t) * (u + t) ** 2
    after = ChainRule(outer, inner).rewrite(Derivative(along, t))
    assert after != Derivative(along, t)
    at = {"t": Rational(1, 3), "u": Rational(2, 7), "w": Rational(5, 4)}
    numbers = {Symbol(name, real=True): place for name, place in at.items()}
    assert value(after, **at) == pytest.approx(float(along.diff(t).subs(numbers)))
    swapped = At.of(Derivative(exp(w * t**3), t), {t: w, w: t})
    after = ChainRule(exp(u), {u: w * t**3}).rewrite(swapped)
    assert after != swapped
    assert value(after, **at) == pytest.approx(float((3 * t * w**2 * exp(t * w**3)).subs(numbers)))


def test_an_abbreviation_is_multiplied_out_in_sums_alone() -> None:
    class Name(Symbol):
        def definition(self) -> Expr:
            return (t - s) / a

    name, line = Name("f", real=True), IndexedBase("p", real=True)
    rule = Abbreviate(t, s + a * name, name)
    written = Sum(s**2 + 2 * s * a * name + a**2 * name**2, (l, 1, 5))
    assert rule.rewrite(Sum(t**2, (l, 1, 5)) + t**2 * line[1]) == written + (s + a * name) ** 2 * line[1]


def test_a_law_that_moves_with_the_frequency_has_no_moments_by_slopes() -> None:
    transform = Derivation(ScalarExpectation(exp(ANGLE * x), x, normal(ANGLE)))
    with pytest.raises(ValueError, match="expected the exact mean"):
        TransformMoments(transform, ANGLE)


def test_of_a_row_the_position_is_put_in() -> None:
    """A sum over the second position becomes a formula without deltas; any other sum is one over entries."""
    chain = Rational(1, 3) ** Abs(l - m)
    for covariance, rule in ((2 * ALIKE + 1, RankOnePrecision()), (chain, ChainPrecision())):
        for term, is_row in (
            (Precision(covariance, m, j, L) * chi[j], True),
            (Precision(covariance, j, m, L) * chi[j], False),
            (Precision(covariance, j, j, L) * chi[j], False),
            (Precision(covariance, m, j, L) ** 2, False),
        ):
            before = tokens(term, j)
            after = rule.rewrite(before)
            assert is_row != any(j in delta.free_symbols for delta in after.atoms(KroneckerDelta)) or term.has(
                Precision(covariance, j, j, L)
            )
            assert not after.has(Precision)
            for place in (1, 2, 3):
                env = {L: 3, m: place, **keys(3, 7)}
                assert number(after, env) == pytest.approx(number(before, env))


def test_the_bound_is_about_one_token_more() -> None:
    """Where the tokens do not separate the bound is a mean over the named ones and one that was left out."""
    line = over(exp(chi[epsilon] * chi[j] / 9) / tokens(exp(chi[l])))
    (left,) = DropFromDenominator(S.One).remainder(line).atoms(SequenceLaw)
    assert left.length == 3


def test_what_is_decided_is_not_assumed() -> None:
    places = Places(StackedBlocks(row, g), row)
    assert places.assume(S.true)
    assert not places.assume(S.false)
    assert not places.assumed
