"""Functions that are left open, such as a kernel or a risk: results hold for all of them."""

from __future__ import annotations

from typing import final

from sympy import Expr, Function, exp, log
from sympy.printing.codeprinter import CodePrinter
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from symslr.model.symbols import ORDER_PARAMETERS


@final
class OpenKernel(Function):
    """kappa(x), any positive function of a score.

    Rules know nothing of it. A number needs a kernel: ``definition`` is the one that a check puts in, softplus with a bend
    added so that it is neither one of the catalogue nor symmetric in any way.
    """

    nargs = 1
    is_real = True
    is_positive = True

    def definition(self) -> Expr:
        """log(1 + e^x) + 1/(3 + 2 (x - 1)^2), an instance."""
        (x,) = self.args
        return log(1 + exp(x)) + 1 / (3 + 2 * (x - 1) ** 2)

    def _numpycode(self, printer: CodePrinter) -> str:
        return f"({printer._print(self.definition())})"  # a sum: it may stand in a product

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"kappa({printer._print(self.args[0])})"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        power = f"^{{{exp}}}" if exp else ""
        return rf"\kappa{power}\left({printer._print(self.args[0])}\right)"


@final
class OpenRisk(Function):
    """E(m, q), any differentiable function of the seven order parameters, in the order of ``ORDER_PARAMETERS``.

    Rules know nothing of it; ``definition`` is what a check puts in.
    """

    nargs = 7
    is_real = True

    def definition(self) -> Expr:
        """A function with seven different slopes, none of them constant."""
        linear = sum((2 * i + 3) * x / 7 for i, x in enumerate(self.args))
        return (
            log(2 + sum(x**2 for x in self.args))
            + exp(linear / 9)
            + self.args[0] * self.args[6]
            - self.args[1] * self.args[5]
        )

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        power = f"^{{{exp}}}" if exp else ""
        return rf"\mathcal{{E}}{power}"

    def _sympystr(self, printer: StrPrinter) -> str:
        return "E" if self.args == ORDER_PARAMETERS else f"E({', '.join(printer._print(x) for x in self.args)})"
