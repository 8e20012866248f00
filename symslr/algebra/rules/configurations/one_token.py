"""Tokens that are relevant independently are independent with their keys: the mean of a sum is a sum of one-token means."""

from __future__ import annotations

from typing import final

from sympy import Expr, Indexed, S, Sum

from symslr.algebra.bodies import is_whole
from symslr.algebra.configurations import of_token, over_tokens
from symslr.algebra.fresh import fresh
from symslr.algebra.rule import Rule
from symslr.expression.configuration import ConfigurationExpectation, ConfigurationMean, PosteriorMean
from symslr.expression.expectation import ScalarExpectation, rewrite_expectations
from symslr.expression.folded import ConditionalMean
from symslr.model.configuration import ALIKE, ONE
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import chi, l


@final
class IndependentTokens(Rule):
    """Take the mean of a sum over tokens token by token, where prior, keys and weight are products over tokens."""

    name = "independent tokens"
    statement = (
        r"\mathbb{E}_w\Big[\sum_l f(r_l,\chi_l)\Big] = \sum_l\sum_{b\in\{0,1\}} q_l(b)\,\mathbb{E}_x[w_b(x) f(b,x)],"
        r"\qquad q_l(0)+q_l(1)=1"
    )
    conditions = (
        r"$P(r)\propto\prod_l q_l(r_l)$; keys independent $\mathcal{N}(0,1)$; $w=\prod_l w_{r_l}(\chi_l)$ with"
        r" $\mathbb{E}_x[w_b]=1$"
    )

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._one_by_one, ConfigurationExpectation)

    def _one_by_one(self, node: ConfigurationExpectation) -> Expr:
        signal = {theta: 1 for theta in ONE.symbols}
        law, body = node.law, node.body.subs(signal)
        if not isinstance(body, Sum) or not is_whole(body, law.length):
            return node
        if body.function.has(Sum, ConditionalMean, PosteriorMean, ConfigurationMean):
            raise self.refuse(f"the summand of {body} is no function of one token")
        if law.keys != ALIKE or law.prior.signal != ONE:
            raise self.refuse("the tokens share a signal, or their keys are correlated or have several directions")
        weight = law.weight.subs(signal).doit()
        prior, keys = over_tokens(law.prior.mass, law.length, self), over_tokens(weight, law.length, self)
        if prior.chosen or keys.chosen:
            raise self.refuse("a token is chosen in the prior or in the weight")
        index = body.variables[0]
        if {item.indices[0] for item in body.function.atoms(Indexed)} - {index}:
            raise self.refuse(f"the summand of {body} is no function of one token")
        total = prior.resting + prior.relevant
        sides = ((0, prior.resting, keys.resting), (1, prior.relevant, keys.relevant))
        mean, key = S.Zero, fresh("x", body.function.free_symbols | weight.free_symbols, real=True)
        for value, share, density in sides:
            given = of_token(body, value, law.length, self) * density * keys.fixed
            mean += share / total * ScalarExpectation(given.subs(chi[l], key), key, STANDARD_NORMAL)
        return law.length * mean if l not in mean.free_symbols else Sum(mean, (l, 1, law.length))
