"""Factors common to all terms of a sum over tokens, and quotients that are logistic functions."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, Mul, Ne, S, Sum, exp, expand

from symslr.algebra.configurations import pulled
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule
from symslr.expression.configuration import ElementarySymmetric
from symslr.expression.expectation import Expectation
from symslr.model.symbols import chi


@final
class FactorOutOfSums(Rule):
    """Take what does not depend on the token out of sums over tokens and of elementary symmetric polynomials."""

    name = "common factor of a sum"
    statement = r"\sum_l c\,x_l = c\sum_l x_l,\qquad e_s(c\,x) = c^s e_s(x)"
    conditions = r"$c$ does not depend on the token"

    def rewrite(self, expr: Expr) -> Expr:
        return self._walked(expr)

    def _walked(self, expr: Expr) -> Expr:
        if isinstance(expr, Expectation):
            return expr.with_body(self._walked(expr.body))
        if isinstance(expr, ElementarySymmetric):
            outside, inside = pulled(self._walked(expr.term), expr.index)
            return outside**expr.order * expr.with_term(inside)
        if isinstance(expr, Sum) and len(expr.limits) == 1:
            function = Mul(*map(_shared, Mul.make_args(self._walked(expr.function))))
            outside, inside = pulled(function, expr.variables[0])
            return outside * Sum(inside, *expr.limits)
        if not expr.has(Sum, ElementarySymmetric):
            return expr
        made = expr.func(*(self._walked(arg) for arg in expr.args))
        return _cancelled(Mul(*map(_shared, made.args))) if made.is_Mul else made


def _shared(expr: Expr) -> Expr:
    """A sum of terms with the exponentials that all of them share as factors."""
    if not isinstance(expr, Add):
        return expr
    kinds = [_powers(term) for term in expr.args]
    common = {term for term in kinds[0][1] if all(term in powers for _, powers in kinds)}
    if not common:
        return expr
    rest = (factor * exp(Add(*(p for p in powers if p not in common))) for factor, powers in kinds)
    return exp(Add(*common)) * Add(*rest)


def _powers(term: Expr) -> tuple[Expr, list[Expr]]:
    """(factor, terms of the exponent) of a product with exponentials."""
    factor, powers = S.One, S.Zero
    for part in Mul.make_args(term):
        if isinstance(part, exp):
            powers += expand(part.exp)
        else:
            factor *= part
    return factor, list(Add.make_args(powers))


def _cancelled(expr: Expr) -> Expr:
    """A product with one exponential, its exponent multiplied out."""
    total, rest = S.Zero, S.One
    for part in Mul.make_args(expr):
        if isinstance(part, exp):
            total += expand(part.exp)
        else:
            rest *= part
    return exp(expand(total)) * rest


@final
class LogisticForm(Rule):
    """Write c e^u/(c e^u + y) as 1/(1 + (y/c) e^-u)."""

    name = "logistic form"
    statement = r"\frac{c\,e^{u}}{c\,e^{u}+y} = \frac{1}{1+(y/c)\,e^{-u}}"
    conditions = r"$c,y$ hold no token; $c\ne0$"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: _logistic(node) is not None, lambda node: _written(*_logistic(node)))  # type: ignore[misc]

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """What is divided by is not zero."""
        made = (_logistic(node) for node in expr.atoms(Mul))
        divisors = {found[1] for found in made if found is not None and not found[1].is_nonzero}
        return tuple(Hypothesis.of(Ne(divisor, 0)) for divisor in sorted(divisors, key=str))


def _logistic(node: Expr) -> tuple[Expr, Expr, Expr, Expr] | None:
    """(u, c, y, what stands beside it) of a product with c e^u/(c e^u + y)."""
    if not isinstance(node, Mul):
        return None
    for below in node.args:
        if not (below.is_Pow and below.exp == -1):
            continue
        for power in (factor for factor in node.args if isinstance(factor, exp) and factor.has(chi)):
            holding = [term for term in below.base.args if power in Mul.make_args(term)]
            if len(holding) != 1:
                continue
            c, y = (Mul(*(f for f in Mul.make_args(holding[0]) if f != power)), below.base - holding[0])
            if not c.has(chi) and not y.has(chi):
                return power.exp, c, y, Mul(*(f for f in node.args if f not in (power, below))) / c
    return None


def _written(u: Expr, c: Expr, y: Expr, beside: Expr) -> Expr:
    return beside / (1 + y / c * exp(-u))
