"""Strong signal: one competitor at a time."""

from __future__ import annotations

from typing import final

from sympy import Expr, Integer

from symslr.algebra.fresh import fresh
from symslr.algebra.rule import Rule
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation, rewrite_expectations
from symslr.expression.folded import Posterior
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import epsilon, x


@final
class SingleCompetitor(Rule):
    """Replace the Bayes error by L - 1 times the error against one competitor.

    With q(x) = E_y[w(y)/(w(x) + w(y))] the error at length L lies below (L - 1) E[q] and above it less
    (L - 1)(L - 2) E[q^2], because w_j/(w_eps + w_j) - w_j/S <= sum_k w_j w_k/((w_eps + w_j)(w_eps + w_k)).
    """

    name = "one competitor at a time"
    statement = (
        r"\mathbb{E}_g[1-p_\epsilon] = (L-1)\,\mathbb{E}_g[1-p_\epsilon]\big|_{L=2} + R,\qquad"
        r" |R| \le (L-1)(L-2)\,\mathbb{E}_{x\sim p_1}\left[q(x)^2\right],\quad"
        r" q(x)=\mathbb{E}_{y\sim p_0}\left[\frac{w(y)}{w(x)+w(y)}\right]"
    )
    conditions = r"$g=w(\chi_\epsilon)$ is a weight of the relevant token alone"

    def rewrite(self, expr: Expr) -> Expr:
        def pair(node: SequenceExpectation) -> Expr:
            law, _ = self._law(node)
            two = SequenceLaw(law.weight, Integer(2), law.base)
            return (law.length - 1) * SequenceExpectation(1 - Posterior(epsilon, two), two)

        return rewrite_expectations(expr, pair, SequenceExpectation)

    def remainder(self, expr: Expr) -> Expr:
        def bound(node: SequenceExpectation) -> Expr:
            law, w = self._law(node)
            y = fresh("y", w.free_symbols | law.base.free_symbols, real=True)
            share = ScalarExpectation(w.subs(x, y) / (w + w.subs(x, y)), y, law.base)
            pairs = (law.length - 1) * (law.length - 2)
            return pairs * ScalarExpectation(w * share**2, x, law.base)

        return rewrite_expectations(expr, bound, SequenceExpectation)

    def _law(self, node: SequenceExpectation) -> tuple[SequenceLaw, Expr]:
        weight = node.law.relevant_factor
        if node.body != 1 - Posterior(epsilon, node.law) or weight is None:
            raise self.refuse(f"{node} is no Bayes error under a weight of the relevant token alone")
        return node.law, weight
