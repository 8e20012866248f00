"""Replace a name by its definition."""

from __future__ import annotations

from typing import final

from sympy import Expr

from symslr.algebra.folded import FOLDED
from symslr.algebra.quantity import Quantity
from symslr.algebra.rule import Rule


@final
class Unfold(Rule):
    """Write out activations, posteriors and quantities; ``Unfold(Posterior)`` writes out that kind alone."""

    name = "definition"
    statement = (
        r"\sigma_l = \frac{\kappa(a\chi_l)}{N},\qquad p_l = \frac{g(l,\chi)}{\sum_m g(m,\chi)}"
    )

    def __init__(self, *kinds: type) -> None:
        self.kinds = kinds or (*FOLDED, Quantity)

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, self.kinds), lambda node: node.doit())
