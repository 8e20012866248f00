"""The law of a sum of two independent variables, conditioned on the one or on the other."""

from __future__ import annotations

from typing import final

from sympy import Expr, Integral, Symbol, exp, expand, limit, oo, simplify

from symslr.algebra.bodies import at_token
from symslr.algebra.fresh import fresh
from symslr.algebra.rule import Rule
from symslr.algebra.rules.asymptotics.substitution import with_exponents_expanded
from symslr.expression.expectation import ScalarExpectation, rewrite_expectations
from symslr.expression.special import NormalCdf
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.symbols import x


@final
class Convolution(Rule):
    """Read E_X of a function of c(y - X) as a probability or a density of X + S/c at y, and condition on S instead.

    Args:
        distribution: Q(x), the distribution function of S.
        rate: c > 0.
        point: y.
    """

    name = "convolution"
    statement = (
        r"\mathbb{E}_X\left[Q(c(y-X))\right] = \mathbb{P}(X+S/c\le y) = \mathbb{E}_S\left[P(y-S/c)\right],\qquad"
        r" \mathbb{E}_X\left[a(X)\,q(c(y-X))\right] = \frac1c\,\mathbb{E}_S\left[(a\,p)(y-S/c)\right]"
    )
    conditions = (
        r"$X$ and $S$ are independent with densities $p$ on the line and $q=Q'$, and distribution functions $P$ and $Q$; "
        r"$c>0$"
    )

    def __init__(self, distribution: Expr, rate: Expr, point: Symbol) -> None:
        density = distribution.diff(x)
        ends = limit(distribution, x, -oo), limit(distribution, x, oo)
        if not density.is_positive or ends != (0, 1) or not rate.is_positive:
            raise ValueError(
                f"found {distribution}, from {ends[0]} to {ends[1]}, and the rate {rate}; expected a distribution function "
                "with a positive density, and a positive rate"
            )
        self.distribution, self.rate, self.point = distribution, rate, point
        self.law = ScalarLaw(density)

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._turn, ScalarExpectation)

    def _turn(self, node: ScalarExpectation) -> Expr:
        law, variable, y = node.law, node.variable, self.point
        if y not in node.body.free_symbols:
            return node
        if (law.lower, law.upper) != (-oo, oo):
            raise self.refuse(f"the law with density {law.density} has no density on the whole line")
        s = fresh("s", node.atoms(Symbol) | self.law.free_symbols, real=True)
        where = expand(y - s / self.rate)
        body = with_exponents_expanded(at_token(node.body, variable, where, self))
        if body == with_exponents_expanded(self.distribution.subs(x, s)):
            return ScalarExpectation(_distribution(law, where, s), s, self.law)
        ratio = simplify(with_exponents_expanded(body / self.law.density.subs(x, s)))
        fixed, moving = ratio.as_independent(s, as_Add=False)
        if moving.has(exp):
            raise self.refuse(
                f"{node.body} is no function of {variable} times the density of S at {self.rate}({y} - {variable})"
            )
        return fixed / self.rate * ScalarExpectation(moving * law.density.subs(x, where), s, self.law)


def _distribution(law: ScalarLaw, where: Expr, taken: Symbol) -> Expr:
    if law == STANDARD_NORMAL:
        return NormalCdf(where)
    v = fresh("v", law.free_symbols | where.free_symbols | {taken}, real=True)
    return Integral(law.density.subs(x, v), (v, law.lower, where))
