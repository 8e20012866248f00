"""The Chernoff bound: an indicator is at most an exponential."""

from __future__ import annotations

from typing import final

from sympy import Expr, Symbol, exp
from sympy.core.relational import GreaterThan, LessThan, StrictGreaterThan, StrictLessThan

from symslr.algebra.bound import Bound
from symslr.expression.folded import Minimum
from symslr.expression.signs import Indicator, SignExpectation


@final
class ChernoffBound(Bound):
    """Bound a probability P(X > y) by the best exponential moment."""

    name = "Chernoff bound"
    statement = r"\mathbb{P}(X>y)\le\min_{\lambda\ge0}\mathbb{E}\,e^{\lambda(X-y)}"
    conditions = (
        r"$X$ and $y$ are real, $\mathbb{E}\,e^{\lambda X}$ exists; from $1[X>y]\le e^{\lambda(X-y)}$ for $\lambda\ge0$"
    )
    source = "hoeffding1963"

    def __init__(self, rate: Symbol) -> None:
        if not rate.is_nonnegative:
            raise self.refuse(f"found the rate {rate}; expected a symbol that is nonnegative")
        self.rate = rate

    def upper(self, term: Expr) -> Expr | None:
        if not isinstance(term, SignExpectation) or not isinstance(term.body, Indicator):
            return None
        condition = term.body.condition
        if isinstance(condition, (StrictGreaterThan, GreaterThan)):
            excess = condition.lhs - condition.rhs
        elif isinstance(condition, (StrictLessThan, LessThan)):
            excess = condition.rhs - condition.lhs
        else:
            return None
        if term.has(self.rate):
            raise self.refuse(f"{self.rate} has a meaning already in {term}")
        return Minimum(term.with_body(exp(self.rate * excess)), self.rate)
