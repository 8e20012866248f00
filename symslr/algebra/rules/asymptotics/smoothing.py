"""Taylor expansion of an integral of smoothed functions in the width of the smoothing, with a majorant for the remainder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from sympy import (
    Abs,
    Add,
    Expr,
    Integer,
    Integral,
    Mul,
    Poly,
    Rational,
    S,
    Symbol,
    binomial,
    cancel,
    exp,
    expand,
    expand_func,
    factorial,
    factorial2,
    floor,
    gamma,
    hermite_prob,
    log,
    oo,
    pi,
    simplify,
    sqrt,
)

from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rules.asymptotics.transforms import TransformMoments
from symslr.algebra.truncation import Truncation
from symslr.expression.expectation import ScalarExpectation
from symslr.expression.special import NormalCdf
from symslr.model.powers import factored
from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import x

DENSITY = exp(-(x**2) / 2) / sqrt(2 * pi)
PHI, MASS = Symbol("phi", positive=True), Symbol("Phi", positive=True)
"""Letters for the standard normal density and distribution function while coefficients are collected."""

DIGITS = 40
"""Of a number that is rounded up to two."""


@dataclass(frozen=True)
class Smoothed:
    """A factor (E_S h(y - t S))^power, with h = Q phi for a polynomial Q in ``x``, or h = Phi where Q is None."""

    polynomial: Expr | None
    power: Expr
    law: ScalarLaw

    def derivatives(self, count: int) -> list[Expr]:
        """h, h', ... in the letters: (Q phi)' = (Q' - x Q) phi."""
        found = [S.One if self.polynomial is None else self.polynomial]
        while len(found) < count:
            found.append(expand(found[-1].diff(x) - x * found[-1]))
        terms = [q * PHI for q in found]
        return terms if self.polynomial is not None else [MASS, *terms][:count]

    def norms(self, count: int, *, integrable: bool) -> list[Expr]:
        """|h|, |h'|, ... or more, in the L1 norm or in the sup norm."""
        bound = _area if integrable else _height
        return [S.One if h == MASS else bound(cancel(h / PHI)) for h in self.derivatives(count)]


def _area(polynomial: Expr) -> Expr:
    """E[Q(x)^2]^{1/2}, at least the integral of |Q phi|."""
    square = Poly(polynomial**2, x)
    return sqrt(Add(*(c * factorial2(d - 1) for (d,), c in square.terms() if d % 2 == 0)))


def _height(polynomial: Expr) -> Expr:
    """sum_j |c_j| E|Z|^j/sqrt(2 pi) for Q = sum_j c_j He_j, at least sup |Q phi|: He_j phi has the transform (i w)^j e^{-w^2/2}."""
    total, rest = S.Zero, Poly(polynomial, x)
    while not rest.is_zero:
        degree, leading = rest.degree(), rest.LC()
        total += Abs(leading) * 2 ** Rational(degree, 2) * gamma(Rational(degree + 1, 2)) / sqrt(pi)
        rest -= Poly(leading * hermite_prob(degree, x), x)
    return total / sqrt(2 * pi)


@final
class SmoothingTaylor(Truncation):
    """Expand int prod_i (E_S h_i(y - t S))^{p_i} dy in powers of the width t.

    By Leibniz' rule the n-th derivative in t is a sum of products of E_S[(-S)^k h^(k)(y - tS)]. Its integral over y is
    bounded at every t by one factor in the L1 norm and the others in the sup norm, which no translation changes: the
    majorants of the factors, multiplied, have the bound as their n-th coefficient. That bound ignores every cancellation,
    so it is put one order further, behind the first term left out. The functions h are distribution functions or densities
    of normal variables, times polynomials: h^(k) = Q phi with |Q phi|_1 <= E[Q^2]^{1/2}, and the sup norm is at most the L1
    norm of the Fourier transform over 2 pi.

    Args:
        width: t.
        order: how many powers of t are kept, beginning with the zeroth.
        moments: where the moments of S come from.
    """

    name = "Taylor expansion of a smoothing"
    statement = (
        r"\int\prod_i\left(\mathbb{E}_S\,h_i(y-tS)\right)^{p_i}\mathrm{d}y = \sum_{k<n}c_kt^k + R_n,\qquad c_k=\int[\tau^k]"
        r"\prod_i\Big(\sum_j\frac{(-\tau)^j\mathbb{E}S^j}{j!}h_i^{(j)}\Big)^{p_i}\mathrm{d}y,\qquad"
        r" |R_n|\le |c_n|t^n + t^{n+1}\,[\tau^{n+1}]\prod_i\Big("
        r"\sum_j\frac{\tau^j\,\mathbb{E}|S|^j}{j!}\big\|h_i^{(j)}\big\|\Big)^{p_i}"
    )
    conditions = (
        r"$t>0$, $p_i\ge0$ integers; $S$ has all moments; $\|\cdot\|$ is the $L^1$ norm in one factor of power at least one "
        r"and the sup norm in the others"
    )

    def __init__(self, width: Expr, order: int, moments: TransformMoments) -> None:
        if order < 1:
            raise ValueError(f"order: found {order}; expected at least 1 term")
        if not width.is_positive:
            raise ValueError(f"width: found {width}; expected one known to be positive")
        self.width, self.order, self.moments = width, order, moments
        self.theorem = moments.theorem
        self._known: dict[Expr, tuple[Expr, Expr]] = {}

    def truncate(self, term: Expr) -> tuple[Expr, Expr] | None:
        if not isinstance(term, Integral) or not term.has(ScalarExpectation):
            return None
        if term not in self._known:
            self._known[term] = self._expanded(term)
        return self._known[term]

    def _expanded(self, term: Integral) -> tuple[Expr, Expr]:
        y, fixed, factors = self._factors(term)
        t, n = self.width, self.order
        *kept, left = (t**k * c for k, c in enumerate(self._coefficients(factors, y)))
        bound = Abs(left) + t ** (n + 1) * self._majorant(factors)
        return expand(fixed * Add(*kept), deep=False), Abs(fixed) * bound

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """p_i >= 0, where that depends on parameters."""
        found = list(self.moments.hypotheses(expr))
        for term in self.truncated(expr):
            for item in self._factors(term)[2]:
                if not item.power.is_nonnegative:
                    found.append(Hypothesis.of(item.power >= 0))
        return tuple(dict.fromkeys(found))

    def _factors(self, term: Integral) -> tuple[Expr, Expr, list[Smoothed]]:
        """(y, what does not depend on it, the smoothed functions)."""
        y, *ends = term.limits[0]
        if len(term.limits) != 1 or ends != [-oo, oo]:
            raise self.refuse(f"{term} is no integral over the line")
        fixed, moving = term.function.as_independent(y, as_Add=False)
        factors = []
        for part in Mul.make_args(moving):
            node, power = part.as_base_exp()
            if not isinstance(node, ScalarExpectation):
                raise self.refuse(f"{part} is no power of an expectation")
            if not power.is_integer or power.is_negative:
                raise self.refuse(f"the power {power} of {node} is not known to be a nonnegative integer")
            h = node.body.subs(node.variable, 0).subs(y, x)
            shifted = h.subs(x, y - self.width * node.variable)
            if node.law.has(y) or self.width.has(y) or simplify(expand(shifted) - expand(node.body)) != 0:
                raise self.refuse(f"{node} is no mean of a function of {y} - {self.width} {node.variable}")
            polynomial = None if h == NormalCdf(x) else simplify(h / DENSITY)
            if polynomial is not None and not polynomial.is_polynomial(x):
                raise self.refuse(f"{h} is neither Phi(x) nor a polynomial times the standard normal density")
            factors.append(Smoothed(polynomial, power, node.law))
        if not any(map(_is_integrable, factors)):
            raise self.refuse(f"{term} has no factor known to be integrable")
        return y, fixed, factors

    def _coefficients(self, factors: Sequence[Smoothed], y: Expr) -> list[Expr]:
        """The integrals over y of the coefficients of tau^k, k <= n, one for each power of the density."""
        total = [S.One, *[S.Zero] * self.order]
        for item in factors:
            terms = [
                (-1) ** j * self.moments.moment(j, item.law) / factorial(j) * h
                for j, h in enumerate(item.derivatives(self.order + 1))
            ]
            total = _multiplied(total, _raised(terms, item.power))
        return [self._integrated(c, y) for c in total]

    def _integrated(self, coefficient: Expr, y: Expr) -> Expr:
        groups: dict[Expr, Expr] = defaultdict(lambda: S.Zero)
        for term in Add.make_args(expand(coefficient)):
            polynomial, letters = term.as_independent(PHI, MASS, as_Add=False)
            groups[letters] += polynomial
        result = []
        for letters, polynomial in groups.items():
            fixed, moving = factored(polynomial).as_independent(x, as_Add=False)
            body = moving * letters.subs({PHI: DENSITY, MASS: NormalCdf(x)})
            result.append(fixed * Integral(body.subs(x, y), (y, -oo, oo)) if fixed != 0 else S.Zero)
        return Add(*result)

    def _majorant(self, factors: Sequence[Smoothed]) -> Expr:
        """The coefficient after the n-th of the product of the majorants."""
        n = self.order + 1
        total, ways = [S.One, *[S.Zero] * n], _Ways()
        first = next(filter(_is_integrable, factors))
        for item in factors:
            moments = [self._absolute_moment(k, item.law) / factorial(k) for k in range(n + 1)]
            sup = [m * norm for m, norm in zip(moments, item.norms(n + 1, integrable=False))]
            power = item.power
            if item is first:
                area = [m * norm for m, norm in zip(moments, item.norms(n + 1, integrable=True))]
                total, power = _multiplied(total, area), power - 1
            total = _multiplied(total, _raised(sup, power, ways))
        return ways.rounded_up(total[n])

    def _absolute_moment(self, k: int, law: ScalarLaw) -> Expr:
        """At least E|S|^k."""
        if k % 2 == 0:
            return self.moments.moment(k, law)
        return sqrt(self.moments.moment(k - 1, law) * self.moments.moment(k + 1, law))


def _is_integrable(item: Smoothed) -> bool:
    return bool(item.polynomial is not None and item.power.is_positive)


def _multiplied(one: Sequence[Expr], two: Sequence[Expr]) -> list[Expr]:
    """The product of two power series, cut where the first one is."""
    return [Add(*(one[i] * two[k - i] for i in range(k + 1))) for k in range(len(one))]


def _choose(power: Expr, j: int) -> Expr:
    return expand_func(binomial(power, j))


def _raised(series: Sequence[Expr], power: Expr, choose: Callable[[Expr, int], Expr] = _choose) -> list[Expr]:
    """A power series to a power that may be a symbol: (c + d)^p = sum_j binomial(p, j) c^{p-j} d^j."""
    count = len(series)
    rest, result = [S.One, *[S.Zero] * (count - 1)], [S.Zero] * count
    for j in range(count):
        ways = choose(power, j)
        if ways != 0:
            weight = ways * series[0] ** (power - j)
            result = [r + weight * c for r, c in zip(result, rest)]
        rest = _multiplied(rest, [S.Zero, *series[1:]])
    return result


class _Ways:
    """Binomial coefficients of a symbolic power as letters, so that the numbers before them can be rounded up."""

    def __init__(self) -> None:
        self.letters: dict[Expr, Symbol] = {}

    def __call__(self, power: Expr, j: int) -> Expr:
        ways = _choose(power, j)
        return (
            ways if ways.is_number else self.letters.setdefault(ways, Symbol(f"w_{len(self.letters)}", positive=True))
        )

    def rounded_up(self, bound: Expr) -> Expr:
        """A sum of positive numbers times letters, the numbers rounded up to two digits: no smaller, and short to print."""
        counts: dict[Expr, Expr] = defaultdict(lambda: S.Zero)
        for term in Add.make_args(expand(bound)):
            number, ways = term.as_independent(*self.letters.values(), as_Add=False)
            counts[ways] += number
        meaning = {letter: ways for ways, letter in self.letters.items()}
        numbers = {w: _above(c) if c.is_number else c for w, c in counts.items()}
        return Add(*(c * ways.xreplace(meaning) for ways, c in numbers.items()))


def _above(number: Expr) -> Expr:
    """The least number of two digits above a positive one."""
    digits = number.evalf(DIGITS)
    step = Integer(10) ** (floor(log(digits, 10)) - 1)
    share = digits / step
    near = abs(share - round(share)) < Rational(1, 10 ** (DIGITS // 2))  # which side of it only the number itself tells
    return (floor(number / step if near else share) + 1) * step
