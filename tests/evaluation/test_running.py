"""Formulas of finished numbers, with special functions that are taken once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import skewnorm
from sympy import Rational, Symbol, exp, sqrt

from symslr.evaluation.nodes.composed import FormulaNode
from symslr.evaluation.nodes.node import Context, Node
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.numbers.compiled import compile_float
from symslr.evaluation.numbers.running import compiled_formula
from symslr.expression.special import NormalCdf, SkewNormal

h, y = Symbol("h", real=True), Symbol("y", real=True)


class Counted(Node):
    """A number that is computed when it is asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def evaluate(self, context: Context, scope: object) -> tuple[float, float]:
        self.asked += 1
        return 2.0, 1e-12


def test_special_functions_and_unfinished_numbers_in_one_formula() -> None:
    """A number that is still to be computed is, once, though special functions are looked up beside it."""
    part, later = SkewNormal(h, Rational(1, 2)), Counted()
    formula = compiled_formula(y * part + part**2 + NormalCdf(h * y) + exp(-y))
    value, error = FormulaNode(formula, {y: later}, ()).evaluate(Context(FLOAT, 1e-10), {h: (0.3, 0.0)})
    skew = skewnorm.cdf(0.3, 0.5)
    expected = 2 * skew + skew**2 + ndtr(0.6) + np.exp(-2.0)
    assert abs(value - expected) <= error + 1e-12
    assert error < 1e-10
    assert later.asked == 1


def test_a_number_beside_a_factor_0_is_not_computed() -> None:
    later = Counted()
    assert FormulaNode(compiled_formula(h * y), {y: later}, ()).evaluate(Context(FLOAT, 1e-10), {h: (0.0, 0.0)})[0] == 0
    assert later.asked == 0


def test_a_special_function_is_taken_once(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[object] = []
    plain = FLOAT.compile

    def compiled(symbols, exprs):
        own = plain(symbols, exprs)

        def counted(*arguments):
            taken.append(exprs[0].func)
            return own(*arguments)

        return counted

    monkeypatch.setattr(FLOAT, "compile", compiled)
    part = SkewNormal(h, Rational(1, 3))
    compiled_formula(part**2 + 1 / (1 + part) + sqrt(part))(FLOAT, {h: (0.4, 0.0)})
    assert taken.count(SkewNormal) == 1


@pytest.mark.parametrize("a", [0.1, 1.0, 30.0])
def test_both_sides_of_the_median_of_a_skew_normal_law(a: float) -> None:
    """Below it another rule is taken, place by place."""
    places = np.array([[-7.0, -1.0], [0.0, 2.0]])
    (found,) = compile_float([h], [SkewNormal(h, a)])(places)
    assert np.allclose(found, [[float(compile_float([h], [SkewNormal(h, a)])(p)[0]) for p in row] for row in places])
    assert np.allclose(found, skewnorm.cdf(places, a), rtol=1e-9, atol=1e-15)
