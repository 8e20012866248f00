"""Exactly one token is the largest."""

from __future__ import annotations

from typing import final

from sympy import Expr, S, Sum

from symslr.algebra.rule import Rule
from symslr.model.largest import IsLargest


@final
class OneIsLargest(Rule):
    """The indicators that a token is the largest sum to 1."""

    name = "one token is the largest"
    statement = r"\sum_l \mathbf{1}_{\chi_l=\max_m\chi_m} = 1"
    conditions = r"the tokens have a density, so that ties have probability zero"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(_is_whole_sum, lambda total: S.One)


def _is_whole_sum(expr: Expr) -> bool:
    if not isinstance(expr, Sum) or len(expr.limits) != 1:
        return False
    index, *ends = expr.limits[0]
    mark = expr.function
    return isinstance(mark, IsLargest) and mark.args[1] == index and ends == [1, mark.args[2]]
