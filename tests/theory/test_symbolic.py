"""Formulas that print: each is the quantity it is named by, and an exact value is made of elementary numbers alone."""

from __future__ import annotations

import pytest
from sympy import Expr, Integer, Integral, Rational, Sum, Symbol, exp, gamma, oo, sin, sqrt

from symslr.evaluation import evaluate
from symslr.expression.folded import Minimum
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax
from symslr.model.symbols import L, a, chi, epsilon, i, j, nu, x
from symslr.model.task import Task
from symslr.theory import bayes_risk, minimal_risk, population_risk
from symslr.theory.symbolic import LONGEST, Formula, bayes_formula, exact_value, least_formula, risk_formula

QUIET = SpikedSLR(noise=0)
SQUARE = Task(chi[epsilon] ** 2, noise=0, name="square")
ELEMENTWISE = Attention(1 + x**2, normaliser=None)
SHIFTED = Attention(x + Symbol("s", real=True), normaliser=None, bounds={Symbol("s", real=True): (-3, 3)})


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (nu + 1, Integer(3)),
        (Sum(nu, (i, 1, 4)), Integer(8)),
        (Sum(nu, (i, 3, 1000)), Integer(1996)),
        (Sum(i, (i, 1, 4)), None),
        (Sum(nu, (i, 1, 3), (j, 1, 4)), None),
        (nu + Symbol("q", positive=True), None),
        (oo * nu, None),
        (sin(nu), None),
        (gamma(nu + Rational(1, 3)), None),
        (Integral(exp(-(x**2)), (x, 0, 1)), None),
        (exp(nu) + sqrt(nu), exp(2) + sqrt(2)),
    ],
    ids=str,
)
def test_exact_values(expr: Expr, expected: Expr | None) -> None:
    assert exact_value(expr, {nu: Integer(2)}) == expected


def test_a_long_value_is_read_as_a_number() -> None:
    def long(terms: int) -> Expr:
        return sum((sqrt(p) for p in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)[:terms]), Integer(0)) * exp(nu)

    assert exact_value(long(4), {nu: Integer(2)}) is not None
    several = Sum(long(4), (i, 1, 2)) + sum((exp(sqrt(p)) / p for p in range(2, 2 + LONGEST)), Integer(0))
    assert exact_value(several, {nu: Integer(2)}) is None


@pytest.mark.parametrize("task", [SpikedSLR(), MaxSLR(noise=0), SQUARE], ids=lambda task: task.name)
def test_formulas_are_the_quantities(task: Task) -> None:
    """Each formula beside the quantity it is a formula of, as numbers."""
    where = {"L": 2, "nu": 1.3, "Delta": 0.2, "a": 0.4}
    found = {
        bayes_risk(task): bayes_formula(task),
        population_risk(task, linear): risk_formula(task, linear),
        population_risk(task, ELEMENTWISE, Rational(1, 3)): risk_formula(task, ELEMENTWISE, Rational(1, 3)),
    }
    for quantity, formula in found.items():
        names = {str(symbol): where[str(symbol)] for symbol in formula.expr.free_symbols}
        mine, known = (evaluate(side, names, digits=6).value for side in (formula.expr, quantity))
        assert float(mine) == pytest.approx(float(known), rel=1e-5)
        assert formula.chain.steps
        assert formula.chain.result == formula.expr


def test_a_chain_that_leaves_an_expectation_is_the_short_one() -> None:
    assert "E_g" in str(bayes_formula(QUIET).expr)
    assert len(bayes_formula(QUIET).chain.steps) < len(risk_formula(QUIET, linear).chain.steps)
    assert bayes_formula(SpikedSLR(nu=0, noise=0)).exact({L: Integer(5)}) == Rational(4, 5)


def test_the_least_risk_and_its_place() -> None:
    found = least_formula(QUIET, linear)
    values = {L: Integer(3), nu: Integer(4)}
    assert isinstance(found, Formula)
    place = found.exact_place(values)
    assert place == Rational(4, 3)
    assert found.exact(values) == risk_formula(QUIET, linear, place).exact(values) == Rational(6, 17)
    below, above = (risk_formula(QUIET, linear, place + step).exact(values) for step in (-1, 1))
    assert min(below, above) > found.exact(values)
    assert found.rules.count("minimisation") == 1


def test_without_a_stationary_place_the_minimum_is_the_formula() -> None:
    normalised = least_formula(QUIET, softmax)
    assert isinstance(normalised.expr, Minimum)
    assert (normalised.place, normalised.exact_place({})) == (None, None)
    (shift,) = SHIFTED.bounds
    parameter = least_formula(QUIET, SHIFTED)
    assert isinstance(parameter.expr, Minimum)
    assert parameter.expr.args[1] == a
    assert parameter.expr.args[0].args[1] == shift
    assert minimal_risk(QUIET, SHIFTED).variables == (a, shift)
    assert parameter.exact({L: Integer(3), nu: Integer(4)}) is None
