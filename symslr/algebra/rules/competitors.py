"""Strong signal: one competitor at a time; and softmax towards the maximum."""

from __future__ import annotations

from typing import final

from sympy import Expr, Integer, erf, log, sqrt

from symslr.algebra.expectation import ScalarExpectation, SequenceExpectation, rewrite_expectations
from symslr.algebra.folded import Posterior
from symslr.algebra.fresh import fresh
from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules.ratio_condition import RatioCondition
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import chi, epsilon, x


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


@final
class SoftmaxTowardsMax(Rule):
    """Replace the mean key of the selected token by the mean of the largest of L normals.

    max - sum_l p_l chi_l lies between 0 and H(p)/nu <= log(L)/nu, since log-sum-exp is at least its largest term.
    """

    name = "softmax towards the maximum"
    statement = (
        r"\mathbb{E}_g[\chi_\epsilon] = L\,\mathbb{E}_x\left[x\,\Phi(x)^{L-1}\right] + R,\qquad"
        r" |R|\le\frac{\log L}{\nu}"
    )
    conditions = r"$\epsilon\mid\chi\sim\mathrm{softmax}(\nu\chi)$ with standard normal tokens"

    def rewrite(self, expr: Expr) -> Expr:
        def largest(node: SequenceExpectation) -> Expr:
            self._slope(node)
            mass = (1 + erf(x / sqrt(2))) / 2
            length = node.law.length
            return length * ScalarExpectation(x * mass ** (length - 1), x, STANDARD_NORMAL)

        return rewrite_expectations(expr, largest, SequenceExpectation)

    def remainder(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, lambda n: log(n.law.length) / self._slope(n), SequenceExpectation)

    def _slope(self, node: SequenceExpectation) -> Expr:
        law = node.law
        if node.body != chi[epsilon] or not law.is_selection or law.base != STANDARD_NORMAL:
            raise self.refuse(f"{node} is not the mean key of a token selected among standard normal ones")
        try:
            slope = RatioCondition().slope(law)
        except RuleRefused as reason:
            raise self.refuse(str(reason)) from reason
        if not slope.is_positive:
            raise self.refuse(f"the scale {slope} of the softmax is not known to be positive")
        return slope
