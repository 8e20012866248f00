"""Rules about stacked blocks, random signs and bounds: values before and after at random layouts, and what they refuse."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sympy import (
    Eq,
    Expr,
    Function,
    Gt,
    KroneckerDelta,
    Le,
    Lt,
    Max,
    Mod,
    Mul,
    Ne,
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
    sinh,
    sqrt,
    symbols,
    tan,
)

from symslr.algebra.bound import Bound
from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules.blocks.collect import CollectTerms
from symslr.algebra.rules.blocks.deltas import MarkedTerm, SumOfDeltas
from symslr.algebra.rules.blocks.places import Places, bounds
from symslr.algebra.rules.blocks.powers import CommonFactor, DivideThrough, LargestPower, PowersOf
from symslr.algebra.rules.blocks.stacked import StackedBlocks
from symslr.algebra.rules.blocks.sums import InterchangeSums, SumLinearity
from symslr.algebra.rules.inequalities.chernoff import ChernoffBound
from symslr.algebra.rules.inequalities.monotone import ExponentialOfMinimum, HyperbolicCosine
from symslr.algebra.rules.inequalities.positive_factor import PositiveFactor
from symslr.algebra.rules.inequalities.powers import BernoulliInequality, ExponentialAbove
from symslr.algebra.rules.inequalities.series import SeriesComparison
from symslr.algebra.rules.signs.events import Complement, PowersOfIndicators, VanishingSum
from symslr.algebra.rules.signs.independence import ExponentialOfSum, IndependentSigns, IndependentVectors
from symslr.algebra.rules.signs.law import SumOfSigns
from symslr.algebra.truncation import Truncation
from symslr.expression.folded import Minimum
from symslr.expression.signs import Indicator, Relu, Sign, SignExpectation, omega
from symslr.referee.referee import referee

j, k, i = symbols("j k i", integer=True, positive=True)
g, r = symbols("g r", integer=True, nonnegative=True)
N, T, D, R, M = symbols("N T D R M", integer=True, positive=True)
"""Rows, blocks, period, marked row, vectors."""
x, y, z = symbols("x y z", positive=True)
v = symbols("v", real=True)
rate = Symbol("rate", nonnegative=True)
f = Function("f")


def value(expr: Expr, **values: object) -> float:
    """By definition: sums written out, all sign vectors tried."""
    return float(referee(expr, values, digits=13).value)


def agree(rule: Rule, start: Expr, **values: object) -> None:
    """The rule changes the line and keeps its value, or raises it where it is a bound."""
    after = rule.rewrite(start)
    assert after != start
    before_value, after_value = value(start, **values), value(after, **values)
    if rule.relation == "<=":
        assert before_value <= after_value + 1e-12
    else:
        assert after_value == pytest.approx(before_value, rel=1e-12, abs=1e-13), (after, values)


def layouts() -> list[dict[str, int]]:
    """Every mark of every layout of up to 3 classes and 3 blocks."""
    return [
        {"N": d * t, "T": t, "D": d, "R": row}
        for d, t in itertools.product((1, 2, 3), repeat=2)
        for row in range(1, d * t + 1)
    ]


@pytest.mark.parametrize("period", ["D", "N/T"])
@pytest.mark.parametrize("shift", [-1, 0, 2])
def test_stacked_blocks_keep_sums_and_products(period: str, shift: int) -> None:
    """The period as a symbol and as a quotient, every shift of the residue, every layout and mark."""
    size, cycle = (D * T, D) if period == "D" else (N, N / T)
    residue, mark = Mod(j + shift, cycle), KroneckerDelta(j, R)
    body = exp(-mark * x) + (1 + residue) ** 2 * y + mark * residue
    rule = StackedBlocks(j, g)
    over_rows, of_rows = rule.rewrite(Sum(body, (j, 1, size))), rule.rewrite(Product(body, (j, 1, size)))
    assert not over_rows.has(j)
    assert not of_rows.has(j)
    for layout in layouts():
        numbers = {**layout, "x": Rational(3, 7), "y": Rational(1, 5)}
        assert value(over_rows, **numbers) == pytest.approx(value(Sum(body, (j, 1, size)), **numbers), rel=1e-13)
        assert value(of_rows, **numbers) == pytest.approx(value(Product(body, (j, 1, size)), **numbers), rel=1e-12)


def test_stacked_blocks_say_what_they_assume() -> None:
    start = Sum(KroneckerDelta(j, R) * x + Mod(j - 1, N / T), (j, 1, N))
    conditions = {h.condition for h in StackedBlocks(j, g).hypotheses(start)}
    assert conditions == {Eq(Mod(N, T), 0), Le(R, N)}
    unmarked = Sum(1 + Mod(j - 1, D), (j, 1, D * T))
    assert StackedBlocks(j, g).hypotheses(unmarked) == ()
    agree(StackedBlocks(j, g), unmarked, D=3, T=2)


def test_marked_terms_keep_sums() -> None:
    """Two marks that may coincide, one of them a residue."""
    first, second = KroneckerDelta(g, Mod(R - 1, D)), KroneckerDelta(g, Mod(k, D))
    body = (T - first) * exp(x * second) * (1 + g)
    start = Sum(body, (g, 0, D - 1))
    assert not any(e.has(g) for e in MarkedTerm(g).rewrite(start).atoms(KroneckerDelta))
    for d, row, other in itertools.product((1, 2, 3), (1, 2, 5), (1, 2, 3)):
        agree(MarkedTerm(g), start, D=d, R=row, k=other, T=2, x=Rational(2, 3))


def test_sums_of_deltas_keep_their_value() -> None:
    entry = x * KroneckerDelta(1, k) * KroneckerDelta(j, R) + y * KroneckerDelta(k, Mod(j, D) + 2)
    start = Sum((entry + z * KroneckerDelta(k, D + 2)) ** 2 * (1 + k), (k, 1, D + 2))
    for d, row, other in itertools.product((1, 2, 3), (1, 2), (1, 2, 4)):
        agree(SumOfDeltas(k), start, D=d, j=row, R=other, x=Rational(1, 3), y=Rational(2, 7), z=Rational(5, 4))
    assert SumOfDeltas(k).rewrite(Sum(KroneckerDelta(k, D + 1) * f(k), (k, 1, D))) == 0
    assert [h.condition for h in SumOfDeltas(k).hypotheses(Sum(KroneckerDelta(k, R), (k, 1, N)))] == [Le(R, N)]


def test_interchange_and_linearity_of_sums() -> None:
    start = Sum(x**k * Sum((k + j) ** 2, (j, 1, M)) / y, (k, 1, N))
    agree(InterchangeSums(k), start, N=3, M=2, x=Rational(1, 3), y=Rational(2, 5))
    with pytest.raises(RuleRefused, match="is infinite"):
        InterchangeSums(k).rewrite(Sum(x**k * Sum(y ** (j * k), (j, 1, oo)), (k, 1, N)))
    agree(SumLinearity(g), Sum(x * (1 + y * g) - y, (g, 0, D - 1)), D=4, x=Rational(1, 3), y=Rational(2, 5))
    assert SumLinearity(g).rewrite(Sum(x, (g, 0, N / T - 1))) == x * N / T


def test_places() -> None:
    """Residues and their order; what is open is left open."""
    at = Places(StackedBlocks(j, g), Sum(i, (i, 1, D + 2)) + Sum(j, (j, 1, D)) + Sum(j, (j, 1, R)))
    assert bounds(Mod(j, D) + 2) == (2, D + 1)
    assert bounds(3 - Mod(j, D)) == (4 - D, 3)
    assert at.equal(Mod(j + D, D), Mod(j, D)) is True
    assert at.equal(1, Mod(j, D) + 2) is False
    assert at.equal(D + 2, Mod(j, D) + 2) is False
    assert at.equal(j, R) is None
    assert at.equal(Mod(j, D), Mod(R, D)) is None
    assert not at.assumed
    assert at.equal(Mod(j + 2, D), Mod(j, D)) is False
    assert [h.condition for h in at.assumed] == [Gt(D, 2)]
    assert at.inside(i, S.One, D + 2)
    assert not at.inside(i + D + 2, S.One, D + 2)
    assert len(at.assumed) == 1
    for open_one in (i + 1, j):  # beyond the last place at one end; an index of two sums
        with pytest.raises(RuleRefused, match="at every index"):
            at.inside(open_one, S.One, D + 2)


def sign_bodies() -> list[Expr]:
    """Bodies in named signs, the sum over a range of places and products over it, with and without a mark."""
    total = Sum(Sign(omega, g + 2), (g, 0, D - 1))
    first, last = Sign(omega, 1), Sign(omega, D + 2)
    own = Sign(omega, Mod(R - 1, D) + 2)
    mark = KroneckerDelta(r, Mod(R - 1, D))
    seen = x * Sign(omega, r + 2) + y * total + first / 5
    return [
        exp(x * total + y * own - z * first * last),
        Indicator(Gt(x * own + y * total + z * first, Rational(1, 3))) * (2 + last),
        own * Product(2 + Sign(omega, r + 2) * x, (r, 0, D - 1)),
        exp(y * own) * Product(Indicator(Le(seen, Rational(3, 10))) ** (2 - mark), (r, 0, D - 1)),
        Indicator(Le(own, y)) * Product(exp(mark) + seen**2, (r, 0, D - 1)) / (13 + 2 * total),
    ]


@pytest.mark.parametrize("number", range(5))
def test_law_of_a_sum_of_signs(number: int) -> None:
    """All sign vectors of up to 6 signs against the binomial sum."""
    rng = np.random.default_rng(number)
    start = SignExpectation(sign_bodies()[number], omega, D + 2)
    for d in (1, 2, 3, 4):
        weights = {name: Rational(int(rng.integers(1, 97)), 53) for name in "xyz"}
        agree(SumOfSigns(), start, D=d, R=int(rng.integers(1, 2 * d + 1)), **weights)


def test_law_of_signs_refuses_what_it_does_not_know() -> None:
    total = Sum(Sign(omega, g + 2), (g, 0, D - 1))
    refused = {
        "cannot tell": total + Sign(omega, Mod(R, D) + 2) * Sign(omega, Mod(j, D) + 2),
        "expected one": total + Sum(Sign(omega, g), (g, 1, D)),
        "by more than names": total * omega,
        "no product of a function": total + Product(Sign(omega, r + 2) * Sign(omega, r + 1), (r, 0, D - 1)),
        "whose sign has no name": total + Product(Sign(omega, r + 2) + KroneckerDelta(r, Mod(R, D)), (r, 0, D - 1)),
        "by more than its sign": total + Product(Sign(omega, r + 2) + r, (r, 0, D - 1)),
        "none of the signs": total + Sign(omega, D + 5),
        "not one sign for each": total + Sum(Sign(omega, 2 * g + 2), (g, 0, D - 1)),
    }
    for reason, body in refused.items():
        with pytest.raises(RuleRefused, match=reason):
            SumOfSigns().rewrite(SignExpectation(body, omega, D + 2))
    with pytest.raises(RuleRefused, match="leaves the signs"):
        SumOfSigns().rewrite(SignExpectation(total, omega, D))


def neuron(size: Expr, threshold: Expr = x) -> Expr:
    return Relu(Sum(k * Sign(omega, k + size * (j - 1)), (k, 1, size)) - threshold)


def test_events_and_independent_vectors() -> None:
    """A sum of nonnegative neurons vanishes where each does; neurons are independent. All sign matrices."""
    fires = Indicator(Gt(Relu(Sum(neuron(D), (i, 1, 2), (j, 1, M))), 0))
    start = SignExpectation(fires, omega, D * M)
    chain = Derivation(start).apply(Complement()).apply(VanishingSum())
    silent = SignExpectation(chain.result.body.args[1] * -1, omega, D * M)
    assert silent.has(Product)
    for d, m in ((1, 1), (2, 1), (2, 2), (2, 3), (3, 2)):
        numbers = {"D": d, "M": m, "x": Rational(3, 7)}
        for step in chain.steps:
            assert value(step.after, **numbers) == pytest.approx(value(start, **numbers), abs=1e-14)
        agree(IndependentVectors(D), silent, **numbers)


def test_events_refuse_or_leave_what_may_be_negative() -> None:
    free = Indicator(Eq(Sum(v * k, (k, 1, N)), 0))
    assert VanishingSum().rewrite(free) == free
    assert VanishingSum().rewrite(Indicator(Eq(Relu(v) + Max(0, v * x), 0))) == Indicator(Le(v, 0)) * Indicator(
        Le(v * x, 0)
    )
    assert Complement().rewrite(Indicator(Le(v, x))) == Indicator(Le(v, x))
    for left, power in itertools.product((-1, 1), (0, 1, 2)):
        agree(PowersOfIndicators(), x * Indicator(Gt(v, 0)) ** (T * g), v=left, T=2, g=power, x=3)
    assert PowersOfIndicators().rewrite(Indicator(Gt(v, 0)) ** (T - 1)) == Indicator(Gt(v, 0)) ** (T - 1)


def test_independence_refuses_what_is_shared() -> None:
    row = Sum(Sign(omega, k + D * (j - 1)), (k, 1, D))
    refused = {
        "expected a product over independent": row,
        "belongs to no single vector": Product(exp(Sign(omega, 1)), (j, 1, M)),
        "do not run over all": Product(exp(row), (j, 1, M + 1)),
        "outside of its vector": Product(exp(Sign(omega, D + 1 + D * (j - 1))), (j, 1, M)),
        "by more than its vector": Product(exp(j * row), (j, 1, M)),
        "which signs": Product(exp(Sum(Sign(omega, k + 1 + D * (j - 1)), (k, 1, D))), (j, 1, M)),
    }
    for reason, body in refused.items():
        with pytest.raises(RuleRefused, match=reason):
            IndependentVectors(D).rewrite(SignExpectation(body, omega, D * M))


def test_independent_signs() -> None:
    push = exp(x * Sum(Sign(omega, k), (k, 1, N)) - y)
    split = ExponentialOfSum(k).rewrite(push)
    for size in (1, 2, 5):
        numbers = {"N": size, "x": Rational(4, 7), "y": Rational(1, 3)}
        agree(ExponentialOfSum(k), SignExpectation(push, omega, N), **numbers)
        agree(IndependentSigns(), SignExpectation(split, omega, N), **numbers)
    refused = {
        "expected a product over signs": push,
        "looks at 2 signs": Product(Sign(omega, k) + Sign(omega, k + 1), (k, 1, N - 1)),
        "not one sign for each": Product(1 + Sign(omega, 1), (k, 1, N)),
        "the factors differ": Product(k + Sign(omega, k), (k, 1, N)),
        "none of the signs": Product(2 + Sign(omega, k + N), (k, 1, N)),
    }
    for reason, body in refused.items():
        with pytest.raises(RuleRefused, match=reason):
            IndependentSigns().rewrite(SignExpectation(body, omega, N))
    with pytest.raises(RuleRefused, match="has a meaning outside"):
        ExponentialOfSum(k).rewrite(exp(k * Sum(Sign(omega, k), (k, 1, N))))


def test_places_of_sums_refuse() -> None:
    refused: list[tuple[Rule, Expr, str]] = [
        (SumOfDeltas(k), Sum(KroneckerDelta(k, 1) + k, (k, 1, D)), "holds no delta"),
        (SumOfDeltas(k), Sum(KroneckerDelta(k, 2 * k - R), (k, 1, D)), "name one place"),
        (SumOfDeltas(k), Sum(KroneckerDelta(k, j), (k, 1, j), (j, 1, D)), "depend on its indices"),
        (SumOfDeltas(k), Sum(f(j) * Sum(KroneckerDelta(k, j), (k, 1, D)), (j, 1, N)), "at every index"),
        (MarkedTerm(g), Sum(f(KroneckerDelta(g, D + 1)), (g, 0, D)), "outside"),
        (MarkedTerm(g), Sum(f(KroneckerDelta(2 * g, R)), (g, 0, D)), "name one place"),
        (StackedBlocks(j, g), Sum(j * Mod(j, D), (j, 1, D * T)), "by more than its residue"),
        (StackedBlocks(j, g), Sum(Mod(j, D) + Mod(j, D + 1), (j, 1, D * T)), "expected one residue"),
        (StackedBlocks(j, g), Sum(g * Mod(j, D), (j, 1, D * T)), "has a meaning already"),
        (StackedBlocks(j, g), Sum(Mod(j, 4), (j, 1, 6)), "not an integer"),
        (StackedBlocks(j, g), Sum(Mod(j, D) * (KroneckerDelta(j, R) + KroneckerDelta(j, i)), (j, 1, D)), "one"),
        (StackedBlocks(j, g), Sum(Mod(j, D) * KroneckerDelta(j, D * T + 1), (j, 1, D * T)), "outside"),
        (SumLinearity(g), Sum(x, (g, 0, Rational(1, 2))), "number of terms"),
        (InterchangeSums(k), Sum(x**k * Sum(k * j, (j, 1, k)), (k, 1, N)), "depend on"),
    ]
    for rule, start, reason in refused:
        with pytest.raises(RuleRefused, match=reason):
            rule.rewrite(start)


def test_a_positive_factor_leaves_inequalities_and_no_other_does() -> None:
    start = Indicator(Gt(x * y - 2 * x, x * z))
    assert PositiveFactor(x).rewrite(start) == Indicator(Gt(y - 2, z))
    assert PositiveFactor(x).hypotheses(start) == ()
    assert [h.condition for h in PositiveFactor(v).hypotheses(start)] == [Gt(v, 0)]
    for factor in (S.NegativeOne, S.Zero, -x, -x * y):
        with pytest.raises(RuleRefused, match="expected a positive one"):
            PositiveFactor(factor).rewrite(Indicator(Gt(v, 2)))
    with pytest.raises(RuleRefused, match="depends on an index"):
        PositiveFactor(Sign(omega, 1)).rewrite(SignExpectation(start * Sign(omega, 1), omega, N))
    quotient = Indicator(Le((x * sqrt(y) + z * sqrt(y)) / (1 + x) - z * sqrt(y), v * sqrt(y)))
    for place in (-2, 0, 1):
        agree(PositiveFactor(sqrt(y)), quotient, x=Rational(1, 3), y=Rational(2, 7), z=Rational(3, 5), v=place)


def test_powers() -> None:
    agree(PowersOf(N), exp(x * log(N) + x * y * log(N)) + exp(x), N=7, x=Rational(1, 3), y=Rational(2, 7))
    agree(DivideThrough(N**x), (N**x + N ** (x + y)) / (1 + N**x), N=7, x=Rational(1, 3), y=Rational(2, 7))
    agree(CommonFactor(), ((x * y) ** z + (2 * x) ** z) / (x * y) ** z, x=Rational(1, 3), y=Rational(2, 7), z=2)
    agree(CollectTerms(), (x * (y + z) - x * y) / (z * (1 + x)), x=2, y=3, z=Rational(1, 7))
    assert [h.condition for h in DivideThrough(v).hypotheses(x / y)] == [Ne(v, 0)]
    with pytest.raises(RuleRefused, match="found the divisor 0"):
        DivideThrough(S.Zero)
    with pytest.raises(RuleRefused, match="not known to be positive"):
        CommonFactor().rewrite((v * x) ** z / (v * x + v) ** z)
    with pytest.raises(RuleRefused, match="depends on an index"):
        DivideThrough(1 + g).rewrite(Sum(x, (g, 0, N)) / y)


def test_largest_power_is_an_identity_and_refuses_a_negative_sum() -> None:
    for start in (log(N**x - 3 + N), log((T * N + 1) / (N**x + T**2)), log(T * N**y - 1)):
        agree(LargestPower(N, T), start, N=50, T=7, x=Rational(1, 2), y=Rational(3, 4))
    assert {h.condition for h in LargestPower(N).hypotheses(log(N - 3))} == {Gt(N, 1), Gt(N - 3, 0)}
    with pytest.raises(RuleRefused, match="no term"):
        LargestPower(N).rewrite(log(x - N) - log(-(N**x) - N + v))
    with pytest.raises(RuleRefused, match="not positive"):
        LargestPower(N).rewrite(log(-(N**x) - N))
    with pytest.raises(RuleRefused, match="expected positive numbers"):
        LargestPower(N, v)


def test_bounds_on_powers_of_probabilities() -> None:
    """1 - p^m <= m (1 - p) and p^m <= e^{-m (1 - p)} for means of products of indicators, and for nothing else."""
    rows = Product(Indicator(Le(x * Sign(omega, j), y)), (j, 1, N))
    silent = SignExpectation(rows, omega, N)
    start = 1 - silent**M + SignExpectation(rows * Indicator(Le(y, Sign(omega, 1))), omega, N) ** M
    for neurons, push in itertools.product((1, 2, 5), (Rational(1, 2), 2)):
        numbers = {"N": 3, "M": neurons, "x": 1, "y": push}
        agree(BernoulliInequality(), start, **numbers)
        agree(ExponentialAbove(), silent**M, **numbers)
        agree(ExponentialAbove(), BernoulliInequality().rewrite(start), **numbers)
    assert BernoulliInequality().rewrite(1 - silent**M) == M * (1 - silent)
    assert ExponentialAbove().rewrite(silent**M) == exp(-M * (1 - silent))
    many = SignExpectation(2 * rows, omega, N)
    for rule, term in (
        (ExponentialAbove(), silent**-M),
        (BernoulliInequality(), 1 - many**M),
        (ExponentialAbove(), many**M),
        (ExponentialAbove(), silent**v),
    ):
        assert rule.rewrite(term) == term
    assert BernoulliInequality().rewrite(2 - silent**M) == 2 - silent**M
    with pytest.raises(RuleRefused, match="not known to grow"):
        ExponentialAbove().rewrite(1 - silent**M)


def test_chernoff_bound() -> None:
    total = x * Sum(Sign(omega, k), (k, 1, N))
    for relation in (Gt(total, y), Lt(y, total), total >= y):
        start = SignExpectation(Indicator(relation), omega, N)
        for size, far in ((2, Rational(1, 3)), (3, 1), (5, Rational(7, 5))):
            agree(ChernoffBound(rate), start, N=size, x=Rational(4, 7), y=far)
        assert ChernoffBound(rate).rewrite(2 * start + v) == 2 * ChernoffBound(rate).rewrite(start) + v
    with pytest.raises(RuleRefused, match="nonnegative"):
        ChernoffBound(v)
    with pytest.raises(RuleRefused, match="has a meaning already"):
        ChernoffBound(rate).rewrite(SignExpectation(Indicator(Gt(total, rate)), omega, N))


def test_comparison_of_series_is_proved_or_refused() -> None:
    rule = SeriesComparison(cosh(z), exp(z**2 / 2), z)
    for place in (-3, Rational(-1, 2), Rational(1, 9), 2, 5):
        agree(rule, cosh(v) ** 3 * x, v=place, x=2)
    agree(SeriesComparison(sinh(z) / z, cosh(z), z), sinh(x) / x, x=Rational(3, 2))
    false = [
        (exp(z**2 / 2), cosh(z), "stay below"),
        (cosh(z), exp(z**2 / 3), "stay below"),
        (exp(z), exp(-z), "stay below"),
        (cosh(z), cos(z), "stay below"),
        (1 / (1 - z), exp(z), "stay below"),
        (exp(z), cosh(z), "the powers of .* differ"),
        (exp(z), exp(z) / 2, "start with .* and "),
        (cos(z), exp(z**2), "start with 1 and 1"),
        (1 / (1 - z), 2 / (1 - z), "does not converge everywhere"),
        (log(1 + z), exp(z), "does not start at its value"),
        (1 + log(1 + z), exp(z), "has no power series whose coefficients are known"),
        (tan(z), exp(z), "has no power series whose coefficients are known"),
    ]
    for smaller, larger, reason in false:
        with pytest.raises(RuleRefused, match=reason):
            SeriesComparison(smaller, larger, z)
    with pytest.raises(RuleRefused, match="expected an argument that is >= 0"):
        SeriesComparison(exp(z), exp(2 * z), z).rewrite(exp(v))
    with pytest.raises(RuleRefused, match="expected an argument that is real"):
        rule.rewrite(cosh(Symbol("w")))


def test_a_bound_goes_through_what_grows_and_nothing_else() -> None:
    rule = SeriesComparison(cosh(z), exp(z**2 / 2), z)
    upper = exp(v**2 / 2)
    grows = {
        x * cosh(v): x * upper,
        exp(cosh(v)) + y: exp(upper) + y,
        log(cosh(v)): v**2 / 2,
        cosh(v) * cosh(x): upper * exp(x**2 / 2),
        cosh(v) ** N: upper**N,
        Sum(cosh(k * v), (k, 1, N)): Sum(exp(k**2 * v**2 / 2), (k, 1, N)),
    }
    for before, after in grows.items():
        assert (rule.rewrite(before) - after).simplify() == 0
    for before in (1 - cosh(v), v * cosh(v), 1 / cosh(v), 2 ** (-cosh(v)), f(cosh(v)), x ** cosh(v)):
        with pytest.raises(RuleRefused, match="not known to grow"):
            rule.rewrite(before)


class _Drop(Truncation):
    name, statement = "drop", "x"

    def truncate(self, term: Expr) -> tuple[Expr, Expr] | None:
        return (S.Zero, y) if term == y else None


def test_the_relation_of_a_chain() -> None:
    """Upper bounds make the chain one; an approximation beside them is refused; a citation carries the direction."""
    rule = SeriesComparison(cosh(z), exp(z**2 / 2), z)
    bound = Derivation(cosh(v), name="bound").apply(rule)
    assert isinstance(rule, Bound)
    assert bound.relation == "<="
    assert "<= exp(v**2/2)" in str(bound)
    assert Derivation(x + y).apply(_Drop()).relation == "~"
    with pytest.raises(RuleRefused, match="in a chain with"):
        Derivation(y + cosh(v)).apply(rule).apply(_Drop())
    assert Derivation(x * cosh(v)).apply(Cite(bound)).relation == "<="
    with pytest.raises(RuleRefused, match="not known to grow"):
        Derivation(1 - cosh(v)).apply(Cite(bound))


def test_minimum_of_an_exponential_and_hyperbolic_cosine() -> None:
    start = Minimum(exp(rate**2 * x) * exp(-rate * y), rate)
    agree(ExponentialOfMinimum(), start, x=Rational(1, 3), y=Rational(4, 5))
    with pytest.raises(RuleRefused, match="expected an exponential"):
        ExponentialOfMinimum().rewrite(Minimum(rate**2 - rate, rate))
    agree(HyperbolicCosine(), (exp(v) / 3 + exp(-v) / 3 + x) ** 2, v=Rational(4, 5), x=1)
    assert HyperbolicCosine().rewrite(exp(v) - exp(-v)) == exp(v) - exp(-v)
    assert not HyperbolicCosine().rewrite(exp(v) + 2 * exp(-v)).has(cosh)
    assert Mul(2, cosh(v)) == HyperbolicCosine().rewrite(exp(v) + exp(-v))
