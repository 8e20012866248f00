"""The heat equation: a Gaussian convolution changes with its variance by half the second derivative."""

from __future__ import annotations

from typing import final

from sympy import Expr, Rational, simplify

from symslr.algebra.rule import Rule
from symslr.expression.named import NamedFunction


@final
class HeatEquation(Rule):
    """Trade a derivative in the overlap q for two in the field omega, in a mean over what the field leaves unknown.

    Z(omega, q) = E P(omega + sqrt(c - q) w) over a standard normal w is what a channel P says of a field that knows a part q.
    """

    name = "heat equation"
    statement = r"\partial_q Z = -\tfrac12\,\partial_\omega^2 Z"
    conditions = r"$Z(\omega,q)$ is a convolution with a Gaussian of variance $c-q$, which is verified"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, NamedFunction) and len(node.orders) == 2, self._trade)

    def _trade(self, node: NamedFunction) -> Expr:
        _, times = node.orders
        if not times:
            return node
        field, overlap = node.variables
        if simplify(node.formula.diff(overlap) + node.formula.diff(field, 2) / 2) != 0:
            raise self.refuse(f"{node.formula} does not solve the heat equation in {field} and {overlap}")
        return Rational(-1, 2) ** times * node.differentiated(2 * times, -times)
