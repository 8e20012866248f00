"""The Laplace integral of one token alone: the attention of a sequence of length 1, or a mean that was never multiplied."""

from __future__ import annotations

from sympy import Add, Dummy, Expr, Integral, S, Symbol, gamma, oo
from sympy import exp as exp_

from symslr.evaluation.numbers.exponent import slope, split
from symslr.expression.expectation import ScalarExpectation


def by_tonelli(integral: Integral) -> Expr | None:
    """The integral carried out over u (and t) first, where every term holds one expectation, to the power one; else None.

        int_0^oo u^{k-1} e^{-u o} E[f(x) e^{-u kappa(x)}] du = Gamma(k) E[f(x) (o + kappa(x))^{-k}]

    for f >= 0 and o + kappa > 0 (Tonelli). On a mesh such an integral is the hardest of all: no other token ends it, so what counts
    at large u are tokens whose weight f is negligible at small u.
    """
    variables = tuple(limit[0] for limit in integral.limits)
    if any(limit[1:] != (S.Zero, oo) for limit in integral.limits):
        return None
    found = [_term(term, variables) for term in Add.make_args(integral.function)]
    return None if None in found else Add(*found)


def _term(term: Expr, variables: tuple[Symbol, ...]) -> Expr | None:
    outside, inside = term.as_independent(ScalarExpectation)
    if not isinstance(inside, ScalarExpectation):
        return None
    logs: dict[Expr, Expr] = {u: Dummy(f"log_{u}") for u in variables}
    outer, inner = split(outside, logs), split(inside.body)
    constant, body = outer.rest, inner.rest
    exponents = [outer.exponent, inner.exponent]
    for u, log_u in logs.items():
        power = exponents[0].coeff(log_u) + 1
        exponents[0] = exponents[0] - (power - 1) * log_u
        ends = [slope(exponent, u) for exponent in exponents]
        if None in ends or not power.is_positive:
            return None
        constant, body = constant * gamma(power), body * Add(*ends) ** -power
        exponents = [exponent.xreplace({u: S.Zero}) for exponent in exponents]
    mean = ScalarExpectation(body * exp_(exponents[1]), inside.variable, inside.law)
    made = constant * exp_(exponents[0]) * mean
    return None if made.free_symbols & {*logs, *logs.values()} else made
