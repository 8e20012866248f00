"""What an arithmetic needs to enclose an analytic function, and the walk through its expression that all arithmetics share."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any

import sympy
from flint import ctx
from sympy import Expr, Symbol, erf, exp, log

from symslr.evaluation.errors import CannotEvaluate


class NotProved(CannotEvaluate):
    """No proof was found that a function is analytic or bounded on a region; another region may do.

    Args:
        reason: what is missing.
        function: of which; written only where it is read, as thousands of regions are halved and tried again.
    """

    def __init__(self, reason: str, function: Expr | None = None) -> None:
        super().__init__(reason)
        self.reason, self.function = reason, function

    def __str__(self) -> str:
        return self.reason if self.function is None else f"{self.reason} {self.function}"


class Arithmetic(ABC):
    """Abstract: enclosures of the values of analytic functions on one region.

    Every operation raises ``NotProved`` where it cannot tell that the function is analytic on the region.
    """

    @abstractmethod
    def constant(self, expr: Expr) -> Any:
        """Of an exact number."""

    add: Callable[[Any, Any], Any] = staticmethod(operator.add)
    multiply: Callable[[Any, Any], Any] = staticmethod(operator.mul)

    @abstractmethod
    def power(self, base: Any, exponent: Fraction) -> Any:
        """Of the principal power."""

    @abstractmethod
    def function(self, name: str, at: Any) -> Any:
        """Of exp, log, erf, sin or cos."""


FUNCTIONS = (exp, log, erf, sympy.sin, sympy.cos)
"""What a kernel may be made of, besides sums, products and rational powers."""

REWRITTEN = (sympy.sinh, sympy.cosh, sympy.sech)


def prepared(expr: Expr) -> Expr:
    """The same function by ``FUNCTIONS`` alone: hyperbolic functions by exponentials, distribution functions by erf."""
    expr = expr.replace(lambda node: isinstance(node, REWRITTEN), lambda node: node.rewrite(exp))
    expr = expr.replace(lambda node: isinstance(node, sympy.tanh), lambda node: 1 - 2 / (1 + exp(2 * node.args[0])))
    expr = expr.replace(lambda node: isinstance(node, sympy.erfc), lambda node: 1 - erf(node.args[0]))
    return expr.replace(
        lambda node: type(node).__name__ == "NormalCdf", lambda node: (1 + erf(node.args[0] / sympy.sqrt(2))) / 2
    )


@dataclass(frozen=True)
class Operation:
    """One operation of a program; ``arguments`` are the places of earlier results."""

    kind: str
    payload: Any
    arguments: tuple[int, ...]


class Program:
    """The steps that evaluate some expressions, each subexpression once; made once and run on thousands of regions."""

    def __init__(self, exprs: tuple[Expr, ...], variable: Symbol) -> None:
        self.steps: list[Operation] = []
        self.constants: dict[Any, list[Any]] = {}
        places: dict[Expr, int] = {}

        def place(node: Expr) -> int:
            if node not in places:
                step = _step(node, variable, place)
                places[node] = len(self.steps)
                self.steps.append(step)
            return places[node]

        self.results = [place(expr) for expr in exprs]

    def run(self, region: Any, arithmetic: Arithmetic) -> list[Any]:
        """Enclosures of the values of all expressions on a region.

        Raises:
            NotProved: where a singularity cannot be excluded.
        """
        found: list[Any] = []
        constants = iter(self._constants(arithmetic))
        for step in self.steps:
            if step.kind == "variable":
                found.append(region)
            elif step.kind == "constant":
                found.append(next(constants))
            elif step.kind == "power":
                found.append(arithmetic.power(found[step.arguments[0]], step.payload))
            elif step.kind == "function":
                found.append(arithmetic.function(step.payload, found[step.arguments[0]]))
            else:
                join = arithmetic.add if step.kind == "add" else arithmetic.multiply
                found.append(reduce(join, [found[argument] for argument in step.arguments]))
        return [found[i] for i in self.results]

    def _constants(self, arithmetic: Arithmetic) -> list[Any]:
        """At the precision of the current context."""
        key = arithmetic, ctx.prec
        if key not in self.constants:
            self.constants[key] = [arithmetic.constant(s.payload) for s in self.steps if s.kind == "constant"]
        return self.constants[key]


def _step(node: Expr, variable: Symbol, place: Callable[[Expr], int]) -> Operation:
    if node == variable:
        return Operation("variable", None, ())
    if not node.has(variable):
        return Operation("constant", node, ())
    if node.is_Add or node.is_Mul:
        return Operation("add" if node.is_Add else "multiply", None, tuple(place(arg) for arg in node.args))
    if isinstance(node, FUNCTIONS):
        return Operation("function", type(node).__name__, (place(node.args[0]),))
    if node.is_Pow and node.exp.is_Rational:
        return Operation("power", Fraction(int(node.exp.p), int(node.exp.q)), (place(node.base),))
    raise NotProved(f"certified: no proof is available for {node}; expected sums, products, powers, exp, log, erf")


@lru_cache(maxsize=1024)
def _program(exprs: tuple[Expr, ...], variable: Symbol) -> Program:
    return Program(exprs, variable)


def enclosed(expr: Expr, variable: Symbol, region: Any, arithmetic: Arithmetic) -> Any:
    """An enclosure of the values of ``expr`` on a region of its variable.

    Raises:
        NotProved: for a function that is not of ``FUNCTIONS``, or where a singularity cannot be excluded.
    """
    return _program((expr,), variable).run(region, arithmetic)[0]


def all_enclosed(exprs: tuple[Expr, ...], variable: Symbol, region: Any, arithmetic: Arithmetic) -> list[Any]:
    """As ``enclosed`` for several expressions; what they have in common is evaluated once."""
    return _program(exprs, variable).run(region, arithmetic)
