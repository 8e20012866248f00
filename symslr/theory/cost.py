"""What attention costs: arithmetic operations on n rows of d numbers, pairwise and by associativity.

A product of a p x q with a q x r matrix takes q multiplications and q - 1 additions for each of its p r entries. Pairwise attention
forms all n^2 scores; linear attention may be multiplied out in the other order, A1 (A2^T A3), since its kernel is no obstacle.

Source: arXiv 2310.11685, abstract, states the orders n^2 and n.
"""

from __future__ import annotations

from sympy import Expr, Symbol, expand

n = Symbol("n", integer=True, positive=True)
"""Rows."""
d = Symbol("d", integer=True, positive=True)
"""Columns."""


def matrix_product(rows: Expr, inner: Expr, columns: Expr) -> Expr:
    """Multiplications and additions of one product."""
    return rows * columns * (2 * inner - 1)


def pairwise_attention(kernel: int = 1) -> Expr:
    """f A3 with f = u/<u, 1>, u = kernel(A1 A2^T): scores, ``kernel`` operations each, normalisers, shares, outputs."""
    normalisers, shares = n * (n - 1), n**2
    return expand(matrix_product(n, d, n) + kernel * n**2 + normalisers + shares + matrix_product(n, n, d))


def associative_attention() -> Expr:
    """The same for the kernel x: A2^T A3 and A2^T 1 once, then a row at a time."""
    once = matrix_product(d, n, d) + d * (n - 1)
    return expand(once + matrix_product(n, d, d) + matrix_product(n, d, 1) + n * d)
