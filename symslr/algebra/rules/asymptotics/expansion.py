"""Large-parameter expansion of a Gaussian mean: centre it, write the density, expand its exponential."""

from __future__ import annotations

from typing import final

from sympy import (
    Abs,
    Add,
    Expr,
    Integral,
    Mul,
    Symbol,
    Wild,
    cosh,
    exp,
    expand,
    factorial,
    log,
    oo,
    powsimp,
    simplify,
)

from symslr.algebra.bodies import at_token
from symslr.algebra.rule import Rule
from symslr.algebra.truncation import Truncation
from symslr.expression.expectation import ScalarExpectation, rewrite_expectations
from symslr.model.scalar_law import ScalarLaw, normal
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
        tilted = simplify((exp(mean * x / variance) * _in_x(node.body, node.variable, self)).rewrite(cosh))
        body = simplify(tilted.rewrite(exp).rewrite(cosh))
        return exp(-(mean**2) / (2 * variance)) * ScalarExpectation(_hyperbolic(body), x, normal(0, variance))

    def _moments(self, node: ScalarExpectation) -> tuple[Expr, Expr]:
        exponent = expand(log(node.law.density).expand(force=True))
        curvature = -exponent.coeff(x, 2)
        if curvature == 0 or expand(exponent.diff(x, 3)) != 0:
            raise self.refuse(f"the law with density {node.law.density} is not Gaussian")
        variance = 1 / (2 * curvature)
        return simplify(exponent.coeff(x, 1) * variance), simplify(variance)


def _in_x(body: Expr, variable: Symbol, rule: Rule) -> Expr:
    """A function of a variable, written in the argument of the densities.

    Raises:
        RuleRefused: in the name of ``rule``, where that has a meaning of its own in it.
    """
    if variable != x and x in body.free_symbols:
        raise rule.refuse(f"{x} stands free in {body}; it is the argument of the density")
    return at_token(body, variable, x, rule)


def _hyperbolic(body: Expr) -> Expr:
    """e^{y/2}/(1 + e^y) = 1/(2 cosh(y/2)) and e^y/(1 + e^y)^2 = 1/(4 cosh(y/2)^2), which show the symmetry."""
    for power in (1, 2):
        candidate = 1 / cosh(x / 2) ** power
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
            return Integral(_hyperbolic(_in_x(node.body, node.variable, self)) * law.density, (x, law.lower, law.upper))

        return rewrite_expectations(expr, write, ScalarExpectation)


@final
class ReadDensity(Rule):
    """Write integrals over the support of a law as expectations under it.

    Args:
        law: its density must be known to be positive.
    """

    name = "density recognised"
    statement = r"\int h(x)\,\mathrm{d}x = \mathbb{E}_x\left[\frac{h(x)}{p(x)}\right]"
    conditions = r"$p>0$ where $h\ne0$"

    def __init__(self, law: ScalarLaw) -> None:
        self.law = law

    def rewrite(self, expr: Expr) -> Expr:
        if not self.law.density.is_positive:
            raise self.refuse(f"the density {self.law.density} is not known to be positive")
        return expr.replace(lambda node: isinstance(node, Integral), self._read)

    def _read(self, node: Integral) -> Expr:
        variable, *ends = node.limits[0]
        if len(node.limits) != 1 or ends != [self.law.lower, self.law.upper]:
            return node
        fixed, moving = (_in_x(node.function, variable, self) / self.law.density).as_independent(x, as_Add=False)
        return fixed * ScalarExpectation(powsimp(moving), x, self.law)


@final
class GaussianTaylor(Truncation):
    """Expand e^{-x^2/2V} under the integral to ``order`` terms; Taylor's remainder is at most the next term."""

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

    def truncate(self, term: Expr) -> tuple[Expr, Expr] | None:
        if not isinstance(term, Integral):
            return None
        body, (variable, *ends) = term.function, term.limits[0]
        curvature = Wild("curvature", exclude=[variable])
        gaussian = [f for f in Mul.make_args(body) if isinstance(f, exp) and f.exp.match(-curvature * variable**2)]
        if len(term.limits) != 1 or len(gaussian) != 1 or ends != [-oo, oo]:
            raise self.refuse(f"{term} is no integral over the line with a factor exp(-x^2/2V)")
        found = gaussian[0].exp.match(-curvature * variable**2)[curvature]
        if not found.is_positive:
            raise self.refuse(f"{found} in {gaussian[0]} is not known to be positive")
        fixed, moving = (body / gaussian[0]).as_independent(variable, as_Add=False)

        def moment(k: int, h: Expr) -> Expr:
            return found**k / factorial(k) * Integral(variable ** (2 * k) * h, (variable, -oo, oo))

        kept = Add(*(fixed * (-1) ** k * moment(k, moving) for k in range(self.order)))
        return kept, Abs(fixed) * moment(self.order, Abs(moving))
