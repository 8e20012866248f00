"""The Bayes risk beyond every mesh: the derived expansion with its proved remainder, held against meshes where both work."""

from __future__ import annotations

import mpmath
import pytest
from sympy import Rational

from symslr import MaxSLR, SpikedSLR, evaluate, softmax
from symslr.evaluation import CannotEvaluate, strong_signal
from symslr.evaluation.engine import symbols_of
from symslr.expression.value import Kind, Value
from symslr.theory import bayes_risk, minimal_risk

SPIKED, MAX = SpikedSLR(noise=0), MaxSLR(noise=0)


def on_meshes(monkeypatch: pytest.MonkeyPatch, expr: object, values: dict[str, object], digits: int) -> Value:
    """The value by the mesh that takes over below the border."""
    with monkeypatch.context() as patch:
        patch.setattr(strong_signal, "STRONG", {False: 10**9, True: 10**9})
        return evaluate(expr, values, digits=digits)


@pytest.mark.parametrize(
    ("task", "length", "nu", "digits"),
    [
        (SPIKED, 2, 10_000, 15),
        (SPIKED, 5, 12_345, 20),
        (SPIKED, 10**9, 10_000, 20),
        (MAX, 7, 310, 8),
    ],
)
def test_both_ways_agree_at_the_border(monkeypatch: pytest.MonkeyPatch, task, length, nu, digits) -> None:
    values = {"L": length, "nu": nu}
    far, near = (
        evaluate(bayes_risk(task), values, digits=digits),
        on_meshes(monkeypatch, bayes_risk(task), values, digits),
    )
    assert "expansion" in far.method
    assert "expansion" not in near.method
    assert far.digits >= digits
    assert abs(far.value - near.value) <= far.error + near.error


def test_a_pair_agrees_with_one_integral_at_the_border() -> None:
    """Of two tokens the posterior depends on the difference alone: the risk is E 2 s(1 - s), s = 1/(1 + e^(-nu d)), d ~ N(0, 2)."""
    found = evaluate(bayes_risk(MAX), {"L": 2, "nu": 300}, digits=15)
    assert "expansion" in found.method
    assert found.digits >= 15
    with mpmath.workdps(40):
        step = mpmath.mpf(1) / 12  # of nu d; both factors are analytic as far as pi from the line
        nodes = [step * k for k in range(-1200, 1201)]
        shares = [mpmath.npdf(y / 300, 0, mpmath.sqrt(2)) / (2 * mpmath.cosh(y / 2) ** 2) for y in nodes]
        assert abs(found.value - mpmath.fsum(shares) * step / 300) <= found.error


@pytest.mark.parametrize(("task", "nu"), [(SPIKED, 10_000), (MAX, 300), (MAX, 2000)])
def test_the_remainder_holds_at_every_order(monkeypatch: pytest.MonkeyPatch, task, nu) -> None:
    """Few terms differ from many by no more than their bound, and by more than nothing."""
    values = {"L": 4, "nu": nu}
    best = evaluate(bayes_risk(task), values, digits=15)
    for order in (1, 2, 3, 4):
        monkeypatch.setattr(strong_signal, "ORDERS", {False: (order,), True: (order,)})
        rough = strong_signal.by_expansion(bayes_risk(task), _given(task, values), 15, _compute(values))
        assert rough is not None
        assert abs(rough.value - best.value) <= rough.error + best.error
        assert rough.error < abs(rough.value)


def _given(task, values: dict[str, object]) -> dict[object, object]:
    return {symbol: values[symbol.name] for symbol in symbols_of(bayes_risk(task))[0]}


def _compute(values: dict[str, object]):
    return lambda part, digits: evaluate(
        part, {name: v for name, v in values.items() if name in map(str, part.free_symbols)}, digits=digits
    )


def test_a_risk_that_no_float_can_name() -> None:
    """(L-1) e^{-nu/4} sqrt(pi)/(2 sqrt nu) sum_k (-1)^k pi^2k |E_2k|/(k! (4 nu)^k), with mpmath."""
    found = evaluate(bayes_risk(SPIKED), {"L": 3, "nu": 10**7}, backend="arb")
    with mpmath.workdps(60):
        nu = mpmath.mpf(10) ** 7
        terms = [mpmath.eulernum(2 * k) * (mpmath.pi**2 / (4 * nu)) ** k / mpmath.factorial(k) for k in range(7)]
        series = sum(terms)
        expected = mpmath.exp(-nu / 4) * mpmath.sqrt(mpmath.pi / nu) * series
        assert abs(found.value - expected) <= found.error
        printed = found.as_json()
        assert abs(mpmath.mpf(printed["value"]) - expected) <= mpmath.mpf(printed["error"])
    assert found.kind is Kind.CERTIFIED
    assert found.digits >= 15


def test_the_error_of_a_tiny_number_as_printed() -> None:
    exact = mpmath.mpf(2) ** -30_001
    value = Value(exact, exact * mpmath.mpf("1e-12"), Kind.ESTIMATED, 10, "by hand")
    printed = value.as_json()
    with mpmath.workdps(50):
        off = abs(mpmath.mpf(printed["value"]) - exact) + exact * mpmath.mpf("1e-12")
        assert off <= mpmath.mpf(printed["error"]) <= off * mpmath.mpf("1.01")


def test_a_random_length_a_noise_and_softmax() -> None:
    law = SpikedSLR(length={2: Rational(1, 2), 6: Rational(1, 2)})
    found = evaluate(bayes_risk(law), {"nu": 20_000, "Delta": 0}, digits=15)
    one, other = (evaluate(bayes_risk(SPIKED), {"L": n, "nu": 20_000}, digits=15) for n in (2, 6))
    with mpmath.workdps(50):
        assert abs(found.value - (one.value + other.value) / 2) <= found.error + one.error + other.error
    by_softmax = evaluate(minimal_risk(SPIKED, softmax), {"L": 6, "nu": 20_000}, digits=15)
    assert by_softmax.value == other.value


def test_what_is_too_small_to_be_written_is_refused() -> None:
    with pytest.raises(CannotEvaluate, match="no digits can name"):
        evaluate(bayes_risk(SPIKED), {"L": 3, "nu": 10**300})


def test_no_proof_is_claimed_where_there_is_none() -> None:
    assert evaluate(bayes_risk(MAX), {"L": 3, "nu": 2000}, digits=15).kind is Kind.ESTIMATED
    with pytest.raises(CannotEvaluate):
        evaluate(bayes_risk(MAX), {"L": 3, "nu": 10**6}, digits=15, backend="arb")


def test_two_tokens_have_no_third_whose_weight_is_left_out() -> None:
    """E[1/(1 + e^D)], D ~ N(nu, 2 nu): a rule found nothing to rewrite at L = 2, and no mesh reaches so far."""
    found = evaluate(bayes_risk(SpikedSLR(length=2, noise=0)), {"nu": 10**6}, digits=15)
    with mpmath.workdps(40):
        nu = mpmath.mpf(10) ** 6
        terms = mpmath.quad(lambda t: mpmath.exp(-(t**2) / (4 * nu)) / (2 * mpmath.cosh(t / 2)), [-200, 0, 200])
        expected = mpmath.exp(-nu / 4) * terms / mpmath.sqrt(4 * mpmath.pi * nu)
        assert abs(found.value - expected) <= found.error < expected * mpmath.mpf(10) ** -14
