"""The brute force itself, against numbers that need no quadrature."""

from __future__ import annotations

import math

import pytest
from sympy import Abs, Integral, Rational, Sum, Symbol, exp, oo

from symslr.expression.expectation import LengthExpectation, ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Posterior
from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import laplace, normal
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, j, l, nu, x, xi, z
from tests.algebra.brute import brute

SPIKED = SpikedSLR().law


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_a_shifted_token_has_the_shifted_moments(length: int) -> None:
    body = chi[epsilon] ** 2 + z[epsilon] ** 2 * xi**4 if length < 4 else chi[epsilon] ** 2 + 3
    assert brute(SequenceExpectation(body, SPIKED), {L: length, nu: 0.8}) == pytest.approx(4.8, abs=5e-5)


def test_bayes_risk_of_two_tokens_is_the_published_number() -> None:
    error = SequenceExpectation(1 - Posterior(epsilon, SPIKED), SPIKED)
    assert brute(error, {L: 2, nu: 1}) == pytest.approx(0.324943297662434592, abs=1e-9)


def test_the_hidden_position_is_summed_over() -> None:
    assert brute(SequenceExpectation(epsilon, SequenceLaw(1, L)), {L: 3}) == pytest.approx(2, abs=1e-6)


def test_others_are_other_tokens() -> None:
    moment = SequenceExpectation(chi[epsilon] * chi[j] + chi[j] ** 2, SPIKED)
    assert brute(moment, {L: 2, nu: 0.8}) == pytest.approx(1, abs=1e-9)


def test_the_largest_of_two_and_three_normals() -> None:
    law = MaxSLR(nu=oo).law
    for length, mean in ((2, 1 / math.sqrt(math.pi)), (3, 1.5 / math.sqrt(math.pi))):
        assert brute(SequenceExpectation(chi[epsilon], law), {L: length}) == pytest.approx(mean, abs=2e-3)


def test_scalar_laws_and_nested_integrals() -> None:
    u, y = Symbol("u", positive=True), Symbol("y", real=True)
    assert brute(ScalarExpectation(x**2, x, laplace(1, 2)), {}, kinks=(1.0,), reach=4.5) == pytest.approx(9, abs=1e-6)
    below = Integral(exp(-(y**2) / 2), (y, -oo, x))
    assert brute(ScalarExpectation(below, x, normal()), {}) == pytest.approx(math.sqrt(math.pi / 2), abs=1e-8)
    assert brute(Integral(exp(-u) * ScalarExpectation(Abs(x), x, normal()), (u, 0, oo)), {}) == pytest.approx(
        math.sqrt(2 / math.pi), abs=1e-8
    )


def test_random_length() -> None:
    law = LengthLaw({1: Rational(1, 4), 3: Rational(3, 4)})
    size = SequenceExpectation(Sum(chi[l] ** 2, (l, 1, L)), SequenceLaw(1, L))
    assert brute(LengthExpectation(size, law), {}) == pytest.approx(2.5, abs=1e-6)
