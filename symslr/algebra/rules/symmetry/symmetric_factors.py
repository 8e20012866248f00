"""Normal form of sums over tokens: factors symmetric in the tokens are taken out of the sum."""

from __future__ import annotations

from typing import final

from sympy import Expr, factor
from sympy.core.function import Application

from symslr.algebra.bodies import rewrite_sequences
from symslr.algebra.polynomial import OPAQUE, on_letters
from symslr.algebra.rule import Rule
from symslr.algebra.tokens import NotSymmetric, unfolded
from symslr.expression.expectation import SequenceExpectation


@final
class SymmetricFactors(Rule):
    """Write the names out and take symmetric factors, such as normalisers, out of every sum over tokens."""

    name = "symmetric factors"
    statement = r"\sum_l \frac{h(\chi_l)}{S^k} = \frac{1}{S^k}\sum_l h(\chi_l),\qquad S=\sum_m w(\chi_m)"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_sequences(expr, self._collect, self)

    def _collect(self, node: SequenceExpectation) -> Expr:
        try:
            body = unfolded(node.body, node.law.length)
        except NotSymmetric as reason:
            raise self.refuse(str(reason)) from reason
        return node.with_body(on_letters(factor, body, (Application, *OPAQUE)))
