"""The two factors of the construction as the paper writes them: scores are those of A = A1 (x) A2 with vec X.

The paper's network sees a data matrix A1 (x) A2 in R^{n^2 x d^2}, of which block i has the rows (i-1) n + j, and a weight matrix X
through its d^2 entries: u_i = kernel(A_i vec X). With X = beta I these are the scores beta <A1_i, A2_j> of attention.
"""

from __future__ import annotations

from functools import lru_cache
from typing import final

from sympy import Basic, Expr, KroneckerDelta, Sum, Symbol, latex
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules.blocks.deltas import SumOfDeltas
from symslr.algebra.rules.rewriting.unfold import Unfold
from symslr.expression.quantity import Quantity
from symslr.model.block_layout import LAST_COLUMN, entry, j, q
from symslr.model.separation import QUERIES, SELF, Marks, beta
from symslr.theory.separation.definition import LAYOUT, i
from symslr.theory.separation.shares import SMALL_LAYOUTS

column = Symbol("q_1", integer=True, positive=True)
"""Column of A1, beside that of A2."""


@final
class ProductScore(Quantity):
    """((A1 (x) A2) vec X) in row (i - 1) n + j, for X = beta I.

    ``args = (i, j, a, b, c of the queries A1, a, b, c of the keys A2, n, t, j3, beta)``.
    """

    source = "deng2023, section 3.3"

    @classmethod
    def of(cls, query: Expr, key: Expr, queries: Marks = QUERIES, keys: Marks = SELF) -> ProductScore:
        return cls(query, key, queries.a, queries.b, queries.c, keys.a, keys.b, keys.c, *LAYOUT)

    @property
    def bound(self) -> frozenset[Basic]:
        return frozenset()

    def definition(self) -> Expr:
        query, key = self.args[:2]
        product = entry(query, column, Marks(*self.args[2:5])) * entry(key, q, Marks(*self.args[5:8]))
        inner = Sum(product * beta * KroneckerDelta(column, q), (q, 1, LAST_COLUMN))
        written = Sum(inner, (column, 1, LAST_COLUMN))
        changed = {symbol: value for symbol, value in zip(LAYOUT, self.args[8:]) if symbol != value}
        return written.subs(changed, simultaneous=True) if changed else written

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"ProductScore[{self.args[0]}, {self.args[1]}]"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        row = rf"({printer._print(self.args[0])}-1)n+{printer._print(self.args[1])}"
        power = f"^{{{exp}}}" if exp else ""
        return rf"\bigl((A_1\otimes A_2)\,\mathrm{{vec}}X\bigr)_{{{row}}}{power}"


@lru_cache
def factors_derivation() -> Derivation:
    """(A1 (x) A2)_{(i,j),(q1,q)} (vec X)_{(q1,q)} summed over both columns, for X = beta I, down to the marks.

    Source: arXiv 2310.11685, section 3.3.
    """
    score = ProductScore.of(i, j)
    chain = Derivation(
        score,
        title="Attention scores of the construction from its Kronecker factors",
        name="separation-factors",
        symbol=latex(score),
        ranges={**SMALL_LAYOUTS, i: [1, 3, 5], j: [1, 9, 6]},
        sources=("deng2023, section 3.3",),
    )
    return chain.apply(Unfold(ProductScore)).apply(SumOfDeltas(q)).apply(SumOfDeltas(column))
