"""Special functions that SymPy lacks."""

from __future__ import annotations

from typing import final

from sympy import Dummy, Expr, Function, Integral, S, atan, erf, exp, oo, pi, sqrt
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


@final
class NormalCdf(Function):
    """Phi(y), the standard normal mass below y, kept as it is: SymPy's erfc(-y) becomes 2 - erfc(y), which has no digits left
    in the lower tail.
    """

    nargs = 1
    is_real = True
    is_positive = True

    def definition(self) -> Expr:
        """Phi(y) as an error function."""
        return (1 + erf(self.args[0] / sqrt(2))) / 2

    def fdiff(self, argindex: int = 1) -> Expr:
        return exp(-(self.args[0] ** 2) / 2) / sqrt(2 * pi)

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        power = f"^{{{exp}}}" if exp else ""
        return rf"\Phi{power}\left({printer._print(self.args[0])}\right)"


@final
class SkewNormal(Function):
    """F(h, a) = 2 int_{-oo}^h phi(t) Phi(a t) dt = Phi(h) - 2 T(h, a), the law of Azzalini's skew normal variable.

    For real h and a >= 0 it is P(X < h, Y < h) for standard normal X, Y of correlation (1 - a^2)/(1 + a^2): the Gaussian mean of
    Phi^2, without the cancellation that Phi - 2 T has at h -> -oo. Source: Azzalini, Scand. J. Statist. 12 (1985) 171.
    """

    nargs = 2
    is_real = True
    is_nonnegative = True

    def definition(self) -> Expr:
        """F(h, a) as an integral."""
        h, a = self.args
        t = Dummy("t", real=True)
        return Integral(2 * exp(-(t**2) / 2) * NormalCdf(a * t), (t, -oo, h)) / sqrt(2 * pi)

    def fdiff(self, argindex: int = 1) -> Expr:
        h, a = self.args
        if argindex == 1:
            return 2 * exp(-(h**2) / 2) * NormalCdf(a * h) / sqrt(2 * pi)
        return -exp(-(h**2) * (1 + a**2) / 2) / (pi * (1 + a**2))

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        inside = ", ".join(printer._print(arg) for arg in self.args)
        power = f"^{{{exp}}}" if exp else ""
        return rf"F_{{\mathrm{{SN}}}}{power}\left({inside}\right)"
