"""Replace a part of a formula by a name."""

from __future__ import annotations

from typing import final

from sympy import Expr, Sum, simplify

from symslr.algebra.polynomial import expand_polynomial
from symslr.algebra.rule import Rule
from symslr.expression.joint import JointMinimum


@final
class Abbreviate(Rule):
    """Replace a variable by an equal expression with a name in it, and multiply out.

    Args:
        variable: what is replaced; inside of a minimum over it, it stays.
        written: the expression; with the name written out it must be the variable again.
        name: the named node in it, which has a ``definition``.
    """

    name = "abbreviation"
    statement = r"t = a + b f \quad\text{where}\quad f = \frac{t - a}{b}"
    conditions = r"the name written out gives the variable back"

    def __init__(self, variable: Expr, written: Expr, name: Expr) -> None:
        self.variable, self.written = variable, written
        definition = getattr(name, "definition", None)
        if definition is None:
            raise self.refuse(f"{name} has no definition")
        if simplify(written.xreplace({name: definition()}) - variable) != 0:
            raise self.refuse(f"{written} is not {variable}")

    def rewrite(self, expr: Expr) -> Expr:
        if expr == self.variable:
            return self.written
        if isinstance(expr, JointMinimum) or not expr.has(self.variable):
            return expr
        made = expr.func(*(self.rewrite(arg) for arg in expr.args))
        return made.func(expand_polynomial(made.function), *made.limits) if isinstance(made, Sum) else made
