"""Which integrals diverge, and which only look like it."""

import math

import numpy as np
import pytest

from symslr.referee.divergence import diverging_tail


def diverges(integrand, lower, upper):
    return diverging_tail(integrand, lower, upper) is not None


DIVERGENT = {
    "a constant": (lambda x: 0 * x + 0.1, 0.0, None),
    "1/x": (lambda x: 1 / (1 + x), 0.0, None),
    "1/|x| on the left": (lambda x: 1 / (1 + abs(x)), None, 0.0),
    "1/x at 0": (lambda x: 1 / x, 0.0, 1.0),
    "x^(-3/2) at 0 from below": (lambda x: -((-x) ** -1.5), -1.0, 0.0),
    "an exponential": (lambda x: np.exp(x / 100), 0.0, None),
    "exp(9 x^2/10) under a Gaussian": (lambda x: np.exp(0.9 * x**2) * np.exp(-(x**2) / 2), None, None),
}
CONVERGENT = {
    "x^(-1.01)": (lambda x: (1 + x) ** -1.01, 0.0, None),
    "1/(x log(x)^2)": (lambda x: 1 / ((2 + x) * np.log(2 + x) ** 2), 0.0, None),
    "x^(-0.99) at 0": (lambda x: x**-0.99, 0.0, 1.0),
    "a sine": (lambda x: np.sin(x) / (1e-30 + x), 0.0, None),
    "exp(2 x^2/5) under a Gaussian": (lambda x: np.exp(0.4 * x**2) * np.exp(-(x**2) / 2), None, None),
    "an exponential under a Gaussian": (lambda x: np.exp(20 * x) * np.exp(-(x**2) / 2), None, None),
    "exp(|x|^(19/10) 3/4) under a Gaussian": (
        lambda x: np.exp(0.757 * abs(x) ** 1.9) * np.exp(-(x**2) / 2), None, None,
    ),
    "a large mean, which overflows before it falls": (lambda x: np.exp(29 * x) * np.exp(-(x**2) / 2), None, None),
    "a power that falls far out": (lambda x: np.log(x) ** 5 * x**-1.03, 1.0, None),
    "1/x that falls beyond e^90": (lambda x: 1 / ((1 + x) * (1 + x * np.exp(-90))), 0.0, None),
    "an exponential of length e^110": (lambda x: np.exp(-x * np.exp(-110)), 0.0, None),
    "x^(1e-12 - 1) at 0": (lambda x: x ** (1e-12 - 1), 0.0, 1.0),
    "exp(99 x/100) under a Laplace law": (lambda x: np.exp(0.99 * x) * np.exp(-abs(x)), None, None),
    "log(1 + e^x), which overflows, under a power": (lambda x: np.log(1 + np.exp(x)) / (1 + x**4), None, None),
    "a density a million away": (lambda x: np.exp(-((x - 1e6) ** 2) / 2), None, None),
    "a step that overflows beside a power": (
        lambda x: np.exp(x) / (1 + np.exp(x)) / (1 + (x / 1e4) ** 4), 0.0, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIVERGENT)
def test_divergent(name):
    with np.errstate(all="ignore"):
        assert diverges(*DIVERGENT[name])


@pytest.mark.parametrize("name", CONVERGENT)
def test_convergent(name):
    with np.errstate(all="ignore"):
        assert not diverges(*CONVERGENT[name])


def test_a_mean_of_both_signs_is_told_by_one_side():
    with np.errstate(all="ignore"):
        assert diverges(lambda x: x / (1 + x**2) / math.pi, None, None)
