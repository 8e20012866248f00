"""Stein's lemma: Gaussian integration by parts."""

from __future__ import annotations

from typing import final

from sympy import Add, Dummy, Expr, Integral, Mul, S, Sum

from symslr.algebra.bodies import check_marked, rewrite_sequences
from symslr.algebra.existence import check_existence
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.positivity import is_absolutely_continuous, is_open, jump_in
from symslr.algebra.rule import Rule
from symslr.algebra.tokens import NotSymmetric, unfolded
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import ConditionalMean
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import chi, epsilon


@final
class Stein(Rule):
    """Trade a factor chi_epsilon for a derivative with respect to it."""

    name = "Stein's lemma"
    statement = (
        r"\mathbb{E}_0\left[\chi_\epsilon h(\chi)\right] ="
        r" \mathbb{E}_0\left[\frac{\partial h}{\partial\chi_\epsilon}(\chi)\right]"
    )
    conditions = (
        r"$\chi_l\sim\mathcal{N}(0,1)$ iid under the unweighted law, $h$ absolutely continuous, both means finite"
    )
    source = "stein1981"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_sequences(expr, self._by_parts, self)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """Both means exist; a function that is left open is differentiable."""
        found: list[Hypothesis] = []
        for node in sorted(expr.atoms(SequenceExpectation), key=str):
            after = self._by_parts(node)
            if after != node:
                found += check_existence([node, after], self)
                found += [Hypothesis("the open functions differentiable")] if is_open(node.body) else []
        return tuple(dict.fromkeys(found))

    def _by_parts(self, node: SequenceExpectation) -> Expr:
        law = node.law
        try:
            body = unfolded(node.body, law.length)
        except NotSymmetric as reason:
            raise self.refuse(str(reason)) from reason
        own = chi[epsilon]
        powers = dict(factor.as_base_exp() for factor in Mul.make_args(body))
        if own not in powers:
            return node
        check_marked(body, self)
        if law.base != STANDARD_NORMAL:
            raise self.refuse("the tokens are not standard normal")
        if law.weight != S.One:
            raise self.refuse("the tokens are reweighted; apply the change of measure first")
        if body.has(IsLargest):
            raise self.refuse("the choice of the largest token jumps; it has no derivative")
        h = body / own
        if h.has(ConditionalMean, Integral) or not is_absolutely_continuous(h, chi):
            jump = jump_in(h, chi)
            why = f": {jump} jumps there, which no slope shows" if jump is not None else ""
            raise self.refuse(
                f"{h} is not known to be absolutely continuous in chi_epsilon{why}; expected kinks at most"
            )
        after = SequenceExpectation(token_derivative(h), law)
        check_existence([SequenceExpectation(body, law), after], self)
        return after


def token_derivative(h: Expr) -> Expr:
    """d h / d chi_epsilon, where sums over tokens contain chi_epsilon once."""
    own, variable = chi[epsilon], Dummy(real=True)
    sums = {s: Dummy(real=True) for s in h.atoms(Sum)}
    masked = h.xreplace(sums).subs(own, variable)
    inner = {d: s.function.subs(chi[s.variables[0]], variable).diff(variable) for s, d in sums.items()}
    total = Add(masked.diff(variable), *(masked.diff(d) * slope for d, slope in inner.items()))
    return total.subs(variable, own).xreplace({d: s for s, d in sums.items()})
