"""E[y | X]: average the label over the hidden position with the posterior of Bayes' rule."""

from __future__ import annotations

from typing import final

from sympy import Expr, Indexed, Poly, Sum

from symslr.algebra.bodies import at_token
from symslr.algebra.rule import Rule
from symslr.expression.folded import ConditionalMean, Posterior
from symslr.model.symbols import epsilon, l, xi


@final
class Conditioning(Rule):
    """Given X the only unknowns are epsilon, with posterior p_l, and the noise xi, with mean zero."""

    name = "conditioning on X"
    statement = (
        r"\mathbb{E}[y\mid X] = \sum_l p_l\, \mathbb{E}[y\mid X,\epsilon=l],\qquad"
        r" p_l = \frac{g(l,\chi)}{\sum_m g(m,\chi)}"
    )
    conditions = r"$\epsilon$ is uniform a priori; the label is affine in $\xi$ and $\mathbb{E}[\xi\mid X,\epsilon]=0$"
    source = "duranthon2025"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, ConditionalMean), self._average)

    def _average(self, node: ConditionalMean) -> Expr:
        label = node.label
        if not label.is_polynomial(xi) or Poly(label, xi).degree() > 1:
            raise self.refuse(f"the label {label} is not affine in the noise xi")
        if any(item.indices[0] != epsilon for item in label.atoms(Indexed)):
            raise self.refuse(f"the label {label} is not a function of the relevant token")
        given = at_token(label.subs(xi, 0), epsilon, l, self)
        return Sum(Posterior(l, node.law) * given, (l, 1, node.law.length))
