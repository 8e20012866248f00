"""Sums over tokens as symmetric polynomials: one normal form, the relevant token split off, the rest expanded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sympy import (
    Add,
    Dummy,
    Expr,
    Function,
    Indexed,
    Mul,
    Pow,
    S,
    Sum,
    expand,
    ff,
    fraction,
    together,
)
from sympy.core.function import Application

from symslr.algebra.polynomial import separate
from symslr.algebra.rule import RuleRefused
from symslr.expression.folded import FOLDED
from symslr.model.powers import factored
from symslr.model.split_factor import split_factor
from symslr.model.symbols import BOUND_IN_SEQUENCE, OTHERS, chi, epsilon, m, x


class NotSymmetric(RuleRefused):
    """A sum that is not one over all tokens of a function of that token alone."""


def summand(total: Sum) -> Expr:
    """h(x) for a sum over tokens of h(chi_i).

    Raises:
        NotSymmetric: when the summand depends on anything random besides the token it sums over.
    """
    h = total.function.subs(chi[total.variables[0]], x)
    if h.has(Indexed) or h.has(total.variables[0]):
        raise NotSymmetric(f"the summand of {total} is not a function of chi[{total.variables[0]}] alone")
    return h


def token_sum(h: Expr, length: Expr) -> Expr:
    """sum_m h(chi_m) with deterministic factors and terms taken out of the sum."""
    deterministic, random = split_factor(h)
    if not random.has(x):
        return deterministic * random * length
    return deterministic * Sum(random.subs(x, chi[m]), (m, 1, length))


def unfolded(expr: Expr, length: Expr) -> Expr:
    """``expr`` with activations and posteriors written out and every sum over tokens in normal form.

    Raises:
        NotSymmetric: for a sum over some of the tokens, or one whose summand depends on other tokens too.
    """
    expr = expr.replace(lambda node: isinstance(node, FOLDED), lambda node: node.doit())
    for total in expr.atoms(Sum):
        if len(total.limits) != 1 or tuple(total.limits[0][1:]) != (1, length):
            raise NotSymmetric(f"{total} does not run over the tokens 1, ..., {length}")
    inner = {s: token_sum(summand(s), length) for s in expr.atoms(Sum) if not s.function.has(Sum)}
    expr = expr.xreplace(inner)
    outer = {s: _outer_sum(s, length) for s in expr.atoms(Sum) if s.function.has(Sum)}
    return expr.xreplace(outer)


def _outer_sum(total: Sum, length: Expr) -> Expr:
    """A sum whose summand holds sums: those are symmetric, so they leave the outer sum."""
    inner = {s: Dummy() for s in sorted(total.function.atoms(Sum), key=str)}
    body, hidden = masked(total.function.xreplace(inner), inner.values())
    numerator, denominator = fraction(together(body))
    index = chi[total.variables[0]]
    own, common = S.One, S.One
    for factor in Mul.make_args(denominator):
        shown = factor.xreplace(hidden)
        own, common = (own, common * shown) if not shown.has(index) else (own * shown, common)
    if any(own.has(d) for d in inner.values()):
        raise NotSymmetric(f"the summand of {total} mixes one token with the sum in a denominator")
    result = S.Zero
    for term in Add.make_args(expand(numerator)):
        symmetric, single = term.xreplace(hidden).as_independent(index, as_Add=False)
        of_one = (single / own).subs(index, x)
        if split_factor(of_one)[1].has(Indexed):
            raise NotSymmetric(f"the summand of {total} is not a function of chi[{total.variables[0]}] alone")
        result += symmetric / common * token_sum(of_one, length)
    return result.xreplace({d: s for s, d in inner.items()})


def masked(expr: Expr, keep: Iterable[Expr]) -> tuple[Expr, dict[Expr, Expr]]:
    """``expr`` with functions, negative and fractional powers of one token as dummies (those with ``keep`` stay).

    Rational algebra on what remains then cannot move an exponential into a denominator or expand a density.
    """
    kept = tuple(keep)
    found: dict[Expr, Expr] = {}

    def hide(node: Expr) -> Expr:
        if not node.args or isinstance(node, Indexed):
            return node
        opaque = isinstance(node, (Application, Function)) or (
            isinstance(node, Pow) and not (node.exp.is_Integer and node.exp.is_positive)
        )
        if opaque and not node.has(*kept):
            return found.setdefault(node, Dummy()) if node.has(chi) else node
        return node.func(*(hide(arg) for arg in node.args))

    return hide(expr), {dummy: node for node, dummy in found.items()}


def marked_terms(expr: Expr, length: Expr) -> Iterator[tuple[Expr, Expr]]:
    """(coefficient, body) pairs with E[expr] = sum of coefficient * E[body] for exchangeable others.

    Sums over tokens in numerators are expanded into the relevant token and distinct others chi[j], chi[k]; sums in
    denominators stay. ``expr`` must be unfolded. Numerators are simplified first, so that S - kappa_epsilon is the sum
    over the others and nothing is left to cancel numerically.

    Raises:
        NotSymmetric: when a numerator needs more distinct tokens than ``OTHERS`` names, or is not polynomial in sums.
    """
    totals = {s: Dummy() for s in sorted(expr.atoms(Sum), key=str)}
    body, hidden = masked(expr.xreplace(totals), totals.values())
    numerator, denominator = fraction(together(body))
    restore = {**hidden, **{d: s for s, d in totals.items()}}
    others = {d: Dummy() for d in totals.values()}
    origin = {others[d]: summand(s) for s, d in totals.items()}
    relevant = {d: _at(summand(s), epsilon) + others[d] for s, d in totals.items()}
    bridge = {node: dummy for dummy, node in hidden.items()}
    opened = numerator.xreplace({d: split.xreplace(bridge) for d, split in relevant.items()})
    for term in Add.make_args(expand(opened)):
        symmetric, factors = _other_factors(term, origin)
        if symmetric.has(*origin) if origin else False:
            raise NotSymmetric(f"{expr} is not a polynomial in sums over tokens")
        if factors and symmetric.xreplace(restore).has(*OTHERS):
            raise NotSymmetric(f"{expr} names other tokens beside a sum over all of them")
        for blocks in _set_partitions(factors):
            if len(blocks) > len(OTHERS):
                raise NotSymmetric(f"{expr} needs {len(blocks)} distinct other tokens; expected at most {len(OTHERS)}")
            coefficient = ff(length - 1, len(blocks)) if blocks else S.One
            product = Mul(*(_at(Mul(*block), token) for block, token in zip(blocks, OTHERS, strict=False)))
            fixed, random = separate(symmetric.xreplace(restore) * product, BOUND_IN_SEQUENCE)
            yield _falling(coefficient, length) * fixed, random / denominator.xreplace(restore)


def _falling(coefficient: Expr, length: Expr) -> Expr:
    return factored(coefficient.expand(func=True)) if coefficient.has(length) else coefficient


def _at(h: Expr, token: Expr) -> Expr:
    return h.subs(x, chi[token])


def _other_factors(term: Expr, origin: dict[Expr, Expr]) -> tuple[Expr, list[Expr]]:
    """The part of a monomial without sums over the others, and the summands of those sums, with multiplicity."""
    rest, factors = S.One, []
    for factor in Mul.make_args(term):
        base, power = factor.as_base_exp()
        if base in origin and power.is_Integer and power > 0:
            factors.extend([origin[base]] * int(power))
        else:
            rest *= factor
    return rest, factors


def _set_partitions(items: list[Expr]) -> Iterator[list[list[Expr]]]:
    """Partitions of a list into blocks: tokens that coincide share a block, distinct blocks are distinct tokens."""
    if not items:
        yield []
        return
    first, *rest = items
    for blocks in _set_partitions(rest):
        for i in range(len(blocks)):
            yield [*blocks[:i], [first, *blocks[i]], *blocks[i + 1 :]]
        yield [[first], *blocks]
