"""How fast a formula grows, against its values far out; what is decided, and what is left open, about means."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from sympy import (
    Abs,
    Expr,
    Max,
    Min,
    Rational,
    S,
    Sum,
    Symbol,
    atan,
    cos,
    cosh,
    exp,
    floor,
    lambdify,
    log,
    oo,
    sin,
    sinh,
    sqrt,
    tanh,
)

from symslr.algebra.existence import exists
from symslr.algebra.growth import FASTEST, Growth, Undecided, growth
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Posterior
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw, laplace, student
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, j, l, x, z
from tests.algebra.both_sides import FEW
from tests.algebra.strategies import nonzero, positive

a, b = Symbol("a", positive=True), Symbol("b", real=True)
FAR = 10**8, 10**16
SLACK = 4
"""Between these places a power too much makes 18, half of one 9; a logarithm makes 0.7, and so does a zero nearby."""


FACTORS: list[Callable[[Expr, Expr, int], Expr]] = [
    lambda s, r, n: s / r,
    lambda s, r, n: x**n,
    lambda s, r, n: Abs(s * x + r) ** n,
    lambda s, r, n: exp(s * x),
    lambda s, r, n: exp(s * x**2 + r * x),
    lambda s, r, n: exp(-r * x**4),
    lambda s, r, n: cosh(s * x + r),
    lambda s, r, n: sinh(s * x),
    lambda s, r, n: tanh(s * x) + r,
    lambda s, r, n: 1 / (r + x**2),
    lambda s, r, n: sqrt(1 + Abs(x)),
    lambda s, r, n: log(1 + exp(s * x)),
    lambda s, r, n: log(r + x**2),
    lambda s, r, n: log(1 + exp(r * x**2)),
    lambda s, r, n: Max(s * x, r),
    lambda s, r, n: Min(s * x, r),
    lambda s, r, n: exp(s * Abs(x + r)),
    lambda s, r, n: cos(s * x),
    lambda s, r, n: atan(s * x),
    lambda s, r, n: exp(Max(s * x, r)),
    lambda s, r, n: exp(r * exp(-(x**2)) + s * x),
    lambda s, r, n: (1 + exp(s * x)) ** -n,
    lambda s, r, n: (r + exp(x) + exp(s * x)) ** Rational(n, 2),
    lambda s, r, n: exp(s * x + tanh(x)),
    lambda s, r, n: 1 / sqrt(r + cosh(s * x)),
]
"""Functions whose growth is decided."""


def factors() -> st.SearchStrategy[Expr]:
    """One of them, with its numbers."""
    return st.builds(
        lambda made, *numbers: made(*numbers), st.sampled_from(FACTORS), nonzero, positive, st.integers(1, 3)
    )


@st.composite
def formulas(draw: st.DrawFn) -> Expr:
    """A sum of products of such functions."""
    terms = draw(st.lists(st.lists(factors(), min_size=1, max_size=3), min_size=1, max_size=3))
    total = S.Zero
    for term in terms:
        product = S.One
        for factor in term:
            product *= factor
        total += product
    return total


def rise(f: Expr, found: Growth, side: int) -> float:
    """By how much log|f| outruns what was found between two places far out: that stays bounded if it is a bound."""
    value = lambdify(x, f, "mpmath")
    with mp.workdps(60):
        q, r, d = (mpf(number.p) / number.q for number in (found.q, found.r, found.d))
        one, two = (
            mp.log(abs(value(side * mpf(t)))) - (q * t * t + r * t + d * mp.log(1 + t))
            if value(side * mpf(t))
            else -mp.inf
            for t in FAR
        )
        return float(two - one) if one > -mp.inf else 0.0


@FEW
@given(st.lists(formulas(), min_size=4, max_size=4))
def test_what_is_found_is_a_bound_and_is_reached_where_that_is_said(many: list[Expr]) -> None:
    for f in many:
        for side in (-1, 1):
            try:
                found = growth(f, x, side)
            except Undecided:
                continue
            if found.q.is_finite:
                assert rise(f, found, side) < SLACK, (f, side, found)
                assert not found.sharp or rise(f, found, side) > -SLACK, (f, side, found)


DECIDED = [
    (a, (0, 0, 0, True), (0, 0, 0, True)),
    (3 * x * exp(2 * x), (0, -2, 1, True), (0, 2, 1, True)),
    (exp(x - x**2 / 4), (-Rational(1, 4), -1, 0, True), (-Rational(1, 4), 1, 0, True)),
    (exp(x) - exp(-2 * x), (0, 2, 0, True), (0, 1, 0, True)),
    (exp(x) - exp(-x) - x, (0, 1, 0, True), (0, 1, 0, True)),
    (x - x * tanh(x), (0, 0, 1, False), (0, 0, 1, False)),
    (x**2 + exp(-x) + x**3, (0, 1, 0, True), (0, 0, 3, True)),
    (Abs(x) ** a, (0, 0, a, True), (0, 0, a, True)),
    (cosh(2 * x), (0, 2, 0, True), (0, 2, 0, True)),
    (Max(x, exp(x)), (0, 0, 1, False), (0, 1, 0, False)),
    (Min(x, 1), (0, 0, 1, False), (0, 0, 1, False)),
    (log(1 + exp(x)), (0, 0, Rational(1, 100), False), (0, 0, 1, False)),
    (log(1 + exp(x**2)), (0, 0, 2, False), (0, 0, 2, False)),
    (log(1 + x**2), (0, 0, Rational(1, 100), False), (0, 0, Rational(1, 100), False)),
    (tanh(x), (0, 0, 0, True), (0, 0, 0, True)),
    (sin(x), (0, 0, 0, False), (0, 0, 0, False)),
    (1 / (1 + x**2), (0, 0, -2, True), (0, 0, -2, True)),
    (1 / (1 + exp(x)), (0, 0, 0, True), (0, -1, 0, True)),
    (1 / (exp(x) * cosh(x)), (0, 0, 0, True), (0, -2, 0, True)),
    ((1 + exp(x) + x**2) ** -2, (0, 0, -4, True), (0, -2, 0, True)),
    (1 / sqrt(1 + cosh(x)), (0, -S.Half, 0, True), (0, -S.Half, 0, True)),
    (exp(-Abs(2 * x + 1)), (0, -2, 0, True), (0, -2, 0, True)),
    (exp(Abs(b * x) + x), (0, Abs(b) - 1, 0, True), (0, Abs(b) + 1, 0, True)),
    (exp(-(x**4)), (-1, 0, 0, False), (-1, 0, 0, False)),
    (exp(a * x**3), (-1, 0, 0, False), (oo, 0, 0, True)),
    (exp(exp(x)), (0, 0, 0, True), (oo, 0, 0, True)),
    (exp(-exp(x)), (0, 0, 0, True), (0, 0, 0, False)),
    (exp(exp(x) - x**2), (-1, 0, 0, True), (oo, 0, 0, True)),
    (exp(x + exp(-x)), (oo, 0, 0, True), (0, 1, 0, True)),
    (exp(x + exp(-(x**2))), (0, -1, 0, True), (0, 1, 0, True)),
    (exp(x + tanh(x)), (0, -1, 0, True), (0, 1, 0, True)),
    (exp(Max(x, 1)), (0, 0, 0, True), (0, 1, 0, True)),
    (exp(Min(x, 2 * x)), (0, -2, 0, True), (0, 1, 0, True)),
    (exp(b * x) + exp(2 * x), (0, Max(-2, -b), 0, False), (0, Max(2, b), 0, False)),
    (exp(a * x) + exp(2 * a * x), (0, -a, 0, True), (0, 2 * a, 0, True)),
]


@pytest.mark.parametrize(("f", "left", "right"), DECIDED, ids=str)
def test_what_is_decided(f: Expr, left: tuple[object, ...], right: tuple[object, ...]) -> None:
    for side, (q, r, d, sharp) in ((-1, left), (1, right)):
        assert growth(f, x, side) == Growth(S(q), S(r), S(d), sharp), side


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (1 / x, "may have a pole"),
        (1 / (exp(x) - 1), "may have a pole"),
        (1 / (1 + x), "may have a pole"),
        (1 / (exp(x) * x), "may have a pole"),
        (1 / (1 + exp(x) * tanh(x)), "may have a pole"),
        ((1 + x**2) ** x, "not decided"),
        ((1 + x**2) ** Symbol("p"), "not decided"),
        (exp(b * x**3), "not decided"),
        (exp(Symbol("c", nonnegative=True) * x**3), "not decided"),
        (exp(exp(x) * cos(x) - x), "not decided"),
        (exp(b * exp(x)), "not decided"),
        (exp(exp(b * x)), "not decided"),
        (exp(exp(b * x**2 + x)), "not decided"),
        (exp(exp(b * x**2 - x)), "not decided"),
        (exp(1 / x), "not decided"),
        (exp(x * tanh(x)), "not decided"),
        (exp(Abs(x**2 - 1)), "not decided"),
        (exp(exp(x) + exp(-x) - exp(2 * x) - exp(-2 * x)), "not decided"),
        (log(x), "not decided"),
        (floor(x), "not decided"),
    ],
    ids=str,
)
def test_what_is_not_decided(f: Expr, reason: str) -> None:
    with pytest.raises(Undecided, match=reason):
        growth(f, x, 1)


GAUSS, HEAVY, EXPONENTIAL = STANDARD_NORMAL, student(4), laplace()
QUARTIC = ScalarLaw(exp(-(x**4)))


@pytest.mark.parametrize(
    ("f", "law", "expected"),
    [
        (exp(x**2 / 3), GAUSS, S.true),
        (exp(x**2 / 2), GAUSS, S.false),
        (exp(x**2 / 2) / (1 + x**2), GAUSS, S.true),
        (exp(x**2 / 2) / sqrt(1 + x**2), GAUSS, S.false),
        (exp(x**2 / 2 - Abs(x)), GAUSS, S.true),
        (exp(x**3), GAUSS, S.false),
        (exp(a * x**2), GAUSS, a - S.Half < 0),
        (cos(x) * exp(x**2), GAUSS, None),
        (1 / x, GAUSS, None),
        (exp(a * x), GAUSS, S.true),
        (sqrt(Abs(x)) ** 7, HEAVY, S.true),
        (x**4, HEAVY, S.false),
        (x**3, HEAVY, S.true),
        (exp(x), HEAVY, S.false),
        (Abs(x) ** a, HEAVY, a - 5 < -1),
        (exp(x / 2) + x**9, EXPONENTIAL, S.true),
        (exp(x * 2), EXPONENTIAL, S.false),
        (exp(x**3), QUARTIC, None),
        (exp(x**2), QUARTIC, None),
        (1 / x, EXPONENTIAL, None),
        (exp(x**2) + floor(x), EXPONENTIAL, None),
    ],
    ids=str,
)
def test_whether_a_mean_exists(f: Expr, law: ScalarLaw, expected: object) -> None:
    assert exists(ScalarExpectation(f, x, law)) == expected
    u = Symbol("u", real=True)
    assert exists(ScalarExpectation(f.subs(x, u), u, law)) == expected


def test_a_mean_inside_of_a_mean_may_grow() -> None:
    """E_u e^{xu} = e^{x^2/2} has no mean over x; what it looks like from outside is not decided."""
    u = Symbol("u", real=True)
    for outer, inner in ((x, u), (u, x)):
        conditional = ScalarExpectation(exp(x * u), inner, GAUSS)
        assert exists(ScalarExpectation(conditional, outer, GAUSS)) is None
        assert exists(ScalarExpectation(ScalarExpectation(exp(inner), inner, GAUSS) * outer, outer, GAUSS)) == S.true


def test_the_larger_of_two_growths() -> None:
    slow, fast = Growth(r=S.One, d=S(3), sharp=True), Growth(r=S(2), sharp=True)
    assert slow.join(fast, sharp=True) == fast.join(slow, sharp=True) == fast
    assert slow.join(slow, sharp=True) == slow
    assert slow.join(slow, sharp=False) == Growth(r=S.One, d=S(3))
    assert slow + fast == Growth(r=S(3), d=S(3), sharp=True)
    assert slow + Growth() == Growth(r=S.One, d=S(3))
    assert FASTEST.join(fast, sharp=True) == FASTEST


KEY = chi[epsilon]
SQUARE = SequenceLaw(KEY**2, L)


def total(h: Expr, last: Expr = L) -> Expr:
    """sum_l h(chi_l)."""
    return Sum(h.subs(x, chi[l]), (l, 1, last))


@pytest.mark.parametrize(
    "f",
    [
        1 / (exp(-(x**2)) + exp(-2 * x**2)),
        (exp(-(x**2)) * cosh(x) + exp(-3 * x**2)) ** -2,
        exp(-log(exp(-(x**2)) + exp(-2 * x**2)) * tanh(x) ** 2),
        log(1 + exp(exp(x**2))),
        log(exp(-exp(x**2)) + exp(-2 * exp(x**2))),
        log(exp(x) + exp(exp(x**2))) * x,
        1 / log(1 + exp(-(x**2))),
    ],
    ids=str,
)
def test_a_function_without_zeros_may_fall_too_fast_for_its_reciprocal(f: Expr) -> None:
    """Of each the mean is infinite; near the ends of the line there is no zero and no pole."""
    value = lambdify(x, abs(f), "mpmath")
    with mp.workdps(30):
        assert value(mpf(8)) * mp.exp(-(mpf(8) ** 2) / 2) > value(mpf(4)) * mp.exp(-(mpf(4) ** 2) / 2) > mpf(10) ** -5
    assert exists(ScalarExpectation(f, x, GAUSS)) in (S.false, None)


@pytest.mark.parametrize(
    "f",
    [
        1 / (exp(-x) + exp(-(x**2))),
        log(1 + exp(a * x)) ** -2,
        1 / (1 + exp(-(x**2))),
        (Max(1, x) * cosh(x)) ** -2,
        log(exp(-x) + exp(x)) ** 3,
        log(1 + exp(x**2)) * log(2 + exp(-(x**2))),
        1 / sqrt(cosh(x) + x**2),
        exp(log(1 + exp(x)) * tanh(x)),
        1 / (exp(x**2 - x) + x**2),
        (exp(Abs(x)) * exp(-x)) ** Rational(-3, 2),
    ],
    ids=str,
)
def test_a_function_that_does_not_fall_too_fast_has_a_reciprocal_with_a_mean(f: Expr) -> None:
    assert exists(ScalarExpectation(f, x, GAUSS)) == S.true


@pytest.mark.parametrize(
    ("body", "law"),
    [
        (1 / (KEY**2 + KEY**2 * total(exp(x))), SQUARE.unweighted()),
        ((total(x**2) * total(exp(x)) + total(x**2)) ** -3, SQUARE.unweighted()),
        (1 / Abs(total(x) - 1), SQUARE.unweighted()),
        (1 / (1 + total(x)), SQUARE.unweighted()),
        (1 / (exp(-2 * KEY**2) + total(exp(-3 * x**2))), SQUARE.unweighted()),
        (1 / total(exp(-3 * x**2)), SQUARE.unweighted()),
        ((1 + z[epsilon] ** 2) / total(x**2), SQUARE.unweighted()),
        (exp(KEY**2 / 3) / (1 + total(exp(-(x**2)), 2) - exp(-(KEY**2))), SQUARE.unweighted()),
        (exp(2 * KEY**2) / total(exp(2 * x**2), 1), SQUARE.unweighted()),
        (Posterior(epsilon, SQUARE) ** -3, SQUARE),
        (z[epsilon] ** 2 / Posterior(epsilon, SQUARE) ** 3, SQUARE),
        (log(Posterior(j, SQUARE)) ** 2, SQUARE),
        (1 / (KEY**2 + a.func("c", nonnegative=True) * total(exp(x))), SQUARE.unweighted()),
    ],
    ids=str,
)
def test_a_normaliser_that_may_be_small_is_not_bounded_by_one_of_its_terms(body: Expr, law: SequenceLaw) -> None:
    """At some length or other each of these means is infinite."""
    assert exists(SequenceExpectation(body, law)) in (S.false, None)


@pytest.mark.parametrize(
    "body",
    [
        exp(KEY**2) / total(exp(x**2)),
        exp(KEY**2) / (a * total(exp(x**2)) + KEY**2),
        exp(KEY**2 / 3) / (1 + total(exp(-(x**2)))),
        exp(KEY**2 / 3) / (1 + total(x**4) * z[j] ** 2),
        exp(KEY**2 / 3) / total(cosh(x)),
        exp(KEY**2 / 3) / total(1 + x**2) ** 2,
        Posterior(epsilon, SQUARE) ** a * z[epsilon] ** 2,
    ],
    ids=str,
)
def test_a_normaliser_that_is_at_least_one_of_its_terms_bounds_a_mean(body: Expr) -> None:
    assert exists(SequenceExpectation(body, SQUARE.unweighted())) == S.true
