"""Which integrals are sums of products of phi_s(u e^c) = E exp(-u e^{c + s z}), z ~ N(0, 1): exponential kernels, Gaussian tokens.

E[x^p e^{bx} exp(-u C e^{sx})] is a sum of phi: completing the square (Cameron-Martin) removes e^{bx} and the law's mean and
variance, Stein's identity removes x^p (docs/proofs.md, section 2).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce

from sympy import (
    Add,
    Dummy,
    Expr,
    Poly,
    PolynomialError,
    Pow,
    S,
    Symbol,
    exp,
    expand,
    expand_log,
    factorial2,
    log,
    oo,
    pi,
    sqrt,
)

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace.form import moving
from symslr.evaluation.numbers.elementary import sign
from symslr.evaluation.numbers.exponent import exponential, gaussian, split
from symslr.expression.expectation import ScalarExpectation
from symslr.model.symbols import x

LARGEST_EXPANDED_POWER = 8
"""Largest power of a sum of expectations that is expanded: the number of terms grows with the power."""


@dataclass(frozen=True)
class Monomial:
    """coefficient u^power e^{-offset u} times phi_s(u e^c)^n of every (s, c) in ``tokens``, s > 0."""

    coefficient: Expr
    power: Expr = S.Zero
    offset: Expr = S.Zero
    tokens: dict[tuple[Expr, Expr], int] = field(default_factory=dict)

    def __mul__(self, other: Monomial) -> Monomial:
        tokens = dict(self.tokens)
        for token, n in other.tokens.items():
            tokens[token] = tokens.get(token, 0) + n
        coefficient = self.coefficient * other.coefficient
        return Monomial(coefficient, self.power + other.power, self.offset + other.offset, tokens)

    def __pow__(self, n: int) -> Monomial:
        tokens = {token: n * count for token, count in self.tokens.items()}
        return Monomial(self.coefficient**n, n * self.power, n * self.offset, tokens)


def normal_form(node: Expr) -> list[Monomial]:
    """The integrand of a Laplace integral, or an expectation of one token, as a sum of monomials.

    Raises:
        CannotEvaluate: for kernels other than exponentials under Gaussian laws.
    """
    if isinstance(node, ScalarExpectation):
        return _mean(node, Dummy("u"))
    if len(node.limits) != 1 or node.limits[0][1:] != (0, oo):
        raise CannotEvaluate(
            f"certified: no proof is available for an integral over {node.limits}; expected (u, 0, oo)"
        )
    u = node.limits[0][0]
    means = {Dummy("M"): mean for mean in moving(node.function, (u,))}
    body = node.function.xreplace({mean: mark for mark, mean in means.items()})
    for part in body.atoms(Pow):
        if part.base.is_Add and part.base.has(*means):
            _check_power(part.exp, part.base.args)
    sums = {mark: _mean(mean, u) for mark, mean in means.items()}
    merged: dict[object, Monomial] = {}
    for product in _terms(body):
        shared, counts, exponent, rest = _shared(product, u, tuple(means))
        if (exponent + rest).has(u, *means) or not all(n.is_Integer and n >= 0 for n in counts):
            raise CannotEvaluate(
                f"certified: no proof is available for {product.xreplace(means)} under a Laplace integral"
            )
        factors = [_power(sums[mark], n) for mark, n in zip(means, counts) if n]
        for term in reduce(_times, factors, [replace(shared, coefficient=rest * exp(exponent))]):
            key = (term.power, term.offset, frozenset(term.tokens.items()))
            same = merged.get(key)
            merged[key] = term if same is None else replace(term, coefficient=same.coefficient + term.coefficient)
    return list(merged.values())


def _terms(body: Expr) -> tuple[Expr, ...]:
    return Add.make_args(expand(body, power_exp=False, power_base=False, log=False))


def _shared(product: Expr, u: Symbol, marks: tuple[Symbol, ...] = ()) -> tuple[Monomial, list[Expr], Expr, Expr]:
    """A product as u^k e^{-ou} (a monomial), powers of ``marks``, and exp(exponent) rest."""
    logs = {own: Dummy(f"log_{own.name}") for own in (u, *marks)}
    parts = split(product, logs)
    exponent = expand(parts.exponent)
    power, *counts = (exponent.coeff(own, 1) for own in logs.values())
    rate = -exponent.coeff(u, 1)
    left = expand(exponent + rate * u - Add(*(n * own for n, own in zip((power, *counts), logs.values()))))
    return Monomial(S.One, power, rate), counts, left.xreplace({own: mark for mark, own in logs.items()}), parts.rest


def _times(left: list[Monomial], right: list[Monomial]) -> list[Monomial]:
    return [a * b for a in left for b in right]


def _power(terms: list[Monomial], n: Expr) -> list[Monomial]:
    if len(terms) == 1:
        return [terms[0] ** int(n)]
    _check_power(n, terms)
    return reduce(_times, [terms] * int(n))


def _check_power(n: Expr, terms: list[Monomial] | tuple[Expr, ...]) -> None:
    if n > LARGEST_EXPANDED_POWER:
        found = f"the power {n} of a sum of {len(terms)} expectations"
        raise CannotEvaluate(f"certified: found {found}; expected a power of at most {LARGEST_EXPANDED_POWER}")


def _mean(node: ScalarExpectation, u: Symbol) -> list[Monomial]:
    """E[polynomial exp(quadratic) u^k exp(-u (o + C e^{sx}))] under a Gaussian law."""
    law, variable = node.law, node.variable
    if (law.lower, law.upper) != (-oo, oo):
        raise CannotEvaluate(f"certified: no proof is available for a law on ({law.lower}, {law.upper})")
    density = law.density.xreplace({x: variable})
    return [own for term in _terms(node.body) for own in _token(term * density, variable, u)]


def _token(product: Expr, x: Symbol, u: Symbol) -> list[Monomial]:
    shared, _, exponent, rest = _shared(product, u)
    try:
        polynomial = Poly(rest, x)
    except PolynomialError:
        polynomial = None
    if (
        polynomial is None
        or (rest * shared.power).has(u)
        or shared.power.has(x)
        or any(c.has(x) for c in polynomial.coeffs())
    ):
        raise CannotEvaluate(f"certified: no proof is available for a token function with {rest}")
    square = None if exponent.has(u) else gaussian(exponent, x)
    if square is None:
        raise CannotEvaluate(f"certified: found the token weight exp({exponent}); expected a Gaussian")
    if sign(square.curvature) >= 0:
        raise CannotEvaluate(f"certified: the expectation diverges, the weight is exp({exponent})")
    deviation = sqrt(-1 / (2 * square.curvature))
    offset, kernel = expand(shared.offset).as_independent(x, as_Add=True)
    shared = replace(shared, coefficient=sqrt(2 * pi) * deviation * exp(square.height), offset=offset)
    slope, shift = S.Zero, S.Zero
    if kernel != 0:
        own = exponential(kernel, x)
        if own is None:
            raise CannotEvaluate(
                f"certified: no proof is available for the kernel {offset + kernel}; expected o + C*exp(s*{x})"
            )
        if sign(own.constant) <= 0:
            raise CannotEvaluate(f"certified: found the kernel {offset + kernel}; expected a positive one")
        slope, shift = own.rate * deviation, expand_log(log(own.constant)) + own.rate * square.centre
        if sign(slope) < 0:  # -z has the law of z
            slope, deviation = -slope, -deviation
    in_z = Poly(polynomial.as_expr().subs(x, square.centre + deviation * x), x)
    return [shared * Monomial(c) * term for (p,), c in in_z.terms() for term in _stein(p, 0, slope, shift)]


def _stein(p: int, m: int, s: Expr, c: Expr) -> list[Monomial]:
    """E[z^p e^{msz} exp(-u e^{c + sz})] by E[z f(z)] = E f'(z), down to phi_s; E z^p where s is 0."""
    if s == 0:
        return [Monomial(factorial2(p - 1))] if p % 2 == 0 else []
    if p == 0:
        return [Monomial(exp(expand((m * s) ** 2 / 2)), tokens={(s, expand(c + m * s**2)): 1})]
    terms = [Monomial(p - 1) * t for t in _stein(p - 2, m, s, c)] if p > 1 else []
    terms += [Monomial(m * s) * t for t in _stein(p - 1, m, s, c)] if m else []
    return terms + [Monomial(-s * exp(c), S.One) * t for t in _stein(p - 1, m + 1, s, c)]
