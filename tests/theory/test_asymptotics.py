"""Expansions to any order beside exact values: the error of n terms is that of the first one left out."""

from __future__ import annotations

import pytest
from sympy import Rational, S, Symbol, exp, log, sinh

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules import DropFromDenominator, Exchangeability
from symslr.evaluation import evaluate
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import ScalarLaw
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
@pytest.mark.parametrize(("length", "order", "power"), [(2, 3, 4), (3, 4, 4), (10, 5, 5)])
def test_on_max_doubling_nu_divides_the_error_by_a_power_of_two(
    length: int, order: int, power: int, predictor: str
) -> None:
    """At L = 2 the power nu^-3 vanishes, so three terms are as good as four. A wrong term spoils every later order."""
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


SLOPE = Symbol("s", positive=True)
LENGTHS = LengthLaw({2: Rational(1, 3), 5: Rational(2, 3)})


@pytest.mark.parametrize("task", [SpikedSLR(noise=0), MaxSLR(noise=0)], ids=lambda task: task.name)
def test_a_series_is_that_of_the_task_at_its_length(task: Task) -> None:
    """A number is put in, over a law of the length the series of the Bayes risk is averaged; linear attention's is another."""
    for series in (strong_signal, strong_signal_linear):
        assert series(task.with_length(3), 2) == series(task, 2).subs(L, 3)
        assert L in series(task, 2).free_symbols
    averaged = strong_signal(task.with_length(LENGTHS), 2).doit()
    of_two, of_five = (strong_signal(task, 2).subs(L, length) for length in (2, 5))
    assert averaged.equals((of_two + 2 * of_five) / 3)


def test_the_series_of_linear_attention_over_a_law_of_the_length_is_that_of_its_risk() -> None:
    task = SpikedSLR(noise=0).with_length(LENGTHS)
    exact = minimal_risk(task, linear).closed()
    assert exact is not None
    for order in (1, 2):
        found = strong_signal_linear(task, order)
        near, far = (float(((found / exact).doit() - 1).subs(nu, value)) for value in (10**4, 2 * 10**4))
        assert near / far == pytest.approx(2**order, rel=1e-2)


def test_the_mean_of_the_largest_key_is_expanded_at_one_length() -> None:
    with pytest.raises(ValueError, match="task max: found a law of the length; expected L or a number"):
        strong_signal_linear(MaxSLR(noise=0).with_length(LENGTHS), 1)


def test_at_one_token_there_is_no_error_to_expand() -> None:
    for task in (SpikedSLR(noise=0), MaxSLR(noise=0)):
        assert strong_signal(task.with_length(1), 2) == 0


def test_linear_attention_is_expanded_in_one_open_parameter() -> None:
    for slope in (S(2), SLOPE * Symbol("t", positive=True)):
        with pytest.raises(ValueError, match="expected one free parameter in it"):
            strong_signal_linear(Task(exp(slope * chi[epsilon] - slope**2 / 2)), 2)


def test_tokens_without_moments_in_closed_form_have_no_series() -> None:
    flat = Task(SLOPE * exp(SLOPE * chi[epsilon]) / sinh(SLOPE), base=ScalarLaw(S.Half, -1, 1), name="flat")
    with pytest.raises(ValueError, match="task flat: linear attention has no least risk in closed form"):
        strong_signal_linear(flat, 2)


def test_no_other_power_bounds_two_competitors_better() -> None:
    """The remainder decays as exp(-c nu), with the largest c at the power that the chain takes."""
    start = Derivation(competition(SpikedSLR(noise=0).law)).apply(Exchangeability())

    def rate(power: Rational) -> float:
        bound = start.apply(DropFromDenominator(power)).remainder
        assert bound.free_symbols == {L, nu}
        return float(-log(bound.subs({L: 3, nu: 2}) / bound.subs({L: 3, nu: 1})))

    best = rate(COMPETITION)
    assert all(rate(COMPETITION + step) < best for step in (Rational(1, 9), Rational(1, 99), -Rational(1, 99)))
