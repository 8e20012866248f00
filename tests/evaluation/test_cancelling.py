"""Kernels that cancel in a tail where tokens are: sums of float64 lose their digits there, and numbers must not."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from sympy import Expr, Symbol, cosh, erf, exp, lambdify, log, sinh, sqrt, tanh

from symslr import Attention
from symslr.evaluation import evaluate
from symslr.evaluation.landscape import Landscape
from symslr.evaluation.numbers.cancelling import may_cancel
from symslr.evaluation.numbers.compiled import compile_float
from symslr.evaluation.numbers.logarithm import signed_log
from symslr.model.catalogue import SpikedSLR
from symslr.model.symbols import a, x
from symslr.theory import population_risk
from tests.evaluation.landscape.test_growing_kernels import least_over_values
from tests.evaluation.test_location_kernels import definition, found

LogKernel = Callable[[np.ndarray], np.ndarray]
KERNELS: dict[str, tuple[Expr, LogKernel]] = {
    "1 - exp(-exp(x))": (1 - exp(-exp(x)), lambda y: np.where(y < -40, y, np.log(-np.expm1(-np.exp(y))))),
    "1 - 1/(1 + exp(x))": (1 - 1 / (1 + exp(x)), lambda y: -np.logaddexp(0, -y)),
    "sqrt(1 + exp(x)) - 1": (sqrt(1 + exp(x)) - 1, lambda y: y - np.log1p(np.sqrt(1 + np.exp(y)))),
    "sqrt(1 + x^2) + x": (sqrt(1 + x**2) + x, np.arcsinh),
    "log(2 + exp(x)) - log(2)": (log(2 + exp(x)) - log(2), lambda y: np.log(np.log1p(np.exp(y) / 2))),
}
SCALE = 30


@pytest.mark.parametrize("name", KERNELS)
def test_a_risk(name: str) -> None:
    """sqrt(1 + exp(x)) - 1 had 0.0303924 +- 4e-8 for 0.0303930 at nu = 9; two evaluators, one definition."""
    kernel, log_kernel = KERNELS[name]
    expected = definition(log_kernel, SCALE)
    theory = evaluate(population_risk(SpikedSLR(length=2, noise=0), Attention(kernel)), {"nu": 4, "a": SCALE})
    for value in (theory, found(kernel, SCALE)):
        assert abs(float(value) - expected) < float(value.error) + 2e-13
        assert float(value.error) < 1e-12


def test_an_element_wise_tail_keeps_its_digits() -> None:
    """Regression: the mean of 1 + tanh(2 a x - 8) was taken term by term: 0.4 +- 0.8 at a = 0.1."""
    risk = population_risk(SpikedSLR(length=2, noise=0), Attention(1 + tanh(2 * x - 8), normaliser=None))
    value = evaluate(risk, {"nu": 2, "a": 0.1}, backend="numpy")
    t = np.linspace(-12, 12, 4001)
    plain, relevant = (np.exp(-((t - m) ** 2) / 2) / np.sqrt(2 * np.pi) * (t[1] - t[0]) for m in (0, np.sqrt(2)))
    kernel = 2 / (1 + np.exp(16 - 0.4 * t))
    expected = 1 - (relevant @ kernel) ** 2 / (relevant @ kernel**2 + plain @ kernel**2)
    assert abs(float(value) - expected) < float(value.error) + 1e-13
    assert value.digits >= 10


@pytest.mark.parametrize("name", list(KERNELS)[:3])
def test_a_landscape(name: str) -> None:
    """1 - exp(-exp(x)) had 0.254135793 +- 2e-9 for 0.254135783 at nu = 9, a = 20."""
    kernel, log_kernel = KERNELS[name]
    landscape = Landscape.of(SpikedSLR(length=2, noise=0), Attention(kernel), {"nu": 4})
    plain, value = (least_over_values(mesh, float(SCALE)) for mesh in (landscape, landscape.refine(1.5)))
    assert abs(value - definition(log_kernel, SCALE)) < 2 * abs(value - plain) + 1e-12
    assert abs(value - plain) < 1e-8


FAR = np.array([-700.0, -100.25, -36.5, -12.0, -0.3, 1e-9, 0.5, 9.0])


@pytest.mark.parametrize(
    "kernel",
    [
        *(kernel for kernel, _ in KERNELS.values()),
        cosh(x) + sinh(x),
        1 + tanh(x) + exp(x - x**2),
        log(sqrt(1 + x**2) + x + 1),
        exp(x) - 1 - x,
        log(1 + exp(x)) - exp(x) / (1 + exp(x)),
        (sqrt(2 + exp(x)) - sqrt(2)) ** 2 + exp(3 * x),
        log(1 + exp(x) + exp(2 * x)),
        log(1 + x**2 + exp(x)),
        log(1 + x**2 * exp(x)),
    ],
    ids=str,
)
def test_values_and_logarithms_have_their_digits(kernel: Expr) -> None:
    """Held against mpmath at 1000 digits; float64 had 0, or noise, in most of these places."""
    (values,) = compile_float((x,), [kernel])(FAR)
    signs, logs = np.broadcast_arrays(*signed_log(kernel, (x,))(FAR))
    function = lambdify(x, kernel, "mpmath")
    for number, value, sign, own in zip(FAR, values, signs, logs):
        with mpmath.workdps(1000):
            exact = function(mpmath.mpf(float(number)))
            size = mpmath.log(exact)
        assert sign == 1.0
        assert value == pytest.approx(float(exact), rel=1e-12, abs=1e-300)
        assert own == pytest.approx(float(size), rel=1e-12, abs=1e-12)


def test_places_of_any_shape_and_zeros() -> None:
    kernel = exp(a * x) - 1
    small = np.array([[1e-20], [-1e-300], [0.0]])
    (values,) = compile_float((x, a), [kernel])(small, 2.0)
    assert np.allclose(values, small * 2.0, rtol=1e-15, atol=0.0)
    (value,) = compile_float((x, a), [kernel])(1e-20, 3.0)
    assert value == pytest.approx(3e-20, rel=1e-15)
    sign, own = signed_log(exp(x) - 1 - x, (x,))(np.array([0.0]))
    assert (sign[0], own[0]) == (0.0, -np.inf)
    sign, own = signed_log((1 - exp(-exp(x))) * exp(-x), (x,))(np.array([-1e4, -2e3]))
    assert (sign[0], own[0]) == (0.0, -np.inf)  # beyond all bits
    assert own[1] == pytest.approx(0.0, abs=1e-9)
    (value,) = compile_float((x,), [sqrt(3) * sqrt(2 + exp(x)) - sqrt(6)])(np.array([-1e4]))
    assert value[0] == 0.0  # 4e-16 in float64


def test_what_keeps_its_digits_is_left_alone() -> None:
    y = Symbol("y", positive=True)
    for kept in (1 + exp(x), 1 + x - x**2, exp(x) + y, 1 + tanh(x), 1 - erf(x), log(1 + x**2), exp(1 - x)):
        assert not may_cancel(kept)
    for lost in (1 - exp(x), sqrt(1 + x**2) + x, log(1 + exp(x)), x + y ** (1 / y)):
        assert may_cancel(lost)


def test_sums_of_two_arrays_and_of_which_a_root_is_sought_are_left() -> None:
    """The pull on a key vanishes where it is at rest: a search among samples looks at such places only."""
    line = np.array([1e-20, 2e-20])
    (both,) = compile_float((x, a), [exp(a * x) - 1])(line, line)
    (left,) = compile_float((x,), [exp(x) - 1], keeps_digits=False)(line)
    assert np.all(both == 0.0)
    assert np.all(left == 0.0)
