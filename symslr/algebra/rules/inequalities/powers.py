"""Powers of probabilities: Bernoulli's inequality and the exponential that lies above them."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, Mul, Pow, Product, exp

from symslr.algebra.bound import Bound
from symslr.expression.signs import Indicator, SignExpectation


def is_probability(expr: Expr) -> bool:
    """Whether an expression is the mean of a product of indicators."""
    return isinstance(expr, SignExpectation) and all(
        isinstance(factor, Indicator) or _product_of_indicators(factor) for factor in Mul.make_args(expr.body)
    )


def _product_of_indicators(factor: Expr) -> bool:
    return isinstance(factor, Product) and isinstance(factor.function, Indicator)


@final
class BernoulliInequality(Bound):
    """Bound 1 - p^m by m (1 - p): the union bound for m independent events of probability 1 - p."""

    name = "union bound over independent events"
    statement = r"1-p^m\le m(1-p)"
    conditions = r"$0\le p\le1$ is a probability, $m\ge0$ a whole number"

    def upper(self, term: Expr) -> Expr | None:
        if not isinstance(term, Add):
            return None
        powers = [part for part in term.args if _is_power(-part)]
        if not powers or 1 not in term.args:
            return None
        chosen = powers[0]
        probability, number = (-chosen).as_base_exp()
        return Add(*(part for part in term.args if part not in (1, chosen))) + number * (1 - probability)


@final
class ExponentialAbove(Bound):
    """Bound p^m by exp(-m (1 - p))."""

    name = "exponential above a power"
    statement = r"p^m\le e^{-m(1-p)}"
    conditions = r"$0\le p\le1$ is a probability, $m\ge0$ a whole number"

    def upper(self, term: Expr) -> Expr | None:
        if not _is_power(term):
            return None
        probability, number = term.as_base_exp()
        return exp(-number * (1 - probability))


def _is_power(term: Expr) -> bool:
    return bool(isinstance(term, Pow) and is_probability(term.base) and term.exp.is_integer and term.exp.is_nonnegative)
