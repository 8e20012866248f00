"""Average over the hidden position, which is uniform under E_0, and back."""

from __future__ import annotations

from typing import final

from sympy import Expr, S, Sum

from symslr.algebra.polynomial import separate
from symslr.algebra.rule import Rule
from symslr.expression.expectation import SequenceExpectation, rewrite_expectations
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import OTHERS, chi, epsilon, l


@final
class AverageHiddenIndex(Rule):
    """Carry out the uniform average over epsilon: what remains no longer knows which token is relevant."""

    name = "average over the hidden position"
    statement = r"\mathbb{E}_0[h(\epsilon,\chi)] = \mathbb{E}_0\Big[\frac1L\sum_l h(l,\chi)\Big]"
    conditions = r"the unweighted law, under which $\epsilon$ is uniform on $1,\dots,L$ and independent of $\chi$"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._average, SequenceExpectation)

    def _average(self, node: SequenceExpectation) -> Expr:
        if node.law.weight != S.One:
            raise self.refuse("epsilon is uniform under the unweighted law alone; apply the change of measure first")
        if epsilon not in node.body.free_symbols:
            return node
        if node.body.free_symbols & set(OTHERS):
            raise self.refuse(f"{node.body} names tokens by their being others than epsilon")
        own, shared = separate(SequenceLaw.renamed(node.body), {epsilon})[::-1]
        average = Sum(own.subs(epsilon, l), (l, 1, node.law.length))
        fixed, random = separate(shared * average / node.law.length, node.bound)
        return fixed * node.with_body(random)


@final
class PickToken(Rule):
    """Tokens are exchangeable under E_0: a sum over tokens is L times the term of the token epsilon."""

    name = "pick a token"
    statement = r"\mathbb{E}_0\Big[\sum_l h(l,\chi)\Big] = L\,\mathbb{E}_0[h(\epsilon,\chi)]"
    conditions = r"the unweighted law; the rest of the body is symmetric in the tokens"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._pick, SequenceExpectation)

    def _pick(self, node: SequenceExpectation) -> Expr:
        if node.law.weight != S.One:
            return node
        for total in sorted(node.body.atoms(Sum), key=str):
            rest = node.body / total
            if rest.has(total) or _marks_a_token(rest) or epsilon in total.free_symbols:
                continue
            picked = total.function.subs(total.variables[0], epsilon)
            fixed, random = separate(rest * picked, node.bound)
            return node.law.length * fixed * node.with_body(random)
        return node


def _marks_a_token(expr: Expr) -> bool:
    bare = expr.xreplace({s: S.One for s in expr.atoms(Sum)})
    return bare.has(epsilon) or bare.has(chi)
