"""Nishimori identity: a draw from the posterior is exchangeable with the truth."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, Mul, Sum

from symslr.algebra.bodies import at_token, is_whole, rewrite_sequences
from symslr.algebra.rule import Rule
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Posterior
from symslr.model.symbols import OTHERS, epsilon

MARKED = {epsilon, *OTHERS}
"""The hidden position and the tokens named by their being others than it."""


@final
class Nishimori(Rule):
    """Replace an average over the posterior by the hidden position itself."""

    name = "Nishimori identity"
    statement = r"\mathbb{E}_g\Big[\sum_l p_l\, h(l,\chi)\Big] = \mathbb{E}_g\left[h(\epsilon,\chi)\right]"
    conditions = r"$p_l = g(l,\chi)/\sum_m g(m,\chi)$ is the posterior under the same law $g$"
    source = "nishimori1981"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_sequences(expr, self._replace, self)

    def _replace(self, node: SequenceExpectation) -> Expr:
        return node.with_body(Add(*(self._term(term, node) for term in Add.make_args(node.body))))

    def _term(self, term: Expr, node: SequenceExpectation) -> Expr:
        """The identity holds for one posterior average times factors that do not depend on the hidden position."""
        sums = [f for f in Mul.make_args(term) if isinstance(f, Sum) and f.function.has(Posterior)]
        if not sums:
            return term
        total = sums[0]
        if not is_whole(total, node.law.length):
            raise self.refuse(f"{total} does not run over the tokens 1, ..., {node.law.length}")
        rest = term / total
        if rest.free_symbols & MARKED:
            raise self.refuse(f"{rest} depends on the hidden position, so {total} is not averaged alone")
        if total.function.free_symbols & MARKED:
            raise self.refuse(f"{total} averages a function of the hidden position itself")
        index = total.variables[0]
        for factor in Mul.make_args(total.function):
            base, power = factor.as_base_exp()
            if isinstance(base, Posterior) and base.index == index and power.is_positive:
                if base.law != node.law:
                    raise self.refuse("the posterior belongs to another law than the expectation")
                h = total.function / base
                return rest * at_token(h, index, epsilon, self)
        raise self.refuse(f"{total} carries no posterior p_{index} as a factor")
