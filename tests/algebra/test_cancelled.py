"""What a rewriting cancels is said not to be zero, in the letters of the line and in no others."""

from __future__ import annotations

import pytest
from sympy import Expr, Symbol, exp, sqrt
from sympy.abc import p

from symslr.algebra.rules import Algebra, Collect, ConstantEvenPart
from symslr.expression.expectation import ScalarExpectation
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import x

c, s = Symbol("c", real=True), Symbol("s", real=True)
ROOT = sqrt(s)


@pytest.mark.parametrize(
    ("body", "mean", "said"),
    [
        ((c + x) / c, 1, ["$c \\neq 0$"]),
        ((c * ROOT + ROOT * x) / (c * ROOT), 1, ["$c \\neq 0$", "$s \\neq 0$"]),
        ((c**2 + c * x) / (2 * c * ROOT), c / (2 * ROOT), ["$c \\neq 0$"]),
        ((c + x) / (c - 1) / (c + ROOT) * (c - 1), c / (c + ROOT), []),
        (x * exp(-(x**2)) + 1 / (1 + exp(ROOT * x)), 1 / sqrt(4), []),
        (1 / (ROOT + ROOT * exp(ROOT * x)), 1 / (2 * ROOT), []),
        ((c**2 - 1 + x) / (c - 1), c + 1, ["$c \\neq 1$"]),
    ],
    ids=str,
)
def test_of_the_constant_even_part(body: Expr, mean: Expr, said: list[str]) -> None:
    node = ScalarExpectation(body, x, STANDARD_NORMAL)
    assert ConstantEvenPart().rewrite(node) == mean
    assert [hypothesis.text for hypothesis in ConstantEvenPart().hypotheses(node)] == said


def test_of_algebra() -> None:
    before = (c**2 - s**2) / ((c - s) * (1 + s**2)) * ScalarExpectation(exp(x), x, STANDARD_NORMAL)
    for rule in (Algebra("cancel"), Collect()):
        assert [hypothesis.text for hypothesis in rule.hypotheses(before)] == [r"$c \neq s$"]
        assert rule.hypotheses(rule.rewrite(before)) == ()
    mean = ScalarExpectation(x**2 + p, x, STANDARD_NORMAL)
    (found,) = Algebra("cancel").hypotheses((mean**2 + mean) / mean)
    assert found.text.endswith(r"\ne0$")
    assert r"\mathbb{E}" in found.text
