"""A number that depends on parameters but is no SymPy formula: a least value, a law of location, a fit, a probability."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Symbol, latex

from symslr.expression.value import Value
from symslr.face.curve import Curve
from symslr.model.exact import check_is
from symslr.model.symbols import NAMES

Answer = Callable[[dict[Any, Any], int | None], Value]
"""(values by name, digits or None) -> the value."""


@dataclass(frozen=True)
class Question:
    """What ``least_risk``, ``fitted``, ``bayes_optimal`` and ``separation`` return: it is called with values, as a formula is.

    Attributes:
        title: what is asked, in words.
        answer: the value at values by name.
        given: values that are known already.
        expr: the definition as a SymPy expression, where there is one.
        source: key of the paper that it is from.
    """

    title: str
    answer: Answer
    given: Mapping[str, Any]
    expr: Expr | None = None
    source: str = "duranthon2025"

    def __call__(self, values: Mapping[Any, object] = {}, *, digits: int | None = None, **named: object) -> Value:
        """The value at parameters by name or symbol; of a least value, ``at`` says where it is attained.

        Raises:
            CannotEvaluate: where there is no value, with the reason.
            ValueError: for a value that is missing, unknown or inadmissible.
        """
        check_is(values, Mapping, "values", 'nu=2 or {"nu": 2}')
        asked = {name.name if isinstance(name, Symbol) else name: own for name, own in {**values, **named}.items()}
        return self.answer({**self.given, **{NAMES.get(name, name): own for name, own in asked.items()}}, digits)

    def curve(
        self, *, digits: int | None = None, progress: Callable[[int, int], None] | None = None, **axes: Any
    ) -> Curve:
        """The values over the outer product of axes, each a number or a list."""
        return Curve.over(lambda point: self(point, digits=digits), axes, progress=progress)

    def formula(self) -> Expr:
        """The definition.

        Raises:
            ValueError: where it is none that prints.
        """
        if self.expr is None:
            raise ValueError(f"{self.title}: no formula; expected a call with values")
        return self.expr.doit()

    def diff(self, *symbols: object) -> Expr:
        """No rule differentiates it.

        Raises:
            ValueError: always.
        """
        raise ValueError(f"{self.title}: no rule differentiates it; expected differences of its values")

    def latex(self) -> str:
        """The definition as LaTeX."""
        return str(latex(self.formula()))

    def __repr__(self) -> str:
        return self.title
