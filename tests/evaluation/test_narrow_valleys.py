"""Least risks where nothing normalises a kernel that changes far from 0: the deepest of several narrow valleys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sympy import Abs, Expr, cosh, exp, tanh

from symslr import Attention, SpikedSLR
from symslr.evaluation import least_risk
from symslr.model.symbols import x

STEP = 0.002


def truth(written: Callable[[Any], Any], length: int, strength: float) -> float:
    """The least of 1 - M^2/Q over a grid of scales so close that no valley is missed, then by Brent's search.

    Where the signal is strong the relevant token is seen from its own mean, and the scale in units of that.
    """
    tokens = np.arange(-9.0, 9.0, STEP)
    mass = STEP * np.exp(-(tokens**2) / 2) / np.sqrt(2 * np.pi)

    def risk(scale: float) -> float:
        hit, own, other = (written(scale * (tokens + m)) for m in (strength**0.5, strength**0.5, 0.0))
        return float(1 - (mass @ hit) ** 2 / (mass @ own**2 + (length - 1) * (mass @ other**2)))

    unit = 1 / max(1.0, strength**0.5 / 5)
    scales = unit * np.concatenate([sign * np.geomspace(0.02, 12.0, 600) for sign in (-1, 1)])
    with np.errstate(all="ignore"):
        values = np.array([risk(scale) for scale in scales])
    best = scales[np.nanargmin(values)]
    ends = tuple(sorted((best / 1.03, best * 1.03)))
    return float(minimize_scalar(risk, bounds=ends, method="bounded", options={"xatol": 1e-10}).fun)


@pytest.mark.parametrize(
    ("kernel", "written", "length", "strength"),
    [
        (1 / cosh(x - 5), lambda t: 1 / np.cosh(t - 5), 7, 3),
        (1 / (1 + (x - 5) ** 2), lambda t: 1 / (1 + (t - 5) ** 2), 3, 40),
        (1 / (1 + (x + 5) ** 2), lambda t: 1 / (1 + (t + 5) ** 2), 3, 40),
        (exp(x) + exp(-3 * x), lambda t: np.exp(t) + np.exp(-3 * t), 2, 10**4),
        (exp(-Abs(x - 4)), lambda t: np.exp(-np.abs(t - 4)), 2, 1000),
    ],
    ids=lambda own: str(own) if isinstance(own, Expr) else None,
)
def test_the_deepest_of_several_valleys(kernel: Expr, written: Any, length: int, strength: int) -> None:
    """Regression: each lay between two places of the scan, and another bottom was printed with 13 digits."""
    value, _ = least_risk(SpikedSLR(nu=strength, length=length, noise=0), Attention(kernel, normaliser=None), {})
    assert abs(float(value) - truth(written, length, strength)) < float(value.error) + 1e-6 * float(value)


def test_a_value_without_digits_that_may_be_lower_is_part_of_the_error() -> None:
    """Regression: 0.61116325218 +- 5e-14; rounding keeps digits from tanh(2 a x - 8) + 1 at a = 0.16, where the risk is 0.5982."""
    value, places = least_risk(SpikedSLR(nu=3, length=7, noise=0), Attention(tanh(2 * x - 8) + 1, normaliser=None), {})
    lower = truth(lambda t: 2 / (1 + np.exp(16 - 4 * t)), 7, 3)
    assert abs(float(value) - lower) <= float(value.error) < 0.1
    assert places["a"].error == np.inf
