"""Functions of a configuration under two priors: one relevant token, or tokens that are relevant independently."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Add, Expr, Indexed, KroneckerDelta, Mul, Product, S, Sum, Symbol, exp, expand, simplify

from symslr.algebra.rule import Rule
from symslr.model.configuration import Directions, r
from symslr.model.symbols import k, l, m

PLACES = (m, l, k)
"""What a rule may call the index of a sum over tokens."""


def free_place(*exprs: Expr) -> Symbol | None:
    """An index that stands in none of the expressions, bound or free; None where all are taken."""
    taken = {s for expr in exprs for s in expr.atoms(Symbol)}
    return next((place for place in PLACES if place not in taken), None)


def is_over_tokens(node: Sum | Product, length: Expr) -> bool:
    """Whether every index of a sum or a product runs over the tokens 1, ..., length."""
    return all(tuple(limit[1:]) == (1, length) for limit in node.limits)


def at_one(expr: Expr, place: Expr, length: Expr, rule: Rule) -> Expr:
    """A function of the configuration where the token ``place`` alone is relevant.

    Raises:
        RuleRefused: in the name of ``rule``, where r stands in a sum that does not run over all tokens.
    """
    if not expr.has(r):
        return expr
    if isinstance(expr, Indexed):
        return S.One if expr.indices[0] == place else KroneckerDelta(expr.indices[0], place)
    if not isinstance(expr, (Sum, Product)):
        return expr.func(*(at_one(arg, place, length, rule) for arg in expr.args))
    if not is_over_tokens(expr, length):
        raise rule.refuse(f"{expr} does not run over the tokens 1, ..., {length}")
    *inner, limit = expr.limits
    index = limit[0]
    if index == place:
        raise rule.refuse(f"{expr} would catch the token {place}; write it with another index")
    own = r[index]
    within = expr.func(expr.function, *inner) if inner else expr.function
    summand = _inside(within, own, place, length, rule)
    at_rest, relevant = summand.subs(own, 0), summand.subs(own, 1)
    if isinstance(expr, Sum):
        return _sum(at_rest, limit) + (relevant - at_rest).subs(index, place)
    return Product(at_rest, limit).doit() * (relevant / at_rest).subs(index, place)


def _inside(expr: Expr, own: Indexed, place: Expr, length: Expr, rule: Rule) -> Expr:
    """``expr`` at the configuration, with r of the token that is summed over around it left as it is."""
    letter = Symbol("own", integer=True)
    made = at_one(expr.xreplace({own: letter}), place, length, rule)
    return made.xreplace({letter: own})


def _sum(summand: Expr, limit: Expr) -> Expr:
    return S.Zero if summand == S.Zero else Sum(summand, limit)


@dataclass(frozen=True)
class OverTokens:
    """A function of the configuration: ``fixed`` times the product over tokens of what r_l = 0 or 1 gives.

    Attributes:
        fixed: free of the configuration.
        chosen: tokens i that stand as factors r_i: only configurations count in which they are relevant.
        resting, relevant: the factor of token ``l`` that is not and that is relevant.
    """

    fixed: Expr
    chosen: tuple[Expr, ...]
    resting: Expr
    relevant: Expr


def over_tokens(expr: Expr, length: Expr, rule: Rule) -> OverTokens:
    """The factors of a product over tokens, indexed by ``l``.

    Raises:
        RuleRefused: in the name of ``rule``, when ``expr`` is no product over tokens.
    """
    fixed, chosen = S.One, []
    sides = {0: S.One, 1: S.One}
    for factor in Mul.make_args(expr):
        base, power = factor.as_base_exp()
        if not factor.has(r):
            fixed *= factor
        elif isinstance(base, Indexed) and power.is_Integer and power > 0:
            chosen.append(base.indices[0])
        elif isinstance(factor, Product):
            for value in sides:
                sides[value] *= of_token(factor, value, length, rule)
        elif isinstance(factor, exp):
            rest, exponents = S.Zero, {0: S.Zero, 1: S.Zero}
            for term in Add.make_args(expand(factor.exp)):
                if not term.has(r):
                    rest += term
                    continue
                total = next((part for part in Mul.make_args(term) if isinstance(part, Sum)), None)
                if total is None or (term / total).has(r):
                    raise rule.refuse(f"exp({term}) is no product over tokens")
                for value in exponents:
                    exponents[value] += term / total * of_token(total, value, length, rule)
            fixed *= exp(rest)
            for value in sides:
                sides[value] *= exp(exponents[value])
        else:
            raise rule.refuse(f"{factor} is no product over tokens")
    return OverTokens(fixed, tuple(chosen), _joined(sides[0]), _joined(sides[1]))


def _joined(product: Expr) -> Expr:
    """A product with one exponential."""
    rest, exponent = S.One, S.Zero
    for factor in Mul.make_args(product):
        if isinstance(factor, exp):
            exponent += expand(factor.exp)
        else:
            rest *= factor
    return rest * exp(exponent)


def of_token(total: Sum | Product, value: int, length: Expr, rule: Rule) -> Expr:
    """The term of token ``l`` of a sum or product, with r_l = value."""
    if len(total.limits) != 1 or not is_over_tokens(total, length):
        raise rule.refuse(f"{total} does not run over the tokens 1, ..., {length}")
    index = total.variables[0]
    term = total.function.subs(r[index], value)
    if term.has(r):
        raise rule.refuse(f"{total} couples the tokens")
    inner = {s.variables[0] for s in term.atoms(Sum, Product)}
    if l in inner or (l in term.free_symbols and index != l):
        raise rule.refuse(f"{total} would catch the token l; write it with another index")
    return term.subs(index, l)


def pulled(expr: Expr, index: Expr) -> tuple[Expr, Expr]:
    """(factors free of ``index``, the others), exponentials split into a part of each kind and joined in the second."""
    outside, inside, moving = S.One, S.One, S.Zero
    for factor in Mul.make_args(expr):
        if not isinstance(factor, exp):
            inside, outside = (inside * factor, outside) if index in factor.free_symbols else (inside, outside * factor)
            continue
        for term in Add.make_args(expand(factor.exp)):
            if index in term.free_symbols:
                moving += term
            else:
                outside *= exp(term)
    return outside, inside * exp(moving)


def equally_correlated(covariance: Expr, rule: Rule) -> tuple[Expr, Expr]:
    """(a, b) of a I + b 1 1^T.

    Raises:
        RuleRefused: in the name of ``rule``, for another covariance.
    """
    if isinstance(covariance, Directions):
        raise rule.refuse("the keys have several directions; expected one")
    expanded = expand(covariance)
    a = expanded.coeff(KroneckerDelta(l, m))
    b = expand(expanded - a * KroneckerDelta(l, m))
    if a == 0 or (a.free_symbols | b.free_symbols) & {l, m}:
        raise rule.refuse(f"the covariance {covariance} is not a multiple of the identity plus a constant")
    return simplify(a), simplify(b)
