"""Linear equations solved."""

from __future__ import annotations

from typing import final

from sympy import Expr, Ne, S, factor_terms

from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.polynomial import OPAQUE, expand_polynomial, on_letters
from symslr.algebra.rule import Rule
from symslr.expression.joint import Solution


@final
class SolveLinear(Rule):
    """``Solution(a t + b, t)`` is -b/a."""

    name = "solving a linear equation"
    statement = r"\left[t:\; a t + b = 0\right] = -\frac{b}{a}"
    conditions = r"$a\ne0$, and neither $a$ nor $b$ depends on $t$"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, Solution), self._solve)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        rates = [self._coefficients(node)[0] for node in expr.atoms(Solution)]
        undecided = [rate for rate in rates if rate.is_nonzero is None]
        return tuple(Hypothesis.of(Ne(rate, 0)) for rate in undecided)

    def _solve(self, node: Solution) -> Expr:
        rate, constant = self._coefficients(node)
        return on_letters(lambda inner: factor_terms(expand_polynomial(-inner)), constant / rate, OPAQUE)

    def _coefficients(self, node: Solution) -> tuple[Expr, Expr]:
        t, body = node.variable, expand_polynomial(node.body)
        rate = body.coeff(t, 1)
        constant = expand_polynomial(body - rate * t)
        if t in rate.free_symbols | constant.free_symbols:
            raise self.refuse(f"{node.body} is not linear in {t}")
        if rate == S.Zero:
            raise self.refuse(f"{node.body} does not depend on {t}")
        return rate, constant
