"""Average over the hidden position, which is uniform under E_0, and back."""

from __future__ import annotations

from typing import final

from sympy import Expr, S, Sum, Symbol

from symslr.algebra.bodies import INDICES, at_token, is_whole, rewrite_sequences
from symslr.algebra.polynomial import separate
from symslr.algebra.rule import Rule
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import ConditionalMean
from symslr.model.symbols import OTHERS, epsilon


@final
class AverageHiddenIndex(Rule):
    """Carry out the uniform average over epsilon: what remains no longer knows which token is relevant."""

    name = "average over the hidden position"
    statement = r"\mathbb{E}_0[h(\epsilon,\chi)] = \mathbb{E}_0\Big[\frac1L\sum_l h(l,\chi)\Big]"
    conditions = r"the unweighted law, under which $\epsilon$ is uniform on $1,\dots,L$ and independent of $\chi$"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_sequences(expr, self._average, self)

    def _average(self, node: SequenceExpectation) -> Expr:
        if node.law.weight != S.One:
            raise self.refuse("epsilon is uniform under the unweighted law alone; apply the change of measure first")
        if epsilon not in node.body.free_symbols:
            return node
        if node.body.free_symbols & set(OTHERS):
            raise self.refuse(f"{node.body} names tokens by their being others than epsilon")
        shared, own = separate(node.body, {epsilon})
        if own.has(ConditionalMean):
            raise self.refuse(f"{own} holds a conditional mean beside the hidden position; write the mean out first")
        index = self._free_index(own)
        average = Sum(own.subs(epsilon, index), (index, 1, node.law.length))
        fixed, random = separate(shared * average / node.law.length, node.bound)
        return fixed * node.with_body(random)

    def _free_index(self, own: Expr) -> Symbol:
        """A summation index that no sum in ``own`` uses."""
        used = {variable for total in own.atoms(Sum) for variable in total.variables}
        for index in INDICES:
            if index not in used:
                return index
        raise self.refuse(f"{own} uses both summation indices; write its sums with one of them")


@final
class PickToken(Rule):
    """Tokens are exchangeable under E_0: a sum over tokens is L times the term of the token epsilon."""

    name = "pick a token"
    statement = r"\mathbb{E}_0\Big[\sum_l h(l,\chi)\Big] = L\,\mathbb{E}_0[h(\epsilon,\chi)]"
    conditions = r"the unweighted law; the sum runs over all tokens; $\epsilon$ does not stand in the body"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_sequences(expr, self._pick, self)

    def _pick(self, node: SequenceExpectation) -> Expr:
        if node.law.weight != S.One:
            return node
        if node.body.free_symbols & {epsilon, *OTHERS}:
            return node
        for total in sorted(node.body.atoms(Sum), key=str):
            rest = node.body / total
            if rest.has(total) or not is_whole(total, node.law.length):
                continue
            picked = at_token(total.function, total.variables[0], epsilon, self)
            fixed, random = separate(rest * picked, node.bound)
            return node.law.length * fixed * node.with_body(random)
        return node
