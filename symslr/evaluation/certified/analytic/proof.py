"""What an arithmetic needs to enclose an analytic function, and the walk through its expression that all arithmetics share."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any

import sympy
from flint import ctx
from sympy import Expr, S, Symbol, erf, exp, log, sqrt

from symslr.evaluation.errors import NotProved
from symslr.evaluation.numbers.elementary import normal_cdf
from symslr.expression.special import NormalCdf
from symslr.model.float64 import uncancelled

PROOF_BITS = 256
"""Precision at which strips and masses are proved, and moments bounded: log(1 + e^x) keeps its sign there down to x = -170."""


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
    def function(self, at: Any, name: str) -> Any:
        """Of one of ``FUNCTIONS``."""

    def fermi(self, at: Any) -> Any:
        """1/(1 + e^y) of y."""
        return self.power(self._one_and_exponential(at), Fraction(-1))

    def softplus(self, at: Any) -> Any:
        """log(1 + e^y) of y."""
        return self.function(self._one_and_exponential(at), "log")

    def _one_and_exponential(self, at: Any) -> Any:
        return self.add(self.constant(S.One), self.function(at, "exp"))


FUNCTIONS = (exp, log, erf, NormalCdf, sympy.sin, sympy.cos, sympy.atan)
"""What a kernel may be made of, besides sums, products and rational powers."""

REWRITTEN = (sympy.sinh, sympy.cosh, sympy.sech)


def prepared(expr: Expr) -> Expr:
    """The same function by ``FUNCTIONS`` alone: hyperbolic functions by exponentials, no sum that loses its sign in a tail."""
    expr = expr.replace(lambda node: isinstance(node, REWRITTEN), lambda node: node.rewrite(exp))
    expr = uncancelled(expr, lambda y: 2 * NormalCdf(sqrt(2) * y))
    expr = expr.replace(lambda node: isinstance(node, sympy.erfc), lambda node: 2 * NormalCdf(-sqrt(2) * node.args[0]))
    return expr.replace(lambda node: isinstance(node, sympy.tanh), lambda node: 1 - 2 / (1 + exp(2 * node.args[0])))


def by_arb(at: Any, name: str) -> Any:
    """One of ``FUNCTIONS`` of a ball, a rectangle or a series."""
    return normal_cdf(at) if name == "NormalCdf" else getattr(at, name)()


Step = tuple[str, tuple[Any, ...], list[int]]
"""An operation of an arithmetic, what it takes besides earlier results, and the places of those."""


class Program:
    """The steps that evaluate some expressions, each subexpression once; made once and run on thousands of regions."""

    def __init__(self, exprs: tuple[Expr, ...], variable: Symbol) -> None:
        self.exprs, self.variable = exprs, variable
        self.places: dict[Expr, int] = {variable: 0}
        self.steps: list[Step] = []
        self.known: dict[Any, dict[int, Any]] = {}
        for expr in exprs:
            self._place(expr)

    def _place(self, node: Expr) -> int:
        if node not in self.places:
            step = self._step(node)
            self.steps.append(step)
            self.places[node] = len(self.steps)
        return self.places[node]

    def _step(self, node: Expr) -> Step:
        if not node.has(self.variable):
            return "constant", (node,), []
        if node.is_Add or node.is_Mul:
            return "add" if node.is_Add else "multiply", (), [self._place(arg) for arg in node.args]
        if isinstance(node, log) and (inside := _of_exponential(node.args[0])) is not None:
            return "softplus", (), [self._place(inside)]
        if isinstance(node, FUNCTIONS):
            return "function", (type(node).__name__,), [self._place(node.args[0])]
        if node.is_Pow and node.exp == -1 and (inside := _of_exponential(node.base)) is not None:
            return "fermi", (), [self._place(inside)]
        if node.is_Pow and node.exp.is_Rational:
            return "power", (Fraction(int(node.exp.p), int(node.exp.q)),), [self._place(node.base)]
        raise NotProved(
            f"certified: no proof is available for {node}; expected sums, products, powers, exp, log, erf, atan"
        )

    def run(self, region: Any, arithmetic: Arithmetic) -> list[Any]:
        """Enclosures of the values of all expressions on a region.

        Raises:
            NotProved: where a singularity cannot be excluded.
        """
        constants = self.known.setdefault((arithmetic, ctx.prec), {})
        found = [region]
        for place, (name, payload, arguments) in enumerate(self.steps):
            if name == "constant":
                if place not in constants:
                    constants[place] = arithmetic.constant(*payload)
                found.append(constants[place])
            elif name in ("add", "multiply"):
                found.append(reduce(getattr(arithmetic, name), [found[i] for i in arguments]))
            else:
                found.append(getattr(arithmetic, name)(found[arguments[0]], *payload))
        return [found[self.places[expr]] for expr in self.exprs]


def _of_exponential(expr: Expr) -> Expr | None:
    """y of 1 + e^y."""
    rest = expr - 1 if expr.is_Add else None
    return rest.args[0] if isinstance(rest, exp) else None


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
