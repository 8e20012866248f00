"""A formula evaluated at a point, such as a derivative that is taken first and evaluated afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from sympy import Basic, Derivative, Expr, S, Symbol, Tuple
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from symslr.expression.binding import bound_subs


@final
class At(Expr):
    """``body`` where some of its symbols take values; ``args = (body, *(symbol, value))``.

    SymPy's ``Subs`` will not do: where two symbols take the same value it takes the slopes in them for equal.
    """

    is_commutative = True
    is_real = True

    def __new__(cls, body: Expr, *place: Tuple) -> Expr:
        if isinstance(body, Derivative) and body.expr.free_symbols.isdisjoint(body.variables):
            return S.Zero  # the slope of a constant
        moved = [pair for pair in place if pair[0] != pair[1] and pair[0] in body.free_symbols]
        return super().__new__(cls, body, *moved) if moved else body

    @classmethod
    def of(cls, body: Expr, place: Mapping[Symbol, Expr]) -> Expr:
        """The formula at a place; symbols that stand for themselves or do not occur are left out."""
        return cls(body, *(Tuple(*pair) for pair in sorted(place.items(), key=str)))

    @property
    def body(self) -> Expr:
        return self.args[0]

    @property
    def place(self) -> dict[Symbol, Expr]:
        return {symbol: value for symbol, value in self.args[1:]}

    @property
    def free_symbols(self) -> set[Basic]:
        return (self.body.free_symbols - self.place.keys()).union(*(v.free_symbols for v in self.place.values()))

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        found = bound_subs(self, frozenset(self.place), old, new) if old not in self.place else self
        if found is not self:
            return None
        place = {symbol: value.subs(old, new) for symbol, value in self.place.items()}
        return self.func(self.body, *(Tuple(symbol, value) for symbol, value in place.items()))

    def _eval_derivative(self, symbol: Basic) -> None:
        return None

    def _sympystr(self, printer: StrPrinter) -> str:
        place = ", ".join(f"{printer._print(s)}={printer._print(value)}" for s, value in self.place.items())
        return f"[{printer._print(self.body)}]({place})"

    def _latex(self, printer: LatexPrinter) -> str:
        place = r",\,".join(f"{printer._print(s)}={printer._print(value)}" for s, value in self.place.items())
        return rf"\left[{printer._print(self.body)}\right]_{{{place}}}"
