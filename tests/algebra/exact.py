"""Exact moments of polynomials in the tokens, at any length: what coefficients in L are tested against."""

from __future__ import annotations

from sympy import Expr, Indexed, Poly, S, Sum, Symbol, expand, expand_log, factorial2, log

from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import FOLDED
from symslr.model.symbols import OTHERS, L, chi, epsilon, xi


def exact(expr: Expr, length: int) -> Expr:
    """``expr`` at a length, with the expectations of polynomials in it taken exactly.

    A weight, where there is one, has to be exp(s chi_epsilon - s^2/2).
    """
    expr = expr.subs(L, length)
    return expand(expr.xreplace({node: _mean(node, length) for node in expr.atoms(SequenceExpectation)}))


def _mean(node: SequenceExpectation, length: int) -> Expr:
    shift = expand_log(log(node.law.weight), force=True).diff(chi[epsilon])
    body = node.body.replace(lambda item: isinstance(item, FOLDED), lambda item: item.doit())
    total = S.Zero
    numbered = any(index.is_Integer for item in body.atoms(Indexed) for index in item.indices)
    positions = range(1, length + 1) if numbered else (1,)  # tokens without numbers are exchangeable
    for position in positions:
        others = [i for i in range(1, length + 1) if i != position]
        at = _written(body).subs(epsilon, position)
        for token, index in zip(OTHERS, others, strict=False):
            at = at.subs(token, index)
        total += _gaussian(at.subs(chi[position], chi[position] + shift))
    return total / len(positions)


def _written(body: Expr) -> Expr:
    """Sums written out, the innermost first, by numbers put in for their index."""
    while sums := [s for s in body.atoms(Sum) if not s.function.has(Sum)]:
        ((index, first, last),) = sums[0].limits
        terms = (sums[0].function.subs(index, i) for i in range(int(first), int(last) + 1))
        body = body.xreplace({sums[0]: sum(terms, S.Zero)})
    return body


def _gaussian(body: Expr) -> Expr:
    """The mean of a polynomial in independent standard normal variables."""
    letters = {item: Symbol(f"y{number}") for number, item in enumerate(sorted(body.atoms(Indexed) | {xi}, key=str))}
    result = S.Zero
    for powers, coefficient in Poly(expand(body.xreplace(letters)), *letters.values()).terms():
        if all(power % 2 == 0 for power in powers):
            for power in powers:
                coefficient *= factorial2(power - 1)
            result += coefficient
    return result
