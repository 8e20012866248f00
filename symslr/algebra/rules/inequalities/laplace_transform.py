"""Upper bounds on the Laplace transform of a sum of nonnegative variables: its lower tail, from two moments."""

from __future__ import annotations

from typing import final

from sympy import Expr, Ge, Le, Pow, exp, expand_power_base

from symslr.algebra.bound import Bound
from symslr.algebra.existence import check_existence
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.positivity import is_nonnegative
from symslr.expression.expectation import Expectation, ScalarExpectation


@final
class PowerBelowExponential(Bound):
    """Bound a power of a mean by an exponential: the logarithm lies below its tangent at 1."""

    name = "power below an exponential"
    statement = r"y^n\le e^{n(y-1)}"
    conditions = r"$y\ge0$, $n\ge0$"

    def upper(self, term: Expr) -> Expr | None:
        if not isinstance(term, Pow) or not isinstance(term.base, Expectation):
            return None
        if not (is_nonnegative(term.base.body) and term.exp.is_nonnegative):
            raise self.refuse(f"{term} is not known to be a nonnegative power of a nonnegative mean")
        return exp(term.exp * (term.base - 1))


@final
class TwoMoments(Bound):
    """Bound a Laplace transform by the first moment and one of order at most two.

    e^{-y} <= 1 - y + y^p for y >= 0 and 1 <= p <= 2: for y <= 1 because y^p >= y^2/2, above because y^p >= y.

    Args:
        order: p.
    """

    name = "Laplace transform below two moments"
    statement = r"\mathbb{E}\,e^{-Y}\le1-\mathbb{E}\,Y+\mathbb{E}\,Y^p"
    conditions = r"$Y\ge0$ has these moments, $1\le p\le2$"

    def __init__(self, order: Expr) -> None:
        if not order.is_positive:
            raise self.refuse(f"found the order {order}; expected one that is positive")
        self.order = order

    def upper(self, term: Expr) -> Expr | None:
        if not isinstance(term, ScalarExpectation) or not isinstance(term.body, exp):
            return None
        y = -term.body.exp
        if not is_nonnegative(y):
            return None
        check_existence(self._moments(term), self)
        first, second = self._moments(term)
        return 1 - first + second

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        ends = (Ge(self.order, 1), Le(self.order, 2))
        return tuple(Hypothesis.of(end) for end in ends if end != True)  # noqa: E712

    def _moments(self, term: ScalarExpectation) -> list[Expr]:
        y = -term.body.exp
        found = []
        for power in (1, self.order):
            fixed, moving = expand_power_base(y**power).as_independent(term.variable, as_Add=False)
            found.append(fixed * term.with_body(moving))
        return found
