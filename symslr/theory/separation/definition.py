"""The construction as it is written down: entries, scores, weights and what a row of attention puts out.

Nothing here is summed; the sums run over the d = n/t + 2 columns and the n rows.
"""

from __future__ import annotations

from enum import StrEnum

from sympy import Expr, KroneckerDelta, S, Sum, Symbol, log, sqrt

from symslr.algebra.rules.blocks.columns import CLASSES, LAST_COLUMN, class_column
from symslr.model.separation import SELF, Marks, beta, j3, n
from symslr.model.symbols import x

j = Symbol("j", integer=True, positive=True)
k = Symbol("k", integer=True, positive=True)
l = Symbol("l", integer=True, positive=True)


class Row(StrEnum):
    """The three kinds of row, seen from the marked one."""

    MARKED = "marked"
    SIBLING = "sibling"
    """Another row of the marked row's class (t >= 2)."""
    STRANGER = "stranger"
    """A row of another class (n/t >= 2)."""

    @property
    def index(self) -> Expr:
        """A row of this kind."""
        return {Row.MARKED: j3, Row.SIBLING: j3 + CLASSES, Row.STRANGER: j3 + 1}[self]


class Column(StrEnum):
    """The kinds of column in which rows of attention differ; the last column is c sqrt(log n) for every row."""

    MARK = "mark"
    OWN = "own class"
    OTHER = "another class"


def entry(row: Expr, column: Expr, marks: Marks = SELF) -> Expr:
    """A[row, column] = sqrt(log n) (a 1[row = j3, column = 1] + b 1[column = class] + c 1[column = d])."""
    mark = marks.a * KroneckerDelta(row, j3) * KroneckerDelta(column, 1)
    group = marks.b * KroneckerDelta(column, class_column(row))
    return sqrt(log(n)) * (mark + group + marks.c * KroneckerDelta(column, LAST_COLUMN))


def score(query: Expr, key: Expr, queries: Marks = SELF, keys: Marks = SELF) -> Expr:
    """<A1_i, A2_j> = sum over the columns."""
    return Sum(entry(query, k, queries) * entry(key, k, keys), (k, 1, LAST_COLUMN))


def weight(query: Expr, key: Expr, kernel: Expr, queries: Marks = SELF) -> Expr:
    """u_ij = kernel(beta <A1_i, A2_j>)."""
    return kernel.subs(x, beta * score(query, key, queries))


def share(row: Row, column: Column, kernel: Expr, queries: Marks = SELF) -> Expr:
    """Attention of a row that falls on the mark, on its own class or on one other class.

    The output f^T A3 of the row has the entries a * (mark share), b * (own share), b * (other share) and c, in units
    of sqrt(log n); the share is the output divided by that unit.
    """
    i = row.index
    place = {Column.MARK: S.One, Column.OWN: class_column(i), Column.OTHER: class_column(i + 1)}[column]
    unit = (SELF.a if column is Column.MARK else SELF.b) * sqrt(log(n))
    alpha = Sum(weight(i, l, kernel, queries), (l, 1, n))
    return Sum(weight(i, j, kernel, queries) * entry(j, place) / unit, (j, 1, n)) / alpha
