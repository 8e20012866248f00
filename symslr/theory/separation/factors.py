"""The two factors of the construction as the paper writes them: scores are those of A = A1 (x) A2 with vec X.

The paper's network sees a data matrix A1 (x) A2 in R^{n^2 x d^2}, of which block i has the rows (i-1) n + j, and a weight matrix X
through its d^2 entries: u_i = kernel(A_i vec X). With X = beta I these are the scores beta <A1_i, A2_j> of attention.
"""

from __future__ import annotations

from functools import lru_cache

from sympy import KroneckerDelta, Sum, Symbol

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules.blocks.deltas import SumOfDeltas
from symslr.model.block_layout import LAST_COLUMN, entry, j, q
from symslr.model.separation import QUERIES, SELF, beta
from symslr.theory.separation.definition import i
from symslr.theory.separation.shares import SMALL_LAYOUTS

column = Symbol("q_1", integer=True, positive=True)
"""Column of A1, beside that of A2."""


@lru_cache
def factors_derivation() -> Derivation:
    """(A1 (x) A2)_{(i,j),(q1,q)} (vec X)_{(q1,q)} summed over both columns, for X = beta I, down to the marks.

    Source: arXiv 2310.11685, section 3.3.
    """
    product = entry(i, column, QUERIES) * entry(j, q, SELF)
    inner = Sum(product * beta * KroneckerDelta(column, q), (q, 1, LAST_COLUMN))
    start = Sum(inner, (column, 1, LAST_COLUMN))
    chain = Derivation(
        start,
        title="The two factors of the construction",
        name="separation-factors",
        symbol=r"\bigl((A_1\otimes A_2)\,\mathrm{vec}X\bigr)_{(i-1)n+j}",
        ranges={**SMALL_LAYOUTS, i: [1, 3, 5], j: [1, 9, 6]},
        sources=("deng2023, section 3.3",),
    )
    return chain.apply(SumOfDeltas(q)).apply(SumOfDeltas(column))
