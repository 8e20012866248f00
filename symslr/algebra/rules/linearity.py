"""The expectation of a sum is the sum of the expectations; what is not random leaves."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, expand

from symslr.algebra.expectation import Expectation, rewrite_expectations
from symslr.algebra.rule import Rule


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
        for term in Add.make_args(expand(node.body, power_exp=False, log=False, func=False)):
            fixed, random = term.as_independent(*node.bound, as_Add=False)
            terms.append(fixed * node.with_body(random))
        return Add(*terms)
