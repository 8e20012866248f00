"""Small rules for the tests of the check: one that is told what to return, right or wrong."""

from collections.abc import Callable
from typing import final

from sympy import Expr

from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule


@final
class Say(Rule):
    """Returns what it was told to."""

    name = "say"
    statement = "A = B"

    def __init__(
        self,
        rewrite: Callable[[Expr], Expr],
        remainder: Expr | None = None,
        hypotheses: tuple[Hypothesis, ...] = (),
    ) -> None:
        self.told, self.bound, self.assumed = rewrite, remainder, hypotheses

    def rewrite(self, expr: Expr) -> Expr:
        return self.told(expr)

    def remainder(self, expr: Expr) -> Expr:
        return super().remainder(expr) if self.bound is None else self.bound

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        return self.assumed
