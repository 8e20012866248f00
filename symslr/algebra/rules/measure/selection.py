"""Where the position is drawn given the tokens, means of functions symmetric in the tokens do not depend on the weight."""

from __future__ import annotations

from typing import final

from sympy import Expr, S

from symslr.algebra.bodies import rewrite_sequences
from symslr.algebra.rule import Rule
from symslr.expression.expectation import SequenceExpectation
from symslr.model.symbols import OTHERS, epsilon


@final
class Selection(Rule):
    """Drop the weight from expectations of symmetric functions of the tokens."""

    name = "selection"
    statement = r"\mathbb{E}_g[s(\chi)] = \mathbb{E}_0[s(\chi)]"
    conditions = r"$\sum_l g(l,\chi)=L$ at every $\chi$, and $s$ does not depend on $\epsilon$"
    source = "duranthon2025"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_sequences(expr, self._drop, self)

    def _drop(self, node: SequenceExpectation) -> Expr:
        if node.law.weight == S.One:
            return node
        if node.body.free_symbols & {epsilon, *OTHERS}:
            return node
        if not node.law.is_selection:
            raise self.refuse(f"the weight {node.law.weight} does not sum to L over the tokens")
        return SequenceExpectation(node.body, node.law.unweighted())
