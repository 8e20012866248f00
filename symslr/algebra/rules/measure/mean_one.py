"""The weight of one token has mean 1: E_x[w(x)] = 1."""

from __future__ import annotations

from typing import final

from sympy import Expr, S

from symslr.algebra.rule import Rule
from symslr.expression.expectation import ScalarExpectation, rewrite_expectations
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import x


@final
class MeanOne(Rule):
    """The mean of the weight is 1 where it is a function of the relevant token alone.

    Args:
        law: the law with the weight w(chi_epsilon).
    """

    name = "mean of the weight"
    statement = r"\mathbb{E}_x[w(x)] = 1,\qquad g=w(\chi_\epsilon)"
    conditions = r"$w$ is the weight of a law of sequences, so $\mathbb{E}_0[g]=1$"

    def __init__(self, law: SequenceLaw) -> None:
        self.law = law

    def rewrite(self, expr: Expr) -> Expr:
        weight = self.law.relevant_factor
        if weight is None:
            raise self.refuse(f"the weight {self.law.weight} is not a function of the relevant token alone")
        mean = ScalarExpectation(weight, x, self.law.base)
        return rewrite_expectations(expr, lambda node: S.One if node == mean else node, ScalarExpectation)
