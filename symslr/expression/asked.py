"""What a user asks of a formula: a number, a curve, a derivative, plain integrals. The answers are made in ``symslr.face``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from sympy import Expr, Symbol, latex

from symslr.expression.value import Value


class Asked(Expr):
    """Abstract: an expression that is called with values for its parameters, such as ``bayes_risk(task)(nu=2)``.

    The face is the room above all others. It is loaded when it is asked, so that no room below depends on it.
    """

    def __call__(self, values: Mapping[Any, object] = {}, *, digits: int | None = None, **named: object) -> Value:
        """The value at parameters by name or symbol; ``length`` and ``noise`` stand for L and Delta.

        Raises:
            CannotEvaluate, ValueError: as ``evaluate``.
        """
        found: Value = import_module("symslr.face.numbers").value_of(self, values, digits, named)
        return found

    def curve(
        self, *, digits: int | None = None, progress: Callable[[int, int], None] | None = None, **axes: Any
    ) -> Any:
        """The ``Curve`` of values over the outer product of axes, each a number or a list: ``curve(nu=[1, 2], length=3)``.

        Raises:
            ValueError: for a parameter that is missing or unknown; a point without a value is kept with its reason.
        """
        return import_module("symslr.face.numbers").curve_of(self, digits, progress, axes)

    def as_integral(self) -> Expr:
        """The formula in SymPy's own functions and integrals alone.

        Raises:
            ValueError: where it is not reduced to integrals over single tokens.
        """
        found: Expr = import_module("symslr.face.numbers").as_integral(self)
        return found

    def compare_with(self, formula: Expr | str) -> str:
        """Whether a formula, an expression or its text, has the same values: "agrees", "differs" or "unknown", and where.

        Both are evaluated at some points of their parameters; agreement at points is no proof.
        """
        return str(import_module("symslr.face.numbers").compared(self, formula))

    def latex(self) -> str:
        """The formula as LaTeX."""
        return str(latex(self.doit()))

    def diff(self, *symbols: Any, **hints: Any) -> Expr:
        """The derivative, which ``evaluate`` takes. A symbol by its name, or with other assumptions, is the formula's own.

        Raises:
            ValueError: for a name that the formula has not.
        """
        own = {symbol.name: symbol for symbol in self.free_symbols}
        return super().diff(*(_own(symbol, own) for symbol in symbols), **hints)


def _own(symbol: Any, own: Mapping[str, Symbol]) -> Any:
    if isinstance(symbol, Symbol):
        return own.get(symbol.name, symbol)
    if isinstance(symbol, tuple):
        return (_own(symbol[0], own), *symbol[1:])
    if not isinstance(symbol, str):
        return symbol
    if symbol not in own:
        raise ValueError(
            f"diff: found {symbol}; expected one of {', '.join(sorted(own)) or 'none, as no symbol is open'}"
        )
    return own[symbol]
