"""Large-parameter expansion of a Gaussian mean: centre it, write the density, expand its exponential."""

from __future__ import annotations

from typing import final

from sympy import (
    Abs,
    Add,
    Expr,
    Integral,
    Mul,
    Wild,
    bernoulli,
    cosh,
    euler,
    exp,
    expand,
    factorial,
    log,
    oo,
    pi,
    powsimp,
    simplify,
)

from symslr.algebra.rule import Rule
from symslr.expression.expectation import ScalarExpectation, rewrite_expectations
from symslr.model.scalar_law import normal
from symslr.model.symbols import x


@final
class Centre(Rule):
    """Move the mean of a Gaussian law into the body: the Cameron-Martin shift read backwards."""

    name = "centring"
    statement = r"\mathbb{E}_{\mathcal{N}(m,V)}[h(x)] = e^{-m^2/2V}\,\mathbb{E}_{\mathcal{N}(0,V)}[e^{mx/V}h(x)]"
    conditions = r"$x$ is Gaussian"
    source = "cameron1944"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._centre, ScalarExpectation)

    def _centre(self, node: ScalarExpectation) -> Expr:
        mean, variance = self._moments(node)
        if mean == 0:
            return node
        tilted = simplify((exp(mean * x / variance) * node.body.subs(node.variable, x)).rewrite(cosh))
        body = simplify(tilted.rewrite(exp).rewrite(cosh))
        return exp(-(mean**2) / (2 * variance)) * ScalarExpectation(_hyperbolic(body), x, normal(0, variance))

    def _moments(self, node: ScalarExpectation) -> tuple[Expr, Expr]:
        exponent = expand(log(node.law.density).expand(force=True))
        curvature = -exponent.coeff(x, 2)
        if curvature == 0 or expand(exponent.diff(x, 3)) != 0:
            raise self.refuse(f"the law with density {node.law.density} is not Gaussian")
        variance = 1 / (2 * curvature)
        return simplify(exponent.coeff(x, 1) * variance), simplify(variance)


def _hyperbolic(body: Expr) -> Expr:
    """e^{y/2}/(1 + e^y) = 1/(2 cosh(y/2)) and e^y/(1 + e^y)^2 = 1/(4 cosh(y/2)^2), which show the symmetry."""
    for power in (1, 2):
        candidate = 1 / (2 * cosh(x / 2)) ** power
        ratio = simplify((body / candidate).rewrite(exp))
        if ratio.is_number:
            return ratio * candidate
    return body


@final
class WriteDensity(Rule):
    """Write a scalar expectation as an integral over the line."""

    name = "density written out"
    statement = r"\mathbb{E}_x[h(x)] = \int h(x)\,p(x)\,\mathrm{d}x"

    def rewrite(self, expr: Expr) -> Expr:
        def write(node: ScalarExpectation) -> Expr:
            law = node.law
            return Integral(_hyperbolic(node.body.subs(node.variable, x)) * law.density, (x, law.lower, law.upper))

        return rewrite_expectations(expr, write, ScalarExpectation)


@final
class GaussianTaylor(Rule):
    """Expand e^{-x^2/2V} under the integral to ``order`` terms; the Taylor remainder is at most the next term."""

    name = "expansion of the Gaussian density"
    statement = (
        r"\int e^{-x^2/2V}h(x)\,\mathrm{d}x = \sum_{k<n}\frac{(-1)^k}{k!\,(2V)^k}\int x^{2k}h(x)\,\mathrm{d}x + R_n,"
        r"\qquad |R_n|\le \frac{1}{n!\,(2V)^n}\int x^{2n}|h(x)|\,\mathrm{d}x"
    )
    conditions = r"$h$ has all moments; an asymptotic series in $1/V$, which does not converge"

    def __init__(self, order: int) -> None:
        if order < 1:
            raise ValueError(f"order: found {order}; expected at least 1 term")
        self.order = order

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, Integral), self._partial_sum)

    def remainder(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, Integral), lambda node: Abs(self._term(node, self.order)))

    def _partial_sum(self, node: Integral) -> Expr:
        return Add(*(self._term(node, k) for k in range(self.order)))

    def _term(self, node: Integral, k: int) -> Expr:
        body, (variable, *ends) = node.function, node.limits[0]
        curvature = Wild("curvature", exclude=[variable])
        gaussian = [f for f in Mul.make_args(body) if isinstance(f, exp) and f.exp.match(-curvature * variable**2)]
        if len(gaussian) != 1 or ends != [-oo, oo]:
            raise self.refuse(f"{node} is no integral over the line with a factor exp(-x^2/2V)")
        found = gaussian[0].exp.match(-curvature * variable**2)[curvature]
        fixed, moving = (body / gaussian[0]).as_independent(variable, as_Add=False)
        return fixed * (-found) ** k / factorial(k) * Integral(variable ** (2 * k) * moving, (variable, -oo, oo))


@final
class SechMoments(Rule):
    """Even moments of 1/cosh and 1/cosh^2: Euler and Bernoulli numbers."""

    name = "moments of the hyperbolic secant"
    statement = (
        r"\int \frac{x^{2k}}{\cosh bx}\mathrm{d}x ="
        r" \frac2b\left(\frac{\pi}{2}\right)^{2k+1}\frac{|E_{2k}|}{b^{2k}},\qquad \int \frac{x^{2k}}{\cosh^2 "
        r"bx}\mathrm{d}x = \frac{2\,|2^{2k}-2|\,|B_{2k}|}{b}\left(\frac{\pi}{2b}\right)^{2k}"
    )
    conditions = r"$b>0$, $k\ge0$; $E_{2k}$ Euler numbers, $B_{2k}$ Bernoulli numbers"
    source = "dlmf"

    def rewrite(self, expr: Expr) -> Expr:
        return powsimp(expr.replace(lambda node: isinstance(node, Integral), self._evaluate))

    def _evaluate(self, node: Integral) -> Expr:
        variable, *ends = node.limits[0]
        fixed, moving = node.function.as_independent(variable, as_Add=False)
        powers = {base: power for base, power in (factor.as_base_exp() for factor in Mul.make_args(moving))}
        degree = powers.pop(variable, 0)
        if len(powers) != 1 or ends != [-oo, oo] or degree % 2:
            raise self.refuse(f"{node} is no even moment of 1/cosh or 1/cosh^2")
        ((base, power),) = powers.items()
        rate = base.args[0] / variable if isinstance(base, cosh) else None
        if rate is None or rate.has(variable) or power not in (-1, -2):
            raise self.refuse(f"{node} is no even moment of 1/cosh or 1/cosh^2")
        if power == -1:
            return fixed * 2 * (pi / (2 * rate)) ** (degree + 1) * Abs(euler(degree))
        return fixed * 2 * Abs(2**degree - 2) * Abs(bernoulli(degree)) / rate * (pi / (2 * rate)) ** degree
