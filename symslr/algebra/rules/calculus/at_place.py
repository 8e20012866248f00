"""Substitute values into a formula after its derivatives have been taken."""

from __future__ import annotations

from functools import lru_cache
from typing import final

from sympy import Derivative, Expr, simplify

from symslr.algebra.bodies import check_not_caught
from symslr.algebra.rule import Rule
from symslr.expression.at import At


@final
class PutInPlace(Rule):
    """Replace symbols by the values that they have at a place; slopes that are yet to be taken keep theirs."""

    name = "values put in"
    statement = r"\left[F(x)\right]_{x=y} = F(y)"

    def rewrite(self, expr: Expr) -> Expr:
        if isinstance(expr, At):
            return self._put_in(expr)
        return expr.func(*(self.rewrite(arg) for arg in expr.args)) if expr.has(At) else expr

    def _put_in(self, node: At) -> Expr:
        place = {symbol: _simplified(value) for symbol, value in node.place.items()}
        slopes = {slope for slope in node.body.atoms(Derivative) if not place.keys().isdisjoint(slope.variables)}
        if slopes:
            return At.of(node.body, place)
        for symbol, value in place.items():
            check_not_caught(node.body, symbol, value, self)
        return self.rewrite(node.body.subs(place, simultaneous=True))


@lru_cache(maxsize=1024)
def _simplified(value: Expr) -> Expr:
    """One place stands in many lines: the least key of a landscape, in all of its order parameters."""
    return simplify(value)
