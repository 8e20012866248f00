"""A quantity of the theory: one formula, one object. It prints folded, unfolds with ``.doit()``, evaluates well."""

from __future__ import annotations

from typing import ClassVar

from sympy import Expr, latex


class Quantity(Expr):
    """Abstract: a named formula whose ``args`` are its parameters.

    A concrete quantity gives its ``definition`` and, where the definition cancels digits, an equal ``conditioned`` form
    (a sum of positive terms) that the evaluators use instead.
    """

    is_commutative = True
    is_real = True
    source: ClassVar[str]

    def definition(self) -> Expr:
        """The formula as one writes it in a paper."""
        raise NotImplementedError

    def conditioned(self) -> Expr:
        """An equal formula that keeps relative accuracy; the definition unless said otherwise."""
        return self.definition()

    def doit(self, **hints: object) -> Expr:
        return self.definition()

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {latex(self)} = {latex(self.doit())}$"


def conditioned(expr: Expr) -> Expr:
    """``expr`` with every quantity replaced by its well-conditioned form."""
    return expr.replace(lambda node: isinstance(node, Quantity), lambda node: conditioned(node.conditioned()))
