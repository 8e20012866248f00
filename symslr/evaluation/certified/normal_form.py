"""The normal form to which the proofs apply: sums of monomials under a Laplace integral; and how integrands are brought into it.

A one-token expectation is written in one of two ways. Under a Gaussian law E[x^p e^{bx} exp(-u C e^{sx})] is a sum of
phi_s(u e^c): completing the square (Cameron-Martin) removes e^{bx} and the law's mean and variance, Stein's identity removes
x^p (docs/proofs.md, section 2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import zip_longest
from math import comb
from typing import Any

from sympy import Add, Dummy, E, Expr, S, exp, expand, expand_log, factorial2, log, oo, pi, sqrt

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.numbers.elementary import sign
from symslr.evaluation.numbers.exponent import gaussian
from symslr.expression.expectation import ScalarExpectation
from symslr.model.symbols import x as law_symbol

Token = Any
"""A one-token factor: (s, c), which is phi_s(u e^c) = E exp(-u e^{c + s z}) for z ~ N(0, 1) and s > 0."""


@dataclass(frozen=True)
class Monomial:
    """coefficient * prod over the variables u of u^power * exp(-offset u) * prod over (s, c) of phi_s(u e^c)^n.

    ``powers`` and ``offsets`` have one entry per variable; missing ones at the end are zero.
    """

    coefficient: Expr
    powers: tuple[Expr, ...] = ()
    offsets: tuple[Expr, ...] = ()
    tokens: dict[Token, int] = field(default_factory=dict)

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
    """The sum with like monomials (same powers, offsets and tokens) combined."""
    sums: dict[object, Monomial] = {}
    for term in terms:
        key = (term.powers, term.offsets, frozenset((token, n) for token, n in term.tokens.items() if n))
        known = sums.get(key)
        sums[key] = term if known is None else replace(term, coefficient=known.coefficient + term.coefficient)
    return list(sums.values())


LARGEST_EXPANDED_POWER = 8
"""Largest power of a sum of expectations that is expanded: the number of terms grows with the power."""


TokenTerms = Callable[[ScalarExpectation, tuple[Expr, ...]], list[Monomial]]
"""A one-token expectation and the variables -> a sum of monomials in them."""


def laplace_terms(integrand: Expr, variables: tuple[Expr, ...], token_terms: TokenTerms) -> list[Monomial]:
    """``integrand`` as a sum of monomials in its variables u > 0; coefficients are free of them and may hold expectations.

    Args:
        integrand: sums and products of powers of u, exp(-u o) and one-token expectations.
        variables: one or two.
        token_terms: writes a one-token expectation as a sum of monomials.

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


def normal_form(node: Expr) -> list[Monomial]:
    """The normal form of a Laplace integral, or of an expectation outside of one.

    Raises:
        CannotEvaluate: for kernels other than exponentials under Gaussian laws.
    """
    if isinstance(node, ScalarExpectation):
        return token_terms(node, (Dummy("u"),))
    variables = _laplace_variables(node)
    of_all = Monomial(S.One, (S.Zero,) * len(variables), (S.Zero,) * len(variables))
    return merged([of_all * term for term in laplace_terms(node.function, variables, token_terms)])


def _laplace_variables(expr: Expr) -> tuple[Expr, ...]:
    limits = expr.limits
    if len(limits) > 2 or any(len(limit) != 3 or limit[1:] != (0, oo) for limit in limits):
        raise CannotEvaluate(f"certified: no proof is available for an integral over {limits}; expected (u, 0, oo)")
    return tuple(limit[0] for limit in limits)


def token_terms(node: ScalarExpectation, variables: tuple[Expr, ...]) -> list[Monomial]:
    """``node`` as a sum of monomials in one variable u; constants when ``node`` is free of it.

    Raises:
        CannotEvaluate: unless the law is Gaussian and the body polynomial * exponential * exp(-u (o + C e^{sx})).
    """
    if len(variables) > 1:
        raise CannotEvaluate(
            "certified: no product of polynomials serves two normalisers, of the weight and of the attention"
        )
    (u,) = variables
    law, variable = node.law, node.variable
    if (law.lower, law.upper) != (-oo, oo):
        raise CannotEvaluate(f"certified: no proof is available for a law on ({law.lower}, {law.upper})")
    density = law.density.xreplace({law_symbol: variable})
    terms = []
    for term in expand(node.body, power_exp=False, power_base=False, log=False).as_ordered_terms():
        terms += _gaussian_term(term * density, variable, u)
    return terms


def _gaussian_term(term: Expr, x: Expr, u: Expr) -> list[Monomial]:
    constant, degree, u_degree, exponent = S.One, 0, S.Zero, S.Zero
    for factor in term.as_ordered_factors():
        base, power = factor.as_base_exp()
        if not factor.has(x, u):
            constant *= factor
        elif base == x and power.is_Integer and power >= 0:
            degree = int(power)
        elif base == u and not power.has(x, u):
            u_degree += power
        elif isinstance(factor, exp) or base == E:
            exponent += factor.exp if isinstance(factor, exp) else power
        else:
            raise CannotEvaluate(f"certified: no proof is available for a token function with {factor}")
    exponent = expand(exponent)
    rate = -exponent.coeff(u, 1)
    offset, kernel = _kernel(expand(rate), x)
    weight, mean, deviation = _complete_square(expand(exponent + u * rate), x, u)
    prefix = Monomial(constant * weight, (u_degree,), (offset,))
    polynomial = {p: comb(degree, p) * mean ** (degree - p) * deviation**p for p in range(degree + 1)}
    if kernel is None:
        return [prefix * Monomial(sum(w * _moment(p) for p, w in polynomial.items()))]
    slope, shift = kernel
    scale, shift = slope * deviation, shift + slope * mean
    orientation = sign(scale)
    if orientation == 0:
        raise CannotEvaluate(f"certified: cannot tell whether the slope {scale} of the kernel is zero; simplify it")
    terms = []
    for p, w in polynomial.items():
        if w != 0:
            terms += [prefix * Monomial(w * orientation**p) * term for term in _stein(p, 0, orientation * scale, shift)]
    return terms


def _kernel(rate: Expr, x: Expr) -> tuple[Expr, tuple[Expr, Expr] | None]:
    """(o, (s, log C)) with rate = o + C e^{s x}; None for a constant rate."""
    offset, kernel = S.Zero, None
    for part in rate.as_ordered_terms():
        if not part.has(x):
            offset += part
            continue
        constant, growing = part.as_independent(x, as_Add=False)
        slope = expand(growing.exp).coeff(x, 1) if isinstance(growing, exp) else S.Zero
        if kernel is not None or slope == 0 or (rest := expand(growing.exp - slope * x)).has(x) or slope.has(x):
            raise CannotEvaluate(f"certified: no proof is available for the kernel {rate}; expected o + C*exp(s*{x})")
        if sign(constant) <= 0:
            raise CannotEvaluate(f"certified: found the kernel {rate}; expected a positive one")
        kernel = (slope, expand_log(log(constant)) + rest)
    return offset, kernel


def _complete_square(exponent: Expr, x: Expr, u: Expr) -> tuple[Expr, Expr, Expr]:
    """(w, m, sigma) with int exp(exponent) f(x) dx = w E f(m + sigma z), z ~ N(0, 1)."""
    square = None if exponent.has(u) else gaussian(exponent, x)
    if square is None:
        raise CannotEvaluate(f"certified: found the token weight exp({exponent}); expected a Gaussian")
    if sign(square.curvature) >= 0:
        raise CannotEvaluate(f"certified: the expectation diverges, the weight is exp({exponent})")
    variance = -1 / (2 * square.curvature)
    return sqrt(2 * pi * variance) * exp(square.height), square.centre, sqrt(variance)


def _moment(p: int) -> Expr:
    """E z^p."""
    return S.Zero if p % 2 else factorial2(p - 1)


def _stein(p: int, m: int, s: Expr, c: Expr) -> list[Monomial]:
    """E[z^p e^{msz} exp(-u e^{c + sz})] by E[z f(z)] = E f'(z), down to phi_s."""
    if p == 0:
        return [Monomial(exp(expand((m * s) ** 2 / 2)), tokens={(s, expand(c + m * s**2)): 1})]
    terms = [Monomial(p - 1) * t for t in _stein(p - 2, m, s, c)] if p > 1 else []
    terms += [Monomial(m * s) * t for t in _stein(p - 1, m, s, c)] if m else []
    return terms + [Monomial(-s * exp(c), (S.One,)) * t for t in _stein(p - 1, m + 1, s, c)]
