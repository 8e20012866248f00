"""min over one or several real variables of a node: a scan over both signs and many scales, then refinement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from sympy import Expr, Symbol

from symslr.evaluation.minima.features import NOTHING, Attended
from symslr.evaluation.minima.objective import Objective
from symslr.evaluation.minima.search import Continuation, least
from symslr.evaluation.nodes.node import Context, Node, Pair


@final
class MinimumNode(Node):
    """The least value of ``body`` over real ``variables``; the error is of second order in the place.

    A search goes as far out as what is ``attended`` to changes.
    """

    def __init__(self, body: Node, variables: tuple[Symbol, ...], attended: Attended = NOTHING) -> None:
        self.body, self.variables, self.attended = body, variables, attended

    def closed(self, kernel: Expr) -> MinimumNode:
        return MinimumNode(self.body.closed(kernel), self.variables, self.attended)

    def beside(self, attended: Attended) -> MinimumNode:
        """The same minimum with what it attends to."""
        return MinimumNode(self.body, self.variables, attended)

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        value, error, _ = self.minimum(context, scope, {})
        return value, error

    def minimum(
        self,
        context: Context,
        scope: Mapping[Symbol, Pair],
        bounds: Mapping[Symbol, tuple[float, float]],
        start: list[float] | None = None,
    ) -> tuple[Any, Any, dict[Symbol, Pair]]:
        """(least value, its error, {variable: (place, error)}); that beside ``start`` where there is one."""
        intervals = [bounds.get(s, (-float("inf"), float("inf"))) for s in self.variables]
        if context.continuations is None:
            continuation = None if start is None else Continuation(start)
        else:
            continuation = context.continuations.setdefault(self, Continuation())
        met = self.attended.met({s: float(p[0]) for s, p in scope.items() if isinstance(p, tuple)})
        objective = Objective(self.body, self.variables, context, scope, met=met)
        value, error, place = least(objective, intervals, continuation)
        return value, error, dict(zip(self.variables, place))
