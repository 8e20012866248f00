"""Power series in one parameter: the arithmetic of ``proof`` for functions of a token whose coefficients move with a scale."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from flint import arb, arb_series, ctx, fmpq
from sympy import Expr, Symbol

from symslr.evaluation.certified.analytic.proof import Arithmetic, by_arb, enclosed
from symslr.evaluation.errors import NotProved
from symslr.evaluation.numbers.elementary import ball, by_squaring


@contextmanager
def terms(count: int) -> Iterator[None]:
    """Series are cut after so many terms."""
    before = ctx.cap
    ctx.cap = count
    try:
        yield
    finally:
        ctx.cap = before


class Series(Arithmetic):
    """Functions of ``parameter`` = ``at`` + t as series in t, with balls as coefficients.

    Where ``at`` is an interval, the coefficient of t^k holds the k-th derivative over k! everywhere on it.
    """

    def __init__(self, parameter: Symbol, at: Any) -> None:
        self.parameter, self.at = parameter, at

    def constant(self, expr: Expr) -> Any:
        if expr.has(self.parameter):
            return enclosed(expr, self.parameter, arb_series([self.at, 1]), self)
        return arb_series([ball(expr)])

    def power(self, base: Any, exponent: Fraction) -> Any:
        if exponent.denominator == 1:
            return series_power(base, int(exponent))
        if not base[0] > 0:
            raise NotProved("certified: a branch point of a root cannot be excluded")
        return (base.log() * arb(fmpq(exponent.numerator, exponent.denominator))).exp()

    def function(self, at: Any, name: str) -> Any:
        if name == "log" and not at[0] > 0:
            raise NotProved("certified: a branch point of a logarithm cannot be excluded")
        return by_arb(at, name)

    def fermi(self, at: Any) -> Any:
        """By f' = -y' f (1 - f): begun at an interval, the reciprocal of 1 + e^y would grow far faster with every term."""
        found, rest, products = [1 / (1 + at[0].exp())], [1 / (1 + (-at[0]).exp())], []
        for k in range(1, _count(at)):
            products.append(sum((found[i] * rest[k - 1 - i] for i in range(k)), arb(0)))
            rest.append(_integrated(at, products, k))
            found.append(-rest[k])
        return arb_series(found, ctx.cap)

    def softplus(self, at: Any) -> Any:
        """The integral of y'/(1 + e^-y)."""
        slope = self.fermi(-at)
        return arb_series([at[0].exp().log1p(), *(_integrated(at, slope, k) for k in range(1, _count(at)))], ctx.cap)


def _integrated(at: Any, slopes: Any, k: int) -> Any:
    """The coefficient of t^k in the integral of y' times a series."""
    return sum((i * at[i] * slopes[k - i] for i in range(1, min(k + 1, at.length()))), arb(0)) / k


def _count(at: Any) -> int:
    """Of the coefficients of a function of a series, of which all but the first are zero where it is a number."""
    return ctx.cap if at.length() > 1 else 1


def series_power(base: Any, n: int) -> Any:
    """By squaring; ``base`` may hold 0 unless n < 0."""
    if n < 0:
        if base[0].contains(0):
            raise NotProved("certified: a pole cannot be excluded")
        return series_power(base.inv(), -n)
    return by_squaring(base, n, arb_series([1]))
