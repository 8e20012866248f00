"""Integrals over one Laplace variable after the other, against panels over the tokens themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr
from sympy import Rational, exp, oo, tanh

from symslr import MaxSLR, evaluate
from symslr.model.attention import Attention
from symslr.model.catalogue import softmax1
from symslr.model.symbols import x
from symslr.theory import population_risk
from tests.evaluation.pairs import risk_of_a_pair


@pytest.mark.parametrize(
    ("offset", "scale", "nu"),
    [
        *[(1, 84, oo), (1, 46, 290), (1, 200, 40), (1, 256, 219), (1, 512, 219), (1, 50, 3)],
        *[(4, 200, 40), (4, 512, 219), (4, 50, 3)],
    ],
)
def test_steep_kernels_with_an_offset(offset: int, scale: int, nu: Any) -> None:
    """exp(-u o) bends within 1/scale of one y: at scale 512 the axis that it bends was cut off, and nothing came."""
    attention = softmax1 if offset == 1 else Attention(exp(x), offset=offset)
    found = evaluate(population_risk(MaxSLR(nu=nu, length=2, noise=0), attention, scale), backend="numpy")
    expected = risk_of_a_pair(lambda y: y, scale, float(nu), np.log(offset), np.log(offset) / scale)
    assert found.error < 1e-9
    assert abs(float(found) - expected) <= float(found.error) + 1e-10


def test_a_step_where_hardly_a_largest_token_lies_is_seen() -> None:
    """Regression: all 32 tokens below the step of 1 + tanh(23.4 x) come with 2^-32, and the claim was 39 times too small.

    The largest token is s + y/nu, y with the density e^{y - e^y} and the others below s but for as much.
    """
    length, rate, slope = 32, 326.4, 23.4
    y, s = np.arange(-40.0, 4.0, 0.05), np.arange(-3.0, 8.0, 0.01)
    gumbel = np.exp(y - np.exp(y)) * 0.05
    at = s[:, None] + y / rate
    below = ndtr(at) @ gumbel
    one = (np.exp(-(at**2) / 2) * (1 + np.tanh(slope * at))) @ gumbel
    mean = length * 0.01 / np.sqrt(2 * np.pi) * np.sum(below ** (length - 1) * one)
    z = np.arange(-9.0, 9.0, 0.001)
    square = length * 0.001 / np.sqrt(2 * np.pi) * np.sum(np.exp(-(z**2) / 2) * (1 + np.tanh(slope * z)) ** 2)
    risk = population_risk(MaxSLR(length=length, noise=0), Attention(1 + tanh(x), None))
    found = evaluate(risk, {"nu": Rational(1632, 5), "a": Rational(117, 5)})
    assert abs(float(found.value) - (1 - mean**2 / square)) <= float(found.error) + 5e-13


@pytest.mark.parametrize(("nu", "scale"), [(10, -30), (30, -50), (30, -200)])
def test_a_kernel_that_falls_as_steeply_as_the_weight_rises(nu: int, scale: int) -> None:
    """Regression: at the smallest y of nu = 30, scale -50 the tokens that count are one number in float64: no answer came."""
    found = evaluate(population_risk(MaxSLR(nu=nu, length=2, noise=0), softmax1, scale), digits=6)
    expected = risk_of_a_pair(lambda y: y, scale, nu, 0.0, 0.0)
    assert found.error < 1e-9
    assert abs(float(found) - expected) <= float(found.error) + 1e-12
