"""A node of a plan as a function of some of its parameters, which a search calls in float64 or at any precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sympy import Symbol

from symslr.evaluation.errors import CannotEvaluate, NoLeastValue
from symslr.evaluation.nodes.node import Context, Node, Pair
from symslr.evaluation.numbers.arithmetic import FLOAT

Least = tuple[Any, Any, list[Pair]]
"""(least value, its error, [(place, error)])."""

MOST_VALUES = 4000
"""Values after which a search is given up."""


@dataclass(frozen=True)
class Function:
    """A node as a function of some of its parameters.

    Attributes:
        is_even: whether it is even in its one variable.
        is_risk: whether it is a risk, which is never negative.
        known: (value, error) by tolerance and place, in float64.
        refused: by place, why there was no value.
    """

    node: Node
    variables: tuple[Symbol, ...]
    context: Context
    scope: Mapping[Symbol, Pair]
    is_even: bool = False
    is_risk: bool = False
    known: dict[tuple[float, ...], tuple[float, float]] = field(default_factory=dict, compare=False)
    refused: dict[tuple[float, ...], Exception] = field(default_factory=dict, compare=False)

    @property
    def is_float(self) -> bool:
        return self.context.arithmetic == FLOAT

    def in_float(self, tolerance: float) -> Function:
        """The same function in float64, to a relative tolerance."""
        scope = {s: (float(p[0]), float(p[1])) if isinstance(p, tuple) else p for s, p in self.scope.items()}
        return replace(self, context=Context(FLOAT, tolerance, enough=self.context.enough), scope=scope)

    def pair(self, place: Sequence[Any]) -> Pair:
        """(value, error) at a place.

        Raises:
            CannotEvaluate: where there is none.
        """
        number = self.context.arithmetic.number
        at = {s: (number(v), number(0)) for s, v in zip(self.variables, place)}
        return self.node.evaluate(self.context, {**self.scope, **at})

    def pairs(self, places: Sequence[Sequence[float]]) -> Any:
        """(value, error) in float64 at many places, shape (places, 2); (oo, oo) where there is none. Each is computed once."""
        keys = [self._key(place) for place in places]
        new = list(dict.fromkeys(key for key in keys if key not in self.known))
        if len(self.known) + len(new) > MOST_VALUES:
            raise CannotEvaluate(f"a search for the least value takes more than {MOST_VALUES} values; give bounds")
        scopes = [{**self.scope, **{s: (v, 0.0) for s, v in zip(self.variables, key[1:])}} for key in new]
        for key, get in zip(new, self.node.at(self.context, scopes) if new else []):
            try:
                with np.errstate(all="ignore"):
                    value, error = (float(part) for part in get())
                self.known[key] = (value, error) if np.isfinite(value + error) else (np.inf, np.inf)
            except (CannotEvaluate, ArithmeticError) as reason:
                self.refused[key[1:]] = reason
                self.known[key] = (np.inf, np.inf)
        return np.array([self.known[key] for key in keys])

    def _key(self, place: Sequence[float]) -> tuple[float, ...]:
        at = (abs(float(place[0])),) if self.is_even else tuple(float(v) for v in place)
        return (float(self.context.tolerance), *at)

    def without_value(self, place: Sequence[float], low: Any = "LOW", high: Any = "HIGH") -> NoLeastValue:
        """The error for a place without a value beside which the least one may lie."""
        first, *others = self.variables
        reason = self.refused.get(self._key(place)[1:], "the formula leaves the numbers of float64")
        beside = "".join(f", {symbol} = {v:.3g}" for symbol, v in zip(others, place[1:]))
        text = (
            "the least value is not known, as there is none at {} = {}{} ({}); give bounds within which there are (--bounds "
            "{}:{}:{} on the command line)"
        )
        return NoLeastValue(text, first, float(place[0]), beside, reason, first, low, high)
