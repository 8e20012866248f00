"""Least risks that are only approached as the scale grows, where no series in 1/a follows them, or values far out are dear."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.special import softmax as softmax_of
from sympy import Abs, Expr, Heaviside, Max, Rational, cos, exp, log, oo, sqrt

from symslr import Attention, MaxSLR, evaluate
from symslr.evaluation.minima.at_infinity import growth
from symslr.evaluation.minima.least import least_risk
from symslr.expression.expectation import SequenceExpectation
from symslr.model.largest import IsLargest
from symslr.model.symbols import L, chi, epsilon, x
from symslr.theory import population_risk


@pytest.mark.parametrize(
    ("kernel", "right", "left"),
    [
        (exp(x) + x**2, (1, 0), (0, 2, 1)),
        (x**2 * exp(x), (1, 2), (-1, 2)),
        (x + sqrt(1 + x**2), (0, 1, 2), (0, -1, Rational(1, 2))),
        (log(1 + exp(x)), (0, 1, 1), (-1, 0)),
        (1 + Abs(x) + x / 2, (0, 1, Rational(3, 2)), (0, 1, Rational(1, 2))),
    ],
    ids=str,
)
def test_how_kernels_grow(kernel: Expr, right: tuple[Expr, ...], left: tuple[Expr, ...]) -> None:
    for side, expected in ((1, right), (-1, left)):
        found = growth(kernel, side)
        assert found is not None
        assert (found.rate, found.power, found.constant)[: len(expected)] == expected


@pytest.mark.parametrize("kernel", [exp(-(x**2)), exp(x / 10**4), 2 + cos(x)], ids=str)
def test_other_growth_is_not_told(kernel: Expr) -> None:
    assert growth(kernel, 1) is None


def test_a_logarithm_beside_the_limit_is_no_hindrance() -> None:
    """Regression: exp(x) + x^2 falls to its limit as log(a)/a, and nothing came in 60 s.

    Of two tokens the larger one is chosen where it is positive; of two negative ones, at an angle that is uniform, it has the
    share min(cos^2, sin^2), of mean 1/2 - 1/pi, and the squares of the shares sum to 3/4.
    """
    value, places = least_risk(MaxSLR(oo, noise=0, length=2), Attention(exp(x) + x**2), {})
    hit, norm = 3 / 4 + (1 / 2 - 1 / np.pi) / 4, 3 / 4 + 3 / 16
    assert abs(float(value.value) - (1 - hit**2 / norm)) <= float(value.error) < 0.1
    assert places["a"].value == oo


@pytest.mark.parametrize("kernel", [x**2 * exp(x), exp(x / 2) * (2 + cos(x))], ids=str)
def test_what_outweighs_all_smaller_tokens_finds_the_largest(kernel: Expr) -> None:
    """Regression: values of x^2 exp(x) are too dear where it vanishes, and the least risk was not known."""
    value, places = least_risk(MaxSLR(oo, noise=Rational(1, 3), length=4), Attention(kernel), {})
    assert abs(float(value.value) - 1 / 9) <= float(value.error) + 1e-16
    assert places["a"].value == oo


def test_shares_of_a_kernel_that_vanishes_have_digits_at_every_length() -> None:
    """Regression: equal panels left an error of 2e-4 at length 1; M = (1 + 1/2)/2 and Q = (1 + 3/4)/2."""
    value, _ = least_risk(MaxSLR(oo, noise=0, length={1: Rational(1, 2), 2: Rational(1, 2)}), Attention(x**2), {})
    assert abs(float(value.value) - 5 / 14) <= float(value.error) < 1e-11


def test_panels_are_cut_at_a_step_of_the_relevant_token() -> None:
    """Regression: six digits after 20 s. Two negative tokens are apart by d with the density e^(-d^2/4) erfc(d/2)/(2 sqrt(pi))."""
    with mpmath.workdps(30):

        def density(d: mpmath.mpf) -> mpmath.mpf:
            return mpmath.exp(-(d**2) / 4) * mpmath.erfc(d / 2) / (2 * mpmath.sqrt(mpmath.pi))

        truth = mpmath.quad(lambda d: density(d) / (1 + mpmath.exp(-10 * d)), [0, 1, 2, 4, 8, 16])
    law = MaxSLR().law
    value = evaluate(SequenceExpectation(IsLargest.of(epsilon, L) * Heaviside(-chi[epsilon]), law), {"L": 2, "nu": 10})
    assert abs(value.value - truth) <= value.error
    assert value.error < 1e-11


def test_a_ridge_has_the_digits_of_a_search_where_it_cannot_have_more() -> None:
    """Regression: asked for 12 digits it had an error of 0.25, and the product mesh had none either."""
    risk = population_risk(MaxSLR(noise=0, length=10), Attention(Max(x, -x)), 1)
    value = evaluate(risk, {"nu": 60}, backend="numpy", digits=6)
    keys = np.random.default_rng(0).standard_normal((400_000, 10))
    weights, posterior = np.abs(keys), softmax_of(60 * keys, axis=1)
    weights /= weights.sum(axis=1, keepdims=True)
    hit, square = (posterior * weights).sum(axis=1), (weights**2).sum(axis=1)
    ratio = hit.mean() / square.mean()
    spread = np.std(ratio**2 * square - 2 * ratio * hit) / len(keys) ** 0.5
    assert abs(float(value.value) - (1 - ratio * hit.mean())) < 4 * spread < 4e-3
    assert value.error < 1e-7
