"""Sums and products over rows that repeat with a period, one of them marked."""

from __future__ import annotations

from typing import final

from sympy import Expr, KroneckerDelta, Mod, Product, S, Sum, Symbol, expand

from symslr.algebra.bodies import at_token
from symslr.algebra.rules.blocks.deltas import deltas_in
from symslr.algebra.rules.blocks.places import Places, PlacesRule


@final
class StackedBlocks(PlacesRule):
    """Write sums and products over ``index`` = 1..n, whose terms repeat with a period D save for a mark, over one period.

    Args:
        index: of the sums and products.
        residue: index over one period, 0..D-1, that takes its place.
    """

    name = "stacked blocks"
    statement = (
        r"\sum_{j=1}^{n}F(j\bmod D,\delta_{j,r})=F(r\bmod D,1)"
        r"+\sum_{g=0}^{D-1}\Bigl(\tfrac nD-\delta_{g,r\bmod D}\Bigr)F(g,0),\qquad"
        r"\prod_{j=1}^{n}F(j\bmod D,\delta_{j,r})=F(r\bmod D,1)\prod_{g=0}^{D-1}F(g,0)^{n/D-\delta_{g,r\bmod D}}"
    )
    conditions = r"$D$ and $n/D$ are integers; $1\le r\le n$; $F$ knows $j$ by its residue and by the mark alone"

    def __init__(self, index: Symbol, residue: Symbol) -> None:
        self.index, self.residue = index, residue

    def rewrite_at(self, expr: Expr, places: Places) -> Expr:
        def over_the_index(node: Expr) -> bool:
            return isinstance(node, (Sum, Product)) and len(node.limits) == 1 and node.limits[0][0] == self.index

        return places.decide(expr.replace(over_the_index, lambda node: self._blocks(node, places)))

    def _blocks(self, node: Sum | Product, places: Places) -> Expr:
        _, low, high = node.limits[0]
        body = node.function
        residues = sorted((e for e in body.atoms(Mod) if e.has(self.index)), key=str)
        if not residues:
            return node
        own = residues[0]
        period, shift = own.args[1], expand(own.args[0] - self.index)
        if len(residues) > 1 or shift.has(self.index):
            raise self.refuse(f"found the residues {residues}; expected one residue of {self.index} itself")
        if node.has(self.residue):
            raise self.refuse(f"{self.residue} has a meaning already in {node}; expected an index that is free")
        length = expand(high - low + 1)
        blocks = expand(length / period)
        for number in (period, blocks):
            if not places.whole(number):
                raise self.refuse(f"{number} is not an integer")
        inside = body.xreplace({own: self.residue})
        marks = deltas_in(inside, self.index)
        if len(marks) > 1:
            raise self.refuse(f"found the marks {marks}; expected one")
        plain = places.decide(inside.xreplace(dict.fromkeys(marks, S.Zero)))
        if plain.has(self.index):
            raise self.refuse(f"{body} depends on {self.index} by more than its residue and one mark")
        together = Sum if isinstance(node, Sum) else Product
        if not marks:
            term = blocks * plain if together is Sum else plain**blocks
            return together(term, (self.residue, 0, period - 1))
        mark = marks[0].args[1] if marks[0].args[0] == self.index else marks[0].args[0]
        if self.index not in marks[0].args or mark.has(self.index, self.residue):
            raise self.refuse(f"{marks[0]} does not name one place")
        if not places.inside(mark, low, high):
            raise self.refuse(f"the mark {mark} lies outside of {low}..{high}")
        here = places.decide(at_token(body, self.index, mark, self))
        count = blocks - KroneckerDelta(self.residue, Mod(mark + shift, period))
        if together is Sum:
            return here + Sum(count * plain, (self.residue, 0, period - 1))
        return here * Product(plain**count, (self.residue, 0, period - 1))
