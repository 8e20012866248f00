"""Edges of the theory's conditions: where a formula stops to hold it is refused, and roots solve what they are roots of.

Every test here caught a wrong formula that the others had let pass (``make mutants``).
"""

from __future__ import annotations

import math

import pytest
from sympy import Rational, S, Sum, cosh, exp, oo, simplify, sqrt, tanh

from symslr.algebra.rule import RuleRefused
from symslr.evaluation import evaluate
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax, softmax1, softplus
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, a, b, c, margin, n, t
from symslr.model.symbols import Delta, L, chi, epsilon, l, m_kv, m_vk, nu, x
from symslr.model.task import Task
from symslr.theory import bayes_risk, minimal_risk, optimal_attention, population_risk, strong_signal
from symslr.theory.asymptotics import strong_signal_linear
from symslr.theory.landscape import LandscapeRisk
from symslr.theory.population import matched_scale
from symslr.theory.separation.boundary import boundary_mark, boundary_width
from symslr.theory.separation.definition import Column, Row
from symslr.theory.separation.region import limit_verdict
from symslr.theory.separation.shares import kernel_name, shares
from symslr.theory.separation.windows import lower_degree, taylor_rate, upper_degree

TIED = Task(1 + tanh(chi[epsilon]), L, S.Zero, name="tied")
HYPERBOLIC = Task(cosh(chi[epsilon]) * exp(-S.Half), L, S.Zero, name="hyperbolic")
COUPLED = Task(1 + tanh(chi[epsilon] + Sum(chi[l], (l, 1, L))), 2, S.Zero, name="coupled")


def test_series_need_an_exponential_ratio() -> None:
    for series in (strong_signal, strong_signal_linear):
        with pytest.raises(RuleRefused, match="no ratio between two positions that is exponential"):
            series(HYPERBOLIC, 1)


def test_closed_forms_are_used_where_there_are_some() -> None:
    spiked = SpikedSLR(noise=0)
    closed = minimal_risk(spiked, linear)
    assert closed.conditioned() == closed.closed()
    assert simplify(closed.closed() - L * (L - 1) / (L**2 + nu * (L - 1))) == 0
    for attention in (softmax1, softmax):
        assert minimal_risk(spiked, attention).closed() is None
    assert minimal_risk(spiked, softmax1).conditioned() == minimal_risk(spiked, softmax1).formula()


def test_one_token_alone_is_located_by_a_constant() -> None:
    one = SpikedSLR(length=1, noise=0)
    for attention in (softmax, linear):
        assert evaluate(minimal_risk(one, attention), {"nu": 2}, digits=6).value == 0
    for attention in (softmax1, softplus, Attention(2 + x**2)):
        assert minimal_risk(one, attention).conditioned() == bayes_risk(one).conditioned()
    odd = minimal_risk(one, Attention(x, normaliser=None))
    assert float(evaluate(odd, {"nu": 2}, digits=8).value) == pytest.approx(1 / 3, abs=1e-7)


def test_the_scale_of_the_posterior() -> None:
    sigma = population_risk(SpikedSLR(), softmax).args[0]
    assert matched_scale(sigma, SpikedSLR().law) == sqrt(nu)
    assert matched_scale(sigma, MaxSLR().law) == nu
    assert matched_scale(sigma, MaxSLR(oo).law) == oo
    assert matched_scale(sigma, TIED.law) is None
    assert matched_scale(population_risk(SpikedSLR(), softmax1).args[0], SpikedSLR().law) is None
    assert matched_scale(population_risk(TIED, optimal_attention(TIED)).args[0], TIED.law) == 1
    assert optimal_attention(TIED).kernel == 1 + tanh(x)
    with pytest.raises(ValueError, match="is no function of a token over its sum"):
        optimal_attention(COUPLED)


def test_roots_of_the_finite_boundary() -> None:
    share = shares(SOFTMAX_KERNEL)[Row.SIBLING, Column.OWN]
    for rows, blocks, heat in ((256, 4, 1.0), (4096, 16, 1.7)):
        width = boundary_width(rows, blocks, 0.1, heat)
        values = {"b": width, "beta": heat, "n": rows, "t": blocks}
        numbers = {symbol: values[str(symbol)] for symbol in share.free_symbols}
        assert width * float(share.subs(numbers)) == pytest.approx(0.1, abs=1e-12)
    with pytest.raises(ValueError, match="found none for b below 4"):
        boundary_width(64, 4, 5.0)
    for width, reach in ((0.9, 0.1), (0.1, 4.2)):
        with pytest.raises(ValueError, match="found none for a1"):
            boundary_mark(64, 60 if width > reach else 4, width, reach)
    with pytest.raises(
        ValueError, match="to reach it at the upper"
    ):  # at two rows a sum of shares short by 1e-6 is short
        boundary_mark(2, 1, 0.5, 4.5 - 1e-6)


def test_rates_of_polynomials() -> None:
    def growth(rate: float, score: float) -> float:
        return score if rate >= score else rate * (1 + math.log(score / rate))

    for top, rest, gain in ((2.5, 0.4, 1), (1.9, 0.1, 1.2)):
        rate = taylor_rate(Rational(str(top)), Rational(str(rest)), gain)
        assert growth(rate, top) - growth(rate, rest) == pytest.approx(gain, abs=1e-12)
    with pytest.raises(ValueError, match="expected more than 1"):
        taylor_rate(Rational(3, 2), Rational(1, 2))


def test_windows_are_the_stated_ones() -> None:
    numbers = {a: 1.1, b: 0.4, c: 0.7, n: 4096, t: 8, margin: 0.1}
    upper = math.log((4096 / 8 - 1) * 0.1 / (0.4 - 0.1)) / math.log(1 + 0.4**2 / 0.7**2)
    lower = math.log(0.1 * (4096 - 8) / (1.1 + 0.4 - 0.1)) / math.log(1 + (1.1**2 + 0.4**2) / 0.7**2)
    assert float(upper_degree().subs(numbers)) == pytest.approx(upper, rel=1e-12)
    assert float(lower_degree().subs(numbers)) == pytest.approx(lower, rel=1e-12)
    assert a not in upper_degree().free_symbols


def test_the_marked_row_of_the_limit_is_the_sum_of_its_two_shares() -> None:
    """Where neither the mark nor the class alone reaches the threshold, or one of them does without the other."""
    assert limit_verdict(a0=0.05, a1=1.1, b=0.4, theta=0.3, margin=0.9).separates is True
    assert limit_verdict(a0=0.05, a1=1.1, b=0.4, theta=0.3, margin=1.6).separates is False
    both = limit_verdict(a0=1.1, a1=1.2, b=0.4, theta=0.3, margin=1.3)
    assert (both.separates, "D0" in both.reason) == (False, True)


def test_a_number_put_into_the_risk_is_put_into_its_definition() -> None:
    """For a parameter of the task everywhere, for an order parameter where it stands as a place alone."""
    risk = LandscapeRisk.of(SpikedSLR(noise=0), linear)
    strong = risk.subs(nu, 2)
    assert strong == LandscapeRisk.of(SpikedSLR(nu=2, noise=0), linear)
    assert strong.definition() == risk.definition().subs(nu, 2)
    placed = risk.subs(m_kv, Rational(1, 5))
    assert placed == LandscapeRisk.of(SpikedSLR(noise=0), linear, {m_kv: Rational(1, 5)})
    assert placed.free_symbols == risk.free_symbols - {m_kv}
    assert m_kv not in placed.definition().free_symbols
    tied = risk.subs(nu, m_kv**2)
    assert tied.subs(m_kv, Rational(1, 5)).definition() == placed.subs(nu, Rational(1, 25)).definition()
    assert tied.definition() == risk.definition().subs(nu, m_kv**2)
    with pytest.raises(ValueError, match="m_kv has another value there"):
        placed.subs(m_vk, 0).subs(nu, m_kv**2 + m_vk**2)
    assert placed.subs(Delta, m_kv**2) == placed
    elsewhere = risk.subs(m_kv, nu)
    assert elsewhere.subs(nu, 2) == strong.subs(m_kv, 2)


def test_a_kernel_without_a_name_is_called_by_its_formula() -> None:
    assert [kernel_name(kernel) for kernel in (SOFTMAX_KERNEL, LINEAR_KERNEL, 1 + x**2)] == [
        "Softmax",
        "Linear attention",
        "Kernel $x^{2} + 1$",
    ]


@pytest.mark.parametrize("theta", [0, 1, Rational(3, 2), -1])
def test_theta_is_a_rate(theta: object) -> None:
    with pytest.raises(ValueError, match="expected 0 < theta < 1"):
        limit_verdict(a0=0.05, a1=1.1, b=0.2, theta=theta, margin=0.1)
