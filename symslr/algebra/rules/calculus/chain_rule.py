"""The chain rule in several variables: a derivative along a curve from the partial derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from sympy import Add, Derivative, Expr, Symbol

from symslr.algebra.bodies import check_not_caught
from symslr.algebra.rule import Rule
from symslr.expression.at import At


@final
class ChainRule(Rule):
    """Differentiate F(x(t)) through the coordinates x of F, at every t or at one.

    Args:
        outer: F, a formula in the coordinates; any node, as it is not looked into.
        inner: coordinate -> its formula in t; coordinates that are not named do not move.
    """

    name = "chain rule"
    statement = (
        r"\frac{\mathrm{d}}{\mathrm{d}t}F(x(t)) ="
        r" \sum_i \frac{\partial F}{\partial x_i}(x(t))\,\frac{\mathrm{d}x_i}{\mathrm{d}t}"
    )
    conditions = r"$F$ is differentiable at $x(t)$"

    def __init__(self, outer: Expr, inner: Mapping[Symbol, Expr]) -> None:
        self.outer = outer
        self.inner = dict(inner)
        for coordinate, formula in self.inner.items():
            check_not_caught(outer, coordinate, formula, self)
        self.along = outer.subs(self.inner, simultaneous=True)

    def rewrite(self, expr: Expr) -> Expr:
        if isinstance(expr, At) and self._is_ours(expr.body):
            return self._slopes(expr.body.variables[0], expr.place)
        if self._is_ours(expr):
            return self._slopes(expr.variables[0], {})
        return expr.func(*(self.rewrite(arg) for arg in expr.args)) if expr.has(Derivative) else expr

    def _is_ours(self, node: Expr) -> bool:
        return isinstance(node, Derivative) and node.expr == self.along and len(node.variables) == 1

    def _slopes(self, t: Symbol, here: Mapping[Symbol, Expr]) -> Expr:
        if t in self.outer.free_symbols:
            raise self.refuse(f"{t} is a coordinate of {self.outer} besides the parameter of the curve")
        place = {x: formula.subs(here, simultaneous=True) for x, formula in self.inner.items()}
        speeds = {x: formula.diff(t).subs(here, simultaneous=True) for x, formula in self.inner.items()}
        return Add(*(At.of(Derivative(self.outer, x), place) * speed for x, speed in speeds.items() if speed != 0))
