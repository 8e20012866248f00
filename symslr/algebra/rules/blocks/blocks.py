"""Sums over the n rows of the block layout: marked rows, classes of t rows each, and all the others."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, KroneckerDelta, Mod, S, Sum, Symbol, expand

from symslr.algebra.rule import Rule
from symslr.algebra.rules.blocks.columns import CLASSES, decide, row_class, same_class
from symslr.model.separation import n, t


@final
class BlockSum(Rule):
    """Carry out sums over rows j = 1..n whose terms depend on j only through row marks and classes."""

    name = "block sum"
    statement = (
        r"\sum_{j=1}^{n}F(j)=\sum_{r}F(j=r)+\sum_{g}(t-m_g)\,F(j\in g\text{, unmarked})"
        r"+\left(\tfrac{n}{t}-\#g\right)t\,F(\text{else})"
    )
    conditions = (
        r"$F$ depends on $j$ only through $\delta_{j,r}$ for marked rows $r$ and through the class of $j$; "
        r"$m_g$ counts the marked rows of class $g$; each class has $t$ rows"
    )

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, Sum), self._sum)

    def _sum(self, node: Sum) -> Expr:
        if len(node.limits) != 1 or node.limits[0][1:] != (S.One, n):
            return node
        j = node.limits[0][0]
        body = node.function.replace(lambda e: isinstance(e, KroneckerDelta), decide)
        marks, classes = self._references(body, j)
        classes = self._distinct([*classes, *marks])
        total = [_at_mark(body, j, mark) for mark in marks]
        for group in classes:
            marked = sum(1 for mark in marks if same_class(mark, group) == 1)
            total.append((t - marked) * _in_class(body, j, group))
        total.append(expand((CLASSES - len(classes)) * t) * _elsewhere(body, j))
        return Add(*total)

    def _references(self, body: Expr, j: Symbol) -> tuple[list[Expr], list[Expr]]:
        marks, classes = [], []
        for delta in sorted((e for e in body.atoms(KroneckerDelta) if e.has(j)), key=str):
            left, right = delta.args if delta.args[0].has(j) else reversed(delta.args)
            if left == j and not right.has(j):
                marks.append(right)
            elif left == row_class(j) and isinstance(right, Mod) and not right.has(j):
                classes.append(right.args[0] + 1)
            else:
                raise self.refuse(f"the delta {delta} is neither a mark of row {j} nor of its class")
        if body.replace(lambda e: isinstance(e, KroneckerDelta), lambda e: S.One).has(j):
            raise self.refuse(f"{body} depends on the row {j} by more than its mark and its class")
        return marks, classes

    def _distinct(self, rows: list[Expr]) -> list[Expr]:
        kept: list[Expr] = []
        for row in rows:
            verdicts = [same_class(row, other) for other in kept]
            if not all(v in (S.Zero, S.One) for v in verdicts):
                raise self.refuse(f"cannot decide whether the rows {row} and {kept} share a class")
            if S.One not in verdicts:
                kept.append(row)
        return kept


def _at_mark(body: Expr, j: Symbol, mark: Expr) -> Expr:
    return body.subs(j, mark).replace(lambda e: isinstance(e, KroneckerDelta), decide)


def _in_class(body: Expr, j: Symbol, group: Expr) -> Expr:
    def value(delta: KroneckerDelta) -> Expr:
        if not delta.has(j):
            return delta
        other = delta.args[1] if delta.args[0].has(j) else delta.args[0]
        return same_class(other.args[0] + 1, group) if isinstance(other, Mod) else S.Zero

    return body.replace(lambda e: isinstance(e, KroneckerDelta), value)


def _elsewhere(body: Expr, j: Symbol) -> Expr:
    return body.replace(lambda e: isinstance(e, KroneckerDelta) and e.has(j), lambda e: S.Zero)
