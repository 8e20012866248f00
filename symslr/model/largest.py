"""The indicator that one token has the largest key projection: what max-SLR selects at nu = infinity."""

from __future__ import annotations

from typing import final

from sympy import Basic, Expr, Function, Integer
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from symslr.model.symbols import chi


@final
class IsLargest(Function):
    """1 if chi_i is the largest of chi_1, ..., chi_L, else 0; ``args = (chi, i, L)``. Ties have probability zero."""

    nargs = 3
    is_real = True
    is_nonnegative = True

    @classmethod
    def of(cls, index: Expr, length: Expr) -> IsLargest:
        return cls(chi, index, length)

    @classmethod
    def eval(cls, tokens: Expr, index: Expr, length: Expr) -> Expr | None:
        return Integer(1) if length == 1 else None

    @property
    def free_symbols(self) -> set[Basic]:
        return {chi.label} | self.args[1].free_symbols | self.args[2].free_symbols

    def _eval_power(self, exponent: Expr) -> Expr | None:
        return self if exponent.is_positive else None

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"largest[{self.args[1]}]"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        index = printer._print(self.args[1])
        return rf"\mathbf{{1}}_{{\chi_{{{index}}} = \max_m \chi_m}}"
