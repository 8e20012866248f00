"""The nodes of places, signs and minima open when they are long, and a negative sum keeps its brackets."""

from __future__ import annotations

from itertools import pairwise

from sympy import Abs, Add, Derivative, Function, Mul, Symbol, Tuple, symbols

from symslr.export.breaking import latex_lines
from symslr.export.measure import width
from symslr.export.printing import HousePrinter
from symslr.expression.at import At
from symslr.expression.sample import SampleExpectation
from symslr.expression.signs import Indicator, SignExpectation, omega
from symslr.model.symbols import L, chi, epsilon

letters = symbols("a:z", real=True)
LONG = Add(*(x * y for x, y in pairwise(letters)))


def test_minus_a_long_sum_is_bracketed() -> None:
    lines = latex_lines(Mul(-1, LONG, evaluate=False), 20, lead="=")
    assert lines[0].tex.startswith(r"= - \biggl(")
    assert lines[-1].tex.endswith(r"\biggr)")


def test_a_long_place_has_a_number_and_lines_of_its_own() -> None:
    slope = Derivative(Function("E")(*letters[:6]), letters[0])
    place = [Tuple(old, new) for old, new in zip(letters[:6], (s**2 + 1 for s in letters[10:16]))]
    lines = latex_lines(At(slope, *place) * LONG, 25)
    assert any("_{(1)}" in line.tex for line in lines)
    assert any(line.tex.startswith(r"(1):") for line in lines)
    assert all(width(line.tex) <= 25 for line in lines)


def test_expectations_are_not_said_to_be_over_the_length_when_broken() -> None:
    body = LONG * chi[epsilon]
    assert latex_lines(SampleExpectation(body, Symbol("P", integer=True), L), 25)[0].tex.startswith(
        r"\mathbb{E}\biggl["
    )
    assert r"\{\pm1\}" in HousePrinter().expectation_sign(SignExpectation(omega + letters[0], omega, L))


def test_a_long_absolute_value_has_bars() -> None:
    lines = latex_lines(Abs(LONG), 25)
    assert lines[0].tex.startswith(r"\biggl|")
    assert lines[-1].tex.endswith(r"\biggr|")


def test_a_long_indicator_opens() -> None:
    lines = latex_lines(Indicator(LONG > 0), 25)
    assert len(lines) > 1
    assert all(width(line.tex) <= 25 for line in lines)
