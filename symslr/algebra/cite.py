"""Use of a result: the first line of another derivation is replaced by its last one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from sympy import Expr, S, Symbol

from symslr.algebra.bound import raised
from symslr.algebra.derivation import Derivation
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.truncation import Truncation
from symslr.model.exact import exact


@final
class Cite(Truncation):
    """Replace what another derivation starts from by its result, at given values of its parameters.

    The remainder and the hypotheses of the cited result come with it. A result that is an upper bound is one here, in
    expressions that grow with it.

    Args:
        theorem: the derivation that is used.
        values: parameter of the theorem -> value here; every other symbol keeps its meaning.
    """

    statement = r"A = B \text{ as derived}"
    conditions = r"the hypotheses of the result that is cited"

    def __init__(self, theorem: Derivation, values: Mapping[Expr, Any] | None = None) -> None:
        self.theorem = theorem
        self.values = {symbol: exact(value, str(symbol)) for symbol, value in (values or {}).items()}
        for symbol, value in self.values.items():
            self._check_admissible(symbol, value)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The rule is called by the result that it uses."""
        return f"by {self.theorem.name or self.theorem.title or 'an unnamed result'}"

    @property
    def relation(self) -> str:  # type: ignore[override]
        """That of the result, save that a remainder is told apart."""
        return "<=" if self.theorem.relation == "<=" else "="

    def truncate(self, term: Expr) -> tuple[Expr, Expr] | None:
        if term != self._here(self.theorem.start):
            return None
        return self._here(self.theorem.result), self._here(self.theorem.remainder)

    def rewrite(self, expr: Expr) -> Expr:
        """Anywhere in ``expr`` where the result is exact; where it has a remainder, in polynomials of it alone."""
        if self.relation == "<=":
            start, result = self._here(self.theorem.start), self._here(self.theorem.result)
            return raised(expr, lambda term: result if term == start else None, self.refuse)
        if self.theorem.remainder != S.Zero:
            return super().rewrite(expr)
        return expr.xreplace({self._here(self.theorem.start): self._here(self.theorem.result)})

    def remainder(self, expr: Expr) -> Expr:
        return S.Zero if self.theorem.remainder == S.Zero else super().remainder(expr)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        found = []
        for hypothesis in self.theorem.hypotheses:
            condition = hypothesis.condition.subs(self.values) if self.values else hypothesis.condition
            if condition == S.false:
                raise self.refuse(f"its hypothesis {hypothesis.text} fails here")
            if hypothesis.condition == S.true or condition != S.true:
                found.append(Hypothesis(hypothesis.text, condition))
        return tuple(found)

    def _here(self, expr: Expr) -> Expr:
        return expr.subs(self.values, simultaneous=True) if self.values else expr

    def _check_admissible(self, symbol: Expr, value: Expr) -> None:
        if not isinstance(symbol, Symbol):
            raise self.refuse(f"found {symbol}; expected a parameter of the result")
        for fact, wanted in symbol.assumptions0.items():
            if fact != "commutative" and getattr(value, f"is_{fact}", None) is not wanted:
                raise self.refuse(f"{symbol} = {value} is not known to be {fact if wanted else 'not ' + fact}")
