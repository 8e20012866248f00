"""Expansions to any order beside exact values: the error of n terms is that of the first one left out."""

from __future__ import annotations

import pytest
from sympy import Rational, log

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules import DropFromDenominator, Exchangeability
from symslr.evaluation import evaluate
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear
from symslr.model.symbols import L, chi, epsilon, nu
from symslr.model.task import Task
from symslr.theory import bayes_risk, minimal_risk, strong_signal, strong_signal_linear
from symslr.theory.asymptotics import COMPETITION
from symslr.theory.asymptotics import error as competition


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


def test_no_other_power_bounds_two_competitors_better() -> None:
    """The remainder decays as exp(-c nu), with the largest c at the power that the chain takes."""
    start = Derivation(competition(SpikedSLR(noise=0).law)).apply(Exchangeability())

    def rate(power: Rational) -> float:
        bound = start.apply(DropFromDenominator(power)).remainder
        assert bound.free_symbols == {L, nu}
        return float(-log(bound.subs({L: 3, nu: 2}) / bound.subs({L: 3, nu: 1})))

    best = rate(COMPETITION)
    assert all(rate(COMPETITION + step) < best for step in (Rational(1, 9), Rational(1, 99), -Rational(1, 99)))
