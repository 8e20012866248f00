"""The logarithm of a product."""

from __future__ import annotations

from typing import final

from sympy import Expr, expand_log, log

from symslr.algebra.rule import Rule


@final
class ExpandLogarithm(Rule):
    """Write the logarithm of a product of positive factors as a sum, and log e^x as x for real x."""

    name = "logarithm of a product"
    statement = r"\log(ab) = \log a + \log b,\qquad \log e^x = x"
    conditions = r"$a,b>0$, $x$ real"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, log), expand_log)
