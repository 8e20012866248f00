"""A quantity of the theory: one formula, one object. It prints folded, unfolds with ``.doit()``, evaluates well."""

from __future__ import annotations

from typing import ClassVar

from sympy import Basic, Expr, latex

from symslr.expression.binding import bound_subs
from symslr.model.symbols import BOUND_IN_SEQUENCE


class Quantity(Expr):
    """Abstract: a named formula whose ``args`` are its parameters.

    A concrete quantity gives its ``definition`` and, where the definition cancels digits, an equal ``conditioned`` form
    (a sum of positive terms) that the evaluators use instead.
    """

    is_commutative = True
    is_real = True
    source: ClassVar[str]

    @property
    def bound(self) -> frozenset[Basic]:
        """Symbols in ``args`` that the formula integrates out, averages or minimises over."""
        return BOUND_IN_SEQUENCE

    @property
    def free_symbols(self) -> set[Basic]:
        return {s for s in super().free_symbols if s.is_Symbol} - self.bound

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        return bound_subs(self, self.bound, old, new)

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
