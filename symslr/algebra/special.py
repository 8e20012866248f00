"""Special functions that SymPy lacks."""

from __future__ import annotations

from typing import final

from sympy import Dummy, Expr, Function, Integral, S, atan, erf, exp, pi, sqrt
from sympy.printing.latex import LatexPrinter


@final
class OwensT(Function):
    """Owen's T function T(h, a) = (1/2 pi) int_0^a exp(-h^2 (1 + t^2)/2)/(1 + t^2) dt, for real h and a.

    Even in h, odd in a; T(0, a) = atan(a)/(2 pi). It gives the Gaussian mass of a wedge, and with it the Gaussian mean
    of erf(x)^2. Source: Owen, Ann. Math. Statist. 27 (1956) 1075.
    """

    nargs = 2
    is_real = True

    @classmethod
    def eval(cls, h: Expr, a: Expr) -> Expr | None:
        if a.is_zero:
            return S.Zero
        if h.is_zero:
            return atan(a) / (2 * pi)
        if a.could_extract_minus_sign():
            return -cls(h, -a)
        return cls(-h, a) if h.could_extract_minus_sign() else None

    def definition(self) -> Expr:
        """T(h, a) as an integral."""
        h, a = self.args
        t = Dummy("t", real=True)
        return Integral(exp(-(h**2) * (1 + t**2) / 2) / (1 + t**2), (t, 0, a)) / (2 * pi)

    def fdiff(self, argindex: int = 1) -> Expr:
        h, a = self.args
        if argindex == 1:
            return -exp(-(h**2) / 2) * erf(h * a / sqrt(2)) / (2 * sqrt(2 * pi))
        return exp(-(h**2) * (1 + a**2) / 2) / (2 * pi * (1 + a**2))

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        inside = ", ".join(printer._print(arg) for arg in self.args)
        power = f"^{{{exp}}}" if exp else ""
        return rf"T{power}\left({inside}\right)"
