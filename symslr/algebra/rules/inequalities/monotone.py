"""A minimum of exponentials is the exponential of the minimum; half a sum of exponentials is a hyperbolic cosine."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, cosh, exp, powsimp

from symslr.algebra.rule import Rule
from symslr.expression.folded import Minimum


@final
class ExponentialOfMinimum(Rule):
    """Take the exponential out of a minimum: it increases."""

    name = "exponential of a minimum"
    statement = r"\min_t e^{f(t)}=e^{\min_t f(t)}"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda e: isinstance(e, Minimum), self._outside)

    def _outside(self, node: Minimum) -> Expr:
        body = powsimp(node.body)
        if not isinstance(body, exp):
            raise self.refuse(f"found {node.body}; expected an exponential")
        return exp(node.func(body.args[0], node.variable))


@final
class HyperbolicCosine(Rule):
    """Write equal multiples of e^z and e^-z as a hyperbolic cosine."""

    name = "hyperbolic cosine"
    statement = r"e^z+e^{-z}=2\cosh z"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda e: isinstance(e, Add), self._paired)

    @staticmethod
    def _paired(node: Add) -> Expr:
        terms = list(node.args)
        for term in node.args:
            factor, power = term.as_independent(exp, as_Add=False)
            if not isinstance(power, exp):
                continue
            mirror = factor * exp(-power.args[0])
            if mirror in terms:
                terms.remove(term)
                terms.remove(mirror)
                terms.append(2 * factor * cosh(power.args[0]))
        return Add(*terms)
