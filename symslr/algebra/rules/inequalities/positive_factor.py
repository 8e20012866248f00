"""Divide both sides of an inequality by a positive factor."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, Gt, Mul
from sympy.core.relational import GreaterThan, LessThan, StrictGreaterThan, StrictLessThan

from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule
from symslr.algebra.rules.blocks.places import bound_symbols


@final
class PositiveFactor(Rule):
    """Divide both sides of every inequality of real numbers by ``factor``, which must not be negative or zero."""

    name = "positive factor"
    statement = r"vx>vy\iff x>y"
    conditions = r"$v>0$"

    def __init__(self, factor: Expr) -> None:
        self.factor = factor

    def rewrite(self, expr: Expr) -> Expr:
        known = self.factor.is_positive
        if known is False or (known is None and not self.factor.free_symbols):
            raise self.refuse(f"found the factor {self.factor}; expected a positive one")
        if bound_symbols(expr) & self.factor.free_symbols:
            raise self.refuse(f"the factor {self.factor} depends on an index of a sum, whose values it cannot know")
        found = {node: node.func(*(self._divide(side) for side in node.args)) for node in expr.atoms(*ORDER)}
        return expr.xreplace(found)

    def _divide(self, side: Expr) -> Expr:
        if side.is_Add:
            return Add(*(self._divide(term) for term in side.args))
        for sum_ in (f for f in side.args if f.is_Add):
            if all(self.factor in Mul.make_args(term) for term in sum_.args):
                return side / sum_ * self._divide(sum_)
        return side / self.factor

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        if self.factor.is_positive:
            return ()
        return (Hypothesis.of(Gt(self.factor, 0)),)


ORDER = (StrictGreaterThan, GreaterThan, StrictLessThan, LessThan)
