"""A function of a field averaged over what is open of the field, kept under its name with its derivatives."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, final

from sympy import Basic, Expr, Integer, Symbol, Tuple, cancel, exp, sqrt
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from symslr.expression.expectation import ScalarExpectation
from symslr.model.scalar_law import normal


@final
class GaussianConvolution(Expr):
    """A partial derivative of Z(omega, V) = E P(z) over z ~ N(omega, V); ``args = (letter, P, z, omega, V, orders)``.

    P is a formula in the symbol z; ``orders`` says how often Z is differentiated in omega and in V. Derivatives are those of
    the Gaussian density: P need not be smooth.
    """

    is_commutative = True
    is_real = True

    @classmethod
    def of(cls, letter: Symbol, function: Expr, field: Symbol, mean: Expr, variance: Expr) -> GaussianConvolution:
        """Z itself, at this mean and this variance of the field."""
        return cls(letter, function, field, mean, variance, Tuple(Integer(0), Integer(0)))

    @property
    def function(self) -> Expr:
        return self.args[1]

    @property
    def mean(self) -> Expr:
        return self.args[3]

    @property
    def orders(self) -> tuple[int, int]:
        in_mean, in_variance = self.args[5]
        return int(in_mean), int(in_variance)

    def _eval_is_positive(self) -> bool | None:
        return True if not any(self.orders) and self.function.is_nonnegative else None

    def differentiated(self, in_mean: int, in_variance: int = 0) -> GaussianConvolution:
        """The same with as many more derivatives in omega and in V."""
        orders = Tuple(Integer(self.orders[0] + in_mean), Integer(self.orders[1] + in_variance))
        return self.func(*self.args[:5], orders)

    def definition(self) -> Expr:
        """The mean over z of P times the derivatives of the density, per unit of it."""
        _, function, field, mean, variance, _ = self.args
        slope = slope_of_density(*self.orders).subs({AWAY: field - mean, VARIANCE: variance}, simultaneous=True)
        return ScalarExpectation(slope * function, field, normal(mean, variance))

    def doit(self, **hints: object) -> Expr:
        return self.definition()

    @property
    def free_symbols(self) -> set[Basic]:
        return self._parameters | self.args[3].free_symbols | self.args[4].free_symbols

    @property
    def _parameters(self) -> set[Basic]:
        """What P depends on besides the field."""
        return self.function.free_symbols - {self.args[2]}

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        letter, function, field, mean, variance, orders = self.args
        function = function.subs(old, new) if old in self._parameters else function
        return self.func(letter, function, field, mean.subs(old, new), variance.subs(old, new), orders)

    def _eval_derivative(self, symbol: Any) -> Expr | None:
        """The chain rule; a parameter of P is no variable of Z."""
        if symbol in self._parameters:
            return None
        *_, mean, variance, _ = self.args
        return self.differentiated(1) * mean.diff(symbol) + self.differentiated(0, 1) * variance.diff(symbol)

    def _named(self, letter: str, mean: str) -> str:
        below = (mean * self.orders[0] + "V" * self.orders[1]).strip()
        return f"{letter}_{{{below}}}" if below else letter

    def _sympystr(self, printer: StrPrinter) -> str:
        return self._named(printer._print(self.args[0]), "w").replace("{", "").replace("}", "")

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        named = self._named(printer._print(self.args[0]), r"\omega ")
        return f"{named}^{{{exp}}}" if exp else named


AWAY, VARIANCE = Symbol("d", real=True), Symbol("V", positive=True)


@lru_cache(maxsize=64)
def slope_of_density(in_mean: int, in_variance: int) -> Expr:
    """The derivatives of N(z; omega, V) in omega and in V over N(z; omega, V): a polynomial in d = z - omega."""
    density = exp(-(AWAY**2) / (2 * VARIANCE)) / sqrt(VARIANCE)
    return cancel((-1) ** in_mean * density.diff(AWAY, in_mean).diff(VARIANCE, in_variance) / density)
