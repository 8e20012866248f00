"""A plan is a small tree of numeric nodes, built once per formula and carried out in any arithmetic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sympy import Basic, Dummy, Expr, Symbol

from symslr.evaluation.numbers.arithmetic import Arithmetic

Pair = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Context:
    """What a node needs besides its parameters.

    Attributes:
        arithmetic: the numbers to calculate in.
        tolerance: relative error at which a quadrature stops refining.
        continuations: where minima keep the places that they found at neighbouring points of a grid; none by default, so
            that a value depends on its own arguments only.
        enough: relative error with which an equal formula over two Laplace variables is not asked, as it may take many times as
            long; None for a few tolerances, as elsewhere.
    """

    arithmetic: Arithmetic
    tolerance: float
    continuations: dict[Any, Any] | None = field(default=None, compare=False)
    enough: float | None = None


class Node(ABC):
    """Abstract: a number that depends on parameters.

    Attributes:
        axes: the most Laplace variables of an integral in it.
        is_float_only: whether it refuses more digits than float64 has.
        is_elementary: whether it is put together of numbers alone, with no integral.
    """

    axes: int = 1
    is_float_only: bool = False
    is_elementary: bool = False

    @abstractmethod
    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        """(value, error) at parameters given as (value, error)."""

    def at(self, context: Context, scopes: Sequence[Mapping[Symbol, Pair]]) -> list[Callable[[], Pair]]:
        """``evaluate`` at many points, as functions: a value that a formula does not ask for is not missed.

        Nodes that gain from seeing all the points together do their work here.
        """
        return [partial(self.evaluate, context, scope) for scope in scopes]

    def closed(self, kernel: Expr) -> Node:
        """The same number with a kernel in ``x`` put where one is left open; itself where none is."""
        return self


def ordered(symbols: set[Any]) -> tuple[Symbol, ...]:
    """Parameters in an order of their own: by name."""
    return tuple(
        sorted(
            (s for s in symbols if s.is_Symbol), key=lambda s: (s.name, s.dummy_index if isinstance(s, Dummy) else 0)
        )
    )


def outermost(expr: Basic, kinds: tuple[type[Basic], ...]) -> list[Expr]:
    """The parts of an expression that are of these kinds, and inside no other."""
    if isinstance(expr, kinds):
        return [expr]
    return list(dict.fromkeys(part for arg in expr.args for part in outermost(arg, kinds)))
