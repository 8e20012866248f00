"""One-token expectations in normal form: E[x^p e^{bx} exp(-u C e^{sx})] as a sum of phi_s(u e^c), exactly.

Completing the square (Cameron-Martin) removes e^{bx} and the law's mean and variance, Stein's identity removes x^p;
docs/proofs.md, section 2.
"""

from __future__ import annotations

from math import comb

from sympy import E, Expr, S, exp, expand, expand_log, factorial2, log, oo, pi, sqrt

from symslr.evaluation.certified.monomial import Monomial
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.numbers.elementary import sign
from symslr.evaluation.numbers.exponent import gaussian
from symslr.expression.expectation import ScalarExpectation
from symslr.model.symbols import x as law_symbol


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
        terms += _term(term * density, variable, u)
    return terms


def _term(term: Expr, x: Expr, u: Expr) -> list[Monomial]:
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
