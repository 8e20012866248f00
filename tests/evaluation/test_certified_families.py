"""Kernels at every scale of an interval around 0: what is proved of the family holds of each of its members."""

from __future__ import annotations

import cmath

import numpy as np
import pytest
from flint import arb, ctx
from sympy import Expr, Integer, Rational, Symbol, exp, lambdify, pi, sqrt
from sympy import log as log_

from symslr import SpikedSLR, evaluate, population_risk
from symslr.evaluation import least_risk
from symslr.evaluation.certified.analytic.growth import GrowthBounds
from symslr.evaluation.certified.analytic.line import Line
from symslr.evaluation.errors import NotProved
from symslr.evaluation.numbers.elementary import Between
from symslr.expression.value import Kind
from symslr.model.attention import Attention
from symslr.model.symbols import a, x

z = Symbol("z")
GAUSSIAN = exp(-(z**2) / 2) / sqrt(2 * pi)
KERNELS = [
    z**2 + 2 * z + 3,
    z**4 - 3 * z**3 + 4 * z**2 + 1,
    exp(2 * z) / (1 + exp(z)) + Rational(1, 10),
    1 + (z - 1) ** 2 * exp(-(z**2) / 8),
    1 / (1 + z**2 / 4),
    exp(z),
]
INTERVALS = [(-0.5, 0.5), (-1e-12, 0.375), (-0.25, 1e-12)]


def family(kernel: Expr, low: float, high: float) -> Line:
    with ctx.workprec(128):
        scale = Between("a", arb(low).union(arb(high)))
    return Line(z, (kernel.xreplace({z: scale * z}),), [GAUSSIAN])


@pytest.mark.parametrize(("low", "high"), INTERVALS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_a_strip_serves_every_scale_of_the_interval(kernel: Expr, low: float, high: float) -> None:
    strip = family(kernel, low, high).strips.widest(20, 20)
    function, random = lambdify(z, kernel, [cmath, "numpy"]), np.random.default_rng(1)
    x, y = random.uniform(strip.low, strip.high, 4000), random.uniform(-strip.half_width, strip.half_width, 4000)
    scales = random.uniform(low, high, 4000)
    assert strip.half_width > 0.2
    assert min(complex(function(at)).real for at in scales * (x + 1j * y)) > 0


@pytest.mark.parametrize(("low", "high"), INTERVALS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_inverse_moments_are_bounded_at_every_scale(kernel: Expr, low: float, high: float) -> None:
    """int e^{-x^2/2} k(a x)^-p dx/sqrt(2 pi) by a trapezoid rule, at scales all over the interval and at its ends."""
    line, function = family(kernel, low, high), lambdify(z, kernel, "numpy")
    x = np.linspace(-14.0, 14.0, 4001)
    for p in (1.0, 4.0):
        bound = line.log_moment(0, p)
        true = [
            np.log(np.sum(np.exp(-(x**2) / 2) * (function(s * x) + 0 * x) ** -p) * 0.007 / np.sqrt(2 * np.pi))
            for s in np.linspace(low, high, 41)
        ]
        assert max(true) <= bound + 1e-12
        assert bound < max(true) + 3.0 * p


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_growth_of_an_inverse_is_bounded_from_the_start_on(kernel: Expr, side: int) -> None:
    low, high = -0.25, 0.5
    (own,) = family(kernel, low, high).families
    bound, function = own.inverse(GrowthBounds(z, 8.0, side)), lambdify(z, kernel, "numpy")
    places = np.concatenate([np.linspace(8.0, 40.0, 200), np.geomspace(40.0, 300.0, 50)])
    for scale in np.linspace(low, high, 31):
        true = -np.log(function(side * scale * places) + 0 * places)
        assert np.all(true <= bound.constant + bound.linear * places + bound.square * places**2 + 1e-9)


@pytest.mark.parametrize("kernel", [1 + z**2 * exp(-(z**2)), (z - 1) ** 4 + Rational(1, 10)], ids=str)
def test_no_kernel_is_negative_at_a_node_whatever_a_ball_for_the_scale_says(kernel: Expr) -> None:
    """Regression: e^{-uK} was as large as e^{14u} there, no digits made up for it, and no least risk came in a minute."""
    rule = family(kernel, -0.5, 0.5).rule(20.0)
    assert all(own.lower() > -1e-6 for own in rule.kernels[0])  # a radius has 30 bits
    for own, node in zip(rule.kernels[0], rule.nodes):
        for scale in (-0.5, -0.1, 0.0, 0.25, 0.5):
            assert own.overlaps(arb(float(kernel.subs(z, scale * float(node)))) + arb(0, 1e-9))


def test_a_kernel_that_becomes_negative_within_the_interval_is_refused() -> None:
    with pytest.raises(NotProved, match="not seen to be >= 0"):
        family(z**2 + 2 * z + Rational(1, 2), -0.5, 0.5)


@pytest.mark.parametrize("kernel", [x**2 + 2 * x + 3, exp(x) + exp(-x / 2) - log_(2)], ids=str)
def test_a_least_risk_is_certified_over_scales_of_both_signs(kernel: Expr) -> None:
    """No scale of the interval has a lower risk, and that of the place is no higher."""
    task, attention = SpikedSLR(length=4, noise=0), Attention(kernel)
    values = {"nu": Rational(1, 3)}
    value, places = least_risk(task, attention, values, 3, "arb", {a: (-1.0, 1.5)})
    assert value.kind is Kind.CERTIFIED
    grid = [Rational(n, 8) for n in (-8, -4, -2, -1, 1, 2, 4, 6, 8, 12)] + [Integer(0)]
    risks = [float(evaluate(population_risk(task, attention, scale), values).value) for scale in grid]
    assert float(value.value - value.error) <= min(risks)
    at = population_risk(task, attention, Rational(float(places["a"].value)))
    assert float(evaluate(at, values).value) >= float(value.value - value.error)
    assert float(evaluate(at, values).value) <= float(value.value) + 1e-3
