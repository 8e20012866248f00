"""What a user asks of a quantity: a number, a curve, a derivative, plain integrals. The answers are made in ``symslr.face``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from sympy import Derivative, Expr, Symbol, latex, oo

from symslr.expression.value import Value
from symslr.model.exact import NUMBERS, check_is, check_not_negative, exact
from symslr.model.symbols import NAMES, L, by_name

SECONDS = 6.0
"""Processor time of one sampled value, unless asked otherwise."""


@dataclass(frozen=True)
class Wanted:
    """How a number is wanted.

    Attributes:
        digits: significant ones; None for those that the route to the number gives.
        certified: whether its error has to be proved.
        seconds: processor time after which sampling stops, where nothing else gives the number.
    """

    digits: int | None = None
    certified: bool = False
    seconds: float = SECONDS

    @property
    def backend(self) -> str | None:
        """That of ``evaluate``."""
        return "arb" if self.certified else None


class Asked:
    """Abstract: a number that depends on parameters, called with values for them, such as ``bayes_risk(task)(nu=2)``."""

    __slots__ = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """Key and place of what it rests on, for ``symslr.cite``."""
        raise NotImplementedError

    @property
    def length(self) -> Expr:
        """That of the sequences; L where it is open or random."""
        return L

    def value(self, values: dict[str, Any], wanted: Wanted) -> Value:
        """The value at numbers by the name of their symbol."""
        raise NotImplementedError

    def __call__(
        self,
        values: Mapping[Any, object] = {},
        *,
        digits: int | None = None,
        certified: bool = False,
        seconds: float = SECONDS,
        **named: object,
    ) -> Value:
        """The value at parameters by name or symbol; ``length`` and ``noise`` stand for L and Delta.

        Of a least value, ``at`` says where it is attained; ``exact`` is the number where a closed form gives it.

        Args:
            digits, certified, seconds: as for ``Wanted``.

        Raises:
            CannotEvaluate: where there is no value, or no proof of one that is asked for, with the reason.
            ValueError: for a value that is missing, unknown or inadmissible.
        """
        check_is(values, Mapping, "values", 'nu=2 or {"nu": 2}')
        wanted = Wanted(digits, certified, seconds)
        return replace(self.value(self._numbers(by_name({**values, **named})), wanted), sources=self.sources)

    def _numbers(self, values: dict[str, Any]) -> dict[str, Any]:
        """Values of which those that are formulas of others, such as 2*log(L), have numbers for them."""
        known = {"L": self.length} | {name: own for name, own in values.items() if isinstance(own, NUMBERS)}
        found = dict(values)
        for name, own in values.items():
            if isinstance(own, str | Expr):
                number = exact(own, name)
                others = {symbol: exact(known[symbol.name]) for symbol in number.free_symbols if symbol.name in known}
                found[name] = number.subs(others) if others else own
        check_not_negative(found)
        return found

    def curve(
        self,
        *,
        digits: int | None = None,
        certified: bool = False,
        seconds: float = SECONDS,
        progress: Callable[[int, int], None] | None = None,
        **axes: Any,
    ) -> Any:
        """The ``Curve`` of values over the outer product of axes, each a number or a list: ``curve(nu=[1, 2], length=3)``.

        Raises:
            ValueError: for a parameter that is missing or unknown; a point without a value is kept with its reason.
        """
        found = import_module("symslr.face.curve").Curve
        how: dict[str, Any] = {"digits": digits, "certified": certified, "seconds": seconds}
        return found.over(lambda point: self(point, **how), axes, progress=progress)


class AskedFormula(Asked, Expr):
    """Abstract: a SymPy expression that is asked.

    The face is the room above all others. It is loaded when it is asked, so that no room below depends on it.
    """

    @property
    def sources(self) -> tuple[str, ...]:
        found: tuple[str, ...] = import_module("symslr.expression.quantity").sources_of(self)
        return found

    def value(self, values: dict[str, Any], wanted: Wanted) -> Value:
        found: Value = import_module("symslr.face.numbers").value_of(self, values, wanted)
        return found

    def as_integral(self) -> Expr:
        """The formula in SymPy's own functions and integrals alone.

        Raises:
            ValueError: where it is not reduced to integrals over single tokens.
        """
        found: Expr = import_module("symslr.face.numbers").as_integral(self)
        return found

    def compare_with(self, formula: Expr | str) -> Any:
        """Whether a formula, an expression or its text, is this one: an ``Agreement``, which agrees, differs or is unknown.

        The referee compares both at some points, as ``symslr check`` does of a claim. SymPy's own ``compare`` is another
        thing, an order of expressions.

        Raises:
            ValueError: for text that is no formula, and for a symbol on which the quantity does not depend.
        """
        return import_module("symslr.face.agreement").compare(self, formula)

    def formula(self) -> Expr:
        """What rules have derived."""
        return self.doit()

    def derivation(self) -> Any:
        """The chain of rules from the definition to the formula.

        Raises:
            ValueError: where there is none.
        """
        raise ValueError(f"derivation: {self} has none; expected a Bayes risk, or a risk at a scale, of one length")

    def latex(self) -> str:
        """The formula as LaTeX."""
        return str(latex(self.formula()))

    def series(self, x: Any = "nu", x0: Any = oo, n: int = 2, **hints: Any) -> Expr:
        """The first terms at a strong signal, where a rule expands the formula.

        Raises:
            ValueError: elsewhere, as SymPy knows nothing of means.
        """
        found: Expr = import_module("symslr.face.numbers").series(self, str(x), x0, n)
        return found

    def limit(self, x: Any, xlim: Any, dir: str = "+") -> Expr:
        """The limit as a formula, where a rule derives it: of a risk as its scale grows, or of max-SLR as nu does.

        Raises:
            ValueError: elsewhere, as SymPy knows nothing of means.
        """
        found: Expr = import_module("symslr.face.numbers").limit(self, str(x), xlim)
        return found

    def diff(self, *symbols: Any, **hints: Any) -> Expr:
        """The derivative, which is asked likewise. A symbol by its name, or with other assumptions, is the formula's own.

        Raises:
            ValueError: for a name that the formula has not.
        """
        own = {symbol.name: symbol for symbol in self.free_symbols}
        found = super().diff(*(_own(symbol, own) for symbol in symbols), **hints)
        return Expr.__new__(AskedDerivative, *found.args) if type(found) is Derivative else found


class AskedDerivative(AskedFormula, Derivative):
    """A derivative of a formula that is asked."""

    def latex(self) -> str:
        """What is differentiated, as LaTeX."""
        return str(latex(Derivative(self.expr.doit(), *self.variables)))


def _own(symbol: Any, own: Mapping[str, Symbol]) -> Any:
    if isinstance(symbol, Symbol):
        return own.get(symbol.name, symbol)
    if isinstance(symbol, tuple):
        return (_own(symbol[0], own), *symbol[1:])
    if not isinstance(symbol, str):
        return symbol
    name = NAMES.get(symbol, symbol)
    if name not in own:
        raise ValueError(
            f"diff: found {symbol}; expected one of {', '.join(sorted(own)) or 'none, as no symbol is open'}"
        )
    return own[name]
