"""Random sums over blocks, random signs and bounds: what a rule admits keeps its value, what it must refuse is refused.

Both sides are the referee's numbers: sums written out, all sign vectors tried. The tests of a rule carry its name.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sympy import (
    Eq,
    Expr,
    Ge,
    Gt,
    KroneckerDelta,
    Le,
    Lt,
    Max,
    Min,
    Mod,
    Ne,
    Product,
    Rational,
    S,
    Sum,
    Symbol,
    cosh,
    exp,
    log,
    symbols,
)

from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules.blocks.collect import CollectTerms
from symslr.algebra.rules.blocks.deltas import MarkedTerm, SumOfDeltas
from symslr.algebra.rules.blocks.powers import CommonFactor, DivideThrough, LargestPower, PowersOf
from symslr.algebra.rules.blocks.stacked import StackedBlocks
from symslr.algebra.rules.blocks.sums import InterchangeSums, SumLinearity
from symslr.algebra.rules.inequalities.chernoff import ChernoffBound
from symslr.algebra.rules.inequalities.monotone import ExponentialOfMinimum, HyperbolicCosine
from symslr.algebra.rules.inequalities.positive_factor import PositiveFactor
from symslr.algebra.rules.inequalities.series import SeriesComparison
from symslr.algebra.rules.signs.events import Complement, PowersOfIndicators, VanishingSum
from symslr.algebra.rules.signs.independence import ExponentialOfSum, IndependentSigns, IndependentVectors
from symslr.algebra.rules.signs.law import SumOfSigns
from symslr.expression.folded import Minimum
from symslr.expression.signs import Indicator, Relu, Sign, SignExpectation, omega
from symslr.referee.referee import referee
from tests.algebra.strategies import nonzero, positive

FEW = settings(max_examples=4, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
SOME = settings(max_examples=8, derandomize=True, database=None, deadline=None, phases=[Phase.generate])

i, j, k = symbols("i j k", integer=True, positive=True)
g, r = symbols("g r", integer=True, nonnegative=True)
N, T, D, R, M = symbols("N T D R M", integer=True, positive=True)
"""Rows, blocks, period, marked row, vectors."""
x, y, z = symbols("x y z", positive=True)
v = Symbol("v", real=True)
rate = Symbol("rate", nonnegative=True)


def value(expr: Expr, values: dict[str, Any]) -> float:
    return float(referee(expr, values, digits=13).value)


def assert_same(rule: Rule, before: Expr, values: dict[str, Any]) -> Expr:
    """The rule changes the line and keeps its value, or raises it where it is a bound."""
    after = rule.rewrite(before)
    assert after != before
    one, two = value(before, values), value(after, values)
    assert one <= two + 1e-12 if rule.relation == "<=" else two == pytest.approx(one, rel=1e-11, abs=1e-13), after
    return after


def assert_refused(rule: Rule, expr: Expr, reason: str) -> None:
    with pytest.raises(RuleRefused, match=reason):
        rule.rewrite(expr)


def conditions(rule: Rule, expr: Expr) -> set[Any]:
    return {hypothesis.condition for hypothesis in rule.hypotheses(expr)}


@st.composite
def layouts(draw: st.DrawFn) -> dict[str, Any]:
    """A period, a number of blocks, a marked row, and two numbers."""
    period, blocks = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    sizes = {"D": period, "T": blocks, "N": period * blocks, "R": draw(st.integers(1, period * blocks))}
    return {**sizes, "x": draw(positive), "y": draw(positive), "v": draw(nonzero)}


@st.composite
def functions(draw: st.DrawFn, place: Expr, mark: Expr = S.Zero) -> Expr:
    """A positive function of a place and of a mark that is 0 or 1."""
    a, b = draw(positive), draw(nonzero)
    forms = [
        exp(b * place / 3 + mark),
        (a + place) ** 2 + b * mark * place / 9,
        a + x * mark * place + y * place,
        a / (1 + place + mark),
    ]
    return draw(st.sampled_from(forms))


# blocks


@SOME
@given(layouts(), st.integers(-3, 3), st.data())
def test_StackedBlocks_keeps_sums_and_products(layout: dict[str, Any], shift: int, data: st.DataObject) -> None:
    body = data.draw(functions(Mod(j + shift, D), KroneckerDelta(j, R)))
    for node in (Sum, Product):
        after = assert_same(StackedBlocks(j, g), node(body, (j, 1, D * T)), layout)
        assert not after.has(j)


@FEW
@given(st.integers(1, 4), st.integers(-2, 2), st.data())
def test_StackedBlocks_refuses_what_does_not_repeat(more: int, shift: int, data: st.DataObject) -> None:
    rule, own = StackedBlocks(j, g), Mod(j + shift, D)
    body = data.draw(functions(own))
    assert_refused(rule, Sum(body + j, (j, 1, D * T)), "by more than its residue")
    assert_refused(rule, Sum(body * Mod(j, D + more), (j, 1, D * T)), "expected one residue")
    assert_refused(rule, Sum(body * g, (j, 1, D * T)), "has a meaning already")
    assert_refused(rule, Sum(body * KroneckerDelta(j, D * T + more), (j, 1, D * T)), "lies outside")
    assert_refused(rule, Sum(body * KroneckerDelta(j, more), (j, 1 + more, D * T + more)), "lies outside")
    assert conditions(rule, Sum(body * KroneckerDelta(j, R), (j, 1, N))) == {Eq(Mod(N, D), 0), Le(R, N)}


@SOME
@given(layouts(), st.integers(0, 2), st.data())
def test_MarkedTerm_keeps_the_sum(layout: dict[str, Any], low: int, data: st.DataObject) -> None:
    body = data.draw(functions(g, KroneckerDelta(g, R)))
    after = assert_same(MarkedTerm(g), Sum(body, (g, low, N + low)), {**layout, "R": layout["R"] + low})
    assert not after.has(KroneckerDelta)


@SOME
@given(layouts(), st.integers(1, 3), st.data())
def test_SumOfDeltas_keeps_the_sum(layout: dict[str, Any], power: int, data: st.DataObject) -> None:
    one, two = data.draw(functions(k)), data.draw(functions(k + j))
    delta = KroneckerDelta(k, R)
    assert_same(SumOfDeltas(k), Sum(delta**power * (one + x), (k, 1, N)), layout)
    own = KroneckerDelta(k, Mod(j, N) + 1)
    assert_same(SumOfDeltas(k), Sum(two * own + x * delta * one, (j, 1, D), (k, 1, N)), layout)
    assert SumOfDeltas(k).rewrite(Sum(one * KroneckerDelta(k, D + 1), (k, 1, D))) == 0
    assert SumOfDeltas(k).rewrite(Sum(one * KroneckerDelta(k, 2), (k, 3, D))) == 0


@FEW
@given(layouts(), st.integers(0, 3), st.data())
def test_SumOfDeltas_knows_where_an_index_ends(layout: dict[str, Any], far: int, data: st.DataObject) -> None:
    """A delta at a place beyond the ends of its sum is zero, with nothing assumed; at the last place it is not."""
    body = data.draw(functions(k + j))
    beyond = {1: (j - D - far, j + N + far, N + D + 1 - j + far), 3 + far: (2 + far - j, 3 - j)}
    places = [(place, low, D) for low, found in beyond.items() for place in found]
    for place, low, high in (*places, (j - 4 - far, 1, 4)):
        before = Sum(body * KroneckerDelta(k, place), (k, 1, N), (j, low, high))
        assert SumOfDeltas(k).rewrite(before).doit() == 0
        assert conditions(SumOfDeltas(k), before) == set()
    assert_same(SumOfDeltas(k), Sum(body * KroneckerDelta(k, D + 1 - j), (j, 1, D), (k, 1, D)), layout)


@FEW
@given(st.integers(1, 4), st.data())
def test_deltas_that_name_no_place_are_refused(more: int, data: st.DataObject) -> None:
    body = data.draw(functions(k))
    assert_refused(SumOfDeltas(k), Sum(body * (KroneckerDelta(k, R) + more), (k, 1, D)), "holds no delta")
    assert_refused(SumOfDeltas(k), Sum(body * KroneckerDelta(k, k**2 - more), (k, 1, D)), "name one place")
    assert_refused(SumOfDeltas(k), Sum(KroneckerDelta(k, j) * body, (k, 1, j), (j, 1, D)), "depend on its indices")
    assert_refused(MarkedTerm(k), Sum(body ** KroneckerDelta(k, D + more), (k, 1, D)), "lies outside")
    assert_refused(MarkedTerm(k), Sum(body ** KroneckerDelta(k, more), (k, more + 1, D)), "lies outside")


@SOME
@given(layouts(), st.data())
def test_sums_are_interchanged_and_split(layout: dict[str, Any], data: st.DataObject) -> None:
    one, two, both = (data.draw(functions(place)) for place in (k, j, j + k))
    before = Sum(one * x * Sum(both * two, (j, 2, D + 1)), (k, 1, N))
    after = assert_same(InterchangeSums(k), before, layout)
    (node,) = after.atoms(Sum)
    assert [limit[0] for limit in node.limits] == [k, j]
    other = Sum(i * Sum(both * i + k, (j, 2, D + 1)), (i, 1, N))
    assert InterchangeSums(k).rewrite(other) == other
    assert_same(SumLinearity(k), Sum((x * k - one) * y + v, (k, 2, N)), layout)
    assert_same(SumLinearity(k), before, layout)


@FEW
@given(st.integers(2, 5), st.data())
def test_sums_that_cannot_be_interchanged_or_counted(more: int, data: st.DataObject) -> None:
    body = data.draw(functions(k))
    assert_refused(InterchangeSums(k), Sum(body * Sum(j * k, (j, 1, k)), (k, 1, N)), "depend on")
    assert_refused(InterchangeSums(k), Sum(body * Sum(j * k, (j, k, 9)), (k, 1, N)), "depend on")
    assert_refused(InterchangeSums(k), Sum(body * j * Sum(j * k, (j, 1, D)), (k, 1, N)), "has a meaning outside")
    assert_refused(InterchangeSums(k), Sum(body * Sum(exp(-j * k), (j, 1, S.Infinity)), (k, 1, N)), "is infinite")
    assert_refused(InterchangeSums(k), Sum(body * Sum(exp(j * k), (j, 1, N)), (k, -S.Infinity, 0)), "is infinite")
    assert_refused(SumLinearity(k), Sum(x * body, (k, 1, Rational(1, more))), "number of terms")
    assert_refused(SumLinearity(k), Sum(x * body, (k, more + 1, 1)), "number of terms")
    assert conditions(SumLinearity(k), Sum(x * body, (k, 1, N / T))) == {Eq(Mod(N, T), 0)}


@FEW
@given(st.integers(2, 60), st.integers(2, 60), nonzero, nonzero, positive, positive)
def test_powers_keep_the_value(n: int, t: int, a: Expr, b: Expr, c: Expr, d: Expr) -> None:
    where = {"N": n, "T": t, "x": c, "y": d, "z": c + d}
    assert_same(PowersOf(N), exp(a * log(N) * (x + 2) + b * log(N)) + exp(b * y), where)
    assert_same(DivideThrough(N**x), (a * N**x + 3 * N ** (x + y)) / (2 + c * N**y), where)
    assert_same(CommonFactor(), ((x * y) ** z * c + (3 * x) ** z) / (x * y) ** z, where)
    assert_same(CollectTerms(), (x * (y + c) - a * x * y) / (z * (d + x)), where)
    assert_same(CollectTerms(log), (x * (log(N) + c) - (d + 4) * y * log(N) + T) / (z * (d + x)), where)
    for start in (log(N**x + c * N + d), log((T * N + c) / (N**x * T + d)), log(2 * N * T**y - c)):
        after = assert_same(LargestPower(N, T), start, where)
        assert after.has(Max) or N in after.free_symbols


@FEW
@given(nonzero, positive)
def test_powers_of_what_may_be_negative_are_refused(s: Expr, c: Expr) -> None:
    assert_refused(CommonFactor(), (v * x) ** z / (v * x + v) ** z, "not known to be positive")
    assert_refused(LargestPower(N), log(c * v - s**2 * N), "no term|not positive")
    assert_refused(LargestPower(N), log(-c * N**x - N), "not positive")
    assert_refused(DivideThrough(c + g), Sum(x * g, (g, 0, N)) / (y + s**2), "depends on an index")
    for make in (
        lambda: PowersOf(v),
        lambda: PowersOf(g),
        lambda: LargestPower(N, v),
        lambda: LargestPower(v),
        lambda: DivideThrough(s - s),
    ):
        with pytest.raises(RuleRefused):
            make()
    assert conditions(DivideThrough(v - s), x / y) == {Ne(v - s, 0)}
    assert conditions(LargestPower(N), log(N - c)) >= {Gt(N, 1)}


# signs


SIGNS = st.sampled_from([1, 2, 3, 4])
TOTAL = Sum(Sign(omega, g + 2), (g, 0, D - 1))
FIRST, LAST, OWN = Sign(omega, 1), Sign(omega, D + 2), Sign(omega, Mod(R - 1, D) + 2)


@SOME
@given(SIGNS, st.integers(1, 8), nonzero, nonzero, positive, st.integers(0, 4))
def test_SumOfSigns_keeps_the_mean(d: int, row: int, a: Expr, b: Expr, c: Expr, form: int) -> None:
    own, mark = Sign(omega, r + 2), KroneckerDelta(r, Mod(R - 1, D))
    bodies = [
        exp(a * TOTAL + b * FIRST * LAST) * (2 + OWN),
        Indicator(Gt(a * TOTAL + b * OWN, c)) * (3 + LAST),
        (2 + b * OWN) * Product((c + (own + 1) * 2) ** (1 + mark), (r, 0, D - 1)),
        OWN * Product(Indicator(Le(a * own + b * TOTAL, c)) + mark / 3, (r, 0, D - 1)) / (9 + FIRST),
        (2 + b * Sign(omega, 2)) * Product((c + own + 2) ** (1 + KroneckerDelta(r, 0)), (r, 0, D - 1)),
    ]
    assert_same(SumOfSigns(), SignExpectation(bodies[form], omega, D + 2), {"D": d, "R": row})


@FEW
@given(nonzero, st.integers(1, 3))
def test_SumOfSigns_refuses_signs_that_it_cannot_tell(a: Expr, far: int) -> None:
    refused = {
        "cannot tell": Sign(omega, Mod(R, D) + 2) * Sign(omega, Mod(j, D) + 2),
        "none of the signs 1": Sign(omega, D + 2 + far),
        "none of the signs": Sign(omega, 1 - far),
        "name one place": Product((3 + Sign(omega, r + 2)) ** KroneckerDelta(2 * r, 2), (r, 0, D - 1)),
        "is not one sign for": Sum(Sign(omega, g + 2), (g, 0, D - 1), (k, 1, 2)),
        "expected one": Sum(Sign(omega, g), (g, 1, D + 1 - far)),
        "not one sign for each": Sum(Sign(omega, (far + 1) * g + 2), (g, 0, D - 1)),
        "no product of a function": Product(a + Sign(omega, r + 2) * Sign(omega, r + 1), (r, 0, D - 1)),
    }
    for reason, body in refused.items():
        assert_refused(SumOfSigns(), SignExpectation(TOTAL + body, omega, D + 2), reason)
    for count in (D, D - far):
        assert_refused(SumOfSigns(), SignExpectation(a * TOTAL, omega, count), "leaves the signs")


@FEW
@given(st.integers(1, 2), st.integers(1, 3), nonzero, positive)
def test_IndependentVectors_keeps_the_mean(d: int, m: int, a: Expr, c: Expr) -> None:
    row = Sum(k * Sign(omega, k + D * (j - 1)), (k, 1, D))
    for body in (exp(a * row), c + row**2, Indicator(Gt(row, a)) + c):
        assert_same(IndependentVectors(D), SignExpectation(Product(body, (j, 1, M)), omega, D * M), {"D": d, "M": m})


@FEW
@given(nonzero, st.integers(1, 3))
def test_IndependentVectors_refuses_what_is_shared(a: Expr, more: int) -> None:
    row = exp(a * Sum(Sign(omega, k + D * (j - 1)), (k, 1, D)))
    refused = {
        "expected a product over independent": a + row,
        "expected a product over": a * Product(row, (j, 1, M)),
        "belongs to no single vector": Product(row * exp(a * Sign(omega, more)), (j, 1, M)),
        "do not run over all": Product(row, (j, 1, M - more)),
        "outside of its vector": Product(row + Sign(omega, D + more + D * (j - 1)), (j, 1, M)),
        "by more than its vector": Product(row + j, (j, 1, M)),
        "lies outside": Product(exp(Sum(Sign(omega, k + D * (j - 1)), (k, 1, D + more))), (j, 1, M)),
    }
    for reason, body in refused.items():
        assert_refused(IndependentVectors(D), SignExpectation(body, omega, D * M), reason)


@FEW
@given(SIGNS, nonzero, positive)
def test_IndependentSigns_keeps_the_mean(n: int, a: Expr, c: Expr) -> None:
    where = {"N": n, "x": c, "y": c / 2}
    push = exp(a * Sum(Sign(omega, k), (k, 1, N)) + x)
    assert_same(ExponentialOfSum(k), SignExpectation(push, omega, N), where)
    for body, last in ((exp(a * Sign(omega, k)), N), (c + Sign(omega, k + 1) / 9, N - 1), (1 + a * Sign(omega, k), N)):
        assert_same(IndependentSigns(), SignExpectation(y * Product(body, (k, 1, last)), omega, N), where)


@FEW
@given(nonzero, st.integers(1, 3))
def test_IndependentSigns_refuses_signs_that_are_shared(a: Expr, more: int) -> None:
    refused = {
        "expected a product over signs": exp(a * Sign(omega, 1)),
        "looks at 2 signs": Product(Sign(omega, k) + a * Sign(omega, k + more), (k, 1, N - more)),
        "not one sign for each": Product(a + Sign(omega, more), (k, 1, N)),
        "the factors differ": Product(a * k + Sign(omega, k), (k, 1, N)),
        "expected at most": Product(a + Sign(omega, k), (k, 1, N + more)),
        "none of the signs": Product(a + Sign(omega, k + more), (k, 1, N)),
    }
    for reason, body in refused.items():
        assert_refused(IndependentSigns(), SignExpectation(body, omega, N), reason)
    shared = FIRST * Product(a + Sign(omega, k), (k, 1, N))
    assert_refused(IndependentSigns(), SignExpectation(shared, omega, N), "expected a product over signs")
    repeated = Product(a + Sign(omega, k), (k, 1, N), (j, 1, more + 1))
    assert_refused(IndependentSigns(), SignExpectation(repeated, omega, N), "expected a product over signs")
    assert_refused(ExponentialOfSum(k), exp(a * k * Sum(Sign(omega, k), (k, 1, N))), "has a meaning outside")
    other = exp(a * Sum(j**2, (j, 1, N)))
    assert ExponentialOfSum(k).rewrite(other) == other
    endless = exp(a * Sum(exp(-j) / k, (k, 1, N), (j, 1, S.Infinity)))
    assert ExponentialOfSum(k).rewrite(endless) == endless
    assert ExponentialOfSum(k).rewrite(other * exp(Sum(a / k, (k, 1, N)))) == other * Product(exp(a / k), (k, 1, N))


@SOME
@given(nonzero, nonzero, st.sampled_from([-1, 0, 1]), st.integers(0, 2), st.integers(0, 2))
def test_events_keep_their_values(a: Expr, b: Expr, place: int, n: int, t: int) -> None:
    where = {"v": place, "x": abs(a), "N": n + 1, "g": n, "T": t + 1}
    assert_same(Complement(), b * Indicator(Gt(v, a * x)) + Indicator(Gt(v, 0)) / 3, where)
    total = Relu(v - a) + Max(0, b * v) + Sum(Relu(k * v - b), (k, 1, N))
    later = Sum(Relu(k * v - b), (k, 2, N))
    for zero in (Eq(total, 0), Le(total, 0), Eq(Max(v, b * v, 0), 0), Eq(later, 0), Le(Max(v, b * v - 1), 0)):
        assert_same(VanishingSum(), 3 + Indicator(zero), where)
    assert_same(PowersOfIndicators(), x * Indicator(Gt(v, 0)) ** (T * g), where)


@FEW
@given(nonzero)
def test_events_that_are_no_sums_of_nonnegative_terms_are_left(a: Expr) -> None:
    for event in (
        Eq(Relu(v) + a * v, 0),
        Eq(Relu(v), a**2),
        Ge(Relu(v), 0),
        Eq(Sum(a * v * k, (k, 1, N)), 0),
        Ne(Relu(v), 0),
        Le(Min(v, 0), 0),
    ):
        assert VanishingSum().rewrite(Indicator(event)) == Indicator(event)
    mixed = Indicator(Le(Relu(v) + a * v, 0))
    assert VanishingSum().rewrite(mixed) == mixed
    for event in (Ge(v, a), Lt(v, a), Le(v, a), Eq(v, a)):
        assert Complement().rewrite(Indicator(event)) == Indicator(event)
    for power in (Indicator(Gt(v, a)) ** (T - 1), v**2, (1 + Indicator(Gt(v, a))) ** T):
        assert PowersOfIndicators().rewrite(power) == power


# inequalities


@SOME
@given(SIGNS, positive, st.sampled_from([0, 3, 7, 9]), st.sampled_from([Gt, Ge]))
def test_ChernoffBound_lies_above(n: int, a: Expr, tenths: int, relation: Any) -> None:
    """Up to nine tenths of the largest sum, beyond which the best rate is at infinity."""
    total, far = a * Sum(Sign(omega, k), (k, 1, N)), a * n * Rational(tenths, 10)
    lean = total + Rational(1, 7)
    for event in (relation(lean, far), relation(lean, far).reversed, relation(far, lean)):
        assert_same(ChernoffBound(rate), SignExpectation(Indicator(event), omega, N), {"N": n})
    for body in (Indicator(Eq(total, far)), exp(total)):
        other = SignExpectation(body, omega, N)
        assert ChernoffBound(rate).rewrite(other) == other


@FEW
@given(positive)
def test_ChernoffBound_refuses_its_own_letter_and_what_falls(a: Expr) -> None:
    chance = SignExpectation(Indicator(Gt(a * FIRST, rate)), omega, N)
    assert_refused(ChernoffBound(rate), chance, "has a meaning already")
    assert_refused(ChernoffBound(rate), 1 - chance.subs(rate, a), "not known to grow")
    with pytest.raises(RuleRefused, match="nonnegative"):
        ChernoffBound(v)


HYPERBOLIC = SeriesComparison(cosh(z), exp(z**2 / 2), z)


@FEW
@given(nonzero, positive)
def test_SeriesComparison_lies_above(place: Expr, factor: Expr) -> None:
    assert_same(HYPERBOLIC, factor * cosh(v) + cosh(x) ** 2, {"v": place, "x": 2 * factor})
    assert_refused(HYPERBOLIC, cosh(Symbol("w")), "expected an argument that is real")
    assert_refused(HYPERBOLIC, factor - cosh(place * v), "not known to grow")


@settings(FEW, max_examples=3)
@given(positive)
def test_SeriesComparison_is_proved_or_refused(c: Expr) -> None:
    """cosh z <= exp(c z^2) from c = 1/2 on; below there is a z where it is false."""
    assert_same(SeriesComparison(cosh(z), exp((c + S.Half) * z**2), z), cosh(v), {"v": c})
    with pytest.raises(RuleRefused, match="stay below"):
        SeriesComparison(cosh(z), exp(c / (1 + 2 * c) * z**2), z)


@SOME
@given(nonzero, positive, positive, positive)
def test_monotone_rules_keep_the_value(a: Expr, b: Expr, c: Expr, d: Expr) -> None:
    where = {"x": b, "y": c, "v": a}
    assert_same(ExponentialOfMinimum(), d + Minimum(exp(rate**2 * x) * exp(-rate * y * d), rate), where)
    after = assert_same(HyperbolicCosine(), (d * exp(v) + d * exp(-v) + exp(x) + 2 * exp(-x)) ** 2 + v, where)
    assert after.has(cosh(v))
    assert not after.has(cosh(x))
    assert_refused(ExponentialOfMinimum(), Minimum(d + rate**2 - rate, rate), "expected an exponential")


@SOME
@given(positive, nonzero, nonzero, st.sampled_from([Gt, Ge, Lt, Le]))
def test_PositiveFactor_keeps_the_event(a: Expr, b: Expr, c: Expr, relation: Any) -> None:
    event = Indicator(relation(x * y * b - 2 * x, x * v + c * x * y))
    edge = b * a - 2 - c * a
    for place in (edge - Rational(1, 9), edge + Rational(1, 9), c):
        assert_same(PositiveFactor(x), event + a, {"x": Rational(2, 3), "y": a, "v": place})
    assert conditions(PositiveFactor(x), event) == set()
    assert conditions(PositiveFactor(v), event) == {Gt(v, 0)}
    for factor in (-a, -x, S.Zero, -a * x * y, Symbol("w", nonpositive=True)):
        assert_refused(PositiveFactor(factor), event, "expected a positive one")
    assert_refused(PositiveFactor(k), Sum(Indicator(relation(k * v, b)), (k, 1, N)), "depends on an index")
