"""(sign, log|f|) agrees with 1200-digit arithmetic, at arguments where f itself is no float64 as well."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from sympy import Abs, Integer, Max, Piecewise, Sum, cosh, erf, erfc, exp, lambdify, log, sinh, sqrt, tanh

from symslr.model.symbols import L, chi, l, x
from symslr.simulate.log_domain import TOKEN, log_of_product, plain, signed_log

FORMULAS = [
    exp(x),
    1 + x,
    log(1 + exp(x)),
    1 + erf(1 + x / 32),
    erfc(x),
    1 / (1 + exp(-x)),
    tanh(x),
    Max(0, x),
    Piecewise((1 + x, x > 0), (exp(x), True)),
    exp(x) - exp(-2 * x),
    cosh(x) ** 3,
    sinh(x),
    x * exp(-(x**2)),
    Integer(2) ** x,
    sqrt(1 + exp(2 * x)),
    (1 + exp(x)) ** -2,
    Abs(exp(x) - 2),
    log(2 + exp(x)),
    log(1 - exp(-(x**2) / 400) / 2),
]
POINTS = [-1000.0, -40.0, -3.25, -0.5, 0.25, 1.0, 6.0, 40.0, 1000.0]


@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_signed_log_agrees_with_exact_arithmetic(formula: object) -> None:
    sign, size = (np.broadcast_to(part, len(POINTS)) for part in signed_log(formula, (x,))(np.array(POINTS)))
    with mpmath.workdps(1200):  # sinh and 1 + erf at 1000 cancel 870 digits
        exact = lambdify(x, formula, "mpmath")
        for i, point in enumerate(POINTS):
            value = mpmath.mpf(exact(mpmath.mpf(point)))
            if value == 0:
                assert sign[i] == 0
                assert size[i] == -np.inf
                continue
            assert sign[i] == mpmath.sign(value)
            # A relative error of f is an absolute error of log|f|; measured 4e-15.
            assert size[i] == pytest.approx(float(mpmath.log(abs(value))), abs=1e-13, rel=1e-14)


@pytest.mark.parametrize(
    "formula",
    [log(1 + exp(x)), tanh(log(1 + exp(x))), x**2 + log(3 + exp(2 * x)), 1 + exp(-(x**2)), 2 - log(1 + x**2)],
)
def test_plain_values_survive_large_scores(formula: object) -> None:
    points = np.array([-900.0, -1.5, 0.0, 2.0, 900.0])
    exact = lambdify(x, formula, "mpmath")
    expected = [float(exact(mpmath.mpf(point))) for point in points]
    assert np.broadcast_to(plain(formula, (x,))(points), 5) == pytest.approx(expected, rel=1e-14, abs=1e-300)


def test_token_sum_is_logsumexp() -> None:
    formula = exp(700 * x) / Sum(exp(700 * chi[l]), (l, 1, L))
    tokens = np.array([[1.0, 2.0, 2.0], [-3.0, 0.5, 0.25]])
    sign, size = signed_log(formula, (x, TOKEN))(tokens[:, :, None], tokens[:, None, :])
    assert np.all(sign == 1)
    assert size[0, :, 0] == pytest.approx([-700 - np.log(2), -np.log(2), -np.log(2)])
    assert size[1, :, 0] == pytest.approx([-2450, -np.exp(-175), -175], abs=1e-12)


def test_a_sum_over_tokens_has_no_place_in_a_kernel() -> None:
    with pytest.raises(ValueError, match="sum over tokens"):
        signed_log(Sum(exp(chi[l]), (l, 1, L)), (x,))


def test_the_logarithm_of_a_product_cancels_exponents() -> None:
    assert log_of_product(exp(-(x**2) / 2) * exp((x - 1) ** 2 / 2)) == -x + Integer(1) / 2
    assert log_of_product(x**2) == 2 * log(Abs(x))
