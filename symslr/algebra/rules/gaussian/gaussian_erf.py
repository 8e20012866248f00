"""Gaussian means of erf, of Phi and of their squares, in closed form."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, Symbol, erf, sqrt

from symslr.algebra.polynomial import expand_polynomial
from symslr.algebra.rule import Rule
from symslr.expression.expectation import ScalarExpectation, rewrite_expectations
from symslr.expression.special import NormalCdf, OwensT, SkewNormal
from symslr.model.scalar_law import STANDARD_NORMAL


@final
class GaussianErf(Rule):
    """Integrate polynomials of degree two in erf(alpha x + beta), or in Phi, over a standard normal x.

    Phi keeps its digits in its lower tail, where 1 + erf has none: E[Phi^2] is a mass of the skew normal law.
    """

    name = "Gaussian means of erf"
    statement = (
        r"\mathbb{E}[\mathrm{erf}(\alpha x+\beta)] = \mathrm{erf}\left(\tfrac{\beta}{\sqrt{1+2\alpha^2}}\right),\qquad"
        r" \mathbb{E}[\mathrm{erf}(\alpha x+\beta)^2] = 1 - 8\,T\left(\tfrac{\sqrt2\,\beta}{\sqrt{1+2\alpha^2}},"
        r" \tfrac{1}{\sqrt{1+4\alpha^2}}\right),"
        r" \qquad \mathbb{E}[\Phi(\alpha x+\beta)] = \Phi\left(\tfrac{\beta}{\sqrt{1+\alpha^2}}\right),\qquad"
        r" \mathbb{E}[\Phi(\alpha x+\beta)^2] = F_{\mathrm{SN}}\left(\tfrac{\beta}{\sqrt{1+\alpha^2}},"
        r" \tfrac{1}{\sqrt{1+2\alpha^2}}\right)"
    )
    conditions = (
        r"$x\sim\mathcal{N}(0,1)$; $\alpha,\beta$ not random; $T$ is Owen's function, $F_{\mathrm{SN}}=\Phi-2T$"
    )
    source = "owen1956"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._integrate, ScalarExpectation)

    def _integrate(self, node: ScalarExpectation) -> Expr:
        if node.law != STANDARD_NORMAL or not node.body.has(erf, NormalCdf):
            return node
        return Add(*(self._term(term, node) for term in Add.make_args(expand_polynomial(node.body))))

    def _term(self, term: Expr, node: ScalarExpectation) -> Expr:
        fixed, random = term.as_independent(node.variable, as_Add=False)
        mean = _mean(random, node.variable)
        return fixed * (node.with_body(random) if mean is None else mean)


def _mean(random: Expr, x: Symbol) -> Expr | None:
    """Of erf, Phi or a square of them at a linear function of x; None for anything else."""
    base, power = random.as_base_exp()
    if not isinstance(base, (erf, NormalCdf)) or power not in (1, 2):
        return None
    slope, shift = base.args[0].diff(x), base.args[0].subs(x, 0)
    if slope.has(x):
        return None
    if isinstance(base, NormalCdf):
        level = shift / sqrt(1 + slope**2)
        return NormalCdf(level) if power == 1 else SkewNormal(level, 1 / sqrt(1 + 2 * slope**2))
    level = shift / sqrt(1 + 2 * slope**2)
    return erf(level) if power == 1 else 1 - 8 * OwensT(sqrt(2) * level, 1 / sqrt(1 + 4 * slope**2))
