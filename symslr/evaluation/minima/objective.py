"""A node of the plan as a function of some of its parameters, which a search calls in float64 or at any precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sympy import Symbol

from symslr.evaluation.errors import CannotEvaluate, TooDear
from symslr.evaluation.nodes.node import Context, Node, Pair
from symslr.evaluation.numbers.arithmetic import FLOAT

SECOND_DIFFERENCE = 1e-11
"""Tolerance at which mixed second differences over small steps mean something."""
STRICT = 1e-12
"""The tolerance at which a value is sought where a higher one gave none."""
POOR = 1e-6
"""Relative error above which a value may not count as lower than another."""


@dataclass(frozen=True)
class Objective:
    """A node as a function of some of its parameters."""

    node: Node
    variables: tuple[Symbol, ...]
    context: Context
    scope: Mapping[Symbol, Pair]

    @property
    def searching(self) -> Objective:
        """The same function for divided differences: over several variables it is held to more digits."""
        tolerance = self.context.tolerance
        if len(self.variables) > 1:
            tolerance = min(tolerance, SECOND_DIFFERENCE)
        return replace(self, context=replace(self.context, tolerance=tolerance))

    def pair(self, place: Any) -> Pair:
        """(value, error) at a place."""
        return self.node.evaluate(self.context, self.scope_at(place))

    def scope_at(self, place: Any) -> dict[Symbol, Pair]:
        """All parameters, with the variables at a place."""
        zero = self.context.arithmetic.number(0)
        return {**self.scope, **{s: (v, zero) for s, v in zip(self.variables, place)}}

    def rough(self, tolerance: float) -> Objective:
        """The same function in float64 at low accuracy."""
        scope = {s: (float(p[0]), float(p[1])) if isinstance(p, tuple) else p for s, p in self.scope.items()}
        return replace(self, context=Context(FLOAT, tolerance), scope=scope)

    def number(self, place: Any) -> float:
        """The float64 value, infinite where there is none; where it has lost its digits, the most that it may be."""
        for objective in (self, self.rough(STRICT)) if self.context.tolerance > STRICT else (self,):
            try:
                value, error = (float(part) for part in objective.pair([float(v) for v in place]))
            except TooDear:
                return np.inf  # for more digits it would be dearer
            except (CannotEvaluate, OverflowError, ZeroDivisionError, FloatingPointError):
                # Meshes that are laid out for few digits may miss what they need to be laid out at all.
                continue
            break
        else:
            return np.inf
        value = value if error < POOR * abs(value) else value + error
        return value if np.isfinite(value) else np.inf
