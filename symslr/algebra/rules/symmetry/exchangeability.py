"""The tokens other than the relevant one are exchangeable."""

from __future__ import annotations

from collections import defaultdict
from typing import final

from sympy import Add, Expr, S, Sum

from symslr.algebra.bodies import named_tokens, rewrite_sequences
from symslr.algebra.rule import Rule
from symslr.algebra.tokens import NotSymmetric, marked_terms, unfolded
from symslr.expression.expectation import SequenceExpectation
from symslr.model.powers import factored
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import epsilon


@final
class Exchangeability(Rule):
    """Split sums over tokens into the relevant token and L - 1 exchangeable others.

    A product of two sums gives the coinciding pairs, L - 1 of them, and the distinct ones, (L - 1)(L - 2). Sums in
    denominators stay whole.
    """

    name = "exchangeability"
    statement = (
        r"\mathbb{E}_g\Big[\sum_{l} h(\chi_l)\, s(\chi)\Big] = \mathbb{E}_g\left[h(\chi_\epsilon)\, s\right]"
        r" + (L-1)\,\mathbb{E}_g\left[h(\chi_j)\, s\right]"
    )
    conditions = r"$s$ and $g$ are symmetric in the tokens other than $\epsilon$; $j\neq\epsilon$"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_sequences(expr, self._split, self)

    def _split(self, node: SequenceExpectation) -> Expr:
        try:
            body = unfolded(node.body, node.law.length)
            collected: dict[Expr, Expr] = defaultdict(lambda: S.Zero)
            for coefficient, marked in marked_terms(body, node.law.length):
                collected[marked] += coefficient
        except NotSymmetric as reason:
            raise self.refuse(str(reason)) from reason
        if body.has(Sum):
            self._check_symmetric(body, node.law)
        return Add(*(factored(c) * SequenceExpectation(b, node.law) for b, c in collected.items()))

    def _check_symmetric(self, body: Expr, law: SequenceLaw) -> None:
        if not named_tokens(body) <= {epsilon}:
            raise self.refuse(f"{body} names other tokens beside a sum over all of them")
        if not named_tokens(law.weight) <= {epsilon}:
            raise self.refuse(f"the weight {law.weight} is not symmetric in the tokens other than epsilon")
