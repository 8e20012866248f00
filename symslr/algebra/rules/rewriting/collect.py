"""Collect terms with the same expectation, with coefficients in lowest terms."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import final

from sympy import Add, Expr, S, cancel, factor_terms

from symslr.algebra.denominators import cancelled
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.polynomial import OPAQUE, expand_polynomial, gathered, on_letters
from symslr.algebra.rule import Rule
from symslr.expression.expectation import Expectation, SequenceExpectation, rewrite_expectations


@final
class Collect(Rule):
    """One term for each expectation, and in a body that is a sum for each random variable; every coefficient is one fraction."""

    name = "collection"
    statement = r"\alpha\,\mathbb{E}[A]+\beta\,\mathbb{E}[A] = (\alpha+\beta)\,\mathbb{E}[A]"

    def rewrite(self, expr: Expr) -> Expr:
        return _collected(expr)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """Denominators that were cancelled are not zero."""
        return cancelled(expr, self.rewrite(expr))


@lru_cache(maxsize=256)
def _collected(expr: Expr) -> Expr:
    """The line is asked for its hypotheses too, and again when a chain is replayed: seconds for the long ones."""
    expr = rewrite_expectations(expr, _gather, SequenceExpectation)
    coefficients: dict[Expr, Expr] = defaultdict(lambda: S.Zero)
    for term in Add.make_args(expand_polynomial(expr)):
        fixed, mean = term.as_independent(Expectation, as_Add=False)
        coefficients[mean] += fixed
    return Add(*(_lowest(fixed) * mean for mean, fixed in coefficients.items()))


def _gather(node: SequenceExpectation) -> Expr:
    return node.with_body(gathered(node.body)) if node.body.is_Add else node


def _lowest(coefficient: Expr) -> Expr:
    return on_letters(lambda inner: factor_terms(cancel(inner)), coefficient, OPAQUE)
