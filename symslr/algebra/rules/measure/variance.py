"""A mean square is the square of the mean and a variance."""

from __future__ import annotations

from typing import final

from sympy import Expr

from symslr.algebra.rule import Rule
from symslr.expression.expectation import ScalarExpectation, rewrite_expectations


@final
class SplitVariance(Rule):
    """Write E[A^2] over one variable as E[A]^2 + E[(A - E A)^2]."""

    name = "mean square and variance"
    statement = r"\mathbb{E}[A^2] = \mathbb{E}[A]^2 + \mathbb{E}\left[(A-\mathbb{E}A)^2\right]"
    conditions = r"$A$ is square integrable"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._split, ScalarExpectation)

    def _split(self, node: ScalarExpectation) -> Expr:
        base, power = node.body.as_base_exp()
        if power != 2 or base.has(ScalarExpectation):
            return node
        mean = node.with_body(base)
        return mean**2 + node.with_body((base - mean) ** 2)
