"""The forms of the population risk: which of them keeps its digits, what is minimised, and when there is a closed form."""

from __future__ import annotations

import pytest
from sympy import Rational, Symbol, erf

from symslr.algebra.equal_forms import EqualForms
from symslr.algebra.rule import RuleRefused
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Minimum
from symslr.expression.special import NormalCdf, OwensT, SkewNormal
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax, softmax1
from symslr.model.catalogue import erf as shifted_erf
from symslr.model.symbols import L, a, nu, x
from symslr.model.task import Task
from symslr.referee.referee import referee
from symslr.theory import minimal_risk, population_risk
from symslr.theory.population import PopulationRisk, least_chain

QUIET = SpikedSLR(noise=0)


def test_in_the_variance_form_all_but_the_norm_is_small_where_the_risk_is() -> None:
    """And the other form is the same number."""
    forms = population_risk(QUIET, softmax).conditioned().args
    values = {"L": 2, "nu": 60, "a": Rational(77, 10)}
    near_one = [
        sum(referee(mean, values, 6).value > Rational(1, 2) for mean in form.atoms(SequenceExpectation))
        for form in forms
    ]
    assert near_one == [1, 2]
    mild = {"L": 2, "nu": Rational(13, 10), "a": Rational(4, 5)}
    first, second, defined = (referee(form, mild, 10).value for form in (*forms, population_risk(QUIET, softmax)))
    assert float(first) == pytest.approx(float(second), rel=1e-9)
    assert float(first) == pytest.approx(float(defined), rel=1e-9)


def test_an_element_wise_risk_is_closed_where_its_moments_are() -> None:
    quantity = population_risk(QUIET, linear)
    assert isinstance(quantity, PopulationRisk)
    closed = quantity.conditioned()
    assert not closed.has(SequenceExpectation, EqualForms)
    mild = {"L": 3, "nu": Rational(13, 10), "a": Rational(2, 5)}
    first, defined = (referee(form, mild, 10).value for form in (closed, quantity))
    assert float(first) == pytest.approx(float(defined), rel=1e-9)


@pytest.mark.parametrize("task", [QUIET, MaxSLR(noise=0)], ids=lambda task: task.name)
def test_a_kernel_that_ends_in_a_tail_is_written_with_it(task: Task) -> None:
    """1 + erf(y) is a difference where y < 0; the distribution function of a Gaussian is not."""
    quantity = population_risk(task, shifted_erf)
    assert isinstance(quantity, PopulationRisk)
    form = quantity.conditioned()
    assert form.has(NormalCdf, SkewNormal)
    assert not form.has(erf, OwensT)


def test_the_least_risk_is_a_minimum_over_the_scale_and_then_the_parameters_of_the_kernel() -> None:
    shift = Symbol("s", real=True)
    least = minimal_risk(QUIET, Attention(x + shift, normaliser=None, bounds={shift: (-3, 3)}))
    outer = least.definition()
    assert isinstance(outer, Minimum)
    assert isinstance(outer.args[0], Minimum)
    assert (outer.args[1], outer.args[0].args[1], outer.args[0].args[0]) == (a, shift, least.risk)
    assert least.closed() is None
    with pytest.raises(RuleRefused, match="the minimum is over a, s: expected the scale a alone"):
        least_chain(least)
    assert least.bound >= {a, shift}


def test_closed_forms_are_those_of_polynomials_without_a_normaliser() -> None:
    for attention in (softmax, softmax1, Attention(1 + x**2)):
        assert minimal_risk(QUIET, attention).closed() is None
    found = minimal_risk(QUIET, linear).closed()
    assert found is not None
    assert found.subs({L: 3, nu: 4}) == Rational(6, 17)
