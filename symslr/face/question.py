"""A number that depends on parameters but is no SymPy formula: a least value, a law of location, a fit, a probability."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Expr, latex

from symslr.expression.asked import Asked
from symslr.expression.value import Value

Answer = Callable[[dict[Any, Any], int | None], Value]
"""(values by name, digits or None) -> the value."""


@dataclass(frozen=True)
class Question(Asked):
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

    def value(self, values: dict[str, Any], digits: int | None) -> Value:
        return self.answer({**self.given, **values}, digits)

    def formula(self) -> Expr:
        """The definition.

        Raises:
            ValueError: where it is none that prints.
        """
        if self.expr is None:
            raise ValueError(f"{self.title}: no formula; expected a call with values")
        return self.expr.doit()

    def latex(self) -> str:
        """The definition as LaTeX."""
        return str(latex(self.formula()))

    def diff(self, *symbols: object) -> Expr:
        """No rule differentiates it.

        Raises:
            ValueError: always.
        """
        raise ValueError(f"{self.title}: no rule differentiates it; expected differences of its values")

    def __repr__(self) -> str:
        return self.title
