"""One positive term of a Laplace integral, and sums of them: the normal form that the proofs are about, and integrands in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import zip_longest
from typing import Any

from sympy import Add, E, Expr, S, exp, expand

from symslr.evaluation.errors import CannotEvaluate
from symslr.expression.expectation import ScalarExpectation


@dataclass(frozen=True)
class LineToken:
    """u, t -> int F(x) e^{-u K(x) - t W(x)} dx over the real line, F with the density of the law; a kernel for every variable."""

    factor: Expr
    kernels: tuple[Expr, ...]


Token = Any
"""A one-token factor: (s, c), which is phi_s(u e^c) = E exp(-u e^{c + s z}) for z ~ N(0, 1) and s > 0; or a ``LineToken``."""


@dataclass(frozen=True)
class Monomial:
    """coefficient * prod over the variables u of u^power * exp(-offset u) * prod over (s, c) of phi_s(u e^c)^n.

    Powers and offsets are those of one variable after the other; what is left out at the end is zero.
    """

    coefficient: Expr
    powers: tuple[Expr, ...] = ()
    offsets: tuple[Expr, ...] = ()
    tokens: dict[Token, int] = field(default_factory=dict)

    @property
    def power(self) -> Expr:
        """Of the first variable."""
        return self.powers[0] if self.powers else S.Zero

    @property
    def offset(self) -> Expr:
        """Of the first variable."""
        return self.offsets[0] if self.offsets else S.Zero

    def __mul__(self, other: Monomial) -> Monomial:
        tokens = dict(self.tokens)
        for token, n in other.tokens.items():
            tokens[token] = tokens.get(token, 0) + n
        powers, offsets = _sums(self.powers, other.powers), _sums(self.offsets, other.offsets)
        return Monomial(self.coefficient * other.coefficient, powers, offsets, tokens)

    def __pow__(self, n: int) -> Monomial:
        tokens = {token: n * count for token, count in self.tokens.items()} if n else {}
        powers, offsets = (tuple(own * n for own in parts) for parts in (self.powers, self.offsets))
        return Monomial(self.coefficient**n, powers, offsets, tokens)


def _sums(left: tuple[Expr, ...], right: tuple[Expr, ...]) -> tuple[Expr, ...]:
    return tuple(a + b for a, b in zip_longest(left, right, fillvalue=S.Zero))


def times(left: list[Monomial], right: list[Monomial]) -> list[Monomial]:
    """The product of two sums."""
    return [a * b for a in left for b in right]


def merged(terms: list[Monomial]) -> list[Monomial]:
    """The same sum with one coefficient for each power of u, offset and set of tokens."""
    sums: dict[object, Monomial] = {}
    for term in terms:
        key = (term.powers, term.offsets, frozenset((token, n) for token, n in term.tokens.items() if n))
        known = sums.get(key)
        sums[key] = term if known is None else replace(term, coefficient=known.coefficient + term.coefficient)
    return list(sums.values())


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
