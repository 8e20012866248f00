"""Under E_0 the configuration is independent of the keys: it may be averaged over first, or last."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, Mul, S, Sum

from symslr.algebra.polynomial import separate
from symslr.algebra.rule import Rule
from symslr.expression.configuration import ConfigurationExpectation, ConfigurationMean
from symslr.expression.expectation import rewrite_expectations


@final
class AverageConfiguration(Rule):
    """Average over the hidden configuration inside of an unweighted expectation.

    Args:
        backwards: take the average over configurations for a part of the expectation around it instead.
    """

    name = "average over the hidden configuration"
    statement = (
        r"\mathbb{E}_0\left[A(\chi)\,f(h,\chi)\right] = \mathbb{E}_0\left[A(\chi)\,\mathbb{E}_h[f(h,\chi)]\right]"
    )
    conditions = r"the unweighted law, under which $h$ and $\chi$ are independent"

    def __init__(self, *, backwards: bool = False) -> None:
        self.backwards = backwards

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._last if self.backwards else self._first, ConfigurationExpectation)

    def _first(self, node: ConfigurationExpectation) -> Expr:
        self._check(node)
        outside, inside = separate(node.body, node.law.prior.bound)
        return node.with_body(outside * ConfigurationMean(inside, node.law.prior))

    def _last(self, node: ConfigurationExpectation) -> Expr:
        self._check(node)
        if not node.body.has(ConfigurationMean):
            return node
        if node.body.free_symbols & node.law.prior.bound:
            raise self.refuse(f"{node.body} holds the configuration outside of a mean over it")
        return node.with_body(self._lifted(node.body, node))

    def _check(self, node: ConfigurationExpectation) -> None:
        if node.law.weight != S.One:
            raise self.refuse("the configuration and the keys are independent under the unweighted law alone")

    def _lifted(self, body: Expr, node: ConfigurationExpectation) -> Expr:
        """``body``, linear in its means over configurations, with what they are means of."""
        if not body.has(ConfigurationMean):
            return body
        if isinstance(body, ConfigurationMean):
            if body.prior != node.law.prior:
                raise self.refuse(f"{body} is a mean under another prior")
            return body.body
        if isinstance(body, Add):
            return Add(*(self._lifted(term, node) for term in body.args))
        if isinstance(body, Sum):
            fixed, moving = separate(self._lifted(body.function, node), set(body.variables))
            return fixed * Sum(moving, *body.limits)
        holding = [factor for factor in Mul.make_args(body) if factor.has(ConfigurationMean)]
        if not isinstance(body, Mul) or len(holding) != 1:
            raise self.refuse(f"{body} is not linear in means over configurations")
        return body / holding[0] * self._lifted(holding[0], node)
