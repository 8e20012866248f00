"""Random signs: the k-th sign of a sign vector, and the average over all of them."""

from __future__ import annotations

from typing import final

from sympy import Basic, Expr, Max, Mod, Piecewise, S, Sum, Symbol, floor
from sympy.logic.boolalg import Boolean
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from symslr.expression.expectation import Expectation
from symslr.model.exact import exact

omega = Symbol("omega", integer=True, nonnegative=True)
"""Number of a sign vector, 0..2**count - 1."""


@final
class Sign(Expr):
    """w_k of the sign vector number ``omega``: 1 - 2 (bit k-1 of omega); ``args = (omega, k)``."""

    is_commutative = True
    is_integer = True

    def __new__(cls, vector: Expr | int, place: Expr | int) -> Expr:
        return Expr.__new__(cls, exact(vector, "sign vector"), exact(place, "place of a sign"))

    @property
    def vector(self) -> Expr:
        return self.args[0]

    @property
    def place(self) -> Expr:
        """k = 1, 2, ..."""
        return self.args[1]

    def definition(self) -> Expr:
        return 1 - 2 * Mod(floor(self.vector / 2 ** (self.place - 1)), 2)

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"Sign({', '.join(printer._print(arg) for arg in self.args)})"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        power = f"^{{{exp}}}" if exp else ""
        return rf"w_{{{printer._print(self.place)}}}{power}"


@final
class SignExpectation(Expectation):
    """E[body] over ``count`` independent uniform signs, those of the vector ``omega``: the mean over all 2**count."""

    def __new__(cls, body: Expr, vector: Symbol, count: Expr) -> Expr:
        body = exact(body, "body")
        return body if body.is_number else Expr.__new__(cls, body, vector, exact(count, "count"))

    @property
    def vector(self) -> Symbol:
        return self.args[1]

    @property
    def count(self) -> Expr:
        return self.args[2]

    @property
    def bound(self) -> frozenset[Basic]:
        return frozenset({self.vector})

    def definition(self) -> Expr:
        return Sum(self.body, (self.vector, 0, 2**self.count - 1)) / 2**self.count

    @property
    def subscript(self) -> str:
        return "signs"

    def below(self, printer: LatexPrinter) -> str:
        return rf"w\in\{{\pm1\}}^{{{printer._print(self.count)}}}"


@final
class Indicator(Expr):
    """1 where ``condition`` holds, 0 elsewhere; unlike a ``Piecewise`` it stays one letter inside of sums."""

    is_commutative = True
    is_integer = True
    is_nonnegative = True

    def __new__(cls, condition: Boolean) -> Expr:
        if condition in (S.true, S.false):
            return S.One if condition == S.true else S.Zero
        return Expr.__new__(cls, condition)

    @property
    def condition(self) -> Boolean:
        return self.args[0]

    def definition(self) -> Expr:
        return Piecewise((S.One, self.condition), (S.Zero, True))

    def doit(self, **hints: object) -> Expr:
        return self.definition()

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"1[{printer._print(self.condition)}]"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        power = f"^{{{exp}}}" if exp else ""
        return rf"1\left[{printer._print(self.condition)}\right]{power}"


@final
class Relu(Expr):
    """max(0, x); unlike ``Max`` it compares nothing when it is made."""

    is_commutative = True
    is_real = True
    is_nonnegative = True

    def definition(self) -> Expr:
        return Max(S.Zero, self.args[0])

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"relu({printer._print(self.args[0])})"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        power = f"^{{{exp}}}" if exp else ""
        return rf"\mathrm{{relu}}{power}\left({printer._print(self.args[0])}\right)"
