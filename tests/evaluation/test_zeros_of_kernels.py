"""Weights that vanish without a change of sign, against sums over polar or product grids made elsewhere."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from sympy import Abs, Expr, Integral, Rational, Symbol, cos, exp, log, oo, sin

from symslr.evaluation import CannotEvaluate, evaluate
from symslr.evaluation.quadrature.breakpoints import in_powers
from symslr.evaluation.quadrature.scan import converged_windows
from symslr.evaluation.quadrature.token_mesh import changes_of_sign
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.symbols import chi, epsilon, x
from symslr.model.task import Task
from symslr.theory import bayes_risk, population_risk

C = chi[epsilon]


def polar(slope: float) -> float:
    """Bayes risk at L = 2 of the weight (1 + s chi)^2 / (1 + s^2), in polar coordinates around its zero: all is smooth."""
    r, weights = np.polynomial.legendre.leggauss(600)
    reach = 1.6 * (1 + 14 * slope)
    r, weights = reach * (r + 1) / 2, reach * weights / 2
    angles = (np.arange(2560) + 0.5) * 2 * np.pi / 2560
    u, v = r[:, None] * np.cos(angles), r[:, None] * np.sin(angles)
    normal = np.exp(-(((u - 1) / slope) ** 2 + ((v - 1) / slope) ** 2) / 2) / (2 * np.pi * slope**2)
    values = u**4 / (1 + slope**2) * normal / r[:, None]
    return float(1 - (weights @ values).sum() * 2 * np.pi / 2560)


@pytest.mark.parametrize("slope", [Rational(1, 2), Rational(3)])
def test_a_double_zero_anywhere(slope: Rational) -> None:
    found = evaluate(bayes_risk(Task((1 + slope * C) ** 2 / (1 + slope**2), noise=0)), {"L": 2})
    assert abs(float(found.value) - polar(float(slope))) <= float(found.error) + 1e-12


def test_a_sign_that_only_rounding_has_is_no_zero() -> None:
    """Values of an array and of its entries may differ in the last bit: here where they are 1e-200, up to a jump at 1."""

    def function(x: np.ndarray | float) -> np.ndarray | float:
        noise = 1e-200 * np.where(np.arange(np.size(x)) % 2, 1.0, -1.0) if np.ndim(x) else 1e-200
        return np.where(np.asarray(x) < 1, noise, np.asarray(x) - 1.5)

    assert sorted(changes_of_sign(function, 0.0, 2.0)) == pytest.approx([1.0, 1.5], abs=1e-12)


@pytest.mark.parametrize(
    "function",
    [lambda x: x**3, np.sign, np.cbrt, lambda x: np.where(abs(x) < 1e-6, np.nan, x), lambda x: np.log(abs(x)) * x**3],
)
def test_a_zero_at_0_is_found_to_a_tiny_part_of_the_line(function: Callable[[Any], Any]) -> None:
    """Regression: a relative accuracy is never reached at 0, and the search raised a RuntimeError."""
    with np.errstate(all="ignore"):
        assert min(map(abs, changes_of_sign(function, -0.7, 1.1))) < 1e-3


@pytest.mark.parametrize("point", [(0.08, 0.7, 3)])
def test_a_kernel_whose_lowest_place_is_0(point: tuple[float, float, int]) -> None:
    a, nu, length = point
    risk = population_risk(SpikedSLR(), Attention((1 + x**2) / (2 + cos(x))), Rational(str(a)))
    values = {"L": length, "nu": Rational(str(nu)), "Delta": 0}
    found, many = evaluate(risk, values, backend="numpy"), evaluate(risk, values, digits=16, backend="mpmath")
    assert abs(found.value - many.value) <= found.error + many.error


PRODUCT_GRID = {
    "(x^2 - 2)^2": ((C**2 - 2) ** 2 / 3, 0.333429529646, 3e-12),
    "1 + sin x": (1 + sin(C), 0.381044168579, 2e-12),
    "(1 + sin x)^2": ((1 + sin(C)) ** 2 / (1 + (1 - exp(-2)) / 2), 0.299492906742578, 2e-13),
    "1 + cos 25 x": ((1 + cos(25 * C)) / (1 + exp(-Rational(625, 2))), 0.36338022763315, 2e-11),
    "1 + cos x": ((1 + cos(C)) / (1 + exp(-Rational(1, 2))), 0.474574644013, 1e-12),
}
"""Weight, Bayes risk at L = 2 by Gauss-Legendre panels cut at the zeros, what is left out there."""


@pytest.mark.parametrize("name", PRODUCT_GRID)
def test_zeros_between_which_a_weight_is_positive(name: str) -> None:
    weight: Expr
    weight, expected, error = PRODUCT_GRID[name]
    found = evaluate(bayes_risk(Task(weight, noise=0)), {"L": 2})
    assert abs(float(found.value) - expected) <= float(found.error) + error


@pytest.mark.parametrize("digits", [12, 25])
def test_a_kink_whose_place_no_formula_gives(digits: int) -> None:
    """Against mpmath's rule, cut where the cubic vanishes; the place is known to float64, the error of a kink is its square."""
    y = Symbol("y", real=True)
    found = evaluate(Integral(exp(-(y**2)) * Abs(y**3 + y - 1), (y, -oo, oo)), digits=digits)
    with mp.workdps(40):
        kink = mp.findroot(lambda t: t**3 + t - 1, 0.7)
        expected = mp.quad(lambda t: mp.exp(-t * t) * abs(t**3 + t - 1), [-11, -4, 0, kink, 4, 11])
        assert abs(found.value - expected) <= found.error


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("digits", [None, 20])
def test_a_wave_that_never_falls_is_refused(power: int, digits: int | None) -> None:
    """Regression: cos(x^2) was integrated to 0 +- 0, its window taken for a wide peak."""
    u = Symbol("u", positive=True)
    with pytest.raises(CannotEvaluate, match="converge absolutely"):
        evaluate(Integral(cos(2 * u**power), (u, 0, oo)), {}, digits=digits)


def test_a_window_in_which_nothing_is_a_number_is_refused() -> None:
    """Regression: softplus at a scale of -279 under a steep selection ended in a traceback."""
    with pytest.raises(CannotEvaluate, match="no number"):
        converged_windows(lambda nodes: (np.zeros(len(nodes[0]), dtype=bool), None), [(0.0, 1.0)], 9)


def test_exponentials_at_scales_of_many_decimals_are_left_as_they_are() -> None:
    """As powers of one exponential they would have some 10^15 coefficients."""
    total = exp(x) + exp(-x / 2) - log(2)
    for scale in (Rational(123456789, 10**9), Rational(0.8)):
        assert in_powers(total.xreplace({x: scale * x}), x) == total.xreplace({x: scale * x})
    assert in_powers(exp(2 * x / 7) - 2 * exp(x / 7) + 1, x) == (exp(x / 7) - 1) ** 2


def graded(scale: float, nu: float) -> float:
    """The risk of x^2 e^x under max-SLR at L = 2 by Gauss rules on panels that grow away from 0, where the kernel vanishes."""
    edges = [0.0, 1e-5]
    while edges[-1] < 8.0:
        edges.append(min(1.5 * edges[-1], edges[-1] + 0.12))
    ends = np.array([*(-np.array(edges[:0:-1])), *edges])
    places, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(ends)[:, None] / 2
    t = (ends[:-1, None] + half * (1.0 + places)).ravel()
    w = (half * weights).ravel() * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)
    logs = 2 * np.log(np.abs(t)) + scale * t
    sigma = 1 / (1 + np.exp(np.clip(logs - logs[:, None], -700, 700)))
    chosen = 1 / (1 + np.exp(np.clip(nu * (t - t[:, None]), -700, 700)))
    hit, norm = (2 * w @ (part * sigma) @ w for part in (chosen, sigma))
    return float(1 - hit**2 / norm)


@pytest.mark.parametrize(("scale", "digits"), [(20, 4), (30, 5)])
def test_tokens_beside_a_zero_that_a_steep_weight_hides(scale: int, digits: int) -> None:
    """Regression: tokens that count at large u alone were left out, and u ended early: 0.06578 +- 1e-6 and 0.0364 +- 6e-9."""
    risk = population_risk(MaxSLR(length=2, noise=0), Attention(x**2 * exp(x)), scale)
    found = evaluate(risk, {"nu": 10}, digits, "numpy")
    assert abs(float(found.value) - graded(scale, 10.0)) <= float(found.error) + 1e-9
