"""A number that depends on parameters but is no SymPy formula: a least value, a law of location, a fit, a probability."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Expr, latex

from symslr.expression.asked import Asked, AskedFormula
from symslr.expression.quantity import Quantity, sources_of
from symslr.expression.value import Value
from symslr.model.task import Task, without_fixed

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
        source: key of the paper that it is from, where it has no expression.
    """

    title: str
    answer: Answer
    given: Mapping[str, Any]
    expr: Expr | None = None
    source: str = "duranthon2025"
    task: Task | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source,) if self.expr is None else sources_of(self.expr)

    def value(self, values: dict[str, Any], digits: int | None) -> Value:
        given = {**self.given, **values}
        for name, own in given.items():
            if hasattr(own, "__len__") and not isinstance(own, str | Mapping):
                raise ValueError(f"{name}: found {len(own)} numbers; expected one, or a curve: curve({name}=[...])")
        if self.task is not None:
            given = without_fixed(given, L=self.task.length, Delta=self.task.noise)
        return self.answer(given, digits)

    def formula(self) -> Expr:
        """The definition.

        Raises:
            ValueError: where it is none that prints.
        """
        if self.expr is None:
            raise ValueError(f"{self.title}: no formula; expected a call with values")
        return self.expr.doit()

    def as_integral(self) -> Expr:
        """As of a formula, where the definition is one.

        Raises:
            ValueError: where it is none.
        """
        return self._asked("as_integral").as_integral()

    def compare_with(self, formula: Expr | str) -> Any:
        """As of a formula, where the definition is one.

        Raises:
            ValueError: where it is none.
        """
        return self._asked("compare_with").compare_with(formula)

    def derivation(self) -> Any:
        """The chain of rules from the definition, where there is one.

        Raises:
            ValueError: where there is none.
        """
        own = self._asked("derivation")
        if not isinstance(own, Quantity):
            raise ValueError(f"{self.title}: no derivation; expected a Bayes risk or a risk at a scale")
        return own.derivation()

    def series(self, *_: object, **__: object) -> Expr:
        """No rule expands it.

        Raises:
            ValueError: always.
        """
        raise ValueError(f"{self.title}: no rule expands it; expected the Bayes risk of a weight")

    def limit(self, *_: object, **__: object) -> Expr:
        """No rule gives its limit.

        Raises:
            ValueError: always.
        """
        raise ValueError(f"{self.title}: no rule gives its limit; expected values further out")

    def _asked(self, what: str) -> AskedFormula:
        if not isinstance(self.expr, AskedFormula):
            raise ValueError(f"{what}: {self.title} is no formula; expected a call with values")
        return self.expr

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
