"""Algebraic identities that change no value."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, final

from sympy import Expr, cancel, expand, factor, simplify, together

from symslr.algebra.denominators import cancelled
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.polynomial import OPAQUE, on_letters
from symslr.algebra.rule import Rule


@final
class Algebra(Rule):
    """Rewrite by ordinary algebra: ``how`` is one of expand, factor, together, cancel, simplify.

    Expectations, integrals and folded names are letters to it.
    """

    name = "algebra"
    statement = r"\text{expand, factor, cancel}"
    conditions = r"a factor that is cancelled is not zero"
    known: ClassVar[dict[str, Callable[[Expr], Expr]]] = {
        "expand": expand,
        "factor": factor,
        "together": together,
        "cancel": cancel,
        "simplify": simplify,
    }

    def __init__(self, how: str = "factor") -> None:
        if how not in self.known:
            raise ValueError(f"algebra: found {how!r}; expected one of {', '.join(self.known)}")
        self.how = how

    def rewrite(self, expr: Expr) -> Expr:
        return on_letters(self.known[self.how], expr, OPAQUE)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """Denominators that were cancelled are not zero."""
        return self.assuming(expr)[1]

    def assuming(self, expr: Expr) -> tuple[Expr, tuple[Hypothesis, ...]]:
        after = self.rewrite(expr)
        return after, cancelled(expr, after)
