"""Completing the square: a Gaussian mean of the exponential of a quadratic form."""

from __future__ import annotations

from typing import final

from sympy import Expr, Mul, Tuple, exp, expand, sqrt

from symslr.algebra.rule import Rule
from symslr.expression.expectation import ScalarExpectation, rewrite_expectations
from symslr.model.scalar_law import STANDARD_NORMAL


@final
class CompleteSquare(Rule):
    """E[P(x) exp(-A x^2/2 + B x)] as the mean of P over the tilted Gaussian N(B/(1+A), 1/(1+A))."""

    name = "completing the square"
    statement = (
        r"\mathbb{E}_x\left[P(x)\,e^{-Ax^2/2+Bx}\right] = \frac{e^{B^2/(2(1+A))}}{\sqrt{1+A}}\,"
        r"\mathbb{E}_x\left[P\!\left(\tfrac{B}{1+A}+\tfrac{x}{\sqrt{1+A}}\right)\right]"
    )
    conditions = r"$x\sim\mathcal{N}(0,1)$, $1+A>0$"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._complete, ScalarExpectation)

    def _complete(self, node: ScalarExpectation) -> Expr:
        x = node.variable
        tilts = [f for f in Mul.make_args(node.body) if isinstance(f, exp) and f.has(x)]
        if node.law != STANDARD_NORMAL or len(tilts) != 1:
            return node
        exponent = expand(tilts[0].exp)
        quadratic, linear = -2 * exponent.coeff(x, 2), exponent.coeff(x, 1)
        constant = expand(exponent + quadratic * x**2 / 2 - linear * x)
        if Tuple(constant, linear, quadratic).has(x):
            raise self.refuse(f"{exponent} is not quadratic in {x}")
        width = 1 + quadratic
        if not width.is_positive:
            raise self.refuse(f"{width} is not known to be positive")
        rest = Mul(*(f for f in Mul.make_args(node.body) if f is not tilts[0])).subs(
            x, linear / width + x / sqrt(width)
        )
        factor = exp(constant + linear**2 / (2 * width)) / sqrt(width)
        return factor * node.with_body(rest)
