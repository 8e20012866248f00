"""Integrands of Laplace integrals in normal form: a sum of ``Monomial``."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from sympy import Add, E, Expr, S, exp, expand

from symslr.evaluation.certified.monomial import Monomial, times
from symslr.evaluation.errors import CannotEvaluate
from symslr.expression.expectation import ScalarExpectation

LARGEST_EXPANDED_POWER = 8
"""Of a sum of expectations: its terms grow with every power."""


TokenTerms = Callable[[ScalarExpectation, tuple[Expr, ...]], list[Monomial]]
"""A one-token expectation and the variables -> a sum of monomials in them."""


def laplace_terms(integrand: Expr, variables: tuple[Expr, ...], token_terms: TokenTerms) -> list[Monomial]:
    """``integrand`` as a sum of monomials in its variables u > 0; coefficients are free of them and may hold expectations.

    Args:
        integrand: sums and products of powers of u, exp(-u o) and one-token expectations.
        variables: one or two.
        token_terms: how a one-token expectation is written.

    Raises:
        CannotEvaluate: for a factor that is not a power of u, exp(-u o), or a one-token expectation.
    """
    if not integrand.has(*variables):
        return [Monomial(integrand)]
    if isinstance(integrand, ScalarExpectation):
        return token_terms(integrand, variables)
    if integrand.is_Add:
        return [term for arg in integrand.args for term in laplace_terms(arg, variables, token_terms)]
    if integrand.is_Mul:
        return reduce(times, (laplace_terms(arg, variables, token_terms) for arg in integrand.args))
    base, power = integrand.as_base_exp()
    if base in variables and not power.has(*variables):
        return [Monomial(S.One, tuple(power if u == base else S.Zero for u in variables))]
    if isinstance(integrand, exp) or base == E:
        exponent = expand(integrand.exp)
        rates = tuple(-exponent.coeff(u, 1) for u in variables)
        constant = expand(exponent + Add(*(rate * u for rate, u in zip(rates, variables))))
        if not any(part.has(*variables) for part in (constant, *rates)):
            return [Monomial(exp(constant), (), rates)]
    if integrand.is_Pow and power.is_Integer and power >= 0:
        return _power(laplace_terms(base, variables, token_terms), int(power))
    raise CannotEvaluate(f"certified: no proof is available for {integrand} under a Laplace integral")


def _power(terms: list[Monomial], n: int) -> list[Monomial]:
    if len(terms) == 1:
        return [terms[0] ** n]
    if n > LARGEST_EXPANDED_POWER:
        found = f"the power {n} of a sum of {len(terms)} expectations"
        raise CannotEvaluate(f"certified: found {found}; expected a power of at most {LARGEST_EXPANDED_POWER}")
    return reduce(times, [terms] * n, [Monomial(S.One)])
