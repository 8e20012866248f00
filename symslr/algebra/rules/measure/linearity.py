"""The expectation of a sum is the sum of the expectations, for sums over tokens too; what is not random leaves."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr

from symslr.algebra.polynomial import expand_polynomial, separate, split_sums
from symslr.algebra.rule import Rule
from symslr.expression.expectation import Expectation, rewrite_expectations


@final
class Linearity(Rule):
    """Expand the body and take sums and deterministic factors out of every expectation."""

    name = "linearity"
    statement = r"\mathbb{E}[\alpha A + \beta B] = \alpha\,\mathbb{E}[A] + \beta\,\mathbb{E}[B]"
    conditions = r"$\alpha,\beta$ are not random and the expectations exist"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._distribute)

    @staticmethod
    def _distribute(node: Expectation) -> Expr:
        terms = []
        for term in Add.make_args(expand_polynomial(split_sums(node.body))):
            fixed, random = separate(term, node.bound)
            terms.append(fixed * node.with_body(random))
        return Add(*terms)
