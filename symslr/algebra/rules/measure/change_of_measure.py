"""E_g[h] = E_0[g h]."""

from __future__ import annotations

from typing import final

from sympy import Expr

from symslr.algebra.bodies import rewrite_sequences
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule
from symslr.algebra.weights import laws_in, mean_one
from symslr.expression.configuration import ConfigurationExpectation
from symslr.expression.expectation import SequenceExpectation, rewrite_expectations


@final
class ChangeOfMeasure(Rule):
    """Write the reweighting out: the weight g becomes a factor under the unweighted law."""

    name = "change of measure"
    statement = (
        r"\mathbb{E}_g[h] = \mathbb{E}_0\left[g(\epsilon,\chi)\, h\right],\qquad"
        r" \mathbb{E}_w[f] = \mathbb{E}_0\left[w(h,\chi)\, f\right]"
    )
    conditions = r"$g$ is the weight of the law, $\mathbb{E}_0[g]=1$"

    def rewrite(self, expr: Expr) -> Expr:
        def change(node: SequenceExpectation) -> Expr:
            law = node.law
            return SequenceExpectation(law.renamed(law.weight) * node.body, law.unweighted())

        def change_configurations(node: ConfigurationExpectation) -> Expr:
            return ConfigurationExpectation(node.law.weight * node.body, node.law.unweighted())

        made = rewrite_sequences(expr, change, self)
        return rewrite_expectations(made, change_configurations, ConfigurationExpectation)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """The weight has mean one: without that E_g of a constant is not the constant."""
        return mean_one(laws_in(expr), self)
