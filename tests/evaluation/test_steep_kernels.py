"""Kernels that grow like a Gaussian or faster: no mesh may claim what it has not seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import log_ndtr
from sympy import Expr, Integer, Rational, atan, erf, erfc, exp, log, pi, tanh

from symslr import SpikedSLR, evaluate
from symslr.model.attention import Attention
from symslr.model.symbols import x
from symslr.theory import population_risk

TASK = SpikedSLR(noise=0)
VALUES = {"L": 3, "nu": 2}


def by_product_rule(log_kernel: Callable[[Any], Any], step: float = 0.08) -> float:
    """The risk of a kernel with three tokens, by the trapezoid rule over all of them."""
    line = np.arange(-7.0, 7.0 + step, step)
    density = np.exp(-(line**2) / 2) * step / np.sqrt(2 * np.pi)
    relevant, squares = 0.0, 0.0
    others = np.multiply.outer(density, density)
    second, third = log_kernel(line[:, None]), log_kernel(line[None, :])
    for own, weight in zip(line + np.sqrt(2.0), density):
        first = log_kernel(own)
        top = np.maximum(first, np.maximum(second, third))
        kernels = [np.exp(part - top) for part in (first, second, third)]
        total = sum(kernels)
        relevant += weight * float(np.sum(others * kernels[0] / total))
        squares += weight * float(np.sum(others * sum(k**2 for k in kernels) / total**2))
    return 1.0 - relevant**2 / squares


@pytest.mark.parametrize("scale", [0.3, 1.0])
def test_a_kernel_that_grows_like_a_gaussian(scale: float) -> None:
    """At scale 1 a product of means underflowed: 0.385 +- 2e-13 was claimed to 13 digits, and is 0.516."""
    expected = by_product_rule(lambda x: (scale * x) ** 2)
    risk = population_risk(TASK, Attention(exp(x**2)), scale)
    for digits in (3, 6, 12):
        found = evaluate(risk, VALUES, digits=digits, backend="numpy")
        assert abs(float(found) - expected) <= float(found.error) + 1e-8 * expected


def test_more_digits_stay_within_the_error_of_fewer() -> None:
    """A window that took a growing weight for a Gaussian one lost 1e-4 at scale 2, and claimed 1e-7."""
    risk = population_risk(TASK, Attention(exp(x**2)), 2)
    rough, fine = (evaluate(risk, VALUES, digits=digits, backend="numpy") for digits in (3, 6))
    assert abs(float(rough) - float(fine)) <= float(rough.error) + float(fine.error)
    assert abs(float(fine) - 0.5765223271759) <= float(fine.error)


def test_a_doubly_exponential_kernel() -> None:
    expected = by_product_rule(lambda x: np.exp(0.6 * x), 0.05)
    risk = population_risk(TASK, Attention(exp(exp(x))), Rational(3, 5))
    for digits in (3, 6, 10):
        found = evaluate(risk, VALUES, digits=digits, backend="numpy")
        assert abs(float(found) - expected) <= float(found.error) + 1e-8 * expected


@pytest.mark.parametrize(
    "size", [Integer(10) ** 200, Integer(10) ** -200, Integer(10) ** 300], ids=["1e200", "1e-200", "1e300"]
)
def test_a_factor_of_the_kernel_changes_nothing(size: Expr) -> None:
    """Float64 made 1 / 10^400 an exact zero and gave a risk of 0 +- 0, where it is 0.671."""
    plain = evaluate(population_risk(TASK, Attention(exp(x), None), 1), VALUES)
    risk = population_risk(TASK, Attention(size * exp(x), None), 1)
    for backend in (None, "numpy", "mpmath", "arb"):
        found = evaluate(risk, VALUES, backend=backend)
        assert abs(float(found) - float(plain)) <= float(found.error) + float(plain.error)


@pytest.mark.parametrize(
    ("kernel", "log_kernel"),
    [
        (1 + tanh(x), lambda x: -np.logaddexp(0.0, -4 * x)),
        (1 - tanh(x), lambda x: -np.logaddexp(0.0, 4 * x)),
        (1 + erf(x), lambda x: log_ndtr(np.sqrt(8) * x)),
        (erfc(-x) / 3, lambda x: log_ndtr(np.sqrt(8) * x)),
        (erfc(x), lambda x: log_ndtr(-np.sqrt(8) * x)),
    ],
    ids=["1+tanh", "1-tanh", "1+erf", "erfc(-x)/3", "erfc"],
)
def test_a_kernel_that_vanishes_by_cancellation(kernel: Expr, log_kernel: Callable[[Any], Any]) -> None:
    """In decimals 1 + tanh(-20) is zero; what decides where all keys are low is how small it is."""
    found = evaluate(population_risk(TASK, Attention(kernel), 2), VALUES, digits=8)
    assert abs(float(found) - by_product_rule(log_kernel)) <= float(found.error) + 1e-10


@pytest.mark.parametrize("digits", [4, 7, 8, 9])
def test_a_dip_that_decides_far_out(digits: int) -> None:
    """Regression: windows were widened to u where the token meshes had not been judged: 4e-14 was claimed for 2.7e-11."""
    risk = population_risk(TASK, Attention((x - Rational(7, 2)) ** 2 + Rational(1, 5)), Rational("8.32"))
    found = evaluate(risk, {"L": 2, "nu": Rational("10.9")}, digits=digits, backend="numpy")
    assert abs(float(found) - 0.09190053253668768) <= float(found.error) + 1e-16


STEPS: dict[str, tuple[Expr, Callable[[Any], Any]]] = {
    "step": (1 + tanh(x), lambda y: 1 + np.tanh(y)),
    "softplus": (log(1 + exp(x)), lambda y: np.logaddexp(0, y)),
    "atan": (atan(x) + pi / 2, lambda y: np.arctan(y) + np.pi / 2),
    "moved": (1 + tanh(x - 3), lambda y: 1 + np.tanh(y - 3)),
    "well": (2 - 1 / (1 + x**2), lambda y: 2 - 1 / (1 + y**2)),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("scale", [30, 1013, 10**7])
def test_a_smooth_step_of_one_token(name: str, scale: int) -> None:
    """Regression: equal steps gave softplus at scale 1013 as 0.7464398 +- 4e-8, which is 0.7464402, and of a step two digits."""
    kernel, function = STEPS[name]
    x, mass = on_panels(14.0)
    mean, square, other = (
        float(np.sum(mass * np.exp(-((x - centre) ** 2) / 2) * function(scale * x) ** power)) / np.sqrt(2 * np.pi)
        for centre, power in ((np.sqrt(0.3), 1), (np.sqrt(0.3), 2), (0.0, 2))
    )
    risk = population_risk(TASK, Attention(kernel, normaliser=None, name=name))
    found = evaluate(risk, {"L": 3, "nu": Rational(3, 10), "a": scale}, backend="numpy")
    assert found.digits >= 12
    assert abs(float(found) - (1 - mean**2 / (square + 2 * other))) <= float(found.error) + 1e-14


def on_panels(reach: float) -> tuple[Any, Any]:
    """Gauss's nodes and weights on panels that end in geometric progression at 0."""
    ends = np.concatenate([[0.0], np.geomspace(1e-10, reach, 300)])
    ends = np.concatenate([-ends[:0:-1], ends])
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = np.diff(ends)[:, None] / 2
    return ((ends[1:] + ends[:-1])[:, None] / 2 + half * nodes).ravel(), (half * weights).ravel()
