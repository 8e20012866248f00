"""A smooth function known by a formula, kept under its name with its derivatives, so that rules see its structure."""

from __future__ import annotations

from typing import Any, final

from sympy import Basic, Expr, Integer, Symbol, Tuple
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter


@final
class NamedFunction(Expr):
    """A partial derivative of Z at given arguments; ``args = (letter, formula, variables, values, orders)``.

    ``formula`` is Z in its ``variables``; ``orders`` says how often it is differentiated in each.
    """

    is_commutative = True
    is_real = True

    @classmethod
    def of(cls, letter: Symbol, formula: Expr, at: dict[Symbol, Expr]) -> NamedFunction:
        """Z at these values of its variables."""
        return cls(letter, formula, Tuple(*at), Tuple(*at.values()), Tuple(*(Integer(0) for _ in at)))

    def _eval_is_positive(self) -> bool | None:
        return True if not any(self.orders) and self.args[1].is_positive else None

    @property
    def formula(self) -> Expr:
        return self.args[1]

    @property
    def variables(self) -> tuple[Symbol, ...]:
        return tuple(self.args[2])

    @property
    def orders(self) -> tuple[int, ...]:
        return tuple(int(n) for n in self.args[4])

    def differentiated(self, *more: int) -> NamedFunction:
        """The same with as many more derivatives in each variable."""
        orders = Tuple(*(Integer(n + k) for n, k in zip(self.orders, more, strict=True)))
        return self.func(*self.args[:4], orders)

    def definition(self) -> Expr:
        """The formula, differentiated, at the values."""
        made = self.formula
        for variable, times in zip(self.variables, self.orders, strict=True):
            made = made.diff(variable, times) if times else made
        return made.subs(dict(zip(self.variables, self.args[3], strict=True)), simultaneous=True)

    @property
    def free_symbols(self) -> set[Basic]:
        return (self.formula.free_symbols - set(self.variables)) | self.args[3].free_symbols

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        values = Tuple(*(value.subs(old, new) for value in self.args[3]))
        outside = {old} & (self.formula.free_symbols - set(self.variables))
        formula = self.formula.subs(old, new) if outside else self.formula
        return self.func(self.args[0], formula, self.args[2], values, self.args[4])

    def _eval_derivative(self, symbol: Any) -> Expr | None:
        """The chain rule; a parameter of the formula is none of its variables."""
        if symbol in self.formula.free_symbols - set(self.variables):
            return None
        places = range(len(self.variables))
        slopes = (
            self.differentiated(*(int(i == j) for j in places)) * value.diff(symbol)
            for i, value in enumerate(self.args[3])
        )
        return sum(slopes, start=Integer(0))

    def _name(self, mark: str) -> str:
        below = "".join(mark.format(v) * n for v, n in zip(self.variables, self.orders, strict=True))
        return below

    def _sympystr(self, printer: StrPrinter) -> str:
        letter = str(self.args[0])
        return f"{letter}_{self._name('{}')}" if any(self.orders) else letter

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        letter = printer._print(self.args[0])
        below = "".join(printer._print(v) * n for v, n in zip(self.variables, self.orders, strict=True))
        named = f"{letter}_{{{below}}}" if below else letter
        return f"{named}^{{{exp}}}" if exp else named
