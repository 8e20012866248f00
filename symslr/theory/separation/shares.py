"""The attention of each kind of row to each kind of column, derived from the matrices for any kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from sympy import Expr, Function, Symbol, latex

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule
from symslr.algebra.rules.blocks.deltas import MarkedTerm, SumOfDeltas
from symslr.algebra.rules.blocks.powers import CommonFactor, DivideThrough, PowersOf
from symslr.algebra.rules.blocks.stacked import StackedBlocks
from symslr.algebra.rules.blocks.sums import SumLinearity
from symslr.algebra.rules.rewriting.simplify import Algebra
from symslr.algebra.rules.rewriting.unfold import Unfold
from symslr.model.block_layout import j, l, q
from symslr.model.separation import LINEAR_KERNEL, QUERIES, SELF, SOFTMAX_KERNEL, Marks, beta, j3, n, t
from symslr.model.symbols import x
from symslr.theory.separation.definition import Column, Row, Share

NAMES = {
    (Row.MARKED, Column.MARK): "p",
    (Row.MARKED, Column.OWN): r"m_{\star}",
    (Row.MARKED, Column.OTHER): r"\nu_{\star}",
    (Row.SIBLING, Column.MARK): "q",
    (Row.SIBLING, Column.OWN): r"\mu",
    (Row.SIBLING, Column.OTHER): r"\nu",
    (Row.STRANGER, Column.MARK): "q'",
    (Row.STRANGER, Column.OWN): r"\mu'",
    (Row.STRANGER, Column.OTHER): r"\nu'",
}
ROWS = {
    Row.MARKED: "the marked row",
    Row.SIBLING: "an unmarked row of the marked class",
    Row.STRANGER: "a row of another class",
}
COLUMNS = {
    **{(row, Column.MARK): "itself" if row is Row.MARKED else "the marked row" for row in Row},
    **{(row, Column.OWN): "its own class" for row in Row},
    **{(row, Column.OTHER): "one other class" for row in Row},
}
SMALL_LAYOUTS: Mapping[Expr, object] = {n: [12, 24, 12], t: [2, 3, 4], j3: [1, 2]}
"""Layouts on which a check can carry out every sum: n/t = 6, 8, 3 classes."""


g = Symbol("g", integer=True, nonnegative=True)
"""Class, 0..n/t - 1."""

r = Symbol("g_1", integer=True, nonnegative=True)
"""Another class."""

NAMES_OF_KERNELS = {SOFTMAX_KERNEL: "Softmax", LINEAR_KERNEL: "Linear attention"}

OVER_ROWS: tuple[Rule, ...] = (
    StackedBlocks(j, g),
    StackedBlocks(l, g),
    MarkedTerm(g),
    SumLinearity(g),
)
"""From a sum over the n rows to the marked row, the classes that are named and all the others."""


def share_derivation(row: Row, column: Column, kernel: Expr, *, cross: bool = False, name: str = "") -> Derivation:
    """The chain from the sums over rows and columns to a formula in n and t.

    Args:
        row, column: which share.
        kernel: an expression in x.
        cross: queries with marks of their own, a_q, b_q, c_q.
        name: what the chain is called on the command line; by default after kernel, row and column.

    Source: arXiv 2310.11685, Lemmas of section 4 and appendix D; block layout reconstructed.
    """
    queries = QUERIES if cross else SELF
    chain = Derivation(
        Share.of(row, column, kernel, queries),
        title=f"{kernel_name(kernel)}: attention of {ROWS[row]} to {COLUMNS[row, column]}{', cross-attention' if cross else ''}",
        name=name or _name(row, column, kernel, cross),
        symbol=NAMES[row, column],
        ranges=SMALL_LAYOUTS,
        sources=("deng2023, section 3.3",),
    )
    chain = chain.apply(Unfold(Share)).apply(SumOfDeltas(q), "the columns of the score")
    for rule in (*OVER_ROWS, *_finish(kernel, row, column, queries)):
        if rule.match(chain.result):
            chain = chain.apply(rule)
    return chain


def _name(row: Row, column: Column, kernel: Expr, cross: bool) -> str:
    short = {SOFTMAX_KERNEL: "softmax", LINEAR_KERNEL: "linear"}.get(kernel, "power" if kernel.is_Pow else "kernel")
    return f"separation-{'cross-' if cross else ''}{short}-{row.name}-{column.name}".lower()


def kernel_name(kernel: Expr) -> str:
    """What a title calls a kernel; a formula in it is LaTeX between dollar signs."""
    return NAMES_OF_KERNELS.get(kernel, f"Kernel ${latex(kernel)}$")


def _finish(kernel: Expr, row: Row, column: Column, queries: Marks) -> tuple[Rule, ...]:
    """Rules that shorten the formula of a kernel the house knows; another kernel's is left as the sums give it."""
    if kernel == SOFTMAX_KERNEL:
        common = queries.c * SELF.c
        if (row, column) == (Row.MARKED, Column.MARK):
            common += queries.a * SELF.a + queries.b * SELF.b
        return PowersOf(n), DivideThrough(n ** (beta * common))
    if kernel == LINEAR_KERNEL:
        return (Algebra("cancel"),)
    return (CommonFactor(),) if kernel.is_Pow and kernel.base == x else ()


@dataclass(frozen=True)
class Shares:
    """The derived formulas of one kernel, by kind of row and column."""

    kernel: Expr
    cross: bool
    formulas: Mapping[tuple[Row, Column], Expr]

    def __getitem__(self, place: tuple[Row, Column]) -> Expr:
        return self.formulas[place]


DEGREE = Symbol("r", positive=True)
ANY_KERNEL = Function("kappa", positive=True)
"""Stands for a kernel that the house does not know."""


@lru_cache(maxsize=256)
def shares(kernel: Expr, cross: bool = False) -> Shares:
    """All nine shares of a kernel: derived once for exp, x, x**r and for any kernel; the last two are specialised."""
    if kernel in (SOFTMAX_KERNEL, LINEAR_KERNEL):
        return _derived(kernel, cross)
    if kernel.is_Pow and kernel.base == x and not kernel.exp.has(x):
        general = _derived(x**DEGREE, cross)
        return Shares(kernel, cross, {place: f.subs(DEGREE, kernel.exp) for place, f in general.formulas.items()})
    general = _derived(ANY_KERNEL(x), cross)
    specialised = {
        place: f.replace(ANY_KERNEL, lambda score: kernel.subs(x, score)) for place, f in general.formulas.items()
    }
    return Shares(kernel, cross, specialised)


@lru_cache
def _derived(kernel: Expr, cross: bool) -> Shares:
    derived = {(r, c): share_derivation(r, c, kernel, cross=cross).result for r in Row for c in Column}
    return Shares(kernel, cross, derived)
