"""Equal formulas of one number, so that an evaluator can take one that does not lose digits by cancellation."""

from __future__ import annotations

from typing import final

from sympy import Expr
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter


@final
class EqualForms(Expr):
    """One number by two or more formulas, ``args``, equal for all parameters; the first is shown.

    A variance is the usual case: E[s^2] - E[s]^2 keeps its digits where s is small, the same with 1 - s where s is near 1.
    An evaluator takes whichever leaves the smaller error.
    """

    is_commutative = True
    is_real = True

    def doit(self, **hints: object) -> Expr:
        return self.args[0]

    def _eval_derivative(self, symbol: Expr) -> Expr:
        return EqualForms(*(form.diff(symbol) for form in self.args))

    def _sympystr(self, printer: StrPrinter) -> str:
        return str(printer._print(self.args[0]))

    def _latex(self, printer: LatexPrinter) -> str:
        return str(printer._print(self.args[0]))
