"""The definitions of the companion's construction: data matrix, attention on it, and the threshold.

Nothing here is summed: the sums run over the n rows and the d = n/t + 2 columns.

Source: arXiv 2310.11685, sections 1.1 and 3.3; the block layout is reconstructed.
"""

from __future__ import annotations

from sympy import Expr, KroneckerDelta, Mod, S, Sum, Symbol, log, sqrt

from symslr.model.separation import SELF, Marks, beta, j3, margin, n, t
from symslr.model.symbols import x

CLASSES = n / t
"""Number of classes, D = d - 2."""

FIRST_COLUMN = S.One
LAST_COLUMN = CLASSES + 2
"""Also the number of columns, d."""

j = Symbol("j", integer=True, positive=True)
l = Symbol("l", integer=True, positive=True)
q = Symbol("q", integer=True, positive=True)
"""Indices of sums: two over rows, one over columns."""


def row_class(row: Expr) -> Expr:
    """Class of a row, 0..n/t - 1."""
    return Mod(row - 1, CLASSES)


def class_column(row: Expr) -> Expr:
    """Column that holds the class of a row."""
    return 2 + row_class(row)


def entry(row: Expr, column: Expr, marks: Marks = SELF) -> Expr:
    """A[row, column] = sqrt(log n) (a 1[row = j3, column = 1] + b 1[column = class] + c 1[column = d])."""
    mark = marks.a * KroneckerDelta(row, j3) * KroneckerDelta(column, FIRST_COLUMN)
    group = marks.b * KroneckerDelta(column, class_column(row))
    return sqrt(log(n)) * (mark + group + marks.c * KroneckerDelta(column, LAST_COLUMN))


def score(query: Expr, key: Expr, queries: Marks = SELF, keys: Marks = SELF) -> Expr:
    """<A1_i, A2_j> = sum over the columns."""
    return Sum(entry(query, q, queries) * entry(key, q, keys), (q, 1, LAST_COLUMN))


def weight(query: Expr, key: Expr, kernel: Expr, queries: Marks = SELF, keys: Marks = SELF) -> Expr:
    """u_ij = kernel(beta <A1_i, A2_j>)."""
    return kernel.subs(x, beta * score(query, key, queries, keys))


def attention_output(
    row: Expr, column: Expr, kernel: Expr, queries: Marks = SELF, keys: Marks = SELF, unit: Expr = S.One
) -> Expr:
    """(f^T A3)_column of a row in some ``unit``: sum_j u_ij A_j,column / sum_l u_il, with A2 = A3."""
    total = Sum(weight(row, l, kernel, queries, keys), (l, 1, n))
    return Sum(weight(row, j, kernel, queries, keys) * entry(j, column, keys) / unit, (j, 1, n)) / total


def threshold(keys: Marks = SELF) -> Expr:
    """tau = (c + margin) sqrt(log n)."""
    return (keys.c + margin) * sqrt(log(n))
