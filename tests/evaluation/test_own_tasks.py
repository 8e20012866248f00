"""Weights, laws and kernels that are not the paper's, beside a trapezoid rule over two tokens written out here."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from sympy import Abs, Expr, Rational, exp, tanh

from symslr.evaluation import CannotEvaluate, evaluate
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, erf, linear, softmax, softmax1
from symslr.model.scalar_law import normal, student
from symslr.model.symbols import a, chi, epsilon, x
from symslr.model.task import Task
from symslr.theory import bayes_risk, minimal_risk, population_risk

Function = Callable[[np.ndarray], np.ndarray]
SPIKE = Task.from_token_laws(normal(0, 2), normal(), noise=0, length=2)
TILTED = Task(1 + tanh(chi[epsilon]), noise=0, length=2)


def two_tokens(relevant: Function, kernel: Function, reach: float = 14.0) -> float:
    """1 - E[sigma_1]^2 / E[sigma_1^2 + sigma_2^2], the first token with density ``relevant``, the second N(0, 1)."""
    t = np.linspace(-reach, reach, 1401)
    p1, p0, k = relevant(t), np.exp(-t * t / 2), kernel(t)
    weight = np.outer(p1 / p1.sum(), p0 / p0.sum())
    first = k[:, None] / (k[:, None] + k[None, :])
    return float(1 - np.sum(weight * first) ** 2 / np.sum(weight * (first**2 + (1 - first) ** 2)))


def test_the_likelihood_ratio_of_a_wider_law_attains_the_bayes_risk() -> None:
    """Its weights grow like a Gaussian, and only e^{-u kappa} makes their means finite."""
    risk = evaluate(population_risk(SPIKE, Attention(exp(x**2)), a), {"a": 0.5}, digits=9)
    least = evaluate(bayes_risk(SPIKE), digits=9)
    assert abs(risk.value - least.value) <= risk.error + least.error
    by_hand = two_tokens(lambda t: np.exp(-t * t / 4), lambda t: np.exp(t * t / 4))
    assert float(risk.value) == pytest.approx(by_hand, abs=1e-9)


@pytest.mark.parametrize("digits", [9, 20])
def test_a_weight_whose_odd_part_leaves_no_trace(digits: int) -> None:
    """Regression: the mean of an odd function is 0, and a relative error of it was asked for."""
    even = Attention(1 + x**2)
    found = evaluate(population_risk(TILTED, even, 1), digits=digits)
    by_hand = two_tokens(lambda t: (1 + np.tanh(t)) * np.exp(-t * t / 2), lambda t: 1 + t * t)
    assert float(found.value) == pytest.approx(by_hand, abs=1e-9)


def test_a_minimum_beside_a_scale_without_a_value() -> None:
    """Regression: at scale 0 an odd mean is lost in float64, and the whole search was given up."""
    found = evaluate(minimal_risk(TILTED, softmax), digits=8)
    at = [two_tokens(lambda t: (1 + np.tanh(t)) * np.exp(-t * t / 2), lambda t, s=s: np.exp(s * t)) for s in (0.6, 0.9)]
    assert float(found.value) < min(at)
    assert float(found.value) == pytest.approx(min(at), abs=0.01)


@pytest.mark.parametrize(("length", "exact"), [(2, 0.25), (4, 0.5)])
def test_a_weight_that_vanishes_at_a_token(length: int, exact: float) -> None:
    """E[p] = 3 int (1 + 2u)^(-(L + 4)/2) du = 3/(L + 2): tokens of every size near 0 matter as u grows."""
    found = evaluate(bayes_risk(Task(chi[epsilon] ** 2, noise=0, length=length)), digits=9)
    assert abs(float(found.value) - exact) <= float(found.error) <= 1e-9


@pytest.mark.parametrize(
    ("kernel", "plain"), [(x**2, np.square), (Abs(x), np.abs), (tanh(x) ** 2, lambda t: np.tanh(t) ** 2)]
)
def test_a_kernel_that_vanishes_at_zero(kernel: Expr, plain: Function) -> None:
    """A normaliser that vanishes at one point does no harm; by hand, a trapezoid rule in the logarithm of |x|."""
    logs = np.linspace(-34, 3, 1500)
    t = np.concatenate([-np.exp(logs), np.exp(logs)])
    p1, p0, k = np.exp(-((t - 1) ** 2) / 2) * abs(t), np.exp(-t * t / 2) * abs(t), plain(t)
    weight = np.outer(p1 / p1.sum(), p0 / p0.sum())
    first = k[:, None] / (k[:, None] + k[None, :])
    by_hand = 1 - np.sum(weight * first) ** 2 / np.sum(weight * (first**2 + (1 - first) ** 2))
    found = evaluate(population_risk(SpikedSLR(length=2, noise=0), Attention(kernel), 1), {"nu": 1}, digits=11)
    assert abs(float(found.value) - by_hand) <= float(found.error) + 1e-13


def test_a_mean_that_diverges_is_named() -> None:
    with pytest.raises(
        CannotEvaluate, match=r"the mean of exp\(81\*x\*\*2/50.*\) is infinite: it outgrows the density"
    ):
        evaluate(population_risk(SpikedSLR(), Attention(exp(x**2), None), 0.9), {"L": 3, "nu": 2, "Delta": 0})


def test_poles_beside_the_line_are_none_on_it() -> None:
    """Regression: of a square of 1 + 100 x^2 no root was found, and the search ended in a traceback; by hand, a trapezoid rule."""
    t = np.linspace(-12, 14, 26001)
    k, p1, p0 = 1 / (1 + 100 * t**2), np.exp(-((t - 1) ** 2) / 2), np.exp(-t * t / 2)
    p1, p0 = p1 / p1.sum(), p0 / p0.sum()
    by_hand = 1 - (p1 @ k) ** 2 / (p1 @ k**2 + 2 * (p0 @ k**2))
    at = {"L": 3, "nu": 1, "Delta": 0}
    found = evaluate(population_risk(SpikedSLR(), Attention(1 / (1 + 100 * x**2), None), 1), at)
    assert abs(float(found.value) - by_hand) <= float(found.error) + 1e-13
    for kernel in (1 / (x - 2) ** 2, 1 / (x**2 - 3) ** 2):
        with pytest.raises(CannotEvaluate, match="has a pole"):
            evaluate(population_risk(SpikedSLR(), Attention(kernel, None), 1), at)


def test_one_token_needs_no_locating() -> None:
    """Regression: the least risk at L = 1 lies at scale 0, where the searches found no curvature."""
    for attention in (softmax1, linear, erf, Attention(1 + x**2, None)):
        for task in (SpikedSLR(length=1), MaxSLR(length=1)):
            found = evaluate(minimal_risk(task, attention), {"nu": 0.3, "Delta": 0.5})
            assert found.value == 0.25
    odd = evaluate(minimal_risk(SpikedSLR(length=1), Attention(x, None)), {"nu": 0.3, "Delta": 0.5})
    assert float(odd.value) == pytest.approx(1.25 - 0.3 / 1.3, abs=1e-12)


@pytest.mark.parametrize(("nu", "scale", "digits"), [(12, 12, 6), (13.3, 4.96, 6), (13.3, 4.96, 10)])
def test_two_tokens_whose_windows_lie_beside_the_law(nu: float, scale: float, digits: int) -> None:
    """Regression: weights e^{a x} put their windows at x = a, the tokens are near 0: 0.0468 came out as 2.6e-8."""
    found = evaluate(population_risk(MaxSLR(length=2, noise=0), softmax, scale), {"nu": nu}, digits=digits)
    d = np.linspace(-12, 12, 240_001)
    weight = np.exp(-d * d / 4)
    p, s = 1 / (1 + np.exp(-nu * d)), 1 / (1 + np.exp(-scale * d))
    share, norm = (np.sum(weight * f) / weight.sum() for f in (p * s + (1 - p) * (1 - s), s**2 + (1 - s) ** 2))
    assert abs(float(found.value) - (1 - share**2 / norm)) <= float(found.error) + 1e-12


@pytest.mark.parametrize(
    ("freedom", "mean", "length", "exact"),
    [
        (6, Rational(99, 20), 985, "0.770810449229377476693404"),
        (10, Rational(7, 2), 200, "0.649019924530066724391472"),
    ],
)
def test_a_likelihood_ratio_whose_powers_are_written_out_knows_its_rounding(
    freedom: int, mean: Rational, length: int, exact: str
) -> None:
    """The power of x - mean becomes a sum of large terms: 8.6e-14 was off where 5.3e-14 was claimed.

    The exact values are those at 22 digits.
    """
    task = Task.from_token_laws(student(freedom, mean), student(freedom), noise=0, length=length)
    found = evaluate(bayes_risk(task), {}, backend="numpy")
    with mpmath.workdps(30):
        assert abs(found.value - mpmath.mpf(exact)) <= found.error / 2
