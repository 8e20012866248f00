"""The change of measure read backwards: E_0[h] = E_g[h/g]."""

from __future__ import annotations

from typing import final

from sympy import Expr, Mul, expand_mul, latex

from symslr.algebra.bodies import rewrite_sequences
from symslr.algebra.exponentials import merge_exponentials
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.polynomial import expand_polynomial
from symslr.algebra.positivity import is_open, vanishes_on_null_set
from symslr.algebra.rule import Rule
from symslr.algebra.rules.measure.linearity import Linearity
from symslr.algebra.tokens import unfolded
from symslr.algebra.weights import mean_one
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Posterior
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import epsilon


@final
class Reweight(Rule):
    """Write an unweighted expectation under the law ``law``, and name the posterior where it appears."""

    name = "reweighting"
    statement = r"\mathbb{E}_0[h] = \mathbb{E}_g\left[\frac{h}{g(\epsilon,\chi)}\right]"
    conditions = r"$g>0$ almost surely, $\mathbb{E}_0[g]=1$"

    def __init__(self, law: SequenceLaw) -> None:
        self.law = law

    def rewrite(self, expr: Expr) -> Expr:
        if not is_open(self.law.weight) and not vanishes_on_null_set(self.law.weight):
            raise self.refuse(f"the weight {self.law.weight} can vanish, so it does not divide")
        inside = expr.replace(_is_scaled_expectation, _with_factors_inside)
        return Linearity().rewrite(rewrite_sequences(inside, self._reweight, self))

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """The weight has mean one, and one that is left open is positive."""
        positive = (Hypothesis(rf"${latex(self.law.weight)}>0$ almost surely"),) if is_open(self.law.weight) else ()
        return (*positive, *mean_one([self.law], self))

    def _reweight(self, node: SequenceExpectation) -> Expr:
        if node.law != self.law.unweighted():
            return node
        ratio = merge_exponentials(expand_mul(expand_mul(node.body) / self.law.renamed(self.law.weight)))
        name = Posterior(epsilon, self.law)
        posterior = unfolded(name, self.law.length)
        return SequenceExpectation(expand_polynomial(ratio).subs(posterior, name), self.law)


def _is_scaled_expectation(expr: Expr) -> bool:
    return isinstance(expr, Mul) and sum(isinstance(factor, SequenceExpectation) for factor in expr.args) == 1


def _with_factors_inside(product: Expr) -> Expr:
    (node,) = (factor for factor in product.args if isinstance(factor, SequenceExpectation))
    return node.with_body(product / node * node.body)
