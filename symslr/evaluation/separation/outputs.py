"""Enclosures of the attention outputs of the rows of a data set, from the derived formulas; comparisons with the threshold are
exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from flint import ctx
from sympy import Expr, Integer, expand, fraction, log, numer, together

from symslr.evaluation.numbers.elementary import elementary_ball
from symslr.model import separation as symbols
from symslr.model.separation import Marks, Separation
from symslr.model.symbols import x
from symslr.theory.separation.definition import Column, Row
from symslr.theory.separation.shares import Shares, shares

FIRST_BITS = 64
"""First working precision, enough for numbers that are only shown."""

MOST_BITS = 4096
"""Largest precision of a comparison: one still open is first simplified by algebra and tried again, then given up."""

OTHER_CLASSES = "two classes"


class RowOutput(NamedTuple):
    """The attention output of one kind of row and the margin, in units of sqrt(log n): formulas or balls.

    Attributes:
        mark: first column of the output, a * (mark share).
        own: column of its own class, b * (own share).
        other: column of every other class, b * (other share).
        constant: last column, c.
        margin: the threshold is c + margin.
    """

    mark: Any
    own: Any
    other: Any
    constant: Any
    margin: Any

    def excess(self, signs: tuple[int, int, int], rest: int) -> Any:
        """(output . w - tau)/sqrt(log n): signs (w_1, w of the row's class, w_d), ``rest`` the sum of the other signs."""
        first, group, last = signs
        return self.mark * first + self.own * group + self.other * rest + self.constant * (last - 1) - self.margin


@dataclass(frozen=True)
class DataSetOutputs:
    """Attention outputs of one kernel on D0 (``which`` = 0) or D1.

    Raises:
        ValueError: where the kernel is not positive at the scores of the data set, so that its normaliser can vanish.
    """

    parameters: Separation
    kernel: Expr
    which: int
    _balls: dict[tuple[Row, int], RowOutput] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for level, score in self._scores():
            weight = self.enclose(self.kernel.subs({x: score}))
            # weight 0 between rows of two classes is allowed: their own class keeps the normaliser positive
            if weight > 0 or (weight.is_zero() and level == OTHER_CLASSES):
                continue
            with ctx.workprec(FIRST_BITS):
                raise ValueError(
                    f"kernel {self.kernel}: found the weight {weight.str(4)} at the score of {level}; expected a "
                    "kernel that is positive at every score of the data sets, without overflow"
                )

    def _scores(self) -> tuple[tuple[str, Expr], ...]:
        q, v = self.parameters.queries(self.which), self.parameters.values(self.which)
        scale = symbols.beta * log(symbols.n)
        return (
            (OTHER_CLASSES, scale * q.c * v.c),
            ("one class", scale * (q.b * v.b + q.c * v.c)),
            ("the marked row with itself", scale * (q.a * v.a + q.b * v.b + q.c * v.c)),
        )

    @property
    def rows(self) -> tuple[Row, ...]:
        """Kinds of row that exist."""
        sibling = (Row.SIBLING,) if self.parameters.t > 1 else ()
        stranger = (Row.STRANGER,) if self.parameters.classes > 1 else ()
        return (Row.MARKED, *sibling, *stranger)

    @cached_property
    def values(self) -> Mapping[Expr, Expr]:
        """Numbers for the symbols of the derived formulas."""
        p = self.parameters
        numbers: dict[Expr, Expr] = {symbols.n: Integer(p.n), symbols.t: Integer(p.t), symbols.beta: p.beta}
        sides: tuple[tuple[Marks, Marks], ...] = ((symbols.SELF, p.values(self.which)),)
        if p.keys is not None:
            sides += ((symbols.QUERIES, p.queries(self.which)),)
        for names, marks in sides:
            numbers |= {names.a: marks.a, names.b: marks.b, names.c: marks.c}
        return numbers

    @cached_property
    def shares(self) -> Shares:
        """Derived formulas of the attention shares of rows on columns."""
        return shares(self.kernel, self.parameters.keys is not None)

    @cached_property
    def formulas(self) -> dict[Row, RowOutput]:
        """Derived formulas of the outputs, by kind of row."""
        names, margin = symbols.SELF, self.parameters.margin
        units = {Column.MARK: names.a, Column.OWN: names.b, Column.OTHER: names.b}

        def formula(row: Row) -> RowOutput:
            mark, own, other = (unit * self.shares[row, column] for column, unit in units.items())
            return RowOutput(mark, own, other, names.c, margin)

        return {row: formula(row) for row in self.rows}

    def enclose(self, number: Expr, bits: int = FIRST_BITS) -> Any:
        """A ball that encloses a formula, at a working precision of ``bits``; common subexpressions are enclosed once."""
        known: dict[Expr, Any] = {}

        def descend(part: Expr) -> Any:
            if part not in known:
                known[part] = descend(self.values[part]) if part in self.values else elementary_ball(part, descend)
            return known[part]

        with ctx.workprec(bits):
            return descend(number)

    def row(self, row: Row, bits: int = FIRST_BITS) -> RowOutput:
        """The output of a kind of row as balls."""
        if (row, bits) not in self._balls:
            self._balls[row, bits] = RowOutput(*(self.enclose(part, bits) for part in self.formulas[row]))
        return self._balls[row, bits]

    def fires(self, row: Row, signs: tuple[int, int, int], plus: int) -> bool:
        """Whether the pre-activation exceeds the threshold with ``plus`` other plus signs, decided exactly.

        Raises:
            ValueError: for a comparison that neither 4096 bits nor algebra decides.
        """
        rest = 2 * plus - (self.parameters.classes - 1)

        def excess(bits: int) -> Any:
            with ctx.workprec(bits):
                return self.row(row, bits).excess(signs, rest)

        sign = _sign(excess)
        if sign is None:
            collected = self._collected(row, signs, rest)
            sign = _sign(lambda bits: self.enclose(collected, bits))
            if sign is None and expand(numer(together(collected.subs(self.values)))) != 0:
                raise ValueError(
                    f"threshold: the {row} row meets it to {MOST_BITS} bits with signs {signs} and {plus} others positive; "
                    "expected a comparison that can be decided: change the margin slightly"
                )
        return sign == 1

    def _collected(self, row: Row, signs: tuple[int, int, int], rest: int) -> Expr:
        """The excess over one denominator with like powers of n collected: a small difference is then seen without cancellation."""
        numbers = {symbol: number for symbol, number in self.values.items() if symbol != symbols.n}
        above, below = fraction(together(RowOutput(*(f.subs(numbers) for f in self.formulas[row])).excess(signs, rest)))
        return expand(above) / below


data_set_outputs = lru_cache(maxsize=16)(DataSetOutputs)
"""``DataSetOutputs``, cached with its balls."""


def _sign(ball: Callable[[int], Any]) -> int | None:
    """Sign of the number that ``ball(bits)`` encloses, None where 4096 bits leave it open."""
    bits = FIRST_BITS
    while bits <= MOST_BITS:
        number = ball(bits)
        if number > 0 or number < 0 or number.is_zero():
            return int(number > 0) - int(number < 0)
        bits *= 4
    return None
