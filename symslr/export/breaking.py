"""Long formulas on several lines: broken where a mathematician would, outermost sums and products first.

A formula that fits stays whole. One that does not is opened: a sum before its signs, a product before its factors, an
expectation, an integral or a power inside its brackets, which then have a fixed size, since TeX's growing brackets
cannot span lines.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import takewhile

from sympy import Add, And, Derivative, Expr, Function, Integral, Mul, Piecewise, Pow, Product, S, Sum
from sympy import exp as exp_
from sympy.core.relational import Relational

from symslr.export import arrange
from symslr.export.measure import width as measured
from symslr.export.printing import Frame, HousePrinter, brackets, ends
from symslr.expression.at import At
from symslr.expression.expectation import Expectation
from symslr.expression.folded import Minimum
from symslr.expression.joint import AtMinimiser, JointMinimum
from symslr.expression.quantity import Quantity
from symslr.expression.signs import Indicator, Relu

INDENT = 1.5
"""How far a continuation line is set in, in em per level."""
SHORT = 0.3
"""The part of a line that is too little to stand alone before a formula that is broken anyway."""
OPENS = (
    Add, At, AtMinimiser, Derivative, Expectation, Indicator, Integral, JointMinimum, Minimum, Mul, Piecewise, Pow, Product,
    Relu, Sum,
)  # fmt: skip
"""Nodes that can be broken inside."""
BIG = {"left": "biggl", "right": "biggr"}
"""Brackets of a fixed size, in place of those that grow."""
RELATIONS = {"==": "=", "!=": r"\neq", "<=": r"\leq", ">=": r"\geq"}


@dataclass(frozen=True)
class Line:
    """One line of a broken formula, with the depth to which it is set in."""

    depth: int
    tex: str


def latex_lines(
    expr: Expr, width: float, *, lead: str = "", tail: str = "", printer: HousePrinter | None = None
) -> list[Line]:
    """``lead``, ``expr`` and ``tail``, on lines at most ``width`` em wide where the formula allows it.

    Args:
        expr: what is printed.
        width: room in em, as ``measure.width`` measures.
        lead: LaTeX before the expression, such as ``"="``, on the first line.
        tail: LaTeX behind it, such as ``"+ O(x)"``, on the last one or a line of its own.
        printer: the printer of the derivation that the formula belongs to.
    """
    printer = printer or HousePrinter()
    page = _Page(width, printer)
    if r",\," in lead and not page.fits(lead):
        page.listed(lead)
    else:
        page.put(lead)
    named = expr.has(At) and not page.fits(printer.doprint(expr))
    with printer.places_named() if named else nullcontext():
        page.write(expr, "")
    if tail and not page.fits(tail):
        page.new_line(1)
    page.put(tail)
    if named:
        page.where(expr)
    return page.lines


class _Page:
    """Lines written from left to right; ``write`` opens what does not fit into the rest of the line."""

    def __init__(self, width: float, printer: HousePrinter) -> None:
        self.width = width
        self.printer = printer
        self.lines = [Line(0, "")]

    def put(self, tex: str) -> None:
        line = self.lines[-1]
        self.lines[-1] = Line(line.depth, f"{line.tex} {tex}".strip())

    def fits(self, tex: str) -> bool:
        line = self.lines[-1]
        return measured(f"{line.tex} {tex}") <= self.width - INDENT * line.depth

    def new_line(self, depth: int) -> None:
        if self.lines[-1].tex:
            self.lines.append(Line(depth, ""))

    def worth_a_new_line(self, whole: str, depth: int) -> bool:
        """Whether ``whole`` is better begun on its own line: it fits there, or this line is well filled already."""
        room = self.width - INDENT * depth
        return measured(whole) <= room or measured(self.lines[-1].tex) > SHORT * self.width

    def where(self, expr: Expr) -> None:
        """Lines that say what the names of the places in ``expr`` stand for."""
        for name, place in self.printer.places_in(expr):
            self.lines.append(Line(1, rf"{name}:\quad"))
            for i, value in enumerate(place):
                said = value if i == len(place) - 1 else rf"{value},\;"
                if i and not self.fits(said):
                    self.lines.append(Line(3, ""))
                self.put(said)

    def write(self, expr: Expr, after: str) -> None:
        """``expr`` and then ``after``; its continuation lines are one level deeper than the line it starts on."""
        depth = self.lines[-1].depth + 1
        whole = f"{self.printer.doprint(expr)} {after}".strip()
        if self.fits(whole):
            self.put(whole)
        elif isinstance(expr, Add):
            self._sum(expr, after, depth)
        elif isinstance(expr, Mul) or (isinstance(expr, Pow) and arrange.is_negative(expr.exp)):
            self._product(expr, after, depth)
        else:
            self._opened(expr, whole, after)

    def _sum(self, expr: Add, after: str, depth: int) -> None:
        terms = self.printer.ordered_terms(expr)
        for i, term in enumerate(terms):
            closing = after if i == len(terms) - 1 else ""
            whole = f"{self.printer.signed(term, first=i == 0)} {closing}".strip()
            filled = i or measured(self.lines[-1].tex) > SHORT * self.width
            if filled and not self.fits(whole) and self.worth_a_new_line(whole, depth):
                self.new_line(depth)
                whole = f"{{}} {whole}" if i else whole
            if self.fits(whole):
                self.put(whole)
                continue
            negative = arrange.is_negative(term)
            if negative or i:
                self.put(("{} " if i else "") + ("-" if negative else "+"))
            rest = -term if negative else term
            if isinstance(rest, Add) or arrange.is_negative(rest):
                self._within(r"\biggl(", rest, r"\biggr)" + closing)
            else:
                self.write(rest, closing)

    def _product(self, expr: Expr, after: str, depth: int) -> None:
        parts = arrange.fraction(expr)
        if parts.negative:
            self.put("-")
        bar = self.printer.bar(parts)
        if parts.denominator and self.fits(bar) and parts.tail:
            self.put(bar)
            self._factors(parts.tail, after, depth, started=True)
        elif parts.denominator and not self._is_slashed(parts):
            small = list(takewhile(lambda factor: not isinstance(factor, (Function, *OPENS)), parts.numerator))
            rest = (*parts.numerator[len(small) :], *parts.tail)
            self.put(self._front(parts, *small) + ("" if rest else after))
            self._factors(rest, after, depth, started=True)
        elif parts.denominator:
            self._factors((*parts.numerator, *parts.tail), "", depth, started=False, alone=False)
            self._divide(parts.denominator, after, depth, anything=bool(parts.numerator or parts.tail))
        else:
            self._factors((*parts.numerator, *parts.tail), after, depth, started=False, alone=not parts.negative)

    def _front(self, parts: arrange.Fraction, *above: Expr) -> str:
        """The fraction in front of a product that is broken, with the factors that stand above."""
        return rf"\frac{{{self.printer.factors(above) or '1'}}}{{{self.printer.factors(parts.denominator)}}}"

    def _is_slashed(self, parts: arrange.Fraction) -> bool:
        """Whether the denominator of a product that is broken stands behind a slash, and not in a fraction in front."""
        short = parts.numerator and measured(self._front(parts)) < SHORT * self.width
        return bool(parts.denominator) and not short

    def _factors(self, factors: tuple[Expr, ...], after: str, depth: int, *, started: bool, alone: bool = True) -> None:
        """The factors one by one; a single one that is a sum needs no brackets where it stands ``alone``."""
        for i, factor in enumerate(factors):
            last = i == len(factors) - 1
            closing = after if last else ""
            bracketed = (len(factors) + started > 1 or not alone) and arrange.needs_brackets(factor, last)
            whole = self.printer.doprint(factor)
            whole = f"{brackets(whole) if bracketed else whole} {closing}".strip()
            space = r"\," if (i or started) and isinstance(factor.as_base_exp()[0], arrange.LARGE) else ""
            fits = self.fits(f"{space} {whole}")
            if (i or started) and not fits and self.worth_a_new_line(rf"\times {whole}", depth):
                self.new_line(depth)
                self.put(r"{}\times")
            else:
                self.put(space)
            if self.fits(whole):
                self.put(whole)
            elif bracketed:
                self._within(r"\biggl(", factor, r"\biggr)" + closing)
            else:
                self.write(factor, closing)

    def _divide(self, denominator: tuple[Expr, ...], after: str, depth: int, *, anything: bool) -> None:
        """A quotient whose numerator or denominator is longer than a line: the denominator goes behind a slash."""
        if not anything:
            self.put("1")
        self.new_line(depth)
        self.put(r"\bigg/ \biggl(")
        self._factors(denominator, r"\biggr)" + after, depth + 1, started=False)

    def _within(self, opening: str, expr: Expr, closing: str) -> None:
        self.put(opening)
        self.write(expr, closing)

    def _opened(self, expr: Expr, whole: str, after: str) -> None:
        frame = self._frame(expr)
        if frame is not None:
            self._framed(frame, after)
        elif isinstance(expr, Piecewise) and arrange.indicator(expr) is not None:
            value, condition = expr.args[0]
            self.write(value, r"\,")
            self.write(Indicator(condition), after)
        elif isinstance(expr, Relational):
            self.write(expr.lhs, RELATIONS.get(expr.rel_op, expr.rel_op))
            self.write(expr.rhs, after)
        elif isinstance(expr, And):
            self._all(expr, after)
        elif isinstance(expr, Pow):
            self._power(expr, after)
        elif isinstance(expr, Quantity) and r",\," in whole:
            self.listed(self.printer.doprint(expr), after)
        else:
            self.put(whole)

    def _frame(self, expr: Expr) -> Frame | None:
        """The printer's frame; a function's name before its argument, also where the whole has it as a superscript of e."""
        if isinstance(expr, exp_) or (isinstance(expr, Pow) and expr.base == S.Exp1):
            return Frame(r"\exp", expr.exp, "()")
        found = self.printer.frame(expr)
        if found is None and isinstance(expr, Function) and len(expr.args) == 1 and self.printer.is_named(expr):
            return Frame(self.printer.function_name(expr), expr.args[0], "()")
        return found

    def _framed(self, frame: Frame, after: str) -> None:
        slashed = isinstance(frame.body, (Mul, Pow)) and self._is_slashed(arrange.fraction(frame.body))
        crowded = slashed and not self.fits(f"{frame.head}{self.printer.doprint(frame.body)}{frame.foot}{after}")
        pair = frame.pair or ("()" if crowded else "")
        opening, closing = ends(pair) if pair else ("", "")
        before, behind = frame.inside
        start = rf"{frame.head}\biggl{opening}{before}" if pair else frame.head
        end = rf"{behind}\biggr{closing}" if pair else behind
        self._within(start.strip(), frame.body, f"{end}{frame.foot}{after}")

    def _all(self, expr: And, after: str) -> None:
        depth = self.lines[-1].depth
        parts = sorted(expr.args, key=str)
        for i, part in enumerate(parts):
            self.write(part, after if i == len(parts) - 1 else r"\;\wedge\;")
            if i < len(parts) - 1:
                self.new_line(depth)

    def listed(self, whole: str, after: str = "") -> None:
        """A quantity at given arguments, broken after a comma, and then ``after``."""
        depth = self.lines[-1].depth + 1
        *parts, last = re.sub(r"\\(left|right)(?=[()])", lambda found: "\\" + BIG[found[1]], whole).split(r",\,")
        for i, part in enumerate([*(rf"{part},\," for part in parts), f"{last} {after}".strip()]):
            if i and not self.fits(part):
                self.new_line(depth)
            self.put(part)

    def _power(self, expr: Pow, after: str) -> None:
        power = f"^{{{self.printer.superscript(expr.exp)}}}{after}"
        base, frame = expr.base, self._frame(expr.base)
        if isinstance(base, Function) and expr.exp.is_Integer and frame is not None:
            self._framed(replace(frame, head=f"{frame.head}^{{{expr.exp}}}"), after)
        elif isinstance(base, Function) and len(base.args) > 1 and self.printer.is_named(base):
            self.put(self.printer.doprint(expr) + after)  # several arguments are not broken apart
        elif not self.printer.is_compound(base):
            self.write(base, power)
        else:
            self._within(r"\biggl(", base, r"\biggr)" + power)
