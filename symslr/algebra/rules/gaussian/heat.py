"""The heat equation: a Gaussian mean changes with its variance by half the second derivative in its mean."""

from __future__ import annotations

from typing import final

from sympy import Expr, Rational

from symslr.algebra.rule import Rule
from symslr.expression.convolution import GaussianConvolution


@final
class HeatEquation(Rule):
    """Trade a derivative of a convolution in the variance for two in the mean."""

    name = "heat equation"
    statement = (
        r"\partial_V Z = \tfrac12\,\partial_\omega^2 Z,\qquad Z(\omega,V)=\mathbb{E}_{z\sim\mathcal{N}(\omega,V)}[P(z)]"
    )
    conditions = r"$V>0$; $P$ is integrable with the Gaussian and its slopes"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, GaussianConvolution), self._trade)

    def _trade(self, node: GaussianConvolution) -> Expr:
        _, times = node.orders
        return Rational(1, 2) ** times * node.differentiated(2 * times, -times)
