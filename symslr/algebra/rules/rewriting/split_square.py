"""Expand a squared distance around a third point."""

from __future__ import annotations

from typing import final

from sympy import Expr

from symslr.algebra.rule import Rule
from symslr.expression.expectation import Expectation, rewrite_expectations


@final
class SplitSquare(Rule):
    """Write the mean of (Y - F)^2 through a predictor P: where Y - P is orthogonal to F and P, Pythagoras is what is left.

    Args:
        prediction: F, as it stands in the square.
        through: P.
    """

    name = "square through a third point"
    statement = (
        r"\mathbb{E}(Y-F)^2 = \mathbb{E}(Y-P)^2 + \mathbb{E}(F-P)^2"
        r" + 2\left(\mathbb{E}[YP]-\mathbb{E}[P^2]\right) - 2\left(\mathbb{E}[YF]-\mathbb{E}[PF]\right)"
    )
    conditions = r"$Y$, $F$ and $P$ are square integrable"

    def __init__(self, prediction: Expr, through: Expr) -> None:
        self.prediction = prediction
        self.through = through

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._split)

    def _split(self, node: Expectation) -> Expr:
        base, power = node.body.as_base_exp()
        if power != 2:
            return node
        F, P, mean = self.prediction, self.through, node.with_body
        Y = base + F
        if Y.has(F):
            raise self.refuse(f"{base} is not a difference to {F}")
        crossed = mean(Y * P) - mean(P**2) - mean(Y * F) + mean(P * F)
        return mean((Y - P) ** 2) + mean((F - P) ** 2) + 2 * crossed
