"""At a symmetric point the slope of a function is that of its odd part, so that an even function has none."""

from __future__ import annotations

from typing import final

from sympy import Derivative, Expr, S, Symbol

from symslr.algebra.rule import Rule
from symslr.expression.at import At


@final
class SlopeOfOddPart(Rule):
    """Where several variables are 0, write the slope in one of them as that of the odd part in all of them."""

    name = "slope of the odd part"
    statement = (
        r"\frac{\partial F}{\partial u_i}(0) ="
        r" \frac12\,\frac{\partial}{\partial u_i}\Big[F(u)-F(-u)\Big]_{u=0}"
    )
    conditions = r"$F$ is differentiable at $u=0$"

    def __init__(self, *variables: Symbol) -> None:
        self.variables = variables

    def rewrite(self, expr: Expr) -> Expr:
        if isinstance(expr, At) and isinstance(expr.body, Derivative):
            return self._odd(expr)
        return expr.func(*(self.rewrite(arg) for arg in expr.args)) if expr.has(At) else expr

    def _odd(self, node: At) -> Expr:
        slope, place = node.body, node.place
        if len(slope.variables) != 1 or slope.variables[0] not in self.variables:
            return node
        if any(place.get(variable) != 0 for variable in self.variables):
            raise self.refuse(f"{node} is not taken where {', '.join(map(str, self.variables))} vanish")
        mirrored = slope.expr.subs({variable: -variable for variable in self.variables})
        return S.Half * At.of(Derivative(slope.expr - mirrored, *slope.variables), place)
