"""Combine like terms of a quotient."""

from __future__ import annotations

from collections import defaultdict
from typing import final

from sympy import Add, Basic, Expr, S, expand_mul, factor_terms, fraction

from symslr.algebra.rule import Rule


@final
class CollectTerms(Rule):
    """Expand numerator and denominator of a quotient and put terms together that differ in factors free of ``kinds``.

    Without ``kinds`` like terms alone are put together.
    """

    name = "like terms"
    statement = r"\frac{\alpha w+\beta w+\gamma}{v}=\frac{(\alpha+\beta)w+\gamma}{v}"

    def __init__(self, *kinds: type[Basic]) -> None:
        self.kinds = kinds

    def rewrite(self, expr: Expr) -> Expr:
        above, below = fraction(expr, exact=True)
        return self._collected(above) / self._collected(below)

    def _collected(self, total: Expr) -> Expr:
        terms = expand_mul(total)
        if not self.kinds:
            return terms
        coefficients: dict[Expr, Expr] = defaultdict(lambda: S.Zero)
        for term in Add.make_args(terms):
            fixed, letters = term.as_independent(*self.kinds, as_Add=False)
            coefficients[letters] += fixed
        return Add(*(factor_terms(fixed) * letters for letters, fixed in coefficients.items()))
