"""Kronecker deltas in finite sums and products."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, KroneckerDelta, Mul, Pow, S, Sum, Symbol, expand, expand_mul

from symslr.algebra.bodies import at_token
from symslr.algebra.rules.blocks.places import Places, PlacesRule


@final
class SumOfDeltas(PlacesRule):
    """Carry out the sums over ``index`` in which every term holds a Kronecker delta as a factor."""

    name = "sum of deltas"
    statement = r"\sum_{k=a}^{b}\delta_{k,r}F(k)=F(r)"
    conditions = r"$a\le r\le b$; the sum is $0$ where $r$ lies outside"

    def __init__(self, index: Symbol) -> None:
        self.index = index

    def rewrite_at(self, expr: Expr, places: Places) -> Expr:
        def over_the_index(node: Expr) -> bool:
            return isinstance(node, Sum) and any(limit[0] == self.index for limit in node.limits)

        return places.decide(expr.replace(over_the_index, lambda node: self._carried_out(node, places)))

    def _carried_out(self, node: Sum, places: Places) -> Expr:
        (own,) = (limit for limit in node.limits if limit[0] == self.index)
        others = tuple(limit for limit in node.limits if limit is not own)
        indices = {limit[0] for limit in others}
        if any(end.has(self.index) for _, *ends in others for end in ends) or any(
            e.has(*indices) for e in own[1:] if indices
        ):
            raise self.refuse(f"the limits of {node} depend on its indices")
        # powers and products of sums are multiplied out at the surface; what stands inside of functions stays
        powers = (expand(f, deep=False, power_base=False, power_exp=False) for f in Mul.make_args(node.function))
        terms = Add.make_args(expand_mul(Mul(*powers), deep=False))
        total = Add(*(self._term(term, own[1], own[2], places) for term in terms))
        return Sum(total, *others) if others else total

    def _term(self, term: Expr, low: Expr, high: Expr, places: Places) -> Expr:
        factors = [base for factor in Mul.make_args(term) for base in _repeated(factor)]
        own = [f for f in factors if isinstance(f, KroneckerDelta) and self.index in f.args]
        if not own:
            raise self.refuse(f"the term {term} holds no delta in {self.index}")
        place = own[0].args[1] if own[0].args[0] == self.index else own[0].args[0]
        if place.has(self.index):
            raise self.refuse(f"{own[0]} does not name one place")
        factors.remove(own[0])
        if not places.inside(place, low, high):
            return S.Zero
        return places.decide(at_token(Mul(*factors), self.index, place, self))


@final
class MarkedTerm(PlacesRule):
    """Take the term at r out of sums over ``index`` whose terms know it by a Kronecker delta."""

    name = "marked term"
    statement = r"\sum_g F(g,\delta_{g,r})=F(r,1)-F(r,0)+\sum_g F(g,0)"
    conditions = r"$r$ lies in the range of $g$"

    def __init__(self, index: Symbol) -> None:
        self.index = index

    def rewrite_at(self, expr: Expr, places: Places) -> Expr:
        def taken_out(node: Sum) -> Expr:
            return self._sum(node, places) if _one_limit(node)[0] == self.index else node

        done = expr.replace(_is_single_sum, taken_out)
        return places.decide(done)

    def _sum(self, node: Sum, places: Places) -> Expr:
        _, low, high = _one_limit(node)
        found = deltas_in(node.function, self.index)
        if not found:
            return node
        place = self._place(found[0], low, high, places)
        at_one, at_zero = (places.decide(node.function.xreplace({found[0]: v})) for v in (S.One, S.Zero))
        taken = (places.decide(at_token(body, self.index, place, self)) for body in (at_one, at_zero))
        here, gone = taken
        return here - gone + self._sum(node.func(at_zero, *node.limits), places)

    def _place(self, delta: KroneckerDelta, low: Expr, high: Expr, places: Places) -> Expr:
        place = delta.args[1] if delta.args[0] == self.index else delta.args[0]
        if place.has(self.index) or self.index not in delta.args:
            raise self.refuse(f"{delta} does not name one place")
        if not places.inside(place, low, high):
            raise self.refuse(f"{place} lies outside of {low}..{high}")
        return place


def deltas_in(expr: Expr, index: Symbol) -> list[KroneckerDelta]:
    """The deltas in which an index occurs, in the order of their names."""
    return sorted((e for e in expr.atoms(KroneckerDelta) if e.has(index)), key=str)


def _is_single_sum(expr: Expr) -> bool:
    return isinstance(expr, Sum) and len(expr.limits) == 1


def _one_limit(node: Sum) -> tuple[Symbol, Expr, Expr]:
    index, low, high = node.limits[0]
    return index, low, high


def _repeated(factor: Expr) -> list[Expr]:
    """A power of a delta as its base: delta**2 = delta."""
    if isinstance(factor, Pow) and isinstance(factor.base, KroneckerDelta) and factor.exp.is_positive:
        return [factor.base]
    return [factor]
