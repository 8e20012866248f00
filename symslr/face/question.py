"""A number that depends on parameters but is no SymPy formula: a least value, a law of location, a fit, a probability."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from mpmath import mpf
from sympy import Expr, latex

from symslr.evaluation.errors import CannotEvaluate
from symslr.expression.asked import Asked, AskedFormula, Wanted
from symslr.expression.quantity import Quantity, sources_of
from symslr.expression.value import Kind, Value
from symslr.model.exact import exact
from symslr.model.ranges import real_number
from symslr.model.symbols import NAMES, L
from symslr.model.task import Task, without_fixed

Answer = Callable[[dict[Any, Any], Wanted], Value]
"""(values by name, how it is wanted) -> the value."""


@dataclass(frozen=True)
class Question(Asked):
    """What ``least_risk``, ``fitted``, ``bayes_optimal`` and ``separation`` return: it is called with values, as a formula is.

    Attributes:
        title: what is asked, in words.
        answer: the value at values by name.
        given: values that are known already.
        expr: the definition as a SymPy expression, where there is one.
        source: key of the paper that it is from, where it has no expression.
        has_proofs: whether the error of a value may be proved.
    """

    title: str
    answer: Answer
    given: Mapping[str, Any]
    expr: Expr | None = None
    source: str = "duranthon2025"
    task: Task | None = None
    has_proofs: bool = True

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source,) if self.expr is None else sources_of(self.expr)

    @property
    def length(self) -> Expr:
        return self.task.length if self.task is not None and isinstance(self.task.length, Expr) else L

    def value(self, values: dict[str, Any], wanted: Wanted) -> Value:
        if wanted.certified and not self.has_proofs:
            raise CannotEvaluate(f"certified: not available for the {self.title}; leave it out")
        given = {**self.given, **values}
        for name, own in given.items():
            if hasattr(own, "__len__") and not isinstance(own, str | Mapping):
                raise ValueError(f"{name}: found {len(own)} numbers; expected one, or a curve: curve({name}=[...])")
        if self.task is not None:
            given = without_fixed(given, L=self.task.length, Delta=self.task.noise)
        return self.answer(given, wanted)

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

    def diff(self, name: object) -> Question:
        """The derivative with respect to a parameter, from values at Chebyshev points around it.

        Its error is estimated: what half of the points say otherwise, and the errors of the values, enlarged.

        Raises:
            ValueError: for the length, and at a point of numbers that are known by sampling.
        """
        name = NAMES.get(str(name), str(name))
        if name == "L":
            raise ValueError("diff: found L, which is a whole number; expected another parameter")

        def answer(values: dict[Any, Any], wanted: Wanted) -> Value:
            values = {**self.given, **values}
            if name not in values:
                raise ValueError(f"no value for {name}; give one as {name}=2")
            at = real_number(exact(values[name], name), name)
            return _slope(lambda x: self.value({**values, name: x}, wanted), at, name)

        return replace(
            self, title=f"d/d{name} of {self.title}", answer=answer, given={}, expr=None, task=None, has_proofs=False
        )

    def __repr__(self) -> str:
        return self.title


POINTS = 16
"""Intervals between the Chebyshev points of a derivative; every second point gives the estimate of its error."""
WIDTH = 0.1
"""Half the width of these, relative to 1 + |x|; where x > 0 they stay positive, as a strength or a number of samples does. Least
risks of softmax and softplus have errors of 1e-11 by these; by a width of .25 they had 1e-8."""


def _slope(value: Callable[[float], Value], at: float, name: str) -> Value:
    """The derivative of a function of one number, with an estimate of its error."""
    reach = WIDTH * (1 + abs(at))
    if at == 0 and name != "a":
        raise ValueError(f"diff: found {name} = 0, at the end of its range; expected a larger number")
    reach = reach if name == "a" else min(reach, at / 2)
    points = -np.cos(np.pi * np.arange(POINTS + 1) / POINTS)
    found: list[Value] = []
    for point in points:
        found.append(value(at + reach * float(point)))
        if found[-1].kind is Kind.STATISTICAL:
            raise ValueError("diff: found a value known by sampling; expected differences of such values at wide steps")
    fine, coarse = (_combined(_weights(points[::step]) / reach, found[::step]) for step in (1, 2))
    gap = abs(fine.value - coarse.value)
    slope = fine + Value(mpf(0), gap, Kind.ESTIMATED, 0, "interpolation")
    return replace(
        slope,
        method=f"derivative of the interpolant at {POINTS + 1} points: {found[0].method}",
        sources=found[0].sources,
    )


def _combined(weights: np.ndarray, values: list[Value]) -> Value:
    first, *others = (float(weight) * value for weight, value in zip(weights, values))
    return sum(others, first)


def _weights(points: np.ndarray) -> np.ndarray:
    """Of the values at these points in the derivative at 0 of the polynomial through them."""
    weights: np.ndarray = scipy.interpolate.BarycentricInterpolator(points, np.eye(len(points))).derivative(0.0)
    return weights
