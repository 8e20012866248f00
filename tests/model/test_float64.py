"""Kernels as NumPy takes them: long numbers, and sums that would lose their digits in a tail."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from sympy import Expr, Integer, Rational, cosh, erf, erfc, exp, log, pi, tanh

from symslr.model.admissible import check_kernel
from symslr.model.float64 import compiled
from symslr.model.symbols import x


@pytest.mark.parametrize(
    "kernel",
    [
        1 + tanh(3 * x),
        Rational(1, 3) - tanh(x) / 3,
        1 + erf(x),
        2 - 2 * erf(x / 2),
        2 - erfc(x),
        (1 + tanh(x)) * exp(x) + 1 + erf(x),
        1 + tanh(x) + x**2,
        2 + erf(x),
    ],
    ids=str,
)
def test_a_tail_keeps_its_digits(kernel: Expr) -> None:
    points = np.array([-15.0, -3.0, -0.1, 0.0, 2.0, 15.0])
    found = compiled((x,), kernel)(points)
    with mpmath.workdps(400):
        expected = [float(kernel.subs(x, Rational(point)).evalf(400)) for point in points]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_numbers_beyond_64_bits() -> None:
    np.testing.assert_allclose(
        compiled((x,), log(Integer(10) ** 300 + Integer(7) ** -200 * x))(np.array([1.0, 2.0])), 300 * np.log(10)
    )


@pytest.mark.parametrize("steepness", [1, 5, 40])
def test_softplus_keeps_its_tail(steepness: int) -> None:
    """Regression: log(1 + e^(5 x - 10)) was refused, as 1 + e^(-100) is 1 in decimals."""
    kernel = log(1 + exp(steepness * (x - 2)))
    places = np.linspace(-12, 10, 45)
    assert np.allclose(compiled((x,), kernel)(places), np.logaddexp(0.0, steepness * (places - 2)), rtol=1e-14, atol=0)
    check_kernel(kernel, set(), normalised=True, may_vanish=False)


def test_a_logarithm_that_vanishes_is_still_refused() -> None:
    with pytest.raises(ValueError, match="vanishes at x = 1"):
        check_kernel(log(1 + (x - 1) ** 2), set(), normalised=True, may_vanish=False)


@pytest.mark.parametrize(
    "kernel", [exp(-exp(-x)), exp(-cosh(x)), exp(x - exp(x)), exp(-exp(exp(-x))), x**2 * exp(-exp(x))]
)
def test_a_positive_kernel_may_underflow(kernel: Expr) -> None:
    """Regression: exp(-exp(20)) was taken for a zero of the kernel."""
    check_kernel(kernel, set(), normalised=True, may_vanish=False)


def test_a_zero_beside_a_factor_that_underflows_is_still_refused() -> None:
    with pytest.raises(ValueError, match=r"vanishes at x = 3\.14"):
        check_kernel((x - pi) ** 2 * exp(-exp(x)), set(), normalised=True, may_vanish=False)
