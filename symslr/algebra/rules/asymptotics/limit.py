"""Evaluate a limit that stands unevaluated in a formula."""

from __future__ import annotations

from typing import final

from sympy import AccumBounds, Expr, Limit, nan

from symslr.algebra.polynomial import on_letters
from symslr.algebra.rule import Rule
from symslr.expression.expectation import Expectation


@final
class TakeLimit(Rule):
    """Evaluate ``Limit(formula, variable, point)`` of an elementary formula; means that stand still in it are letters."""

    name = "limit"
    statement = r"\lim_{t\to t_0} F(t)"
    conditions = r"$F$ is an elementary function of $t$ near $t_0$"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, Limit), self._take)

    def _take(self, node: Limit) -> Expr:
        formula, variable, *where = node.args
        if any(variable in mean.free_symbols for mean in formula.atoms(Expectation)):
            raise self.refuse("an expectation stands inside the limit and moves in it; reduce it to a formula first")
        try:
            value = on_letters(lambda inner: Limit(inner, variable, *where).doit(), formula, (Expectation,))
        except ValueError as reason:  # it differs from side to side
            raise self.refuse(str(reason)) from reason
        if value.has(Limit, AccumBounds, nan):
            raise self.refuse(f"SymPy finds no limit of {node.args[0]}")
        return value
