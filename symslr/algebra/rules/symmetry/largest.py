"""Selection of the largest token: condition on its value, the others are iid below it."""

from __future__ import annotations

from typing import final

from sympy import Expr, Integral, Mul, S, erf, sqrt

from symslr.algebra.bodies import rewrite_sequences, tokens_exist
from symslr.algebra.fresh import fresh
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule
from symslr.algebra.rules.measure.independence import token_factors
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.symbols import epsilon, x


@final
class ConditionOnMaximum(Rule):
    """Integrate out every token but the largest: each of the others is cut off at its value."""

    name = "condition on the maximum"
    statement = (
        r"\mathbb{E}_0\Big[\mathbf{1}_{\chi_\epsilon=\max}\, f(\chi_\epsilon)\,h(\chi_j)\,"
        r"e^{-u\sum_l\kappa(\chi_l)}\Big] = \mathbb{E}_x\Big[f e^{-u\kappa} \int_{-\infty}^x h e^{-u\kappa} "
        r"p_0\,\mathrm{d}y\,\Big(\int_{-\infty}^x e^{-u\kappa} p_0\,\mathrm{d}y\Big)^{L-2}\Big]"
    )
    conditions = r"the unweighted law with density $p_0$; the body is a product of functions of single tokens"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_sequences(expr, self._condition, self)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        return tokens_exist(expr, self)

    def _condition(self, node: SequenceExpectation) -> Expr:
        marks = node.body.atoms(IsLargest)
        if not marks:
            return node
        mark = IsLargest.of(epsilon, node.law.length)
        if node.law.weight != S.One or marks != {mark}:
            raise self.refuse("another token than the relevant one is marked as largest, or the law is reweighted")
        body = node.body / mark
        if body.has(IsLargest):
            raise self.refuse(f"{mark} is not a factor of {node.body}; expand it first")
        parts = token_factors(body, node.law.length, self)
        base, others = node.law.base, {t: f for t, f in parts.own.items() if t != epsilon}
        below = Mul(*(_below(f * parts.shared, base) for f in others.values()))
        rest = _below(parts.shared, base) ** (node.law.length - 1 - len(others))
        own = parts.own.get(epsilon, S.One) * parts.shared
        return parts.fixed * ScalarExpectation(own * below * rest, x, base)


def _below(f: Expr, base: ScalarLaw) -> Expr:
    """int_{lower}^x f(y) p0(y) dy."""
    if f == S.One and base == STANDARD_NORMAL:
        return (1 + erf(x / sqrt(2))) / 2
    density = f * base.density
    y = fresh("y", density.free_symbols, real=True)
    return Integral(density.subs(x, y), (y, base.lower, x))
