"""The construction in names: rows and columns by kind, shares of attention, the networks and the event of separation.

Every definition is written with the data matrix of ``model.block_layout`` alone; nothing is summed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import final

from sympy import Basic, Eq, Expr, Gt, Mul, S, Sum, Symbol, latex, log, sqrt
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from symslr.expression.quantity import Quantity
from symslr.expression.signs import Indicator, Relu, Sign, SignExpectation, omega
from symslr.model.block_layout import (
    CLASSES,
    FIRST_COLUMN,
    LAST_COLUMN,
    attention_output,
    class_column,
    threshold,
)
from symslr.model.separation import LINEAR_KERNEL, SELF, SOFTMAX_KERNEL, Marks, beta, j3, n, t
from symslr.model.symbols import x

i = Symbol("i", integer=True, positive=True)
"""Row."""
k = Symbol("k", integer=True, positive=True)
"""Column."""
h = Symbol("h", integer=True, positive=True)
"""Neuron."""
m = Symbol("m", integer=True, positive=True)
"""Number of neurons."""

LAYOUT = (n, t, j3, beta)
"""What the data matrix and the scores depend on beside the marks."""

KERNEL_NAMES = {SOFTMAX_KERNEL: r"\exp", LINEAR_KERNEL: r"\mathrm{lin}"}


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

    def of(self, row: Expr) -> Expr:
        """A column of this kind, seen from a row."""
        return {Column.MARK: FIRST_COLUMN, Column.OWN: class_column(row), Column.OTHER: class_column(row + 1)}[self]


@final
class Output(Quantity):
    """(f^T A3)_k of row i: what attention puts out.

    ``args = (i, k, kernel, a, b, c of the queries, a, b, c of the keys, n, t, j3, beta)``.
    """

    source = "deng2023, section 3.3"

    @classmethod
    def of(cls, row: Expr, column: Expr, kernel: Expr, queries: Marks = SELF, keys: Marks = SELF) -> Output:
        marks = (queries.a, queries.b, queries.c, keys.a, keys.b, keys.c)
        return cls(row, column, kernel, *marks, *LAYOUT)

    @property
    def bound(self) -> frozenset[Basic]:
        return frozenset({x})

    @property
    def queries(self) -> Marks:
        return Marks(*self.args[3:6])

    @property
    def keys(self) -> Marks:
        return Marks(*self.args[6:9])

    def definition(self) -> Expr:
        return self.in_units(S.One)

    def in_units(self, unit: Expr) -> Expr:
        """The output divided by a unit."""
        row, column, kernel = self.args[:3]
        written = attention_output(row, column, kernel, self.queries, self.keys, unit)
        changed = {symbol: value for symbol, value in zip(LAYOUT, self.args[9:]) if symbol != value}
        return written.subs(changed, simultaneous=True) if changed else written

    def _sympystr(self, printer: StrPrinter) -> str:
        row, column, kernel = self.args[:3]
        return f"Output[{row}, {column}; {kernel}, a = {self.keys.a}]"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        row, column, kernel = self.args[:3]
        name = KERNEL_NAMES.get(kernel, latex(kernel))
        power = f"^{{{exp}}}" if exp else ""
        return rf"c^{{{name},{printer._print(self.keys.a)}}}_{{{printer._print(row)},{printer._print(column)}}}{power}"


@final
class Share(Quantity):
    """Attention of a row that falls on one column: the output there in units of what a single row holds there.

    The output f^T A3 has the entries a * (mark share), b * (own share), b * (other share) and c, in units of sqrt(log n).
    ``args = (output, unit)``.
    """

    source = "deng2023, section 3.3"

    @classmethod
    def of(cls, row: Row, column: Column, kernel: Expr, queries: Marks = SELF) -> Share:
        unit = SELF.a if column is Column.MARK else SELF.b
        return cls(Output.of(row.index, column.of(row.index), kernel, queries), unit)

    @property
    def bound(self) -> frozenset[Basic]:
        return frozenset()

    def definition(self) -> Expr:
        output, unit = self.args
        return output.in_units(unit * sqrt(log(n)))

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"Share({printer._print(self.args[0])} / {self.args[1]})"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        output, unit = self.args
        return rf"\frac{{{printer._print(output)}}}{{{printer._print(unit)}\sqrt{{\log n}}}}"


def preactivation(row: Expr, kernel: Expr, queries: Marks = SELF, keys: Marks = SELF, neuron: Expr = S.One) -> Expr:
    """<(f^T A3)_row, w> for the neuron whose signs are number d (neuron - 1) + 1, ..., d neuron of a sign vector."""
    sign = Sign(omega, k + LAST_COLUMN * (neuron - 1))
    return Sum(Output.of(row, k, kernel, queries, keys) * sign, (k, 1, LAST_COLUMN))


def network(kernel: Expr, marks: Marks) -> Expr:
    """F = relu(sum over rows and neurons of relu(<(f^T A3)_i, w_h> - tau)) of m neurons."""
    neuron = Relu(preactivation(i, kernel, marks, marks, h) - threshold(marks))
    return Relu(Sum(neuron, (i, 1, n), (h, 1, m)))


def separation_event(softmax: Expr, linear: Expr, small: Marks, large: Marks) -> Expr:
    """1 where the network of ``softmax`` is > 0 on D1 and 0 on D0, and that of ``linear`` is 0 on both."""
    silent = ((softmax, small), (linear, small), (linear, large))
    return Mul(
        Indicator(Gt(network(softmax, large), 0)),
        *(Indicator(Eq(network(kernel, marks), 0)) for kernel, marks in silent),
    )


def over_signs(body: Expr, neurons: Expr = S.One) -> Expr:
    """The mean over all sign matrices of d rows and ``neurons`` columns."""
    return SignExpectation(body, omega, LAST_COLUMN * neurons)
