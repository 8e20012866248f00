"""Events as indicators: complements, and when a sum of nonnegative terms vanishes."""

from __future__ import annotations

from typing import final

from sympy import Eq, Expr, Le, Max, Mul, Pow, Product, Sum
from sympy.core.relational import StrictGreaterThan

from symslr.algebra.rule import Rule
from symslr.expression.signs import Indicator, Relu


@final
class Complement(Rule):
    """Write the indicator of x > y as one minus that of x <= y."""

    name = "complement"
    statement = r"1[x>y]=1-1[x\le y]"
    conditions = r"$x$ and $y$ are real"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda e: isinstance(e, Indicator), self._complement)

    def _complement(self, node: Indicator) -> Expr:
        condition = node.condition
        if isinstance(condition, StrictGreaterThan):
            return 1 - Indicator(Le(condition.lhs, condition.rhs))
        return node


@final
class VanishingSum(Rule):
    """A nonnegative number is 0 where it is <= 0; a sum of such is 0 where every term is, max(0, x) where x <= 0."""

    name = "a sum of nonnegative terms vanishes"
    statement = r"1\Bigl[\sum_i\max(0,x_i)=0\Bigr]=\prod_i 1[x_i\le0]"
    conditions = r"every term of the sum is nonnegative"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda e: isinstance(e, Indicator), self._product)

    def _product(self, node: Indicator) -> Expr:
        condition = node.condition
        if not isinstance(condition, (Eq, Le)) or condition.rhs != 0:
            return node
        total = condition.lhs
        if isinstance(condition, Eq) and not _nonnegative(total):
            return node
        return _at_most_zero(total)


def _at_most_zero(total: Expr) -> Expr:
    """The indicator of x <= 0."""
    if isinstance(total, Relu):
        return _at_most_zero(total.args[0])
    if isinstance(total, Max):
        return Mul(*(_at_most_zero(arg) for arg in total.args))
    if isinstance(total, Sum) and _nonnegative(total.function):
        return Product(_at_most_zero(total.function), *total.limits)
    if total.is_Add and all(_nonnegative(term) for term in total.args):
        return Mul(*(_at_most_zero(term) for term in total.args))
    return Indicator(Le(total, 0))


def _nonnegative(expr: Expr) -> bool:
    if isinstance(expr, Sum):
        return _nonnegative(expr.function)
    return bool(expr.is_nonnegative)


@final
class PowersOfIndicators(Rule):
    """A power of an indicator depends on whether its exponent is 0 alone: positive factors of the exponent are dropped."""

    name = "powers of indicators"
    statement = r"1[A]^{ps}=1[A]^s"
    conditions = r"$p>0$; $0^0=1$"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda e: isinstance(e, Pow) and isinstance(e.base, Indicator), self._power)

    def _power(self, node: Pow) -> Expr:
        rest = Mul(*(factor for factor in Mul.make_args(node.exp) if not factor.is_positive))
        return node.base**rest
