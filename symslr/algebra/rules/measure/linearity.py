"""The expectation of a sum is the sum of the expectations, for sums over tokens too; what is not random leaves."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, S

from symslr.algebra.bodies import tokens_exist
from symslr.algebra.existence import check_existence
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.polynomial import expand_polynomial, separate, split_sums
from symslr.algebra.rule import Rule
from symslr.algebra.weights import laws_in, mean_one
from symslr.expression.expectation import Expectation, rewrite_expectations


@final
class Linearity(Rule):
    """Expand the body and take sums and deterministic factors out of every expectation."""

    name = "linearity"
    statement = r"\mathbb{E}[\alpha A + \beta B] = \alpha\,\mathbb{E}[A] + \beta\,\mathbb{E}[B]"
    conditions = r"$\alpha,\beta$ are not random and the expectations exist"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._distribute)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """Every mean exists by itself; a constant is its own mean, so the weight has mean one."""
        split = [terms for node in sorted(expr.atoms(Expectation), key=str) if len(terms := _terms(node)) > 1]
        means = [mean for terms in split for _, mean in terms]
        weights = mean_one(laws_in(expr), self) if S.One in means else ()
        return (*check_existence(means, self), *weights, *tokens_exist(expr, self))

    def _distribute(self, node: Expectation) -> Expr:
        terms = _terms(node)
        if len(terms) > 1:
            check_existence([mean for _, mean in terms], self)
        return Add(*(fixed * mean for fixed, mean in terms))


def _terms(node: Expectation) -> list[tuple[Expr, Expr]]:
    """(constant factor, expectation of the rest) for every term of the body."""
    found = []
    for term in Add.make_args(expand_polynomial(split_sums(node.body))):
        fixed, random = separate(term, node.bound)
        found.append((fixed, node.with_body(random)))
    return found
