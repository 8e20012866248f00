"""The change of measure read backwards where the weight stands as a factor: E_0[g h] = E_g[h]."""

from __future__ import annotations

from typing import final

from sympy import Expr, Mul

from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule
from symslr.algebra.weights import mean_one
from symslr.expression.configuration import ConfigurationExpectation
from symslr.expression.expectation import SequenceExpectation, rewrite_expectations
from symslr.model.configuration import ConfigurationLaw
from symslr.model.sequence_law import SequenceLaw


@final
class AbsorbWeight(Rule):
    """Take the factor g(epsilon, chi) into the law. Nothing is divided, so g may vanish.

    Args:
        law: the law with the weight g.
    """

    name = "change of measure, backwards"
    statement = r"\mathbb{E}_0\left[g(\epsilon,\chi)\,h\right] = \mathbb{E}_g[h]"
    conditions = r"$g$ is a factor of the body, $\mathbb{E}_0[g]=1$"

    def __init__(self, law: SequenceLaw | ConfigurationLaw) -> None:
        self.law = law

    def rewrite(self, expr: Expr) -> Expr:
        kind = SequenceExpectation if isinstance(self.law, SequenceLaw) else ConfigurationExpectation
        return rewrite_expectations(expr, self._absorb, kind)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """The weight has mean one: without that there is no law of which E_g is the mean."""
        return mean_one([self.law], self)

    def _absorb(self, node: SequenceExpectation | ConfigurationExpectation) -> Expr:
        if node.law != self.law.unweighted():
            return node
        renamed = SequenceLaw.renamed if isinstance(self.law, SequenceLaw) else _as_it_is
        left = list(Mul.make_args(renamed(node.body)))
        for factor in Mul.make_args(renamed(self.law.weight)):
            if factor not in left:
                raise self.refuse(f"{node.body} does not hold the weight {self.law.weight} as a factor")
            left.remove(factor)
        return type(node)(Mul(*left), self.law)


def _as_it_is(expr: Expr) -> Expr:
    return expr
