"""Kernels without a normaliser that grow: their squares have their means far from where tokens are, where a mesh once ended."""

from __future__ import annotations

from math import exp as e
from math import sqrt

import numpy as np
import pytest
from scipy.integrate import quad
from sympy import Expr, Rational, cosh, exp, tanh

from symslr.evaluation import evaluate
from symslr.evaluation.landscape import Landscape
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.symbols import chi, epsilon, x
from symslr.model.task import Task
from symslr.theory import population_risk

FAR = Task(
    (exp(6 * chi[epsilon] - 18) + exp(-3 * chi[epsilon] - Rational(9, 2))) / 2, length=2, noise=Rational(0), name="far"
)
"""Relevant tokens around 6 and around -3."""


def at(landscape: Landscape, **named: float) -> np.ndarray:
    return np.array([named.get(name, 0.0) for name in landscape.names])


def least_over_values(landscape: Landscape, scale: float) -> float:
    """The risk is quadratic in the size of the value, with key and value aligned: two of its values show the best one."""

    def risk(size: float) -> float:
        return landscape.risk(at(landscape, m_kk=scale, q_kk=scale**2, m_vv=size, q_vv=size**2))

    square = (risk(2.0) - 2 * risk(1.0) + 1) / 2
    return risk((1 + square - risk(1.0)) / 2 / square)


@pytest.mark.parametrize(("length", "m", "q"), [(1, 0.5, 2.0), (2, 0.5, 4.0), (3, 1.0, 9.0)])
def test_the_exponential_has_its_moment_generating_function(length: int, m: float, q: float) -> None:
    """Regression: at q_kk = 4 the risk was 15213.333 for 15213.413, with an error of 0.003."""
    landscape = Landscape.of(SpikedSLR(noise=0), Attention(exp(x), None), {"L": length, "nu": 2})
    expected = 1 - 2 * e(q / 2 + sqrt(2) * m) + e(2 * q) * (e(2 * sqrt(2) * m) + length - 1)
    found, gradient = landscape.risk_and_gradient(at(landscape, m_kk=m, q_kk=q, m_vv=1.0, q_vv=1.0))
    assert found == pytest.approx(expected, rel=1e-11)
    by_q = -e(q / 2 + sqrt(2) * m) + 2 * e(2 * q) * (e(2 * sqrt(2) * m) + length - 1)
    assert gradient[landscape.names.index("q_kk")] == pytest.approx(by_q, rel=1e-11)


@pytest.mark.parametrize(
    "task", [SpikedSLR(length=2, noise=0), MaxSLR(length=2, noise=0), FAR], ids=lambda task: task.name
)
@pytest.mark.parametrize(
    ("kernel", "scale"), [(exp(x), 2), (cosh(2 * x), 1), (x**8, 1), (1 + exp(x**2 / 10), 1)], ids=str
)
def test_agrees_with_the_engine(task: Task, kernel: object, scale: int) -> None:
    attention, values = Attention(kernel, None), {} if task is FAR else {"nu": 3}
    found = least_over_values(Landscape.of(task, attention, values), float(scale))
    assert found == pytest.approx(float(evaluate(population_risk(task, attention), {**values, "a": scale})), abs=1e-10)


def test_a_weight_has_its_mean_where_relevant_tokens_are() -> None:
    """Regression: a mesh to 8.4 cut the tokens around 6."""
    attention = Attention(1 / (1 + exp(-x)), None)
    found = least_over_values(Landscape.of(FAR, attention, {}), 1.5)
    theory = evaluate(population_risk(FAR, attention), {"a": Rational(3, 2)})
    assert found == pytest.approx(float(theory), abs=1e-9)


def test_a_square_without_a_mean_is_refused() -> None:
    landscape = Landscape.of(SpikedSLR(noise=0), Attention(exp(x**2 / 10), None), {"L": 2, "nu": 2})
    assert landscape.risk(at(landscape, m_vv=1.0, q_kk=1.0, q_vv=1.0)) > 0
    with pytest.raises(ValueError, match="grows as fast"):
        landscape.risk(at(landscape, m_vv=1.0, q_kk=3.0, q_vv=1.0))


def test_a_square_beyond_where_weights_underflow_keeps_its_moment() -> None:
    """kappa^2 = exp(2 x - 1200) at scores of variance 400 has its mean at 40 deviations, where the weight exp(-800) underflows."""
    landscape = Landscape.of(SpikedSLR(noise=0), Attention(exp(x - 600), None), {"L": 2, "nu": 2})
    _, gradient = landscape.risk_and_gradient(at(landscape, q_kk=400.0, q_vv=1.0))
    assert gradient[landscape.names.index("q_vv")] == pytest.approx(2 * e(-400), rel=1e-11)


def test_what_is_smaller_than_any_float_needs_no_window() -> None:
    """Regression: exp(x - 2000) is 0 in float64, and its window was that of nothing: an IndexError."""
    landscape = Landscape.of(SpikedSLR(noise=0), Attention(exp(x - 2000), None), {"L": 2, "nu": 2})
    assert landscape.risk(at(landscape, q_kk=900.0, q_vv=1.0, m_vv=0.5)) == 1.0


def refined(landscape: Landscape, **order: float) -> tuple[float, float]:
    """The risk, and what a finer mesh moves it by, twice, as ``symslr landscape`` prints it."""
    risk, finer = (item.risk(at(landscape, **order)) for item in (landscape, landscape.refine(1.5)))
    return finer, 2 * abs(risk - finer) + 1e-13 * abs(finer)


@pytest.mark.parametrize("power", [2, 4, 12])
@pytest.mark.parametrize("scale", [1e-4, 1e-3, 1e-2, 0.1, 1.0])
def test_a_kernel_that_vanishes_at_short_keys(power: int, scale: float) -> None:
    """sigma does not depend on the length of a key, as x^n has none: 0.773 +- 4e-10 for 0.823 at a = 1e-3 and the like.

    Of two scores (r cos t, r sin t) it is cos^n/(cos^n + sin^n).
    """
    landscape = Landscape.of(SpikedSLR(noise=0), Attention(x**power), {"L": 2, "nu": 2})
    found, error = refined(landscape, m_vv=1.0, q_kk=scale**2, q_vv=1.0)
    square, _ = quad(lambda t: (1 + np.tan(t) ** power) ** -2 * 2 / np.pi, 0, np.pi / 2, epsabs=1e-13)
    assert abs(found - 2 * square) <= error
    assert error < 1e-3


@pytest.mark.parametrize("scale", [0.01, 0.04, 0.11, 0.13])
def test_steep_kernels_at_short_keys(scale: float) -> None:
    """Ten nodes do not see exp(40 x) at a = 0.11: the risk was a fiftieth of this."""
    landscape = Landscape.of(SpikedSLR(noise=0), Attention(exp(40 * x), None), {"L": 2, "nu": 2})
    found, error = refined(landscape, m_vv=1.0, q_kk=scale**2, q_vv=1.0)
    exact = 1 - 2 * e(800 * scale**2) + 2 * e(3200 * scale**2)
    assert abs(found - exact) <= error < 1e-9 * exact


@pytest.mark.parametrize("kernel", [1 + exp(300 * x), 1 + exp(100 * x)], ids=str)
def test_steep_kernels_under_a_normaliser(kernel: Expr) -> None:
    """1 + exp(300 x) at a = 0.05 had a risk of 0.770 +- 0.02 where it is 0.778: it is 1 + exp(x) at a = 15."""
    rate = kernel.args[1].args[0].coeff(x)
    steep, plain = (
        Landscape.of(SpikedSLR(noise=0), Attention(own, offset=1), {"L": 2, "nu": 2}) for own in (kernel, 1 + exp(x))
    )
    for scale in (0.5, 6.0, 15.0):
        own = float(scale / rate)
        found, error = refined(steep, m_kk=own, m_vv=0.8, q_kk=1.25 * own**2, q_vv=1.0)
        other, _ = refined(plain, m_kk=scale, m_vv=0.8, q_kk=1.25 * scale**2, q_vv=1.0)
        assert abs(found - other) <= error + 1e-11
        assert error < 1e-3


@pytest.mark.parametrize("kernel", [exp(1000 * x), 1 + tanh(300 * x)], ids=str)
@pytest.mark.parametrize("normaliser", ["sum", None])
def test_a_kernel_that_no_mesh_shows_is_refused(kernel: Expr, normaliser: str | None) -> None:
    """exp(1000 x) with a normaliser and an offset at a = 0.05 had a risk of 0.743 +- 3e-7 where it is 0.824."""
    with pytest.raises(ValueError, match="too steep"):
        Landscape.of(
            SpikedSLR(noise=0), Attention(kernel, normaliser, offset=int(normaliser == "sum")), {"L": 2, "nu": 2}
        )
