"""Widths that suffice: the ends of the interval against the exact law of networks of that width, and the routes in order."""

from dataclasses import replace
from itertools import pairwise
from math import ceil, floor, log

import pytest
from sympy import Rational

from symslr.evaluation.separation import NeuronLaw
from symslr.evaluation.separation.widths import sufficient_widths
from symslr.model.separation import Separation, separation

BETWEEN = separation(n=256, d=66, t=4, a0=0.05, a1=1.1, b=0.2, c=0.8, m=52)
"""A neuron is bad often enough for wide networks to fail."""


def failure(parameters: Separation, width: int) -> float:
    return float(NeuronLaw(replace(parameters, m=width)).fixed_row.complement())


@pytest.mark.parametrize("delta", [0.1, 0.01])
def test_ends_of_the_exact_interval(delta: float) -> None:
    least, most = sufficient_widths(BETWEEN, delta).exact
    assert failure(BETWEEN, least) <= delta < failure(BETWEEN, least - 1)
    assert failure(BETWEEN, most) <= delta < failure(BETWEEN, most + 1)


def test_routes_lie_inside_one_another() -> None:
    """Hoeffding's interval within the union bound's within the exact one; the union bound's ends are those of two logarithms."""
    for delta in (0.2, 0.1, 0.01):
        found = sufficient_widths(BETWEEN, delta)
        routes = [route for route in (found.hoeffding, found.union, found.exact) if route is not None]
        for inner, outer in pairwise(routes):
            assert outer[0] <= inner[0]
            assert inner[1] <= outer[1]
        law = NeuronLaw(BETWEEN)
        bad, useful = float(law.single(law.bad)), float(law.single(law.useful))
        assert found.union == (ceil(log(2 / delta) / (bad + useful)), floor(delta / 2 / bad))


def test_nothing_suffices_or_anything_wide_does() -> None:
    assert sufficient_widths(BETWEEN, 0.001).exact is None
    silent = separation(n=128, d=66, t=2, a0=0.01, a1=1.3, b=0.02, c=0.95, m=3)
    law = NeuronLaw(silent)
    assert law.single(law.bad).is_zero
    found = sufficient_widths(silent, 0.01)
    assert (found.exact[1], found.union[1]) == (None, None)
    assert failure(silent, found.exact[0]) <= 0.01 < failure(silent, found.exact[0] - 1)


def test_a_small_mark_needs_a_wide_network() -> None:
    """a1 = 0.7 fails at m = 52, where a neuron is rarely useful, and not at m = 285."""
    small = replace(BETWEEN, a1=Rational(7, 10))
    least, _ = sufficient_widths(small, 0.1).exact
    assert 52 < least == 285
    assert failure(small, least) <= 0.1 < failure(small, 52)


def test_classes() -> None:
    assert sufficient_widths(BETWEEN, 0.01).classes == pytest.approx(8 * log(5200), rel=1e-12)


@pytest.mark.parametrize("delta", [0, 1, -0.1, 2])
def test_delta_is_a_probability(delta: float) -> None:
    with pytest.raises(ValueError, match=r"delta: found .*; expected a probability of failure inside"):
        sufficient_widths(BETWEEN, delta)
