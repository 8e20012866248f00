"""Expansions to any order beside exact values: the error of n terms is that of the first one left out."""

from __future__ import annotations

import pytest

from symslr.algebra.rule import RuleRefused
from symslr.evaluation import evaluate
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear
from symslr.model.symbols import chi, epsilon
from symslr.model.task import Task
from symslr.theory import bayes_risk, minimal_risk, strong_signal, strong_signal_linear


def error(task: object, length: int, strength: int, order: int, predictor: str) -> float:
    """Expansion over exact value, less one."""
    risk, series = (
        (bayes_risk(task), strong_signal)
        if predictor == "bayes"
        else (minimal_risk(task, linear), strong_signal_linear)
    )
    where = {"L": length, "nu": strength}
    return float(evaluate(series(task, order), where, digits=12).value / evaluate(risk, where, digits=12).value - 1)


@pytest.mark.parametrize("predictor", ["bayes", "linear"])
@pytest.mark.parametrize(("length", "order", "power"), [(2, 3, 4), (3, 3, 3), (3, 4, 4), (10, 4, 4), (10, 5, 5)])
def test_on_max_doubling_nu_divides_the_error_by_a_power_of_two(
    length: int, order: int, power: int, predictor: str
) -> None:
    """At L = 2 the power nu^-3 vanishes, so three terms are as good as four."""
    task = MaxSLR(noise=0)
    strength = 60 if order == 3 else 30
    ratio = error(task, length, strength, order, predictor) / error(task, length, 2 * strength, order, predictor)
    assert ratio == pytest.approx(2**power, rel=0.1)


def test_on_spiked_linear_attention_has_a_geometric_series() -> None:
    task = SpikedSLR(noise=0)
    for order in (1, 2, 3):
        assert error(task, 3, 200, order, "linear") == pytest.approx(-((-9 / 400) ** order), rel=1e-9)


def test_a_weight_without_an_exponential_has_no_strong_signal() -> None:
    with pytest.raises(RuleRefused, match="no ratio between two positions that is exponential"):
        strong_signal_linear(Task(chi[epsilon] ** 2), 1)
