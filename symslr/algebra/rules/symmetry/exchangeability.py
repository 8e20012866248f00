"""The tokens other than the relevant one are exchangeable."""

from __future__ import annotations

from collections import defaultdict
from typing import final

from sympy import Add, Expr, S, factor

from symslr.algebra.rule import Rule
from symslr.algebra.tokens import NotSymmetric, marked_terms, unfolded
from symslr.expression.expectation import SequenceExpectation, rewrite_expectations


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
        def split(node: SequenceExpectation) -> Expr:
            try:
                body = unfolded(node.body, node.law.length)
                collected: dict[Expr, Expr] = defaultdict(lambda: S.Zero)
                for coefficient, marked in marked_terms(body, node.law.length):
                    collected[marked] += coefficient
                return Add(*(factor(c) * SequenceExpectation(b, node.law) for b, c in collected.items()))
            except NotSymmetric as reason:
                raise self.refuse(str(reason)) from reason

        return rewrite_expectations(expr, split, SequenceExpectation)
