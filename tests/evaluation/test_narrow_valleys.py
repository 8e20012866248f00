"""Least risks where nothing normalises a kernel that changes far from 0: the deepest of several narrow valleys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sympy import Abs, Expr, Rational, cosh, exp, tanh

from symslr import Attention, SpikedSLR
from symslr.evaluation import least_risk
from symslr.model.symbols import x

STEP = 0.002


def risk_of(written: Callable[[Any], Any], length: int, strength: float) -> Callable[[float], float]:
    """1 - M^2/Q at a scale, by sums over tokens; where the signal is strong the relevant token is seen from its own mean."""
    tokens = np.arange(-9.0, 9.0, STEP)
    mass = STEP * np.exp(-(tokens**2) / 2) / np.sqrt(2 * np.pi)

    def risk(scale: float) -> float:
        hit, own, other = (written(scale * (tokens + m)) for m in (strength**0.5, strength**0.5, 0.0))
        return float(1 - (mass @ hit) ** 2 / (mass @ own**2 + (length - 1) * (mass @ other**2)))

    return risk


def truth(written: Callable[[Any], Any], length: int, strength: float) -> float:
    """The least over a grid of scales so close that no valley is missed, then by Brent's search.

    Where the signal is strong the scale is in units of the mean of the relevant token.
    """
    risk, unit = risk_of(written, length, strength), 1 / max(1.0, strength**0.5 / 5)
    scales = unit * np.concatenate([sign * np.geomspace(0.02, 12.0, 600) for sign in (-1, 1)])
    with np.errstate(all="ignore"):
        values = np.array([risk(scale) for scale in scales])
    best = scales[np.nanargmin(values)]
    return least_between(risk, best / 1.03, best * 1.03)[0]


def least_between(risk: Callable[[float], float], *ends: float) -> tuple[float, float]:
    """The least value between two places, and where it lies, by Brent's search."""
    found = minimize_scalar(risk, bounds=sorted(ends), method="bounded", options={"xatol": 1e-10})
    return float(found.fun), float(found.x)


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


@pytest.mark.parametrize(
    "kernel",
    [tanh(2 * x - 8) + 1, 1 - 1 / (1 + exp(4 * x - 16))],
    ids=lambda own: str(own) if isinstance(own, Expr) else None,
)
def test_a_valley_where_a_kernel_is_a_difference(kernel: Expr) -> None:
    """Regression: 0.61116325218 +- 5e-14; where the mean of each term is taken nothing is left at a = 0.16, where it is 0.5982."""
    value, _ = least_risk(SpikedSLR(nu=3, length=7, noise=0), Attention(kernel, normaliser=None), {})
    lower = truth(lambda t: 2 / (1 + np.exp(16 - 4 * t)), 7, 3)
    assert abs(float(value) - lower) <= float(value.error) + 1e-12 < 1e-9


@pytest.mark.parametrize(("steepness", "place"), [(10, 5.1), (50, 2.3)])
def test_a_valley_where_a_kernel_has_left_float64(steepness: int, place: float) -> None:
    """Regression: 0.924 +- 4e-12 for 0.658; beside x = 0 the mean square of the kernel is no number of float64."""
    kernel = exp(-steepness * (x - Rational(str(place))) ** 2)
    value, places = least_risk(SpikedSLR(nu=3, length=10, noise=0), Attention(kernel, normaliser=None), {})
    top = steepness * place**2
    risk = risk_of(lambda t: np.exp(top - steepness * (t - place) ** 2), 10, 3)
    lowest, _ = least_between(risk, 0.5 * float(places["a"]), 2 * float(places["a"]))
    assert abs(float(value) - lowest) <= float(value.error) + 1e-9
    assert float(value) < 0.66


@pytest.mark.parametrize(("length", "strength"), [(3, 4)])
def test_a_valley_beyond_the_scan_below_what_is_level_before(length: int, strength: int) -> None:
    """Regression: 1/3 at every small scale; from a = 16 on the risk falls by less than a hundredth, and ends below that."""
    kernel = x + 20 * exp(-200 * (x - Rational(49, 10)) ** 2)
    value, _ = least_risk(SpikedSLR(nu=strength, length=length, noise=0), Attention(kernel, normaliser=None), {})
    assert float(value) + float(value.error) < length / (length + strength)
    near, far = np.float64(strength) ** 0.5, 4.9

    def mean(m: float, power: int, scale: float) -> float:
        """E (scale y)^power 20 exp(-200 (scale y - 4.9)^2) and E (20 exp(..))^2, y normal about m: Gaussian integrals."""
        c = 400.0 if power == 2 else 200.0
        width = 1 + 2 * c * scale**2
        height = np.exp(-c * (scale * m - far) ** 2 / width) / width**0.5
        place = (scale * m + 2 * c * scale**2 * far) / width
        return float((400.0, 20.0, 20.0)[(2, 0, 1).index(power)] * height * (place if power == 1 else 1.0))

    def risk(scale: float) -> float:
        hit = scale * near + mean(near, 0, scale)
        own, other = (scale**2 * (1 + m**2) + 2 * mean(m, 1, scale) + mean(m, 2, scale) for m in (near, 0.0))
        return float(1 - hit**2 / (own + (length - 1) * other))

    scales = np.geomspace(16, 3000, 400)
    best = scales[np.argmin([risk(scale) for scale in scales])]
    lowest, _ = least_between(risk, best / 1.05, best * 1.05)
    assert abs(float(value) - lowest) <= float(value.error) + 1e-12


@pytest.mark.parametrize(
    ("kernel", "constant"),
    [(x / 50 + exp(-((x - Rational(23, 5)) ** 2)), float(exp(-(4.6**2))) * 50), (tanh(x) + Rational(1, 10**9), 1e-9)],
    ids=lambda own: str(own) if isinstance(own, Expr) else None,
)
def test_a_bottom_far_below_the_scales_of_a_scan(kernel: Expr, constant: float) -> None:
    """Regression: "lower values lie beside it"; at such scales the kernel is c + x, with the least risk 2/(2 + nu) at L = 3."""
    value, places = least_risk(SpikedSLR(nu=3, length=3, noise=0), Attention(kernel, normaliser=None), {})
    assert abs(float(value) - 2 / 5) <= float(value.error) + 1e-8
    assert abs(float(places["a"]) * 3**0.5 / 2 / constant - 1) < 1e-6
