"""Kernels that overflow or vanish in float64 while the law still has mass there: no token beyond is lost without a word."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm, t
from sympy import (
    Abs,
    Expr,
    Integral,
    Rational,
    Symbol,
    besseli,
    cosh,
    csch,
    erfi,
    exp,
    factorial,
    gamma,
    sech,
    sinh,
    symbols,
)

from benchmarks.weights import mean_of
from symslr.evaluation import CannotEvaluate, evaluate, least_risk
from symslr.evaluation.numbers.logarithm import signed_log
from symslr.evaluation.quadrature.scan import scan
from symslr.expression.expectation import ScalarExpectation
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR
from symslr.model.scalar_law import ScalarLaw, normal, student
from symslr.model.symbols import a, x


@pytest.mark.parametrize(
    ("kernel", "scale"),
    [(1 / cosh(a * x), 200), (sech(a * x) ** 2, 100), ((1 + a * x**2 / 100) ** -200, 100)],
    ids=["1/cosh", "sech^2", "power -200"],
)
def test_a_weight_that_vanishes_in_float64_still_counts(kernel: Expr, scale: int) -> None:
    """E[s_1^2] + E[s_1 s_2] = 1/2: the first was 0.49438 +- 4e-11 under 1/cosh, without tokens whose kappa^2 underflows."""
    square, product = (mean_of(kernel, normal(), powers, 2) for powers in ((2,), (1, 1)))
    joined = Integral(square.function + product.function, *square.limits)
    found = evaluate(joined, {"a": scale}, digits=5)
    assert abs(float(found) - 0.5) <= float(found.error) < 1e-5


BEYOND = 1 / (1 + exp(-a * x)) * (exp(3 * a * x) + exp(-4 * a * x) / 500)


@pytest.mark.parametrize(
    ("kernel", "law", "scale"),
    [
        (cosh(a * x), student(3), 20),
        (cosh(a * x) ** 2, normal(), 111),
        (sinh(a * x) ** 2, normal(), 111),
        (BEYOND, student(7), 11),
    ],
)
def test_quotients_of_what_overflows(kernel: Expr, law: ScalarLaw, scale: int) -> None:
    """E[k/(1 + k)] + E[1/(1 + k)] = 1. Where k overflows the first was 0 for 1: short by the law's mass there, claimed to 1e-7."""
    inside, outside = (
        evaluate(ScalarExpectation(part / (1 + kernel), x, law), {"a": scale}, digits=8) for part in (kernel, 1)
    )
    assert abs(float(inside) + float(outside) - 1) <= float(inside.error + outside.error) < 1e-8
    more = evaluate(ScalarExpectation(1 + kernel / (1 + kernel), x, law), {"a": scale}, digits=8)
    assert abs(float(more) - 1 - float(inside)) <= float(more.error + inside.error)


def test_a_denominator_alone_that_overflows() -> None:
    """From 63.8 on 1 + (1 + y^2) e^(11 y) is infinite and e^(11 y) is not: their quotient is 0 for 1/(1 + y^2), and a number."""
    y, end = Symbol("y", positive=True), Rational(643, 10)
    whole = 1 + (1 + y**2) * exp(11 * y)
    inside, outside = (
        evaluate(Integral(part / whole, (y, 0, end)), digits=8) for part in (exp(11 * y), 1 / (1 + y**2))
    )
    assert abs(float(inside) + float(outside) - math.atan(64.3)) <= float(inside.error + outside.error) < 1e-7


def test_an_attention_of_one_token_by_scipy() -> None:
    value = evaluate(ScalarExpectation(cosh(a * x) / (1 + cosh(a * x)), x, student(3)), {"a": 20}, digits=7)
    missing, _ = quad(
        lambda y: 2 * t.pdf(y, 3) / (1 + np.cosh(20 * y)), 0, 30, points=[0.05, 0.2, 1], epsabs=1e-14, epsrel=1e-13
    )
    assert abs(float(value) - (1 - missing)) <= float(value.error) + 1e-12


@pytest.mark.parametrize("kernel", [erfi(x) ** 2, besseli(0, 3 * x), factorial(Abs(x))])
def test_what_is_no_number_where_it_counts_is_refused(kernel: Expr) -> None:
    """No logarithm is known of these; beyond their overflow Student tokens have 1e-5 of their mass."""
    with pytest.raises(CannotEvaluate, match="leaves the range of float64 where it still counts"):
        evaluate(ScalarExpectation(kernel / (1 + kernel), x, student(3)), digits=5)


def test_a_weight_that_is_no_number_far_out_is_none_of_the_scans_business() -> None:
    def log_weight(y: np.ndarray) -> np.ndarray:
        return np.where(np.abs(y) > at, np.nan, norm.logpdf(y))

    at = 12.0
    window = scan(log_weight, -np.inf, np.inf, 40.0)
    assert window is not None
    assert window.low < -8 < 8 < window.high
    at = 5.0
    with pytest.raises(CannotEvaluate, match="still counts"):
        scan(log_weight, -np.inf, np.inf, 40.0)


@pytest.mark.parametrize(
    "function", [cosh(x), sinh(x), sech(x), csch(x), gamma(x), cosh(x) ** 3 / (2 + sinh(x) ** 2), (3 + x) ** -30]
)
def test_logarithms_of_functions(function: Expr) -> None:
    (y,) = symbols("y,", real=True)
    places = [Rational(-7, 2), Rational(-1, 1000), Rational(1, 3), Rational(20)]
    signs, logs = signed_log(function.subs(x, y), (y,))(np.array(places, float))
    for place, sign, log in zip(places, signs + 0 * logs, logs):
        exact = function.subs(x, place).evalf(30)
        assert sign == (1 if exact > 0 else -1)
        assert abs(log - np.log(float(abs(exact)))) < 1e-12


def test_exponentials_whose_product_is_a_number_are_multiplied_as_one() -> None:
    """E e^(-600 (a x - 1)^2) is e^(-600) e^(+600 ...): no scale of the search had a value."""
    attention = Attention(exp(-600 * (x - 1) ** 2), normaliser=None)
    value, places = least_risk(SpikedSLR(nu=7, length=10, noise=0), attention, {})
    scale, nodes = float(places["a"]), np.arange(-12.0, 16.0, 1 / 128)
    density = np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi) / 128
    keys = [scale * (nodes + m) for m in (np.sqrt(7), 0.0)]
    relevant, other = (np.exp(600 * key * (2 - key)) for key in keys)  # 600 - 600 (key - 1)^2 without its rounding
    expected = 1 - (density @ relevant) ** 2 / (density @ relevant**2 + 9 * (density @ other**2))
    assert abs(float(value) - expected) <= float(value.error) + 1e-12
    assert scale < 0.001  # the valley at 0.3 ends at 0.899
