"""Enclosures of what the rows of a data set put out, from the derived formulas; exact decisions at ties."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from flint import arb, ctx
from sympy import Expr, Integer, expand, fraction, log, numer, together

from symslr.evaluation.numbers.elementary import elementary_ball
from symslr.model import separation as symbols
from symslr.model.separation import Marks, Separation
from symslr.model.symbols import x
from symslr.theory.separation.definition import Column, Row
from symslr.theory.separation.shares import Shares, shares

MOST_BITS = 4096
"""Precision at which a comparison that is still open goes to exact algebra, and at which it is given up after that."""

OTHER_CLASSES = "two classes"


@dataclass(frozen=True)
class RowOutput:
    """What one kind of row puts out beside c, in units of sqrt(log n): balls.

    Attributes:
        mark: first column, a * (mark share).
        own: column of its own class, b * (own share).
        other: column of every other class, b * (other share).
    """

    mark: Any
    own: Any
    other: Any


@dataclass(frozen=True)
class DataSetOutputs:
    """Rows of attention of one kernel on D0 (``which`` = 0) or D1.

    Raises:
        ValueError: where the kernel is not positive at the scores of the data set, so that its normaliser can vanish.
    """

    parameters: Separation
    kernel: Expr
    which: int
    _balls: dict[tuple[Row, int], RowOutput] = field(default_factory=dict, repr=False, compare=False)
    _constants: dict[tuple[int, int], Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        with ctx.workprec(64):
            for level, score in self._scores():
                weight = _enclose(self.kernel.subs({x: score}), self.values)
                # rows of two classes may ignore each other: their own class keeps the normaliser positive
                if weight > 0 or (weight.is_zero() and level == OTHER_CLASSES):
                    continue
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
    def formulas(self) -> Shares:
        return shares(self.kernel, self.parameters.keys is not None)

    def formula(self, row: Row) -> tuple[Expr, Expr, Expr]:
        """Derived formulas of the three entries of ``RowOutput``."""
        units = {Column.MARK: symbols.SELF.a, Column.OWN: symbols.SELF.b, Column.OTHER: symbols.SELF.b}
        mark, own, other = (unit * self.formulas[row, column] for column, unit in units.items())
        return mark, own, other

    def row(self, row: Row, bits: int = 64) -> RowOutput:
        """Balls at a working precision of ``bits``."""
        if (row, bits) not in self._balls:
            with ctx.workprec(bits):
                self._balls[row, bits] = RowOutput(*(_enclose(f, self.values) for f in self.formula(row)))
        return self._balls[row, bits]

    def share(self, row: Row, column: Column, bits: int = 64) -> Any:
        """Ball of one share."""
        with ctx.workprec(bits):
            return _enclose(self.formulas[row, column], self.values)

    def margin_over_threshold(self, row: Row, signs: tuple[int, int, int], plus: int, bits: int) -> Any:
        """(output . w - tau)/sqrt(log n): signs (w_1, w of the row's class, w_d), ``plus`` other plus signs."""
        with ctx.workprec(bits):
            ball = self.row(row, bits)
            rest = arb(2 * plus - (self.parameters.classes - 1))
            total = ball.mark * signs[0] + ball.own * signs[1] + ball.other * rest
            return total + self._constant_ball(signs[2], bits)

    def fires(self, row: Row, signs: tuple[int, int, int], plus: int) -> bool:
        """Whether the pre-activation exceeds the threshold, decided exactly.

        Raises:
            ValueError: for a comparison that neither 4096 bits nor algebra decides.
        """
        sign = _sign(lambda bits: self.margin_over_threshold(row, signs, plus, bits))
        if sign is None:
            excess = self._collected(row, signs, plus)
            sign = _sign(lambda bits: self._enclose_to(bits, excess))
            if sign is None and not self._is_zero(excess):
                raise ValueError(
                    f"threshold: the {row} row meets it to {MOST_BITS} bits with signs {signs} and {plus} others positive; "
                    "expected a comparison that can be decided: change the margin slightly"
                )
        return sign == 1

    def _constant_ball(self, last: int, bits: int) -> Any:
        if (last, bits) not in self._constants:
            self._constants[last, bits] = _enclose(self._constant(last), self.values)
        return self._constants[last, bits]

    def _constant(self, last: int) -> Expr:
        return (last - 1) * self.parameters.values(self.which).c - self.parameters.margin

    def _collected(self, row: Row, signs: tuple[int, int, int], plus: int) -> Expr:
        """(output . w - tau)/sqrt(log n) over one denominator, like powers of n added: they may be small without cancelling."""
        numbers = {symbol: number for symbol, number in self.values.items() if symbol != symbols.n}
        mark, own, other = (f.subs(numbers) for f in self.formula(row))
        rest = 2 * plus - (self.parameters.classes - 1)
        excess = mark * signs[0] + own * signs[1] + other * rest + self._constant(signs[2])
        above, below = fraction(together(excess))
        return expand(above) / below

    def _is_zero(self, excess: Expr) -> bool:
        return bool(expand(numer(together(excess.subs(self.values)))) == 0)

    def _enclose_to(self, bits: int, number: Expr) -> Any:
        with ctx.workprec(bits):
            return _enclose(number, self.values)


def _sign(ball: Callable[[int], Any]) -> int | None:
    """Sign of the number that ``ball(bits)`` encloses, None where 4096 bits leave it open."""
    bits = 64
    while bits <= MOST_BITS:
        number = ball(bits)
        if number > 0 or number < 0 or number.is_zero():
            return int(number > 0) - int(number < 0)
        bits *= 4
    return None


def _enclose(expr: Expr, values: Mapping[Expr, Expr]) -> Any:
    """A ball; what occurs twice, such as the weight of a kernel at a score, is enclosed once."""
    known: dict[Expr, Any] = {}

    def descend(part: Expr) -> Any:
        if part not in known:
            known[part] = descend(values[part]) if part in values else elementary_ball(part, descend)
        return known[part]

    return descend(expr)
