"""Weights, laws and kernels that are not the paper's, beside a trapezoid rule over two tokens written out here."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr
from sympy import Abs, Expr, Integer, Max, Rational, Sum, cosh, erfc, exp, oo, pi, sqrt, tanh

from symslr.evaluation import CannotEvaluate, evaluate
from symslr.expression.value import Kind, Value
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, erf, linear, softmax, softmax1
from symslr.model.largest import IsLargest
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import ScalarLaw, normal, student
from symslr.model.symbols import L, a, chi, epsilon, l, x
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


def test_laws_tilted_by_a_normal_distribution_function() -> None:
    """Regression: erfc in a density became Phi, which NumPy does not know: a NameError. 2 phi Phi(x) beside 2 phi Phi(-x)."""
    half = exp(-(x**2) / 2) / sqrt(2 * pi)
    task = Task.from_token_laws(
        ScalarLaw(half * erfc(-x / sqrt(2))), ScalarLaw(half * erfc(x / sqrt(2))), length=2, noise=0
    )
    t = np.linspace(-9, 9, 1801)
    p1, p0 = (2 * np.exp(-t * t / 2) * ndtr(side * t) for side in (1, -1))
    first, other = np.outer(p1, p0), np.outer(p0, p1)
    expected = np.sum(first * other / (first + other)) / np.sum(first)
    assert float(evaluate(bayes_risk(task), digits=10)) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("digits", [9, 20])
def test_a_weight_whose_odd_part_leaves_no_trace(digits: int) -> None:
    """Regression: the mean of an odd function is 0, and a relative error of it was asked for."""
    even = Attention(1 + x**2)
    found = evaluate(population_risk(TILTED, even, 1), digits=digits)
    by_hand = two_tokens(lambda t: (1 + np.tanh(t)) * np.exp(-t * t / 2), lambda t: 1 + t * t)
    assert float(found.value) == pytest.approx(by_hand, abs=1e-9)


@pytest.mark.parametrize("task", [MaxSLR(noise=0), SpikedSLR(noise=0)], ids=["max", "spiked"])
def test_an_element_wise_kernel_at_scale_0_is_a_constant(task: Task) -> None:
    """Regression: x was counted from the bend at 3/a, and 1/(1 + (a x - 3)^2) had no value at a = 0: no least risk was found."""
    risk = population_risk(task, Attention(1 / (1 + (x - 3) ** 2), normaliser=None))
    assert float(evaluate(risk, {"L": 3, "nu": 2, "a": 0}, 8, "numpy")) == pytest.approx(2 / 3, abs=1e-12)


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


@pytest.mark.parametrize(
    ("kernel", "log_kernel"),
    [
        (exp(-exp(-x)), lambda t: -np.exp(-t)),
        (exp(-cosh(x)), lambda t: -np.cosh(t)),
        (exp(x - exp(x)), lambda t: t - np.exp(t)),
    ],
)
def test_a_positive_kernel_that_underflows(kernel: Expr, log_kernel: Function) -> None:
    """Regression: it was refused as one that vanishes; by hand, a trapezoid rule with logarithms of the kernel."""
    t = np.linspace(-9, 10, 801)
    p1, p0, k = np.exp(-((t - 1) ** 2) / 2), np.exp(-t * t / 2), log_kernel(t)
    weight = np.outer(p1 / p1.sum(), p0 / p0.sum())
    first = np.exp(k[:, None] - np.logaddexp(k[:, None], k[None, :]))
    by_hand = 1 - np.sum(weight * first) ** 2 / np.sum(weight * (first**2 + (1 - first) ** 2))
    found = evaluate(population_risk(SpikedSLR(length=2, noise=0), Attention(kernel), 1), {"nu": 1}, digits=11)
    assert abs(float(found.value) - by_hand) <= float(found.error) + 1e-13


def test_a_length_is_no_law_of_one() -> None:
    """Regression: it ended in a TypeError; a task takes the law."""
    law = LengthLaw({1: Rational(1, 3), 3: Rational(2, 3)})
    with pytest.raises(ValueError, match="L: found a law of the length; expected an integer >= 1, or a task of random"):
        evaluate(population_risk(SpikedSLR(noise=0), softmax, 1), {"L": law, "nu": 1})


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


def selecting(law: ScalarLaw, strength: Expr, length: int) -> Task:
    """The token law under a selection exp(nu chi_eps)/sum_l exp(nu chi_l), or of the largest at nu = oo."""
    if strength == oo:
        return Task(L * IsLargest.of(epsilon, L), length, 0, law)
    return Task(L * exp(strength * chi[epsilon]) / Sum(exp(strength * chi[l]), (l, 1, L)), length, 0, law)


def cubes_under_a_mixture(parts: list[tuple[float, float]], strength: float) -> float:
    """The least risk of f = (x_1^3 z_1 + x_2^3 z_2) b, tokens an equal mixture of N(m, v): given x_1 - x_2 they are Gaussian."""
    d, step = np.linspace(-30.0, 30.0, 120_001, retstep=True)
    chosen, hit = 1 / (1 + np.exp(-strength * d)), 0.0
    for (m, v), (n, u) in itertools.product(parts, parts):
        density = np.exp(-((d - m + n) ** 2) / (2 * (v + u))) / np.sqrt(2 * np.pi * (v + u))
        first, second = m + v / (v + u) * (d - m + n), n - u / (v + u) * (d - m + n)
        cubes = [mean**3 + 3 * mean * v * u / (v + u) for mean in (first, second)]
        hit += float(np.sum(density * (chosen * cubes[0] + (1 - chosen) * cubes[1]))) * step / 4
    return 1 - hit**2 / sum(m**6 + 15 * m**4 * v + 45 * m**2 * v**2 + 15 * v**3 for m, v in parts)


@pytest.mark.parametrize("digits", [4, 6, 7, 8, 9])
@pytest.mark.parametrize("narrow", [Rational(1, 10), Rational(1, 5)])
def test_a_mixture_of_a_wide_law_and_a_narrow_one_has_true_errors(narrow: Expr, digits: int) -> None:
    """Regression: the rules along log u were taken to converge as for one width, and risks were 20 errors from the truth."""
    density = (exp(-(x**2) / 2) + exp(-(((x - 2) / narrow) ** 2) / 2) / narrow) / (2 * sqrt(2 * pi))
    task = selecting(ScalarLaw(density), Integer(1), 2)
    found = evaluate(population_risk(task, Attention(x**3, None), 5), digits=digits)
    known = cubes_under_a_mixture([(0.0, 1.0), (2.0, float(narrow) ** 2)], 1.0)
    assert abs(float(found.value) - known) <= float(found.error) + 1e-12
    assert found.digits >= digits


@pytest.mark.parametrize("digits", [None, 3, 8])
@pytest.mark.parametrize(
    ("law", "attention", "reason"),
    [
        (student(1), Attention(Max(x, 0), offset=1), "is 0 on no interval"),
        (student(3), Attention(exp(x), offset=1), "token laws with light tails"),
    ],
)
def test_who_asks_for_few_digits_is_not_told_to_ask_for_fewer_than_twelve(
    law: ScalarLaw, attention: Attention, reason: str, digits: int | None
) -> None:
    """Where float64 has no way the reason is its own, not that of the arithmetic that was tried after it."""
    with pytest.raises(CannotEvaluate, match=reason):
        evaluate(population_risk(selecting(law, oo, 2), attention, 1), digits=digits)


def test_float64_that_stops_short_says_how_far_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    short = Value(mpmath.mpf(1) / 2, mpmath.mpf("1e-5"), Kind.ESTIMATED, 4, "")
    monkeypatch.setattr("symslr.evaluation.engine._scalars", lambda *_: short)
    with pytest.raises(CannotEvaluate, match="reaches 4 of 8 digits"):
        evaluate(population_risk(selecting(student(3), oo, 2), Attention(exp(x), offset=1), 1), digits=8)
