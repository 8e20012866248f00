"""Stein's lemma: Gaussian integration by parts."""

from __future__ import annotations

from typing import final

from sympy import Add, Derivative, DiracDelta, Dummy, Expr, Mul, S, Subs, Sum

from symslr.algebra.rule import Rule
from symslr.algebra.tokens import unfolded
from symslr.expression.expectation import SequenceExpectation, rewrite_expectations
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
    conditions = r"$\chi_l\sim\mathcal{N}(0,1)$ iid under the unweighted law, $h$ differentiable and of moderate growth"
    source = "stein1981"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._by_parts, SequenceExpectation)

    def _by_parts(self, node: SequenceExpectation) -> Expr:
        law = node.law
        body = unfolded(node.body, law.length)
        own = chi[epsilon]
        if not any(factor.as_base_exp()[0] == own for factor in Mul.make_args(body)):
            return node
        if law.base != STANDARD_NORMAL:
            raise self.refuse("the tokens are not standard normal")
        if law.weight != S.One:
            raise self.refuse("the tokens are reweighted; apply the change of measure first")
        if body.has(IsLargest):
            raise self.refuse("the choice of the largest token jumps; it has no derivative")
        slope = token_derivative(body / own)
        if slope.has(DiracDelta, Derivative, Subs):
            raise self.refuse(f"{body / own} is not differentiable in chi_epsilon")
        return SequenceExpectation(slope, law)


def token_derivative(h: Expr) -> Expr:
    """d h / d chi_epsilon, where sums over tokens contain chi_epsilon once."""
    own, variable = chi[epsilon], Dummy(real=True)
    sums = {s: Dummy(real=True) for s in h.atoms(Sum)}
    masked = h.xreplace(sums).subs(own, variable)
    inner = {d: s.function.subs(chi[s.variables[0]], variable).diff(variable) for s, d in sums.items()}
    total = Add(masked.diff(variable), *(masked.diff(d) * slope for d, slope in inner.items()))
    return total.subs(variable, own).xreplace({d: s for s, d in sums.items()})
