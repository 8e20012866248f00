"""Bayes' rule: the posterior times the sum of all weights is the weight."""

from __future__ import annotations

from typing import final

from sympy import Add, Dummy, Expr, Mul, Sum

from symslr.algebra.rule import Rule
from symslr.expression.configuration import ConfigurationExpectation, ConfigurationMean, PosteriorMean
from symslr.expression.expectation import SequenceExpectation, rewrite_expectations
from symslr.expression.folded import Posterior
from symslr.expression.instance import at_token


@final
class BayesRule(Rule):
    """Multiply a posterior probability, or a sum over tokens with one as a factor, by the sum of all weights."""

    name = "Bayes' rule"
    statement = r"p_l\,\sum_m g(m,\chi) = g(l,\chi),\qquad \langle f\rangle\,\mathbb{E}_h[w] = \mathbb{E}_h[w f]"
    conditions = r"where $\sum_m g(m,\chi)=0$, which has probability zero under $\mathbb{E}_g$, $p_l$ counts as zero"

    def rewrite(self, expr: Expr) -> Expr:
        made = rewrite_expectations(expr, self._node, SequenceExpectation)
        return rewrite_expectations(made, self._configurations, ConfigurationExpectation)

    def _configurations(self, node: ConfigurationExpectation) -> Expr:
        return node.with_body(Add(*(self._cleared_mean(term) for term in Add.make_args(node.body))))

    def _cleared_mean(self, term: Expr) -> Expr:
        """<f> E_h[w] is E_h[w f], where f is averaged in a factor of the term or in a sum over tokens that is one."""
        factors = Mul.make_args(term)
        for total in (f for f in factors if isinstance(f, ConfigurationMean)):
            for other in factors:
                cleared = _joined(other, total)
                if cleared is not None:
                    return term / total / other * cleared
        return term

    def _node(self, node: SequenceExpectation) -> Expr:
        return node.with_body(Add(*(self._term(term) for term in Add.make_args(node.body))))

    def _term(self, term: Expr) -> Expr:
        factors = Mul.make_args(term)
        for total in (f for f in factors if isinstance(f, Sum)):
            for other in factors:
                cleared = _cleared(other, total)
                if cleared is not None:
                    return term / total / other * cleared
        return term


def _cleared(factor: Expr, total: Sum) -> Expr | None:
    """``factor`` times ``total``, where one power of a posterior in it makes the weights' sum go; else None."""
    if isinstance(factor, Sum):
        inside = _cleared(factor.function, total)
        return None if inside is None else Sum(inside, *factor.limits)
    for part in Mul.make_args(factor):
        p, power = part.as_base_exp()
        if isinstance(p, Posterior) and power.is_positive and _is_total_weight(total, p):
            return factor / p * at_token(p.law.renamed(p.law.weight), p.index)
    return None


def _joined(factor: Expr, total: ConfigurationMean) -> Expr | None:
    """``factor`` times ``total``, the mean of the weight, where one power of a posterior mean stands in it; else None."""
    if isinstance(factor, Sum):
        inside = _joined(factor.function, total)
        return None if inside is None else Sum(inside, *factor.limits)
    for part in Mul.make_args(factor):
        average, power = part.as_base_exp()
        if isinstance(average, PosteriorMean) and power.is_positive:
            law = average.law
            if ConfigurationMean(law.weight, law.prior) == total:
                return factor / average * ConfigurationMean(law.weight * average.body, law.prior)
    return None


def _is_total_weight(total: Sum, posterior: Posterior) -> bool:
    law, token = posterior.law, Dummy(integer=True, positive=True)
    if len(total.limits) != 1 or tuple(total.limits[0][1:]) != (1, law.length):
        return False
    summand = total.function.subs(total.variables[0], token)
    return bool(law.renamed(summand) == at_token(law.renamed(law.weight), token))
