"""Strong signal: softmax towards the maximum, to any order in one over its scale."""

from __future__ import annotations

from functools import cache
from typing import final

from sympy import (
    Add,
    Dummy,
    Expr,
    Integer,
    Poly,
    Rational,
    binomial,
    erf,
    exp,
    expand_func,
    factor,
    factorial,
    hermite_prob,
    log,
    pi,
    sqrt,
    zeta,
)

from symslr.algebra.rule import Rule
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation, rewrite_expectations
from symslr.model.exponential import exponential_slope
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import chi, epsilon, x

MASS = (1 + erf(x / sqrt(2))) / 2
DENSITY = exp(-(x**2) / 2) / sqrt(2 * pi)


@final
class SoftmaxTowardsMax(Rule):
    """Expand the mean key of the selected token around the mean of the largest of L normals, in powers of 1/nu.

    With G_l independent Gumbel variables, eps = argmax(nu chi_l + G_l) has the law of the selected token, so that
    E log sum_l exp(nu chi_l) = nu f(1/nu), f(t) = E max_l(chi_l + t g_l), g centred, and mu = f - t f'. The normals make f
    smooth: |f^(n)| <= sqrt((n-1)!) E|g|^n <= sqrt((n-1)!) L^{n/2} E|g_1|^n (one derivative of the maximum is an indicator,
    the others are Hermite polynomials). One term alone has the sharper bound H(p)/nu <= log(L)/nu.

    Args:
        order: how many powers of 1/nu are kept, beginning with the zeroth.
    """

    name = "softmax towards the maximum"
    statement = (
        r"\mathbb{E}_g[\chi_\epsilon] = \sum_{k<n}\frac{(1-k)f_k}{\nu^k} + R_n,\qquad"
        r" f_k = -[t^k]\int\left(\mathbb{E}_\gamma\Phi(y-t\gamma)\right)^L\mathrm{d}y\ (k\ge2),\quad"
        r" f_0=L\,\mathbb{E}_x\left[x\,\Phi(x)^{L-1}\right],\quad f_1=0,\qquad |R_1|\le\frac{\log L}{\nu},\quad"
        r" |R_n|\le\frac{(n+1)\sqrt{(n-1)!}\,L^{n/2}\,\mathbb{E}|\gamma|^n}{n!\,\nu^n}"
    )
    conditions = (
        r"$\epsilon\mid\chi\sim\mathrm{softmax}(\nu\chi)$ with standard normal tokens; $\gamma$ is a centred Gumbel "
        r"variable"
    )

    def __init__(self, order: int = 1) -> None:
        if order < 1:
            raise ValueError(f"order: found {order}; expected at least 1 term")
        self.order = order

    def rewrite(self, expr: Expr) -> Expr:
        def largest(node: SequenceExpectation) -> Expr:
            slope, length = self._slope(node), node.law.length
            leading = length * ScalarExpectation(x * MASS ** (length - 1), x, STANDARD_NORMAL)
            return leading + Add(*((1 - k) * _coefficient(k, length) / slope**k for k in range(2, self.order)))

        return rewrite_expectations(expr, largest, SequenceExpectation)

    def remainder(self, expr: Expr) -> Expr:
        n = self.order

        def bound(node: SequenceExpectation) -> Expr:
            slope, length = self._slope(node), node.law.length
            if n == 1:
                return log(length) / slope
            even = n + n % 2
            moment = gumbel_moment(even) ** Rational(n, even)
            return (n + 1) * sqrt(factorial(n - 1)) * length ** Rational(n, 2) * moment / (factorial(n) * slope**n)

        return rewrite_expectations(expr, bound, SequenceExpectation)

    def _slope(self, node: SequenceExpectation) -> Expr:
        law = node.law
        if node.body != chi[epsilon] or not law.is_selection or law.base != STANDARD_NORMAL:
            raise self.refuse(f"{node} is not the mean key of a token selected among standard normal ones")
        slope = exponential_slope(law)
        if slope is None:
            raise self.refuse(f"the ratio of the weight {law.weight} between two positions is not exponential")
        if not slope.is_positive:
            raise self.refuse(f"the scale {slope} of the softmax is not known to be positive")
        return slope


@cache
def gumbel_moment(n: int) -> Expr:
    """Central moment of a Gumbel variable, whose cumulants are (n-1)! zeta(n)."""
    if n < 2:
        return Integer(1 - n)
    return Add(*(binomial(n - 1, k - 1) * factorial(k - 1) * zeta(k) * gumbel_moment(n - k) for k in range(2, n + 1)))


def _coefficient(k: int, length: Expr) -> Expr:
    """f_k: E_gamma Phi(y - t gamma) = Phi + phi Q, Q = -sum_i (E gamma^i/i!) He_{i-1}(y) t^i, to the power L."""
    t = Dummy("t")
    series = -Add(*(gumbel_moment(i) / factorial(i) * hermite_prob(i - 1, x) * t**i for i in range(2, k + 1)))
    terms = []
    for j in range(1, k // 2 + 1):
        power = factor(Poly(series**j, t).coeff_monomial(t**k))
        fixed, random = (power * DENSITY ** (j - 1)).as_independent(x, as_Add=False)
        moment = ScalarExpectation(random * MASS ** (length - j), x, STANDARD_NORMAL)
        terms.append(-fixed * expand_func(binomial(length, j)) * moment)
    return Add(*terms)
