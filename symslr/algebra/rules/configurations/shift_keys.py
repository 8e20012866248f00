"""Gaussian keys: shift them, scale them, or drop a common part on which nothing depends."""

from __future__ import annotations

from typing import final

from sympy import Expr, Gt, Indexed, KroneckerDelta, S, Symbol, exp, expand, sqrt

from symslr.algebra.bodies import at_token
from symslr.algebra.configurations import equally_correlated
from symslr.algebra.fresh import fresh
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule
from symslr.algebra.rules.configurations.common_factors import FactorOutOfSums
from symslr.expression.configuration import (
    ConfigurationExpectation,
    ConfigurationMean,
    PosteriorMean,
    ShiftedDensity,
    is_density,
)
from symslr.expression.expectation import rewrite_expectations
from symslr.expression.folded import ConditionalMean
from symslr.model.configuration import ALIKE, ConfigurationLaw
from symslr.model.symbols import chi, l, m

FOLDED = (ConditionalMean, PosteriorMean, ConfigurationMean, ShiftedDensity)
"""Nodes in which the keys stand without being written."""


@final
class ShiftKeys(Rule):
    """Write keys with a mean as keys without one plus that mean.

    Args:
        towards: a law of keys with a mean, to go the other way; None to leave the law for the unweighted one.
    """

    name = "shift of the keys"
    statement = (
        r"\mathbb{E}_w[f(h,\chi)] = \mathbb{E}_0[f(h,\chi+\mu(h))],\qquad"
        r" w=\frac{\mathcal{N}(\chi;\mu(h),C)}{\mathcal{N}(\chi;0,C)}"
    )
    conditions = r"under $\mathbb{E}_0$ the keys are $\mathcal{N}(0,C)$ with the same $C$"
    source = "cameron1944"

    def __init__(self, towards: ConfigurationLaw | None = None) -> None:
        self.towards = towards
        if towards is not None:
            self._means(towards)

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._shifted, ConfigurationExpectation)

    def _shifted(self, node: ConfigurationExpectation) -> Expr:
        if self.towards is None:
            return node if node.law.weight == S.One else self._moved(node, node.law, node.law.unweighted(), 1)
        if node.law != self.towards.unweighted():
            return node
        return self._moved(node, self.towards, self.towards, -1)

    def _moved(
        self, node: ConfigurationExpectation, source: ConfigurationLaw, law: ConfigurationLaw, sign: int
    ) -> Expr:
        means = self._means(source)
        if node.body.has(*FOLDED):
            raise self.refuse(f"{node.body} holds functions of the keys by name; write them out first")

        def shifted(item: Indexed) -> Expr:
            direction = int(item.indices[1]) if len(item.indices) > 1 else 1
            return item + sign * at_token(means[direction - 1], l, item.indices[0], self)

        body = node.body.replace(lambda e: isinstance(e, Indexed) and e.base == chi, shifted)
        return ConfigurationExpectation(body.replace(lambda e: isinstance(e, exp), lambda e: exp(expand(e.exp))), law)

    def _means(self, law: ConfigurationLaw) -> tuple[Expr, ...]:
        if not is_density(law):
            raise self.refuse(f"the weight {law.weight} is not that of a shift of Gaussian keys")
        assert isinstance(law.weight, ShiftedDensity)
        return law.weight.means


@final
class CommonPart(Rule):
    """Drop a part that all keys share, where nothing changes when all of them move by the same amount."""

    name = "common part of the keys"
    statement = (
        r"\mathbb{E}_{aI+b\mathbf{1}\mathbf{1}^{\top}}[f(\chi)] = \mathbb{E}_{aI}[f(\chi)]"
        r"\quad\text{where}\quad f(\chi+t\mathbf{1})=f(\chi)\ \forall t"
    )
    conditions = r"the unweighted law; $a>0$, $b\ge0$: $\chi=\sqrt{a}\,g+\sqrt{b}\,g_0\mathbf{1}$"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._dropped, ConfigurationExpectation)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        parts = [
            equally_correlated(node.law.keys, self) for node in sorted(expr.atoms(ConfigurationExpectation), key=str)
        ]
        wanted = [Gt(a, 0) for a, b in parts if b != 0 and not a.is_positive]
        wanted += [b >= 0 for _, b in parts if not b.is_nonnegative]
        return tuple(dict.fromkeys(map(Hypothesis.of, wanted)))

    def _dropped(self, node: ConfigurationExpectation) -> Expr:
        a, b = equally_correlated(node.law.keys, self)
        if b == 0:
            return node
        if node.law.weight != S.One:
            raise self.refuse("the weight is none of the differences of keys; shift the keys first")
        if node.body.has(*FOLDED):
            raise self.refuse(f"{node.body} holds functions of the keys by name; write them out first")
        t = fresh("t", node.body.atoms(Symbol), real=True)
        moved = node.body.replace(lambda e: isinstance(e, Indexed) and e.base == chi, lambda e: e + t)
        if t in FactorOutOfSums().rewrite(moved).free_symbols:
            raise self.refuse(f"{node.body} is not seen to stay the same where all keys move by the same amount")
        return ConfigurationExpectation(node.body, node.law.with_keys(a * KroneckerDelta(l, m)))


@final
class ScaleKeys(Rule):
    """Write independent keys of variance a as keys of variance 1 times its root."""

    name = "scale of the keys"
    statement = r"\mathbb{E}_{aI}[f(\chi)] = \mathbb{E}_{I}[f(\sqrt{a}\,\chi)]"
    conditions = r"the unweighted law; $a>0$"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._scaled, ConfigurationExpectation)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        scales = [
            equally_correlated(node.law.keys, self)[0] for node in sorted(expr.atoms(ConfigurationExpectation), key=str)
        ]
        return tuple(dict.fromkeys(Hypothesis.of(Gt(a, 0)) for a in scales if not a.is_positive))

    def _scaled(self, node: ConfigurationExpectation) -> Expr:
        a, b = equally_correlated(node.law.keys, self)
        if b != 0:
            raise self.refuse(f"the keys have the covariance {node.law.keys}; expected independent ones")
        if node.law.weight != S.One:
            raise self.refuse("the weight depends on the scale of the keys; shift the keys first")
        if node.body.has(*FOLDED):
            raise self.refuse(f"{node.body} holds functions of the keys by name; write them out first")
        body = node.body.replace(lambda e: isinstance(e, Indexed) and e.base == chi, lambda e: sqrt(a) * e)
        return ConfigurationExpectation(body, node.law.with_keys(ALIKE))
