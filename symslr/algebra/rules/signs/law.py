"""The law of a sum of independent signs."""

from __future__ import annotations

from itertools import combinations
from typing import final

from sympy import Expr, Product, S, Sum, Symbol, binomial, expand

from symslr.algebra.rules.blocks.deltas import deltas_in
from symslr.algebra.rules.blocks.places import Places, PlacesRule
from symslr.expression.expectation import rewrite_expectations
from symslr.expression.signs import Sign, SignExpectation

PLUS = Symbol("s", integer=True, nonnegative=True)
"""Plus signs among those that are not looked at one by one."""


@final
class SumOfSigns(PlacesRule):
    """Average over all sign vectors a body that looks at some signs, at the sum of a range of them, at products over it.

    Of the N signs of the range that are not named s are plus with probability binomial(N, s) / 2^N; their sum is 2s - N
    and a product of h(w) over them is h(1)^s h(-1)^(N-s).
    """

    name = "law of a sum of signs"
    statement = (
        r"\mathbb{E}\,F\Bigl(w_r,\sum_k w_k,\prod_k h(w_k,\delta_{k,r})\Bigr)=\frac1{2^{N+1}}\sum_{u=0}^{1}\sum_{s=0}^{N}"
        r"\binom Ns F\bigl(2u-1,\;2u-1+2s-N,\;h(2u-1,1)\,h(1,0)^s h(-1,0)^{N-s}\bigr)"
    )
    conditions = r"the named places are different; those of the range that are not named number $N\ge0$; $0^0=1$"

    def rewrite_at(self, expr: Expr, places: Places) -> Expr:
        return rewrite_expectations(expr, lambda node: self._average(node, places), SignExpectation)

    def _average(self, node: SignExpectation, places: Places) -> Expr:
        sums = [e for e in node.body.atoms(Sum) if isinstance(e.function, Sign)]
        products = [e for e in node.body.atoms(Product) if e.has(node.vector)]
        ranges = {self._range(e.function, e.limits) for e in sums}
        ranges |= {self._range(self._own(e), e.limits) for e in products}
        if len(ranges) != 1:
            raise self.refuse(f"found {len(ranges)} ranges of signs, {ranges}; expected one")
        low, high = ranges.pop()
        if not (places.inside(low, S.One, node.count) and places.inside(high, low - 1, node.count)):
            raise self.refuse(f"the range {low}..{high} leaves the signs 1..{node.count}")
        bound = {limit[0] for e in (*sums, *products) for limit in e.limits}
        named = sorted((e for e in node.body.atoms(Sign) if not e.free_symbols & bound), key=str)
        inside = self._inside(node, named, low, high, places)
        values = {sign: 2 * Symbol(f"u_{i}", integer=True, nonnegative=True) - 1 for i, sign in enumerate(named, 1)}
        rest = expand(high - low + 1) - len(inside)
        total = 2 * PLUS - rest + sum((values[sign] for sign in inside), S.Zero)
        body = node.body.xreplace({e: self._product(e, inside, values, low, rest, places) for e in products})
        body = body.xreplace(dict.fromkeys(sums, total)).xreplace(values)
        if body.has(node.vector):
            raise self.refuse(f"{node.body} looks at the signs by more than names, one sum and products over one range")
        signs = [((value + 1) / 2, 0, 1) for value in values.values()]
        return Sum(binomial(rest, PLUS) * body, (PLUS, 0, rest), *signs) / 2 ** (rest + len(named))

    def _inside(self, node: SignExpectation, named: list[Expr], low: Expr, high: Expr, places: Places) -> list[Expr]:
        """The named signs that belong to the range."""
        for left, right in combinations(named, 2):
            if left.vector != node.vector or places.equal(left.place, right.place) is not False:
                raise self.refuse(f"cannot tell {left} from {right}")
        for sign in named:
            if not places.inside(sign.place, S.One, node.count):
                raise self.refuse(f"{sign} is none of the signs 1..{node.count}")
        found = []
        for sign in named:
            least, most = low - sign.place, sign.place - high
            before, after = (places.surely_positive(distance) for distance in (least, most))
            if before or after:
                continue
            places.inside(sign.place, low, high)  # what is open is assumed
            found.append(sign)
        return found

    def _own(self, node: Product) -> Sign:
        """The sign that each factor of a product is a function of."""
        index = node.limits[0][0]
        own = {e for e in node.function.atoms(Sign) if index in e.free_symbols and not _summed(e, node.function)}
        if len(own) != 1 or len(node.limits) != 1:
            raise self.refuse(f"{node} is no product of a function of one sign each")
        return own.pop()

    def _range(self, sign: Sign, limits: tuple[tuple[Symbol, Expr, Expr], ...]) -> tuple[Expr, Expr]:
        """First and last place of the signs that a sum or product runs over."""
        index, low, high = limits[0]
        shift = expand(sign.place - index)
        if len(limits) != 1 or shift.has(index):
            raise self.refuse(f"{sign} is not one sign for each {index}")
        return expand(low + shift), expand(high + shift)

    def _product(
        self,
        node: Product,
        inside: list[Expr],
        values: dict[Expr, Expr],
        low: Expr,
        rest: Expr,
        places: Places,
    ) -> Expr:
        index, first, _ = node.limits[0]
        factor = node.function
        own = self._own(node)
        marks = {delta: self._mark(delta, index) + low - first for delta in deltas_in(factor, index)}
        for place in marks.values():
            if not any(places.equal(sign.place, place) for sign in inside):
                raise self.refuse(f"{node} marks the place {place}, whose sign has no name in the body")

        def at(value: Expr, known: dict[Expr, Expr]) -> Expr:
            body = factor.xreplace({own: value}).xreplace(known)
            if body.has(index):
                raise self.refuse(f"{node} depends on {index} by more than its sign and its mark")
            return body

        unmarked = dict.fromkeys(marks, S.Zero)
        result = at(S.One, unmarked) ** PLUS * at(S.NegativeOne, unmarked) ** (rest - PLUS)
        for sign in inside:
            same = {delta: places.equal(sign.place, place) for delta, place in marks.items()}
            if None in same.values():
                raise self.refuse(f"cannot decide whether {sign} is the one that {node} marks")
            result *= at(values[sign], {delta: S(int(bool(is_it))) for delta, is_it in same.items()})
        return result

    def _mark(self, delta: Expr, index: Symbol) -> Expr:
        """The place that a delta marks, as a value of the index."""
        if index not in delta.args:
            raise self.refuse(f"{delta} does not name one place")
        return delta.args[1] if delta.args[0] == index else delta.args[0]


def _summed(sign: Sign, expr: Expr) -> bool:
    """Whether a sign stands inside of a sum over its own index."""
    return any(e.function == sign for e in expr.atoms(Sum))
