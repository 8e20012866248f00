"""Rules that truncate: their bound on the remainder is carried through sums, products and powers."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable
from itertools import product

from sympy import Abs, Add, Expr, Integer, Mul, S

from symslr.algebra.rule import Rule

Powers = tuple[int, ...]
"""How often each remainder occurs in a term."""


class Truncation(Rule):
    """Abstract: replaces some terms of an expression by approximations with a bound each.

    A term T becomes t with |T - t| <= b. In a larger expression, a polynomial P(T_1, T_2, ...) in such terms, the remainder is
    the sum of |coefficient| b_1^{k_1} b_2^{k_2} ... over the other terms of P(t_1 + r_1, t_2 + r_2, ...).
    """

    @abstractmethod
    def truncate(self, term: Expr) -> tuple[Expr, Expr] | None:
        """(t, b) with |term - t| <= b, or None where the rule has nothing to say of this term.

        Called from the outside in; what is inside of a truncated term is not looked at.

        Raises:
            RuleRefused: when the term is one for the rule and a condition fails.
        """

    def rewrite(self, expr: Expr) -> Expr:
        bounds: list[Expr] = []
        terms = self._polynomial(expr, bounds)
        return terms[()] if terms.keys() == {()} else Add(*(c for powers, c in terms.items() if not any(powers)))

    def remainder(self, expr: Expr) -> Expr:
        bounds: list[Expr] = []
        terms = self._polynomial(expr, bounds)
        return Add(*(Abs(c) * _bound(powers, bounds) for powers, c in terms.items() if any(powers)))

    def truncated(self, expr: Expr) -> list[Expr]:
        """The terms of ``expr`` that the rule replaces, for the hypotheses that they bring."""
        if self.truncate(expr) is not None:
            return [expr]
        return [term for arg in expr.args if isinstance(arg, Expr) for term in self.truncated(arg)]

    def _polynomial(self, expr: Expr, bounds: list[Expr]) -> dict[Powers, Expr]:
        """``expr`` as a polynomial in the remainders r_i, whose bounds are collected."""
        found = self.truncate(expr)
        if found is not None:
            kept, bound = found
            bounds.append(bound)
            return {(): kept, (0,) * (len(bounds) - 1) + (1,): S.One}
        if expr.is_Add:
            return _sum(self._polynomial(arg, bounds) for arg in expr.args)
        if expr.is_Mul:
            return _product([self._polynomial(arg, bounds) for arg in expr.args])
        if expr.is_Pow and isinstance(expr.exp, Integer) and expr.exp > 0:
            return _product([self._polynomial(expr.base, bounds)] * int(expr.exp))
        if any(self.truncate(inner) is not None for inner in _inside(expr)):
            raise self.refuse(f"{expr} is no polynomial in the term that is expanded, so its error is not bounded")
        return {(): expr}


def _inside(expr: Expr) -> list[Expr]:
    return [arg for outer in expr.args for arg in (outer, *_inside(outer)) if isinstance(arg, Expr)]


def _sum(parts: Iterable[dict[Powers, Expr]]) -> dict[Powers, Expr]:
    total: dict[Powers, list[Expr]] = defaultdict(list)
    for part in parts:
        for powers, coefficient in part.items():
            total[powers].append(coefficient)
    return {powers: Add(*coefficients) for powers, coefficients in total.items()}


def _product(parts: list[dict[Powers, Expr]]) -> dict[Powers, Expr]:
    if all(part.keys() == {()} for part in parts):
        return {(): Mul(*(part[()] for part in parts))}
    total: dict[Powers, list[Expr]] = defaultdict(list)
    for chosen in product(*(part.items() for part in parts)):
        width = max(len(powers) for powers, _ in chosen)
        powers = tuple(sum(p[i] if i < len(p) else 0 for p, _ in chosen) for i in range(width))
        total[powers if any(powers) else ()].append(Mul(*(c for _, c in chosen)))
    return {powers: Add(*coefficients) for powers, coefficients in total.items()}


def _bound(powers: Powers, bounds: list[Expr]) -> Expr:
    return Mul(*(bound**power for power, bound in zip(powers, bounds)))
