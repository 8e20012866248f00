"""A function of the key projections that is left open: the weight g, an attention, any h in a general theorem."""

from __future__ import annotations

from typing import final

from sympy import Basic, Expr, Function
from sympy.core.symbol import Str
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from symslr.model.symbols import L, chi


@final
class OpenFunction(Function):
    """name(i, chi), a real function of a token's position and of all key projections; ``args = (name, chi, L, i)``.

    Without an index it is a function of the key projections that is symmetric in the tokens. With one it is symmetric in
    the tokens other than i, and h(i, chi) goes into h(m, chi) when tokens i and m are exchanged.
    """

    nargs = (3, 4)
    is_real = True

    @classmethod
    def of(cls, name: str, index: Expr | None = None, length: Expr = L) -> OpenFunction:
        return cls(Str(name), chi, length, *(() if index is None else (index,)))

    @property
    def name(self) -> str:
        return str(self.args[0])

    @property
    def length(self) -> Expr:
        return self.args[2]

    @property
    def index(self) -> Expr | None:
        """The token's position; None for a function that is symmetric in all tokens."""
        return self.args[3] if len(self.args) == 4 else None

    def at(self, index: Expr) -> OpenFunction:
        """The same function for another token."""
        return OpenFunction.of(self.name, index, self.length)

    @property
    def free_symbols(self) -> set[Basic]:
        return {chi.label}.union(*(arg.free_symbols for arg in self.args[2:]))

    def _sympystr(self, printer: StrPrinter) -> str:
        inside = "chi" if self.index is None else f"{printer._print(self.index)}, chi"
        return f"{self.name}({inside})"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        inside = r"\chi" if self.index is None else rf"{printer._print(self.index)},\chi"
        name = self.name if len(self.name) == 1 else rf"\{self.name}"
        return rf"{name}{'' if exp is None else f'^{{{exp}}}'}({inside})"
