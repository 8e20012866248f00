"""Minimise returns the least value over the range, or refuses: never a stationary point that is no minimum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Expr, Rational, Symbol, cancel, count_ops, expand, factor, lambdify, oo, sqrt, symbols, together

from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules import Minimise
from symslr.algebra.zeros import ZerosUnknown, real_zeros
from symslr.expression.expectation import LengthExpectation, SequenceExpectation
from symslr.expression.folded import Minimum
from symslr.model.catalogue import SpikedSLR
from symslr.model.symbols import P_L, L, chi, epsilon, nu

t = Symbol("t", real=True)
p = Symbol("p", nonnegative=True)
q = Symbol("q", positive=True)
b = Symbol("b", positive=True)
s = Symbol("s", real=True)


def lowest_on_grid(body: Expr, variable: Symbol) -> float:
    """The least value on 200 000 points, dense near 0 and reaching 1e9."""
    points = np.sinh(np.linspace(-21, 21, 200_001))
    points = points[points >= 0] if variable.is_nonnegative else points
    points = points[points > 0] if variable.is_positive else points
    with np.errstate(all="ignore"):
        return float(np.nanmin(lambdify(variable, body, "numpy")(points) * np.ones_like(points)))


@pytest.mark.parametrize(
    ("body", "variable", "least"),
    [
        (t**2 + 3, t, 3),
        ((t**2 - 1) ** 2, t, 0),
        ((t**2 - b) ** 2 + b, t, b),
        (t**4 - 3 * t**3 + 2, t, (t**4 - 3 * t**3 + 2).subs(t, Rational(9, 4))),
        ((t - 2) / (t**2 + 1), t, (2 - sqrt(5) - 2) / ((2 - sqrt(5)) ** 2 + 1)),
        (1 / (1 + t**2), t, 0),
        (-1 / (b + t**2), t, -1 / b),
        (-(t**2) / (1 + t**2), t, -1),
        ((t**2 + 1) / (t - 1) ** 2, t, Rational(1, 2)),
        (b * t**2 + s * t, t, -(s**2) / (4 * b)),
        (p + 1 / (1 + p), p, 1),
        (p**3 - p, p, -2 * sqrt(3) / 9),
        ((p - 2) / (p**2 + 1), p, -2),
        (p + 5, p, 5),
        (q + b / q, q, 2 * sqrt(b)),
        (1 / q, q, 0),
        (1 - (1 + s * t) ** 2 / (2 + t**2), t, (1 - 2 * s**2) / 2),
        (L * t**2 - 2 * t * (L - 1), t, -((L - 1) ** 2) / L),
        (b + 0 * t, t, b),
        ((t**2 - 2) ** 2 * (t - 1) ** 2 / (1 + t**4), t, 0),
    ],
)
def test_the_least_value(body: Expr, variable: Symbol, least: Expr) -> None:
    found = Minimise().rewrite(Minimum(body, variable))
    assert cancel(together(found - least)) == 0 or float((found - least).evalf()) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("body", "variable"),
    [
        (1 / t, t),
        (t + b / t, t),
        (1 / (p - 1), p),
        (1 / (t**2 - b), t),
        (t**2 / (t - 1), t),
        (-1 / (t - s) ** 2, t),
        (t, t),
        (-(p**2), p),
        (t**3, t),
        (t**5 - t, t),
        (-q, q),
    ],
)
def test_no_least_value(body: Expr, variable: Symbol) -> None:
    """Regression: 1/t gave 0, its limit at infinity, and 1/(t^2 - b) its local maximum -1/b."""
    with pytest.raises(RuleRefused, match=r"falls? without bound"):
        Minimise().rewrite(Minimum(body, variable))


@pytest.mark.parametrize(
    ("body", "variable"),
    [
        (s * t**2, t),
        (s * t, t),
        (b * p**2 + s * p, p),
        (p**2 - 2 * s * p, p),
        ((t**2 + s) ** 2, t),
        (t**2 + 1 / (L - 1 + t**2), t),
        (t**4 - s * t**3 + t, t),
    ],
)
def test_undecided_where_it_depends_on_a_sign(body: Expr, variable: Symbol) -> None:
    """Regression: b p^2 + s p over p >= 0 gave -s^2/4b, and (t^2 + s)^2 gave 0, whatever the sign of s."""
    with pytest.raises(RuleRefused):
        Minimise().rewrite(Minimum(body, variable))


def _rational_function(numerator: Sequence[int], roots: Sequence[int], square: Sequence[int], variable: Symbol) -> Expr:
    polynomial = sum((c * variable**n for n, c in enumerate(numerator)), 0 * variable)
    denominator = 1
    for root in roots:
        denominator *= variable - Rational(root, 2)
    for width in square:
        denominator *= variable**2 + width * variable + Rational(width**2, 4) + 1
    return polynomial / denominator


@given(
    st.lists(st.integers(-5, 5), min_size=2, max_size=5),
    st.lists(st.integers(-3, 3), max_size=2),
    st.lists(st.integers(-3, 3), max_size=2),
    st.sampled_from([t, p, q]),
)
@settings(max_examples=40)
def test_random_rational_functions(numerator: list[int], roots: list[int], square: list[int], variable: Symbol) -> None:
    """Several minima, minima at infinity, poles of either parity, half lines: the value is the least one or refused."""
    body = _rational_function(numerator, roots, square, variable)
    try:
        found = float(Minimise().rewrite(Minimum(body, variable)).evalf())
    except RuleRefused as refused:
        if "without bound" in str(refused):
            assert lowest_on_grid(body, variable) < -50 or body.has(1 / variable)
        return
    least = lowest_on_grid(body, variable)
    assert found <= least + 1e-7 * max(1, abs(least))
    assert found == pytest.approx(least, rel=1e-3, abs=1e-3)


@given(st.fractions("1/9", 5, max_denominator=9), st.fractions(0, 5, max_denominator=9), st.integers(1, 30))
@settings(max_examples=8)
def test_the_risk_of_linear_attention(signal: Rational, noise: Rational, length: int) -> None:
    """The use it is made for: with symbols and lengths the value agrees with a grid at random parameters."""
    body = noise**2 + 1 - (1 + sqrt(nu) * t) ** 2 / (L + 2 * sqrt(nu) * t + t**2 * (L + nu))
    found = Minimise().rewrite(Minimum(body, t))
    at = {nu: Rational(signal.numerator, signal.denominator), L: length}
    assert float(found.subs(at)) == pytest.approx(lowest_on_grid(body.subs(at), t), rel=1e-6)


def test_expectations_are_letters() -> None:
    norm = SequenceExpectation(chi[epsilon] ** 2, SpikedSLR().law)
    hit = SequenceExpectation(chi[epsilon], SpikedSLR().law)
    place, least = Minimise().lowest(Minimum(norm * t**2 - 2 * hit * t, t))
    assert (place, least) == (hit / norm, -(hit**2) / norm)
    mean = LengthExpectation(L, P_L)
    assert Minimise().rewrite(Minimum((t**2 - 2 * t) * mean, t)) == -mean
    with pytest.raises(RuleRefused):
        Minimise().rewrite(Minimum(hit * t**2, t))  # the sign of hit is not known


def test_nested_minima_are_taken_from_the_inside() -> None:
    nested = Minimum(Minimum((t - 1) ** 2 + (p - t) ** 2, t), p)
    inner = Minimise().rewrite(nested)
    assert inner == Minimum((p - 1) ** 2 / 2, p).func(*inner.args)
    assert Minimise().rewrite(inner) == 0


@pytest.mark.parametrize("body", [L * t**2 - 2 * t * (L - 1), (t - b) ** 2 + t**2, s + t**2 - 2 * b * t], ids=str)
def test_the_shorter_form_is_given(body: Expr) -> None:
    found = Minimise().rewrite(Minimum(body, t))
    assert count_ops(found) == min(count_ops(form(found)) for form in (expand, factor))


def test_the_place_is_given_too() -> None:
    assert Minimise().lowest(Minimum((t - b) ** 2, t)) == (b, 0)
    assert Minimise().lowest(Minimum(1 / (1 + t**2), t))[0] in (oo, -oo)


def test_zeros() -> None:
    def unknown(expr: Expr) -> int | None:
        return 1 if expr.is_positive else -1 if expr.is_negative else None

    assert [z.place for z in real_zeros((t - 1) * (t**2 + 1), t, unknown)] == [1]
    assert [(z.place, z.multiplicity) for z in real_zeros((t - b) ** 3, t, unknown)] == [(b, 3)]
    assert real_zeros(t**4 + b * t**2 + 1, t, unknown) == []
    assert {z.real for z in real_zeros(t**2 + s, t, unknown)} == {False}
    u, v = symbols("u v")
    with pytest.raises(ZerosUnknown, match="not found in closed form"):
        real_zeros(t**3 + u * t + v, t, unknown)
