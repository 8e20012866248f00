"""Certified numbers for any positive analytic kernel: the bounds dominate, the values agree with routes that share no code."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from flint import acb, arb
from mpmath import mp
from sympy import Expr, Integer, Rational, Symbol, atan, cos, cosh, erf, exp, lambdify, log, pi, sin, sqrt, tanh

from symslr import evaluate
from symslr.evaluation.certified.analytic.arithmetic import RECTANGLES, prepared, rectangle
from symslr.evaluation.certified.analytic.growth import GrowthBounds
from symslr.evaluation.errors import CannotEvaluate
from symslr.expression.value import Kind
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR
from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import chi, epsilon, nu, x
from symslr.model.task import Task
from symslr.theory import bayes_risk, minimal_risk, population_risk

z = Symbol("z")
BY_MPMATH = [{"NormalCdf": mpmath.ncdf}, "mpmath"]
GAUSSIAN = exp(-(z**2) / 2) / sqrt(2 * pi)

POSITIVE = [
    log(1 + exp(z)),
    log(1 + exp(3 * z)),
    1 + z**4,
    1 + z + z**2,
    1 / (1 + exp(-2 * z)),
    erf(z) + Rational(3, 2),
    2 + sin(2 * z),
    2 + tanh(z),
    cosh(z),
    sqrt(1 + z**2),
    exp(z) + exp(2 * z),
    1 + exp(-(z**2)),
    exp(sin(z)),
    1 + erf(z),
    3 - 3 * erf(z / 2),
    exp(-((z - 2) ** 2) / 2) + exp(-(z**2) / 2),
    exp(-sqrt(1 + z**2)),
    exp(-((1 + z**2) ** Rational(1, 3))),
    exp(-((1 + z**2) ** Rational(4, 5)) / 10),
    exp(atan(z)),
    atan(exp(z)),
]


@pytest.mark.parametrize("kernel", POSITIVE, ids=str)
def test_growth_bounds_hold_along_a_half_line(kernel: Expr) -> None:
    kernel = prepared(kernel)
    value = lambdify(z, kernel, BY_MPMATH)
    for start in (4.0, 8.0):
        for side in (-1, 1):
            growth = GrowthBounds(z, start, side)
            above, below, far = growth.modulus(kernel), growth.inverse(kernel), growth.values(kernel)
            for away in (0.0, 0.4, 3.0, 20.0):
                at = start + away
                with mp.workdps(120):  # log(1 + e^{-72}) is to have digits
                    found = value(mpmath.mpf(side * at))
                    size = mp.log(abs(found))
                assert (
                    size <= above.constant + above.linear * at + above.square * at**2 + above.power * np.log(at) + 1e-9
                )
                assert (
                    -size <= below.constant + below.linear * at + below.square * at**2 + below.power * np.log(at) + 1e-9
                )
                assert far.interval.a - 1e-9 <= found <= far.interval.b + 1e-9 * abs(found)


HALF_LINES = [
    (-(z**3), 1),
    (z ** (-3), -1),
    (z ** (-2), -1),
    ((1 + z**2) ** Rational(-1, 2), -1),
    (erf(z), -1),
    (atan(z), -1),
    (1 / atan(z ** (-3)), -1),
    (exp(-z) ** Rational(1, 3), 1),
    (1 / (2 + sin(z) - cos(z) / 3), 1),
    (z**5 - 40 * z**4 + z, -1),
    (prepared(1 + erf(z)), 1),
    (prepared(1 + erf(z)), -1),
]


@pytest.mark.parametrize(("function", "side"), HALF_LINES, ids=str)
def test_an_interval_on_a_half_line_holds_the_values(function: Expr, side: int) -> None:
    value = lambdify(z, function, BY_MPMATH)
    interval = GrowthBounds(z, 4.0, side).values(function).interval
    assert all(interval.a <= value(mpmath.mpf(side * at)) <= interval.b for at in (4.0, 4.5, 6.0, 11.0, 90.0))


def test_a_rectangle_holds_the_distribution_function() -> None:
    """Phi, also where it is far smaller than a rectangle is wide."""
    rng = np.random.default_rng(20261125)
    for _ in range(300):
        left, low = rng.uniform(-12, 6), rng.choice([0.0, 1.0]) * rng.uniform(-2, 2)
        right, high = left + 10 ** rng.uniform(-4, 0), low + (10 ** rng.uniform(-4, 0) if low else 0.0)
        found = RECTANGLES.function(rectangle(left, right, low, high), "NormalCdf")
        at = acb(rng.uniform(left, right), rng.uniform(low, high))
        truth = (-at / arb(2).sqrt()).erfc() / 2
        assert found.real.overlaps(truth.real)
        assert found.imag.overlaps(truth.imag)
    assert RECTANGLES.function(rectangle(-9.0, -8.875, 0.0, 0.0), "NormalCdf").real > 0
    assert RECTANGLES.function(rectangle(-9.0, -8.97, 0.05, 0.0501), "NormalCdf").real > 0


def by_integral(kernel: Expr, factor: Expr, u: float, cuts: Sequence[float] = range(-30, 31, 2)) -> arb:
    def at(expr: Expr, where: acb) -> acb:
        if expr == z:
            return where
        if expr.is_Add or expr.is_Mul:
            parts = [at(arg, where) for arg in expr.args]
            total = parts[0]
            for part in parts[1:]:
                total = total + part if expr.is_Add else total * part
            return total
        if expr.is_Pow:
            base = at(expr.base, where)
            return base ** int(expr.exp) if expr.exp.is_Integer else base.sqrt() if expr.exp > 0 else 1 / base.sqrt()
        if expr == pi:
            return acb.pi()
        if expr.is_Rational:
            return acb(int(expr.p)) / int(expr.q)
        return getattr(at(expr.args[0], where), type(expr).__name__)()

    def integrand(where: acb, _: bool) -> acb:
        return at(factor, where) * (-u * at(kernel, where)).exp()

    pieces = [
        acb.integral(integrand, *ends, abs_tol=arb("1e-40"), rel_tol=arb("1e-40")).real for ends in pairwise(cuts)
    ]
    return sum(pieces, arb(0)) + arb(0, 1e-40)


def test_a_steep_kernel_is_proved() -> None:
    """sigma(7x), whose poles lie so near that no cell of one size encloses its powers; the other number is estimated."""
    risk = population_risk(SpikedSLR(noise=0), Attention(1 / (1 + exp(-7 * x))))
    found = evaluate(risk, {"L": 3, "nu": 2, "a": Rational(13, 10)}, 12, "arb")
    assert found.kind is Kind.CERTIFIED
    assert found.digits >= 12
    assert abs(found.value - mpmath.mpf("0.48392914431249453")) < mpmath.mpf("1e-16") + found.error


@pytest.mark.parametrize(
    ("kernel", "scale", "length", "strength"),
    [
        (log(1 + exp(x)), 1, 3, 2),
        (1 + x**4, Rational(1, 2), 2, 5),
        (erf(x) + Rational(3, 2), 2, 6, 1),
        (2 + sin(x), 3, 3, 2),
        (1 / (1 + exp(-x)), -1, 3, 1),
        (exp(x) + exp(2 * x), Rational(1, 2), 3, 2),
        (log(1 + exp(x)), Rational(1, 100), 3, 2),
        (exp(x**2 / 8), 1, 3, 1),
        (exp(x - x**2 / 10), 1, 3, 1),
        (exp(-(x**2)) + exp(-((x - 2) ** 2) / 2), Rational(1, 2), 3, 2),
        (1 + erf(x), Rational(-1, 2), 3, 2),
        (2 + atan(2 * x), 1, 3, 2),
        (atan(exp(x)), 2, 2, 3),
    ],
    ids=str,
)
def test_a_certified_risk_agrees_with_the_estimated_one(kernel: Expr, scale: Expr, length: int, strength: Expr) -> None:
    risk = population_risk(SpikedSLR(length=length, noise=0), Attention(kernel=kernel), scale)
    proved = evaluate(risk, {nu: strength}, digits=18, backend="arb")
    other = evaluate(risk, {nu: strength}, digits=18, backend="mpmath")
    assert proved.kind is Kind.CERTIFIED
    assert proved.digits >= 18
    assert abs(proved.value - other.value) <= proved.error + other.error


def test_a_certified_risk_agrees_with_a_grid_over_two_tokens() -> None:
    """L = 2, nothing of symslr: the trapezoid rule over both tokens of the risk at its best value vector."""
    strength, half = mp.mpf(1) / 2, 60
    risk = population_risk(SpikedSLR(length=2, noise=0), Attention(kernel=2 + tanh(x)), 1)
    proved = evaluate(risk, {nu: Rational(1, 2)}, digits=12, backend="arb")
    grid = [mp.mpf(i) * 10 / half for i in range(-half, half + 1)]
    weights = [mp.npdf(t) * 10 / half for t in grid]
    kernels = [2 + mp.tanh(t) for t in grid]
    r = q = mp.mpf(0)
    for first, w, k in zip(grid, weights, kernels):
        tilt = mp.exp(mp.sqrt(strength) * first - strength / 2)
        for other_w, other_k in zip(weights, kernels):
            share = k / (k + other_k)
            r += w * other_w * tilt * share
            q += w * other_w * tilt * (share**2 + (1 - share) ** 2)
    assert abs(proved.value - (1 - r**2 / q)) < mp.mpf(10) ** -11


def test_the_bayes_risk_of_an_own_weight_and_law_is_certified() -> None:
    """A weight that is no exponential, and logistic tokens."""
    tilted = Task((1 + chi[epsilon] ** 2) / 2, length=3, noise=0)
    logistic = ScalarLaw(exp(-x) / (1 + exp(-x)) ** 2)
    other = Task.from_token_laws(ScalarLaw(exp(-(x - 1)) / (1 + exp(-(x - 1))) ** 2), logistic, length=2, noise=0)
    for task in (tilted, other):
        proved = evaluate(bayes_risk(task), {}, digits=15, backend="arb")
        estimated = evaluate(bayes_risk(task), {}, digits=15, backend="mpmath")
        assert proved.kind is Kind.CERTIFIED
        assert abs(proved.value - estimated.value) <= proved.error + estimated.error


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (1 + x, ">= 0"),
        (1 + log(1 + x**2) ** Rational(1, 2), "not resolved"),
    ],
    ids=str,
)
def test_where_no_proof_is_found_the_reason_is_said(kernel: Expr, reason: str) -> None:
    risk = population_risk(SpikedSLR(length=3, noise=0), Attention(kernel=kernel), Integer(1))
    with pytest.raises(CannotEvaluate, match=reason):
        evaluate(risk, {nu: 1}, digits=12, backend="arb")


def test_a_least_risk_that_is_searched_is_not_certified() -> None:
    with pytest.raises(CannotEvaluate, match="no minimum that is searched"):
        evaluate(
            minimal_risk(SpikedSLR(length=2, noise=0), Attention(kernel=1 + x**4)), {nu: 1}, digits=12, backend="arb"
        )
