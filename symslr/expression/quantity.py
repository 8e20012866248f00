"""A quantity of the theory as a named formula, which expands with ``.doit()`` and has a form that evaluates well."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from sympy import Basic, Expr, latex

from symslr.expression.binding import bound_subs
from symslr.model.symbols import BOUND_IN_SEQUENCE


class Quantity(Expr):
    """Abstract: a named definition or postulate whose ``args`` are its parameters.

    A concrete quantity gives its ``definition``; where rules have derived more, its ``formula``; and where that cancels
    digits, an equal ``conditioned`` form (a sum of positive terms) that the evaluators use instead.

    Attributes:
        source: bibliography key and place.
        domain: which values of the parameters are meant, a phrase; empty where all that the symbols allow are.
        postulate: what is assumed, a sentence, where the definition is no theorem's consequence but a conjecture; else empty.
    """

    is_commutative = True
    is_real = True
    source: ClassVar[str]
    domain: ClassVar[str] = ""
    postulate: ClassVar[str] = ""

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
        """What the name stands for, written with the model and the expression nodes alone: no rule is run."""
        raise NotImplementedError

    def formula(self) -> Expr:
        """What rules have derived from the definition; the definition itself unless said otherwise."""
        return self.definition()

    def conditioned(self) -> Expr:
        """An equal formula that keeps relative accuracy; the derived formula unless said otherwise."""
        return self.formula()

    def derivation(self) -> Any:
        """The chain of rules from the definition to the formula.

        Raises:
            ValueError: where the formula is the definition.
        """
        raise ValueError(f"derivation: {self} has none; its formula is its definition")

    def doit(self, **hints: object) -> Expr:
        return self.formula()

    def __repr__(self) -> str:
        return f"{self} = {self.doit()}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {latex(self)} = {latex(self.doit())}$"


def sources_of(expr: Basic) -> tuple[str, ...]:
    """Key and place of the source of every definition that an expression names, each once."""
    return tuple(dict.fromkeys(node.source for node in sorted(expr.atoms(Quantity), key=str)))


@lru_cache(maxsize=512)
def conditioned(expr: Expr) -> Expr:
    """``expr`` with every quantity replaced by its well-conditioned form."""
    return expr.replace(lambda node: isinstance(node, Quantity), lambda node: conditioned(node.conditioned()))
