"""The nodes of a plan: a small tree, built once for an expression and evaluated in any arithmetic."""

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
        continuations: where minima keep the places found at neighbouring points of a grid. None by default, so that a value
            depends on its own arguments only.
        enough: relative error at which no equal formula over two Laplace variables is tried, as it may take many times as long;
            None for a few tolerances.
    """

    arithmetic: Arithmetic
    tolerance: float
    continuations: dict[Any, Any] | None = field(default=None, compare=False)
    enough: float | None = None


class Node(ABC):
    """Abstract: a number that depends on parameters.

    Attributes:
        axes: the largest number of Laplace variables of an integral in it.
        is_float_only: whether it refuses more digits than float64 has.
        is_elementary: whether it contains no integral.
    """

    axes: int = 1
    is_float_only: bool = False
    is_elementary: bool = False

    @abstractmethod
    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        """(value, error) at parameters given as (value, error)."""

    def at(self, context: Context, scopes: Sequence[Mapping[Symbol, Pair]]) -> list[Callable[[], Pair]]:
        """``evaluate`` at many points, as functions that are called for the values needed; so a value that no one needs may
        fail.

        Nodes that gain from seeing all points together do their work here.
        """
        return [partial(self.evaluate, context, scope) for scope in scopes]

    def closed(self, kernel: Expr) -> Node:
        """The same node with ``kernel``, in ``x``, in place of a kernel left open; itself where there is none."""
        return self


def ordered(symbols: set[Any]) -> tuple[Symbol, ...]:
    """The symbols among a set, sorted by name."""
    return tuple(
        sorted(
            (s for s in symbols if s.is_Symbol), key=lambda s: (s.name, s.dummy_index if isinstance(s, Dummy) else 0)
        )
    )


def outermost(expr: Basic, kinds: tuple[type[Basic], ...]) -> list[Expr]:
    """The parts of an expression that are of some kinds and inside no other part of these kinds."""
    if isinstance(expr, kinds):
        return [expr]
    return list(dict.fromkeys(part for arg in expr.args for part in outermost(arg, kinds)))
