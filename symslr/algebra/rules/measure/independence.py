"""Under E_0 the tokens are independent: an expectation of a product over tokens is a product of scalar expectations."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import final

from sympy import Add, Expr, Indexed, Mul, S, Sum, exp, expand

from symslr.algebra.bodies import is_whole, rewrite_sequences, tokens_exist
from symslr.algebra.exponentials import merge_exponentials
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule
from symslr.algebra.tokens import NotSymmetric, summand
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import FOLDED, ConditionalMean
from symslr.model.largest import IsLargest
from symslr.model.symbols import BOUND_IN_SEQUENCE, OTHERS, chi, epsilon, x


@final
class Independence(Rule):
    """Factorise over tokens; exp(-u sum_l kappa(chi_l)) gives every token the factor e^{-u kappa}."""

    name = "independence of tokens"
    statement = (
        r"\mathbb{E}_0\Big[f(\chi_\epsilon)\, h(\chi_j)\, e^{-u\sum_l\kappa(\chi_l)}\Big] ="
        r" \mathbb{E}_x[f e^{-u\kappa}]\,\mathbb{E}_x[h e^{-u\kappa}]\,\mathbb{E}_x[e^{-u\kappa}]^{L-2}"
    )
    conditions = r"the unweighted law; the body is a product of functions of single tokens"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_sequences(expr, self._factorise, self)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        return tokens_exist(expr, self)

    def _factorise(self, node: SequenceExpectation) -> Expr:
        law = node.law
        if law.weight != S.One:
            return self._weighted(node)
        if node.body.has(IsLargest):
            raise self.refuse("the tokens are coupled by the choice of the largest; condition on the maximum instead")
        parts = token_factors(node.body, law.length, self)
        own, shared = dict(parts.own), parts.shared
        if not own and shared == S.One:
            return node
        own.setdefault(epsilon, S.One)
        marked = Mul(*(ScalarExpectation(f * shared, x, law.base) for f in own.values()))
        return parts.fixed * marked * ScalarExpectation(shared, x, law.base) ** (law.length - len(own))

    def _weighted(self, node: SequenceExpectation) -> Expr:
        """With a weight of the relevant token alone, a function of one token needs no other."""
        factor = node.law.relevant_factor
        tokens = {item.indices[0] for item in node.body.atoms(Indexed) if item.base == chi}
        if factor is None or node.body.has(Sum) or not tokens:
            return node
        weighted = factor.subs(x, chi[epsilon]) * node.body
        unweighted = SequenceExpectation(weighted, node.law.unweighted())
        return self._factorise(unweighted) if isinstance(unweighted, SequenceExpectation) else unweighted


@dataclass(frozen=True)
class TokenFactors:
    """A body as a product: ``fixed``, one function of ``x`` for each marked token, and one that every token carries."""

    fixed: Expr
    own: dict[Expr, Expr]
    shared: Expr


def token_factors(body: Expr, length: Expr, rule: Rule) -> TokenFactors:
    """The factors of ``body``, that of an unweighted expectation over ``length`` tokens.

    Raises:
        RuleRefused: in the name of ``rule``, when the body is not a product of functions of single tokens.
    """
    if body.has(*FOLDED, ConditionalMean):
        raise rule.refuse(f"{body} holds names of functions of the tokens; write them out first")
    own: dict[Expr, Expr] = defaultdict(lambda: S.One)
    fixed, shared = S.One, S.Zero
    for factor in _factors(body):
        tokens = {item.indices[0] for item in factor.atoms(Indexed) if item.base == chi}
        if isinstance(factor, exp) and factor.has(Sum):
            shared += _shared_exponent(factor.exp, length, rule)
        elif factor.has(Sum) or len(tokens) > 1:
            raise rule.refuse(f"{factor} is not a function of one token")
        elif tokens:
            (token,) = tokens
            if token not in (epsilon, *OTHERS):
                raise rule.refuse(f"chi[{token}] may be the relevant token or another")
            own[token] *= factor.subs(chi[token], x)
        else:
            fixed *= factor
    if any(item.base != chi for item in body.atoms(Indexed)):
        raise rule.refuse("values z are still inside; apply Gaussian moments first")
    for part in (fixed, *own.values()):
        if part.free_symbols & BOUND_IN_SEQUENCE:
            raise rule.refuse(f"{part} holds more that is random than one token")
    return TokenFactors(fixed, {t: merge_exponentials(f) for t, f in own.items()}, exp(shared))


def _shared_exponent(exponent: Expr, length: Expr, rule: Rule) -> Expr:
    result = S.Zero
    for term in Add.make_args(expand(exponent)):
        total = next(iter(term.atoms(Sum)))
        coefficient = term / total
        if coefficient.free_symbols & BOUND_IN_SEQUENCE or coefficient.has(Sum):
            raise rule.refuse(f"exp({term}) is not a product over tokens")
        if not is_whole(total, length):
            raise rule.refuse(f"{total} does not run over the tokens 1, ..., {length}")
        try:
            result += coefficient * summand(total)
        except NotSymmetric as reason:
            raise rule.refuse(str(reason)) from reason
    return result


def _factors(body: Expr) -> list[Expr]:
    """Factors of a body, with exponentials split so that each factor belongs to one token, to all, or to none."""
    result = []
    for factor in Mul.make_args(body):
        if not isinstance(factor, exp):
            result.append(factor)
            continue
        groups: dict[object, Expr] = defaultdict(lambda: S.Zero)
        for term in Add.make_args(expand(factor.exp)):
            if term.has(Sum):
                groups["all"] += term
            else:
                groups[frozenset(item.indices for item in term.atoms(Indexed))] += term
        result.extend(exp(term, evaluate=True) for term in groups.values())
    return result
