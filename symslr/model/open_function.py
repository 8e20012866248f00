"""A function of what is random that is left open: the weight g, an attention, a prior, any h in a general theorem."""

from __future__ import annotations

from typing import final

from sympy import Basic, Expr, Function, IndexedBase
from sympy.core.symbol import Str
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from symslr.model.symbols import L, chi

CONFIGURATION = IndexedBase("r", integer=True, nonnegative=True)
"""r, where r[l] is 1 if token l is relevant and 0 else; as an argument of an open function the whole configuration."""


@final
class OpenFunction(Function):
    """name(i, chi), a real function of a token's position and of all key projections; ``args = (name, chi, L, i)``.

    Without an index it is a function of the key projections that is symmetric in the tokens. With one it is symmetric in
    the tokens other than i, and h(i, chi) goes into h(m, chi) when tokens i and m are exchanged. Where tokens are relevant
    by a hidden configuration h it may be a function of h as well, name(i, h, chi), or of h alone; nothing is assumed of its
    symmetry then.
    """

    nargs = (3, 4)
    is_real = True

    @classmethod
    def of(cls, name: str, index: Expr | None = None, length: Expr = L, arguments: Basic = chi) -> OpenFunction:
        """The function of ``arguments``: ``chi``, ``CONFIGURATION`` or ``Tuple(CONFIGURATION, chi)``."""
        return cls(Str(name), arguments, length, *(() if index is None else (index,)))

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
        return OpenFunction.of(self.name, index, self.length, self.args[1])

    @property
    def of_configuration(self) -> bool:
        """Whether it is a function of a hidden configuration."""
        return bool(self.args[1].has(CONFIGURATION))

    @property
    def free_symbols(self) -> set[Basic]:
        own = {s for s in self.args[1].free_symbols if s.is_Symbol}
        return own.union(*(arg.free_symbols for arg in self.args[2:]))

    def _arguments(self, printer: StrPrinter | LatexPrinter, keys: str) -> str:
        index = () if self.index is None else (printer._print(self.index),)
        hidden = ("h",) if self.of_configuration else ()
        return ",".join((*index, *hidden, *((keys,) if self.args[1].has(chi) else ())))

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"{self.name}({self._arguments(printer, 'chi').replace(',', ', ')})"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        inside = self._arguments(printer, r"\chi")
        name = self.name if len(self.name) == 1 else rf"\{self.name}"
        return rf"{name}{'' if exp is None else f'^{{{exp}}}'}({inside})"
