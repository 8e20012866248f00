"""The errors of a landscape: meshes that converge slowly agree by chance, and sums that vanish are rounded by their terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from mpmath import mp, mpf
from sympy import Abs, exp

from symslr.evaluation.landscape import Landscape, OrderParameters
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR
from symslr.model.symbols import x

Array = np.ndarray


def pieces(ends: Array, count: int = 80) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights between neighbouring ends."""
    node, weight = np.polynomial.legendre.leggauss(count)
    half = np.diff(ends) / 2
    return np.concatenate([a + h * (node + 1) for a, h in zip(ends, half)]), np.outer(half, weight).ravel()


def by_polar_coordinates(kernel: Callable[[Array], Array], nu: float, order: OrderParameters) -> float:
    """The spiked risk at L = 2 and Delta = 0 by quadrature over the plane of both scores, whose axes no node crosses.

    Given the scores, what else a token has is Gaussian. A normalised kernel that vanishes at 0 depends there on the angle alone.
    """
    root, mean = np.sqrt(order.q_kk), np.sqrt(nu) * order.m_kk
    a, b = order.m_kv / root, order.q_kv / root
    radius, dr = pieces(np.linspace(0, abs(mean) + 9.5 * root, 5))
    angle, turn = pieces(np.linspace(0, 2 * np.pi, 5))
    first, second = radius[:, None] * np.cos(angle), radius[:, None] * np.sin(angle)
    g, h = (first - mean) / root, second / root
    mass = (radius * dr)[:, None] * turn * np.exp(-(g * g + h * h) / 2) / (2 * np.pi * order.q_kk)
    kappa = kernel(first), kernel(second)
    one, two = (part / sum(kappa) for part in kappa)
    known = a * g - one * (b * g + np.sqrt(nu) * order.m_vk) - two * b * h
    hit, norm, square = (float(np.sum(mass * part)) for part in (one, one**2 + two**2, known**2))
    return square + 1 - a * a - 2 * hit * (order.m_vv - a * b) + norm * (order.q_vv - b * b)


@pytest.mark.parametrize(
    ("kernel", "by_hand"),
    [(1 + Abs(x), lambda y: 1 + np.abs(y)), (x**4, lambda y: y**4), (x**2 * exp(x), lambda y: y * y * np.exp(y))],
    ids=["kink", "zero", "steep zero"],
)
def test_meshes_that_agree_by_chance_are_seen_through(kernel: object, by_hand: Callable[[Array], Array]) -> None:
    """Regression: 1 + |x| had risks 292 errors from the truth; twice what one finer mesh moved was the error."""
    rng, one = np.random.default_rng(5), Landscape.of(SpikedSLR(length=2, noise=0), Attention(kernel), {"nu": 1})
    for _ in range(40):
        order = OrderParameters.of_vectors(10 ** rng.uniform(-1.5, 0.5) * rng.normal(size=(2, 4)))
        found = one.confirmed(order.array)
        assert abs(found.risk - by_polar_coordinates(by_hand, 1.0, order)) < found.error + 1e-13
        assert found.error < 1e-2 * (1 + order.q_vv)


def test_a_gradient_has_its_own_errors() -> None:
    """At short keys slopes are further from the judge's than the risk is, and within their own errors."""
    rng, one = np.random.default_rng(1), Landscape.of(SpikedSLR(length=2, noise=0), Attention(1 + Abs(x)), {"nu": 1})
    step, beyond = 1e-5, 0
    for _ in range(4):
        order = OrderParameters.of_vectors(rng.normal(size=(2, 4)) * np.array([[0.1], [1.0]]))
        found = one.confirmed(order.array)
        for slope, error, name in zip(found.gradient, found.gradient_errors, one.names):
            at = [replace(order, **{name: getattr(order, name) + move}) for move in (step, -step)]
            up, down = (by_polar_coordinates(lambda y: 1 + np.abs(y), 1.0, own) for own in at)
            judged = (up - down) / (2 * step)
            assert abs(slope - judged) < error + 1e-8
            assert error < 0.05 * (1 + abs(slope)) + 1e-2
            beyond += abs(slope - judged) > 2 * found.error
    assert beyond > 5


def test_a_small_risk_is_rounded_by_its_terms() -> None:
    """Regression: risks near 0 were -8e-15 with errors of 4e-15: the rounding was taken in units of the sum."""
    one = Landscape.of(SpikedSLR(length=1, noise=0), Attention(exp(x), None), {"nu": 2})
    with mp.workdps(40):
        for key in np.geomspace(1e-9, 1e-2, 60):
            q, shift = mpf(float(key**2)), mp.sqrt(2) * mpf(float(key / 2))
            truth = 1 - 2 * mp.exp(q / 2 + shift) + mp.exp(2 * q + 2 * shift)
            found = one.confirmed(OrderParameters(key / 2, 1.0, 0, 0, float(key**2), 1.0, 0).array)
            assert abs(mpf(found.risk) - truth) < found.error
            assert found.error < 1e-12
