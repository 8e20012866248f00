"""Sums over the d columns of the block layout: a mark, n/t classes, a constant."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, KroneckerDelta, Mod, Mul, Pow, S, Sum, expand

from symslr.algebra.rule import Rule
from symslr.model.separation import n, t

CLASSES = n / t
"""Number of classes, D = d - 2."""

FIRST_COLUMN = S.One
LAST_COLUMN = CLASSES + 2


def row_class(row: Expr) -> Expr:
    """Class of a row, 0..n/t - 1."""
    return Mod(row - 1, CLASSES)


def class_column(row: Expr) -> Expr:
    """Column that holds the class of a row."""
    return 2 + row_class(row)


def decide(delta: Expr) -> Expr:
    """The Kronecker delta of two columns or two classes, simplified as far as the layout decides it.

    Rows whose numbers differ by a multiple of n/t share their class; rows next to each other do not (n/t >= 2).
    """
    if not isinstance(delta, KroneckerDelta):
        return delta
    left, right = delta.args
    kinds = {_kind(left), _kind(right)}
    if None not in kinds and len(kinds) == 2:
        return S.Zero
    if kinds == {"class"}:
        return same_class(_row(left), _row(right))
    return delta


def same_class(left: Expr, right: Expr) -> Expr:
    """1, 0 or the delta of the two classes."""
    distance = expand(left - right)
    if (distance / CLASSES).is_Integer or expand(distance / CLASSES).is_Integer:
        return S.One
    if distance in (S.One, S.NegativeOne):
        return S.Zero
    return KroneckerDelta(row_class(left), row_class(right))


def _kind(column: Expr) -> str | None:
    if column == FIRST_COLUMN:
        return "first"
    if column == LAST_COLUMN:
        return "last"
    return "class" if _row(column) is not None else None


def _row(column: Expr) -> Expr | None:
    for shift in (2, 0):
        rest = column - shift
        if isinstance(rest, Mod) and rest.args[1] == CLASSES:
            return rest.args[0] + 1
    return None


@final
class ColumnSum(Rule):
    """Carry out sums over the columns k = 1..n/t + 2 whose terms hold a Kronecker delta in k."""

    name = "column sum"
    statement = r"\sum_{k=1}^{n/t+2}\delta_{k,r}\,\delta_{k,s}\,F(k)=\delta_{r,s}\,F(r)"
    conditions = r"$r$, $s$ are columns: the first, that of a class, or the last; these are distinct; $n/t\ge 2$"

    def rewrite(self, expr: Expr) -> Expr:
        done = expr.replace(lambda node: isinstance(node, Sum), self._sum)
        return done.replace(lambda node: isinstance(node, KroneckerDelta), decide)

    def _sum(self, node: Sum) -> Expr:
        if len(node.limits) != 1 or node.limits[0][1:] != (S.One, LAST_COLUMN):
            return node
        column = node.limits[0][0]
        return Add(*(self._term(term, column) for term in Add.make_args(expand(node.function))))

    def _term(self, term: Expr, column: Expr) -> Expr:
        factors = [f for power in Mul.make_args(term) for f in _repeated(power)]
        deltas = [f for f in factors if isinstance(f, KroneckerDelta) and f.has(column)]
        rest = Mul(*(f for f in factors if f not in deltas))
        if not deltas:
            constant, varying = rest.as_independent(column, as_Add=False)
            return constant * Sum(varying, (column, 1, LAST_COLUMN))
        places = [_other(delta, column) for delta in deltas]
        if any(_kind(place) is None for place in places):
            raise self.refuse(f"the delta {deltas[0]} does not name a column of the layout")
        first, *others = places
        agree = Mul(*(decide(KroneckerDelta(first, place)) for place in others))
        return agree * rest.subs(column, first) if agree != 0 else S.Zero


def _repeated(factor: Expr) -> list[Expr]:
    """A power of a delta as its base: delta**2 = delta."""
    if isinstance(factor, Pow) and isinstance(factor.base, KroneckerDelta) and factor.exp.is_positive:
        return [factor.base]
    return [factor]


def _other(delta: KroneckerDelta, column: Expr) -> Expr:
    left, right = delta.args
    return right if left == column else left
