"""Identities that hold at a minimiser, term by term."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr

from symslr.algebra.polynomial import expand_polynomial, separate, split_sums
from symslr.algebra.rule import Rule
from symslr.expression.joint import AtMinimiser
from symslr.model.symbols import BOUND_IN_SEQUENCE


@final
class EvaluateTermwise(Rule):
    """Take sums, and factors that are the same everywhere, out of a value at a minimiser."""

    name = "values at the minimiser are added"
    statement = r"\left[\alpha A + \beta B\right]_\star = \alpha\left[A\right]_\star + \beta\left[B\right]_\star"
    conditions = r"$\alpha,\beta$ do not depend on the place"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, AtMinimiser), self._distribute)

    @staticmethod
    def _distribute(node: AtMinimiser) -> Expr:
        terms = []
        for term in Add.make_args(expand_polynomial(split_sums(node.value))):
            fixed, moving = separate(term, node.minimum.bound | BOUND_IN_SEQUENCE)
            terms.append(
                fixed * node.with_value(moving) if moving.free_symbols & node.minimum.bound else fixed * moving
            )
        return Add(*terms)
