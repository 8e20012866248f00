"""Kernels at every scale of an interval around 0: what is proved of the family holds of each of its members."""

from __future__ import annotations

import pytest
from sympy import Expr, Integer, Rational, Symbol, exp, pi, sqrt
from sympy import log as log_

from symslr import SpikedSLR, evaluate
from symslr.evaluation import least_risk
from symslr.expression.value import Kind
from symslr.model.attention import Attention
from symslr.model.symbols import a, x
from symslr.theory import population_risk

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
