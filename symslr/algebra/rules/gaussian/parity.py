"""The mean of an odd function under a symmetric law is 0, exactly: no quadrature has to find that out."""

from __future__ import annotations

from typing import final

from sympy import Expr, S

from symslr.algebra.growth import exists
from symslr.algebra.rule import Rule
from symslr.expression.expectation import ScalarExpectation, rewrite_expectations
from symslr.model.symbols import x


@final
class Parity(Rule):
    """E_x[f(x)] = 0 where f(-x) = -f(x) and the law is symmetric."""

    name = "parity"
    statement = r"\mathbb{E}_x[f(x)] = 0 \quad\text{where } f(-x) = -f(x)"
    conditions = r"$p(-x) = p(x)$; the mean exists"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._without_odd, ScalarExpectation)

    def _without_odd(self, node: ScalarExpectation) -> Expr:
        law, t = node.law, node.variable
        symmetric = law.lower == -law.upper and law.density.subs(x, -x) == law.density
        odd = symmetric and node.body.subs(t, -t) == -node.body
        return S.Zero if odd and exists(node) == S.true else node
