"""Means over the set of relevant tokens: exactly one, each independently, or a given number."""

from __future__ import annotations

from abc import abstractmethod
from typing import final

from sympy import Expr, Mul, Product, S, Sum

from symslr.algebra.bodies import at_token
from symslr.algebra.configurations import OverTokens, at_one, free_place, over_tokens
from symslr.algebra.rule import Rule
from symslr.expression.configuration import ConfigurationMean, ElementarySymmetric, count_in
from symslr.expression.expectation import rewrite_expectations
from symslr.model.configuration import ONE, ConfigurationPrior, r
from symslr.model.symbols import l


class _OverRelevantTokens(Rule):
    """Abstract: carries out the means over the relevant tokens, where their prior has the shape that a rule is about."""

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._checked, ConfigurationMean)

    def _checked(self, node: ConfigurationMean) -> Expr:
        if node.prior.signal != ONE or node.body.has(*ONE.symbols):
            raise self.refuse("the signal is still averaged over; sum over the signal first")
        return self.carried_out(node.body, node.prior)

    @abstractmethod
    def carried_out(self, body: Expr, prior: ConfigurationPrior) -> Expr:
        """The mean of ``body`` over the relevant tokens."""


@final
class OneRelevantToken(_OverRelevantTokens):
    """Sum over the one relevant token."""

    name = "one relevant token"
    statement = (
        r"\mathbb{E}_h[f(r)] = \sum_l \pi_l f(e_l)\Big/\sum_l \pi_l,\qquad"
        r" \mathbb{E}_h[r_l f(r)] = \pi_l f(e_l)\Big/\sum_m \pi_m"
    )
    conditions = r"$P(r)\propto\pi_l$ where $r=e_l$, and $0$ where more or fewer tokens are relevant than one"

    def carried_out(self, body: Expr, prior: ConfigurationPrior) -> Expr:
        count, mass = count_in(prior.mass, prior.length)
        if count != S.One:
            raise self.refuse(f"the prior {prior.mass} does not say that exactly one token is relevant")
        chosen = _chosen(body)
        place = _free(self, body, mass)
        total = self._total(at_one(mass, place, prior.length, self), place, prior.length)
        if not chosen:
            weighted = at_one(mass, place, prior.length, self) * at_one(body, place, prior.length, self)
            return self._total(weighted, place, prior.length) / total
        rest = body / Mul(*(r[i] ** body.as_powers_dict()[r[i]] for i in chosen))
        if len(chosen) > 1:
            raise self.refuse(f"{body} asks for several relevant tokens")
        weighted = at_one(mass * rest, place, prior.length, self)
        return at_token(weighted, place, chosen[0], self) / total

    def _total(self, summand: Expr, place: Expr, length: Expr) -> Expr:
        return length * summand if place not in summand.free_symbols else Sum(summand, (place, 1, length))


@final
class IndependentRelevance(_OverRelevantTokens):
    """Factorise over tokens, each of which is relevant by itself."""

    name = "independent relevance"
    statement = r"\mathbb{E}_h\Big[\prod_l f_l(r_l)\Big] = \prod_l \frac{q_l(0) f_l(0) + q_l(1) f_l(1)}{q_l(0)+q_l(1)}"
    conditions = r"$P(r)\propto\prod_l q_l(r_l)$"

    def carried_out(self, body: Expr, prior: ConfigurationPrior) -> Expr:
        plain = over_tokens(prior.mass, prior.length, self)
        joint = over_tokens(prior.mass * body, prior.length, self)
        if plain.chosen or len(joint.chosen) > 1:
            raise self.refuse(f"{body} is no product over tokens, one of which is chosen")
        ratio = joint.fixed / plain.fixed
        place = _free(self, body, prior.mass)
        factor = (joint.resting + joint.relevant) / (plain.resting + plain.relevant)
        every = Product(factor.subs(l, place), (place, 1, prior.length))
        for token in joint.chosen:
            ratio *= at_token(joint.relevant / (joint.resting + joint.relevant), l, token, self)
        return ratio * every


@final
class GivenNumberRelevant(_OverRelevantTokens):
    """Sum over the subsets of a given size: elementary symmetric polynomials of the factors of the tokens."""

    name = "elementary symmetric polynomials"
    statement = (
        r"\sum_{|r|=s}\prod_l x_l^{r_l} = e_s(x),\qquad \sum_{|r|=s} r_l\prod_m x_m^{r_m} = x_l\,e_{s-1}(x_m)_{m\ne l}"
    )
    conditions = r"$P(r)$ is a product over tokens where $\sum_l r_l=s$, else $0$; $s\ge1$ where a token is chosen"

    def carried_out(self, body: Expr, prior: ConfigurationPrior) -> Expr:
        count, mass = count_in(prior.mass, prior.length)
        if count is None:
            raise self.refuse(f"the prior {prior.mass} does not say how many tokens are relevant")
        plain, joint = (over_tokens(part, prior.length, self) for part in (mass, mass * body))
        if plain.chosen or len(joint.chosen) > 1:
            raise self.refuse(f"{body} is no product over tokens, one of which is chosen")
        if joint.chosen and not count.is_positive:
            raise self.refuse(f"found {count} relevant tokens; expected at least one, since one is chosen")
        place = _free(self, body, prior.mass)
        resting = joint.resting / plain.resting
        every = S.One if resting == S.One else Product(resting.subs(l, place), (place, 1, prior.length))
        above, below = (self._sum(found, count, place, prior.length) for found in (joint, plain))
        return joint.fixed / plain.fixed * every * above / below

    def _sum(self, found: OverTokens, count: Expr, place: Expr, length: Expr) -> Expr:
        factor = found.relevant / found.resting
        own = S.One
        for token in found.chosen:
            own *= at_token(factor, l, token, self)
            count = count - 1
        return own * ElementarySymmetric.of(count, factor.subs(l, place), place, length, *found.chosen)


def _free(rule: Rule, *exprs: Expr) -> Expr:
    place = free_place(*exprs)
    if place is None:
        raise rule.refuse(f"{exprs[0]} uses all summation indices; write its sums with one of them")
    return place


def _chosen(body: Expr) -> list[Expr]:
    """Tokens i that stand as factors r_i of a body."""
    found = []
    for factor in Mul.make_args(body):
        base, power = factor.as_base_exp()
        if base.is_Indexed and base.base == r and power.is_Integer and power > 0:
            found.append(base.indices[0])
    return found
