"""The least value of a node of a plan as a node: one search, whoever asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, final

import numpy as np
from sympy import Expr, Symbol

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.minima.at_infinity import limit_of_far_shift, limit_of_large_scales
from symslr.evaluation.minima.box import least_in_box, polished_in_box
from symslr.evaluation.minima.function import Function
from symslr.evaluation.minima.line import least_on_line
from symslr.evaluation.minima.polish import polished
from symslr.evaluation.minima.tokens import Attended
from symslr.evaluation.nodes.node import Context, Node, Pair
from symslr.model.symbols import x
from symslr.theory.population import PopulationRisk

STEEPEST = (100.0, 300.0)
"""The greatest slope of a posterior, without and with a selection, at which a scale is searched; it may be infinite."""
SEARCH_AGAIN = 12
"""Points of a grid of parameters between two whole searches."""
NEAR, NEAR_ZERO = 0.4, 0.05
"""A minimum continues that of the neighbouring point where it has moved by less than this part of its place, or by so much."""


@final
class MinimumNode(Node):
    """The least value of ``body`` over real ``variables``; its error is of second order in that of the place.

    Attributes:
        risk: the body as a risk, where it is one: of it more is known, its limits and what tokens see of its kernel.
        planned: from an expression to its plan.
    """

    def __init__(
        self,
        body: Node,
        variables: tuple[Symbol, ...],
        risk: PopulationRisk | None = None,
        planned: Callable[[Expr], Node] | None = None,
    ) -> None:
        self.body, self.variables, self.risk, self.planned = body, variables, risk, planned
        along_scale = risk is not None and variables == (risk.args[0].args[4],)
        self.attended = Attended.of(risk) if risk is not None and along_scale else Attended()
        self.is_even = (
            self.attended.kernel is not None and self.attended.kernel.xreplace({x: -x}) == self.attended.kernel
        )

    def closed(self, kernel: Expr) -> MinimumNode:
        return MinimumNode(self.body.closed(kernel), self.variables)

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        value, error, _, _ = self.minimum(context, scope, {})
        return value, error

    def minimum(
        self,
        context: Context,
        scope: Mapping[Symbol, Pair],
        bounds: Mapping[Symbol, tuple[float, float]],
        start: list[float] | None = None,
    ) -> tuple[Any, Any, dict[Symbol, Pair], str]:
        """(least value, its error, {variable: (place, error)}, where it was sought in words).

        Args:
            start: a place near which a minimum is sought; nothing else is searched.
        """
        intervals = [bounds.get(s, (-np.inf, np.inf)) for s in self.variables]
        f = Function(self.body, self.variables, context, scope, self.is_even, self.risk is not None)
        last = (0, start) if context.continuations is None else context.continuations.get(self, (0, start))
        with np.errstate(all="ignore"):
            value, error, places, said = self._continued(f, intervals, *last) or self._whole(f, intervals)
        if context.continuations is not None:
            at = [float(p) for p, doubt in places if np.isfinite(float(p)) and np.isfinite(float(doubt))]
            context.continuations[self] = (
                (0 if said else last[0] + 1, at) if len(at) == len(places) and last[0] < SEARCH_AGAIN else (0, None)
            )
        return value, error, dict(zip(self.variables, places)), said

    def _continued(
        self, f: Function, intervals: list[tuple[float, float]], count: int, start: list[float] | None
    ) -> tuple[Any, Any, list[Pair], str] | None:
        """The minimum near a place; None where there is none."""
        if start is None or any(not low < at < high for at, (low, high) in zip(start, intervals)):
            return None
        with suppress(CannotEvaluate):
            found = polished(f, start[0], max(abs(start[0]), 1e-3)) if len(start) == 1 else polished_in_box(f, start)
            moved = [abs(float(at) - old) for (at, _), old in zip(found[2], start)]
            if all(by <= NEAR * abs(old) + NEAR_ZERO for by, old in zip(moved, start)):
                return *found, ""
        return None

    def _whole(self, f: Function, intervals: list[tuple[float, float]]) -> tuple[Any, Any, list[Pair], str]:
        if len(intervals) > 1:
            return least_in_box(f, intervals, lambda: self._at_far_shift(f))
        numbers = {s: float(p[0]) for s, p in f.scope.items() if isinstance(p, tuple)}
        steepness, law = self.attended.steepness(numbers), self.attended.law
        most = STEEPEST[law is not None and law.is_selection]
        if steepness > most:
            raise CannotEvaluate(
                f"least values at a posterior as steep as {steepness:.3g} are not searched for; expected a slope (nu of max-SLR, "
                f"sqrt(nu) of spiked-SLR) of at most {most:.0f}, or oo"
            )
        return least_on_line(f, intervals[0], self.attended.view(numbers), steepness, lambda side: self._limit(f, side))

    def _limit(self, f: Function, side: int) -> Pair | None:
        """The limit as the scale goes to plus or minus infinity, where it is known and has a value."""
        found = (
            limit_of_large_scales(self.risk, side)
            if self.attended.kernel is not None and self.risk is not None
            else None
        )
        if found is None or self.planned is None:
            return None
        with suppress(CannotEvaluate, ArithmeticError, ValueError):
            return self.planned(found).evaluate(f.context, f.scope)
        return None

    def _at_far_shift(self, f: Function) -> tuple[Pair, list[float]] | None:
        """The least risk of the exponential kernel that another one tends to, and the places of its scale and shift."""
        found = None if self.risk is None else limit_of_far_shift(self.risk, self.variables)
        if found is None or self.planned is None:
            return None
        risk, shift = found
        scale = next(s for s in self.variables if s != shift)
        least = MinimumNode(self.planned(risk), (scale,), risk, self.planned)
        value, error, _, _ = least.minimum(f.context, f.scope, {})
        return (value, error), [-np.inf if s == shift else 0.0 for s in self.variables]
