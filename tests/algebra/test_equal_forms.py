"""Equal formulas: shown as the first, evaluated by whichever keeps its digits."""

from __future__ import annotations

import pytest
from sympy import Symbol, cos, latex, sin

from symslr import evaluate
from symslr.algebra.equal_forms import EqualForms
from symslr.evaluation import CannotEvaluate

x = Symbol("x", real=True)


def test_it_shows_as_its_first_form() -> None:
    both = EqualForms(1 - cos(x) ** 2, sin(x) ** 2)
    assert both.is_real
    assert both.doit() == 1 - cos(x) ** 2
    assert str(both) == str(1 - cos(x) ** 2)
    assert latex(both) == latex(1 - cos(x) ** 2)


def test_the_form_that_keeps_its_digits_is_taken() -> None:
    cancelling, good = 1 - cos(x) ** 2, sin(x) ** 2
    values = {"x": 1e-6}
    for forms in ((cancelling, good), (good, cancelling)):
        assert evaluate(EqualForms(*forms), values, backend="numpy").digits >= 13
        assert evaluate(EqualForms(*forms), {"x": [0.5, 1e-6]}).digits >= 13


def test_a_form_without_a_value_leaves_the_other() -> None:
    assert float(evaluate(EqualForms(sin(x) / x, 1 - x**2 / 6), {"x": 0}, backend="numpy")) == 1.0
    with pytest.raises(CannotEvaluate):
        evaluate(EqualForms(1 / x, 2 / x), {"x": 0}, backend="numpy")
