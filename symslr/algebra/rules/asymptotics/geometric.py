"""Large-parameter expansion of a rational formula: the geometric series."""

from __future__ import annotations

from typing import final

from sympy import Abs, Add, Expr, Poly, PolynomialError, Symbol, factor, fraction, together

from symslr.algebra.rule import Rule
from symslr.expression.expectation import Expectation


@final
class GeometricSeries(Rule):
    """Expand N/(B + C t) in powers of 1/t; the remainder is at most the next term where B and C have one sign.

    Args:
        parameter: t, large.
        order: how many powers of 1/t are kept.
    """

    name = "geometric series"
    statement = (
        r"\frac{N}{B+Ct} = \frac{N}{Ct}\sum_{k<n}\left(-\frac{B}{Ct}\right)^k + R_n,\qquad"
        r" |R_n|\le\left|\frac{N}{Ct}\right|\left|\frac{B}{Ct}\right|^n"
    )
    conditions = r"$B/(Ct)\ge0$; the series converges where $B<Ct$"

    def __init__(self, parameter: Symbol, order: int) -> None:
        if order < 1:
            raise ValueError(f"order: found {order}; expected at least 1 term")
        self.parameter, self.order = parameter, order

    def rewrite(self, expr: Expr) -> Expr:
        fixed, _ = self._parts(expr)
        return Add(fixed, *(self._term(expr, k) for k in range(self.order)))

    def remainder(self, expr: Expr) -> Expr:
        return Abs(self._term(expr, self.order))

    def _term(self, expr: Expr, k: int) -> Expr:
        _, (numerator, constant, rate) = self._parts(expr)
        far = rate * self.parameter
        return factor(numerator / far * (-constant / far) ** k)

    def _parts(self, expr: Expr) -> tuple[Expr, tuple[Expr, Expr, Expr]]:
        """What is free of t, and (N, B, C)."""
        fixed, moving = expr.as_independent(self.parameter, as_Add=True)
        if moving.has(Expectation):
            raise self.refuse("an expectation depends on the parameter; reduce it to a formula first")
        numerator, denominator = fraction(together(moving))
        linear = [] if numerator.has(self.parameter) else _coefficients(denominator, self.parameter)
        if len(linear) != 2 or (linear[1] / (linear[0] * self.parameter)).is_negative:
            raise self.refuse(
                f"{moving} is no ratio N/(B + C {self.parameter}) with N, B, C free of {self.parameter} and B, C of one sign"
            )
        return fixed, (numerator, linear[1], linear[0])


def _coefficients(denominator: Expr, parameter: Symbol) -> list[Expr]:
    try:
        return Poly(denominator, parameter).all_coeffs()
    except PolynomialError:
        return []
