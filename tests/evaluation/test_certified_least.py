"""A proved local minimum over the scale: its enclosure holds the value that a search finds, and nothing is proved at an end."""

from __future__ import annotations

import mpmath
import pytest
from sympy import Expr, Rational, exp, log

from symslr.evaluation import evaluate, least_risk
from symslr.evaluation.errors import CannotEvaluate
from symslr.expression.value import Kind
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR, softmax
from symslr.model.symbols import a, x
from symslr.theory import bayes_risk, population_risk

TASK = SpikedSLR(2, 2, noise=0)


@pytest.mark.parametrize("kernel", [log(1 + exp(x)), 1 + x**4], ids=str)
@pytest.mark.parametrize("digits", [12, 20])
def test_the_enclosure_holds_values_beside_the_place(kernel: Expr, digits: int) -> None:
    attention = Attention(kernel)
    value, places = least_risk(TASK, attention, {}, digits=digits, backend="arb")
    assert value.kind is places["a"].kind is Kind.CERTIFIED
    assert value.digits >= digits
    place = Rational(str(mpmath.nstr(places["a"].value, digits // 2)))
    beside = evaluate(population_risk(TASK, attention, place), {}, digits=digits + 5)
    assert value.value - value.error <= beside.value + beside.error
    assert beside.value - value.value < mpmath.mpf(10) ** -(digits - 3)
    assert "not beyond" in value.method


def test_softmax_attains_the_bayes_risk() -> None:
    attention = Attention(exp(x), name="own")
    value, places = least_risk(TASK, attention, {}, digits=15, backend="arb", bounds={a: (1.0, 2.0)})
    best = evaluate(bayes_risk(TASK), {}, digits=20)
    assert abs(value.value - best.value) <= value.error + best.error
    assert abs(places["a"].value - mpmath.sqrt(2)) <= places["a"].error
    assert softmax.kernel == attention.kernel


@pytest.mark.parametrize("interval", [(0.2, 0.6), (2.0, 3.0)])
def test_a_minimum_at_an_end_is_not_proved(interval: tuple[float, float]) -> None:
    with pytest.raises(CannotEvaluate, match="no minimum"):
        least_risk(TASK, Attention(1 + x**4), {}, digits=10, backend="arb", bounds={a: interval})


def test_a_zero_of_a_wrong_slope_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A derivative with the wrong sign has its zero at a largest value's place, not at a least one."""
    from symslr.evaluation.certified import least as own

    made = own.canonical
    monkeypatch.setattr(own, "canonical", lambda risk: -made(risk))
    with pytest.raises(CannotEvaluate, match="no minimum"):
        least_risk(TASK, Attention(1 + x**4), {}, digits=10, backend="arb", bounds={a: (0.5, 1.2)})
