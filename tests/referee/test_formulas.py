"""Formulas are read twice in balls, with steps of two lengths, and values are kept apart by their integers."""

import sys
from typing import Any

import pytest
from mpmath import mp, mpf
from sympy import Derivative, Expr, Rational, Sum, exp, sqrt

from symslr.check.numbers import Numbers
from symslr.check.points import Point
from symslr.expression.expectation import ScalarExpectation
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import L, l, m, nu, x
from symslr.referee import scope
from symslr.referee.referee import referee
from symslr.referee.work import TooCostly

module = sys.modules["symslr.referee.referee"]
VALUES = {"nu": Rational(5, 7)}


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The number types of the readings, as they come."""
    kinds: list[str] = []
    read = module._evaluate

    def counted(expr: Expr, values: Any, quadrature: Any, *others: Any) -> Any:
        kinds.append(type(quadrature.arithmetic).__name__)
        return read(expr, values, quadrature, *others)

    monkeypatch.setattr(module, "_evaluate", counted)
    return kinds


def test_a_formula_has_its_digits() -> None:
    found = referee(exp(nu) * sqrt(nu), VALUES, digits=30)
    assert found.method == "definition as a formula, balls"
    with mp.workdps(60):
        number = mpf(5) / 7
        assert abs(found.value - mp.exp(number) * mp.sqrt(number)) <= found.error <= mpf(10) ** -30


def test_what_takes_steps_is_read_twice_in_balls(readings: list[str]) -> None:
    """A difference quotient is no derivative: what the steps leave shows between two readings alone."""
    found = referee(Derivative(exp(9 * nu), nu), VALUES, digits=30)
    assert readings.count("Balls") == 2
    with mp.workdps(60):
        off = abs(found.value - 9 * mp.exp(mpf(45) / 7))
        assert mpf(10) ** -25 <= off <= found.error


def test_a_mean_beside_a_factor_that_is_zero_in_floats_alone() -> None:
    """The reading in floats sees a formula; the one in balls meets the mean and gives way to floats."""
    tiny = ScalarExpectation(exp(-(nu**2) * x**2), x, STANDARD_NORMAL)
    found = referee(1 + exp(-nu) * tiny, {"nu": 12000}, digits=30)
    assert abs(found.value - 1) <= found.error
    assert "long double" in found.method


@pytest.mark.parametrize("kept", [*range(2, 40), 2**17])
def test_values_are_kept_apart_by_their_integers(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often the known parts of expressions are forgotten."""
    monkeypatch.setattr(scope, "MOST_PARTS", kept)
    double = Sum(Sum(l * m**2 * exp(nu * (l - m)), (l, 1, L)), (m, 1, L))
    found = referee(double, {**VALUES, "L": 4}, digits=25)
    with mp.workdps(60):
        number = mpf(5) / 7
        places = range(1, 5)
        assert (
            abs(found.value - sum(i * k**2 * mp.exp(number * (i - k)) for i in places for k in places)) <= found.error
        )


@pytest.mark.parametrize("sharp", [True, False], ids=["balls", "floats"])
def test_a_number_of_floats_is_the_same_for_fewer_digits(
    sharp: bool, readings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start of a chain is read at the full digits, and at those of floats where it has no more."""

    def refused(*_: object) -> None:
        raise TooCostly("not here")

    if not sharp:
        monkeypatch.setattr(module, "_sharpened", refused)
    expr = ScalarExpectation(exp(nu * x), x, STANDARD_NORMAL)
    numbers = Numbers()
    full = numbers.at(expr, Point("", VALUES, 20))
    assert ("balls" in full.method) is sharp
    before = len(readings)
    again = numbers.at(expr, Point("", VALUES, 13))
    assert (len(readings) > before) is sharp
    assert (again == full) is not sharp
