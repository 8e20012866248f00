"""The change of measure read backwards where the weight stands as a factor: E_0[g h] = E_g[h]."""

from __future__ import annotations

from typing import final

from sympy import Expr, Mul

from symslr.algebra.rule import Rule
from symslr.expression.expectation import SequenceExpectation, rewrite_expectations
from symslr.model.sequence_law import SequenceLaw


@final
class AbsorbWeight(Rule):
    """Take the factor g(epsilon, chi) into the law. Nothing is divided, so g may vanish.

    Args:
        law: the law with the weight g.
    """

    name = "change of measure, backwards"
    statement = r"\mathbb{E}_0\left[g(\epsilon,\chi)\,h\right] = \mathbb{E}_g[h]"
    conditions = r"$g$ is a factor of the body"

    def __init__(self, law: SequenceLaw) -> None:
        self.law = law

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._absorb, SequenceExpectation)

    def _absorb(self, node: SequenceExpectation) -> Expr:
        if node.law != self.law.unweighted():
            return node
        left = list(Mul.make_args(self.law.renamed(node.body)))
        for factor in Mul.make_args(self.law.renamed(self.law.weight)):
            if factor not in left:
                raise self.refuse(f"{node.body} does not hold the weight {self.law.weight} as a factor")
            left.remove(factor)
        return SequenceExpectation(Mul(*left), self.law)
