"""Ranges of places one by one, around the edges of what is there: inside a rule keeps the value, outside it refuses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import And, Expr, KroneckerDelta, Mod, Product, Rational, S, Sum, Symbol, exp, oo

from symslr.algebra.hypothesis import Hypothesis, holds
from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules.blocks.deltas import MarkedTerm, SumOfDeltas
from symslr.algebra.rules.blocks.places import Places
from symslr.algebra.rules.blocks.stacked import StackedBlocks
from symslr.algebra.rules.blocks.sums import InterchangeSums, SumLinearity
from symslr.algebra.rules.signs.independence import ExponentialOfSum, IndependentSigns, IndependentVectors
from symslr.algebra.rules.signs.law import SumOfSigns
from symslr.expression.signs import Sign, SignExpectation, omega
from symslr.referee.referee import referee
from tests.algebra.both_sides import FEW

j, k = Symbol("j", integer=True), Symbol("k", integer=True)
g = Symbol("g", integer=True, nonnegative=True)
SIGNS = 4
THIRD = Rational(1, 3)


def value(expr: Expr) -> float:
    return float(referee(expr, {}, digits=13).value)


def keeps_or_refuses(rule: Rule, expr: Expr, *, admitted: bool, reason: str = "") -> None:
    if admitted:
        assert value(rule.rewrite(expr)) == pytest.approx(value(expr), rel=1e-12, abs=1e-13), expr
    else:
        with pytest.raises(RuleRefused, match=reason):
            rule.rewrite(expr)


RANGES = [(low, high) for low in (-1, 0, 1, 2, 4, 5) for high in (-2, 0, 1, 3, 4, 5)]


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_signs_in_a_range(low: int, high: int) -> None:
    """Of four signs: a range from 0 or up to 5 is none; an empty one has one end less than its beginning and no less."""
    there = 1 <= low <= SIGNS and low - 1 <= high <= SIGNS
    total = Sum(Sign(omega, k), (k, low, high))
    keeps_or_refuses(
        SumOfSigns(), SignExpectation(exp(THIRD * total), omega, SIGNS), admitted=there, reason="leaves the signs"
    )
    shifted = Sum(Sign(omega, k + 3), (k, low - 3, high - 3)) ** 2 + Sign(omega, 2)
    keeps_or_refuses(SumOfSigns(), SignExpectation(shifted, omega, SIGNS), admitted=there, reason="leaves the signs")


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_products_over_signs(low: int, high: int) -> None:
    there = 1 <= low <= SIGNS and 1 <= high <= SIGNS and high - low >= -1
    product = SignExpectation(Product(2 + Sign(omega, k), (k, low, high)), omega, SIGNS)
    keeps_or_refuses(IndependentSigns(), product, admitted=there, reason="none of the signs|expected at most")


@pytest.mark.parametrize(("low", "high"), [(0, 2), (1, 1), (1, 2), (1, 3), (2, 3), (2, 2)])
def test_vectors_of_signs(low: int, high: int) -> None:
    """Two vectors of two signs are 1 and 2."""
    factor = 2 + Sign(omega, 2 * j - 1) * Sign(omega, 2 * j) / 3
    product = SignExpectation(Product(factor, (j, low, high)), omega, SIGNS)
    keeps_or_refuses(IndependentVectors(S(2)), product, admitted=(low, high) == (1, 2), reason="do not run over")


@pytest.mark.parametrize("first", [-1, 0, 1, 2])
@pytest.mark.parametrize("place", [1, 2, 3, 4])
def test_a_product_counts_from_anywhere(first: int, place: int) -> None:
    """Factors of the signs 2, 3, 4 with one of them marked; a named sign may be another."""
    shift = 2 - first
    total = Sum(Sign(omega, j + 1), (j, 1, 3))
    factor = (3 + Sign(omega, k + shift) + Sign(omega, place) / 5 + total / 7) ** (1 + KroneckerDelta(k, place - shift))
    body = Product(factor, (k, first, first + 2)) * (2 + Sign(omega, place) + total / 9)
    admitted = place >= 2
    keeps_or_refuses(
        SumOfSigns(), SignExpectation(body, omega, SIGNS), admitted=admitted, reason="whose sign has no name"
    )


@pytest.mark.parametrize("first", [-1, 0, 1, 2])
def test_the_signs_of_a_vector(first: int) -> None:
    """Of a sum of the signs first, first + 1 of each vector of two."""
    factor = exp(Sum(Sign(omega, k + 2 * (j - 1)), (k, first, first + 1)) / 3)
    product = SignExpectation(Product(factor, (j, 1, 2)), omega, SIGNS)
    keeps_or_refuses(IndependentVectors(S(2)), product, admitted=first == 1, reason="outside of its vector")


@pytest.mark.parametrize("place", range(-1, 6))
@pytest.mark.parametrize(("low", "high"), [(0, 3), (1, 4)])
def test_a_marked_place(low: int, high: int, place: int) -> None:
    inside = low <= place <= high
    mark = KroneckerDelta(j, place)
    marked = Sum((3 + j) ** (2 - mark), (j, low, high))
    keeps_or_refuses(MarkedTerm(j), marked, admitted=inside, reason="outside of")
    for sum_or_product in (Sum, Product):
        blocks = sum_or_product((2 + Mod(j, 2)) ** (1 + mark), (j, low, high))
        keeps_or_refuses(StackedBlocks(j, g), blocks, admitted=inside, reason="outside of")
    keeps_or_refuses(SumOfDeltas(j), Sum(mark**2 * (1 + j) ** 2, (j, low, high)), admitted=True)


@pytest.mark.parametrize(("low", "high"), [(3, 1), (3, 2), (3, 3), (0, 4), (-2, 0)])
def test_the_number_of_terms(low: int, high: int) -> None:
    total = Sum(k**2 + 3, (k, low, high))
    keeps_or_refuses(SumLinearity(k), total, admitted=high >= low - 1, reason="number of terms")
    assert SumLinearity(j).rewrite(total) == total


def test_a_mark_that_moves_with_the_class_is_none() -> None:
    crooked = Sum((2 + Mod(j, 2)) * KroneckerDelta(j, Mod(j, 2) + 1), (j, 1, 4))
    with pytest.raises(RuleRefused, match="does not name one place"):
        StackedBlocks(j, g).rewrite(crooked)


def test_a_sum_without_end_is_no_product() -> None:
    for limits in ((k, 1, oo), (k, -oo, 0), (k, -oo, oo)):
        endless = exp(Sum(exp(-(k**2)), limits))
        assert ExponentialOfSum(k).rewrite(endless) == endless
        for outer, inner in ((limits, (j, 1, 3)), ((k, 1, 3), (j, *limits[1:]))):
            with pytest.raises(RuleRefused, match="is infinite"):
                InterchangeSums(k).rewrite(Sum(k * Sum(exp(-(k**2)) * exp(-(j**2)), inner), outer))


def test_limits_that_move_are_not_interchanged() -> None:
    for inner in ((j, k, 4), (j, 1, k)):
        with pytest.raises(RuleRefused, match="depend on k"):
            InterchangeSums(k).rewrite(Sum(k * Sum(k + j, inner), (k, 1, 3)))
    with pytest.raises(RuleRefused, match="a meaning outside"):
        InterchangeSums(k).rewrite(Sum(j * Sum(k + j, (j, 1, 2)), (k, 1, 3)))
    both = Sum(k * Sum(k + j, (j, 1, 2)) / 7, (k, 1, 3))
    assert value(InterchangeSums(k).rewrite(both)) == pytest.approx(value(both))
    assert InterchangeSums(k).rewrite(both) != both
    for left in (Sum(Sum(j, (j, 1, 2)) * k, (k, 1, 3)), Sum(Sum(k + j, (j, 1, 2)) ** 2, (k, 1, 3))):
        assert InterchangeSums(k).rewrite(left) == left


D, row = Symbol("D", integer=True, positive=True), Symbol("row", integer=True, positive=True)


@st.composite
def places(draw: st.DrawFn) -> Expr:
    """Whole multiples of a period, of the remainder of a row and of an index between 0 and D - 1, and a number."""
    few = st.integers(-2, 2)
    return draw(few) * D + draw(few) * Mod(row + draw(few), D) + draw(st.sampled_from([-1, 0, 0, 1])) * k + draw(few)


def points(assumed: Iterable[Hypothesis]) -> Iterator[dict[Expr, int]]:
    """Rows of layouts at which what was assumed holds, with every value of the index."""
    conditions = And(*(item.condition for item in assumed))
    for period in range(1, 6):
        for number in range(1, 6):
            at = {D: period, row: number}
            if holds(conditions, at):
                yield from ({**at, k: index} for index in range(period))


@FEW
@given(st.lists(st.tuples(places(), places(), places()), min_size=4, max_size=4))
def test_what_is_known_of_places_is_true_at_each_of_them(many: list[tuple[Expr, Expr, Expr]]) -> None:
    for left, right, high in many:
        at = Places(StackedBlocks(row, g), Sum(k, (k, 0, D - 1)))
        for one, two in ((left, right), (left - k, right - k)):
            same = at.equal(one, two)
            if same is not None:
                assert all((one.subs(p) == two.subs(p)) is same for p in points(at.assumed)), (one, two)
        low, top = at._bounds(left)
        assert all(low.subs(p) <= left.subs(p) <= top.subs(p) for p in points(())), left
        with suppress(RuleRefused):
            within = at.inside(left, right, high)
            for p in points(at.assumed):
                assert (right.subs(p) <= left.subs(p) <= high.subs(p)) == within, (left, right, high)


def test_remainders_that_are_apart_by_a_number_are_not_compared() -> None:
    at = Places(StackedBlocks(row, g), row)
    for left, right in (
        (Mod(row + 2, D) + 1, Mod(row, D)),
        (Mod(row + 2, D), 2 * Mod(row, D)),
        (Mod(row + 2, D), -Mod(row, D)),
    ):
        assert at.equal(left, right) is at.equal(right, left) is None
    assert not at.assumed
    assert at.decide(KroneckerDelta(Mod(row, D) + 3, Mod(k, D) + 3)) == KroneckerDelta(Mod(row, D), Mod(k, D))
