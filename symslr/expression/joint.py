"""Minima over the projections of all tokens at once, functions of the minimiser, and roots of an equation."""

from __future__ import annotations

from typing import final

from sympy import Basic, Expr, IndexedBase, Tuple
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from symslr.expression.binding import bound_subs
from symslr.model.exact import exact


@final
class JointMinimum(Expr):
    """min over t[1], ..., t[length] of ``body``, for each of some families t; ``args = (body, families, length)``.

    The body names the tokens through sums, ``Sum(t[l]**2, (l, 1, length))``.
    """

    is_commutative = True
    is_real = True

    def __new__(cls, body: Expr, families: tuple[IndexedBase, ...] | Tuple, length: Expr) -> JointMinimum:
        return super().__new__(cls, exact(body, "body"), Tuple(*families), exact(length, "length"))

    @property
    def body(self) -> Expr:
        return self.args[0]

    @property
    def families(self) -> tuple[IndexedBase, ...]:
        return tuple(self.args[1])

    @property
    def length(self) -> Expr:
        return self.args[2]

    @property
    def bound(self) -> frozenset[Basic]:
        """The labels of the families."""
        return frozenset(family.label for family in self.families)

    @property
    def free_symbols(self) -> set[Basic]:
        found = self.body.free_symbols | self.length.free_symbols
        return {s for s in found if s.is_Symbol} - self.bound

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        return bound_subs(self, self.bound, old, new)

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"min_{{{', '.join(map(str, self.families))}}}({printer._print(self.body)})"

    def _latex(self, printer: LatexPrinter) -> str:
        below = ",".join(printer._print(family.label) for family in self.families)
        return rf"\min_{{{below}}} \left\{{{printer._print(self.body)}\right\}}"


@final
class AtMinimiser(Expr):
    """``value`` at the place where a ``JointMinimum`` is attained; ``args = (value, minimum)``."""

    is_commutative = True
    is_real = True

    @property
    def value(self) -> Expr:
        return self.args[0]

    @property
    def minimum(self) -> JointMinimum:
        return self.args[1]

    def with_value(self, value: Expr) -> AtMinimiser:
        """Another expression at the same place."""
        return self.func(value, self.minimum)

    @property
    def free_symbols(self) -> set[Basic]:
        own = {s for s in self.value.free_symbols if s.is_Symbol} - self.minimum.bound
        return own | self.minimum.free_symbols

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        return bound_subs(self, self.minimum.bound, old, new)

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"[{printer._print(self.value)}]_at_the_minimiser"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        power = f"^{{{exp}}}" if exp else ""
        return rf"\left[{printer._print(self.value)}\right]_{{\star}}{power}"


@final
class Solution(Expr):
    """The value of ``variable`` at which ``body`` vanishes, where there is exactly one; ``args = (body, variable)``."""

    is_commutative = True
    is_real = True

    def __new__(cls, body: Expr, variable: Expr) -> Solution:
        return super().__new__(cls, exact(body, "body"), variable)

    @property
    def body(self) -> Expr:
        return self.args[0]

    @property
    def variable(self) -> Expr:
        return self.args[1]

    @property
    def free_symbols(self) -> set[Basic]:
        return self.body.free_symbols - {self.variable}

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        return bound_subs(self, {self.variable}, old, new)

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"Solution({printer._print(self.body)} = 0, {printer._print(self.variable)})"

    def _latex(self, printer: LatexPrinter) -> str:
        return rf"\left[{printer._print(self.variable)}:\; {printer._print(self.body)} = 0\right]"
