"""Replace a name by its definition."""

from __future__ import annotations

from typing import final

from sympy import Expr

from symslr.algebra.exponentials import merge_exponentials
from symslr.algebra.rule import Rule
from symslr.expression.folded import FOLDED
from symslr.expression.quantity import Quantity
from symslr.model.configuration import ConfigurationLaw


@final
class Unfold(Rule):
    """Write out activations, posteriors and quantities; ``Unfold(Posterior)`` writes out that kind alone.

    The weight of a law of configurations stays as it is: it says which law that is.
    """

    name = "definition"
    statement = r"\sigma_l = \frac{\kappa(a\chi_l)}{N},\qquad p_l = \frac{g(l,\chi)}{\sum_m g(m,\chi)}"

    def __init__(self, *kinds: type[Expr]) -> None:
        self.kinds: tuple[type[Expr], ...] = kinds or (*FOLDED, Quantity)

    def rewrite(self, expr: Expr) -> Expr:
        return merge_exponentials(self._unfolded(expr))

    def _unfolded(self, expr: Expr) -> Expr:
        """From the outside in: a quantity gives its definition, whose names a second application writes out."""
        if isinstance(expr, self.kinds):
            return expr.definition() if isinstance(expr, Quantity) else expr.doit()
        if not expr.has(*self.kinds) or isinstance(expr, ConfigurationLaw):
            return expr
        return expr.func(*(self._unfolded(arg) for arg in expr.args))
