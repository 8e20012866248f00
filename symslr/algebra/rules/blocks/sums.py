"""Finite sums: exchange the order of two, and take out factors that do not depend on the index."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, Mul, S, Sum, Symbol, Tuple, expand_mul

from symslr.algebra.rule import Rule
from symslr.algebra.rules.blocks.places import Places, PlacesRule


@final
class InterchangeSums(Rule):
    """Carry out the sum over ``index`` first, where it stands around another sum."""

    name = "interchange of sums"
    statement = r"\sum_k a_k\sum_j b_{jk}=\sum_j\sum_k a_k b_{jk}"
    conditions = r"both sums are finite and the limits of the inner one do not depend on $k$"

    def __init__(self, index: Symbol) -> None:
        self.index = index

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda e: isinstance(e, Sum) and e.limits[0][0] == self.index, self._sum)

    def _sum(self, node: Sum) -> Expr:
        inner = [f for f in Mul.make_args(node.function) if isinstance(f, Sum) and f.has(self.index)]
        if len(node.limits) != 1 or len(inner) != 1 or len(inner[0].limits) != 1:
            return node
        rest, limit = node.function / inner[0], inner[0].limits[0]
        if limit.has(self.index) or Tuple(rest, *node.limits).has(limit[0]):
            raise self.refuse(f"the limits of {inner[0]} depend on {self.index}, or its index has a meaning outside")
        if Tuple(limit, *node.limits).has(S.Infinity, S.NegativeInfinity):
            raise self.refuse(f"{node} is infinite")
        fixed, varying = rest.as_independent(self.index, as_Add=False)
        return fixed * Sum(Sum(varying * inner[0].function, node.limits[0]), limit)


@final
class SumLinearity(PlacesRule):
    """Take what does not depend on ``index`` out of the sums over it; a sum of constants counts its terms."""

    name = "linearity of sums"
    statement = r"\sum_{g=a}^{b}(\alpha+\beta f(g))=(b-a+1)\,\alpha+\beta\sum_{g=a}^{b} f(g)"
    conditions = r"the number of terms $b-a+1\ge0$ is an integer"

    def __init__(self, index: Symbol) -> None:
        self.index = index

    def rewrite_at(self, expr: Expr, places: Places) -> Expr:
        def split(node: Sum) -> Expr:
            index, low, high = node.limits[0]
            if len(node.limits) != 1 or index != self.index:
                return node
            size = high - low + 1
            if not places.whole(size) or not places.inside(size, S.Zero, size):
                raise self.refuse(f"{node} has {size} terms; expected a number of terms that is an integer >= 0")
            return Add(*(_term(part, node, size) for part in Add.make_args(expand_mul(node.function, deep=False))))

        return expr.replace(lambda e: isinstance(e, Sum), split)


def _term(part: Expr, node: Sum, size: Expr) -> Expr:
    fixed, varying = part.as_independent(node.limits[0][0], as_Add=False)
    return fixed * (size if varying == 1 else Sum(varying, *node.limits))
