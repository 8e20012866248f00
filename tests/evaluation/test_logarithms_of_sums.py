"""Kernels log(c + r) with r > 0: small where r is, and finite where an exponential in r is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sympy import Expr, Rational, exp, log

from symslr import evaluate
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR
from symslr.model.symbols import x
from symslr.theory import population_risk


def log_of_sum(least: float, rates: tuple[int, ...], y: Any) -> Any:
    rest = np.logaddexp.reduce([rate * y for rate in rates]) - np.log(least)
    small = np.log(least) + np.exp(np.minimum(rest, 0.0)) if least > 1 else np.exp(np.minimum(rest, 0.0))
    return np.where(rest < -40.0, small, np.log(least) + np.logaddexp(0.0, np.maximum(rest, -40.0)))


def log_kernel(least: float, rates: tuple[int, ...], y: Any) -> Any:
    if least > 1:
        return np.log(log_of_sum(least, rates, y))
    rest = np.logaddexp.reduce([rate * y for rate in rates])
    return np.where(
        rest < -36.0, rest, np.log(np.log1p(np.exp(np.clip(rest, -36.0, 700.0))) + np.maximum(rest - 700, 0))
    )


def risk_of_a_pair(least: float, rates: tuple[int, ...], scale: float, step: float) -> float:
    """1 - M^2/Q of two tokens at nu = 2, by trapezoids over both, through the logarithm of their ratio."""
    nodes = np.arange(-9.0, 9.0, step)
    relevant, other = nodes[:, None] + np.sqrt(2.0), nodes[None, :]
    weight = np.exp(-(nodes[:, None] ** 2) / 2 - nodes[None, :] ** 2 / 2)
    ratio = log_kernel(least, rates, scale * other) - log_kernel(least, rates, scale * relevant)
    share = 1.0 / (1.0 + np.exp(np.clip(ratio, -700.0, 700.0)))
    hit, norm = np.sum(weight * share), np.sum(weight * (share**2 + (1.0 - share) ** 2))
    return float(1.0 - hit**2 / norm / np.sum(weight))


@pytest.mark.parametrize(
    ("kernel", "least", "rates", "scale"),
    [
        (log(1 + exp(x) + exp(2 * x)), 1.0, (1, 2), -20),
        (log(1 + exp(x) + exp(2 * x)), 1.0, (1, 2), 15),
        (log(1 + exp(x) + exp(3 * x)), 1.0, (1, 3), -7),
        (log(Rational(5, 4) + exp(x)), 1.25, (1,), 100),
    ],
    ids=str,
)
def test_a_logarithm_of_a_sum_keeps_its_digits(kernel: Expr, least: float, rates: tuple[int, ...], scale: int) -> None:
    """Regression: rounded to 0 far out, the first one came out as 0.97403 +- 2e-6 for 0.97304; the last one overflowed."""
    risk = population_risk(SpikedSLR(noise=0), Attention(kernel, name="sum"))
    found = evaluate(risk, {"L": 2, "nu": 2, "a": scale}, backend="numpy")
    coarse, fine = (risk_of_a_pair(least, rates, float(scale), step) for step in (0.0065, 0.005))
    assert found.digits >= 10
    assert abs(float(found) - fine) <= float(found.error) + 3 * abs(fine - coarse) + 1e-13
    assert abs(fine - coarse) < 1e-7
