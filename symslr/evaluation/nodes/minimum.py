"""min over one or several real variables of a node: a scan over both signs and many scales, then refinement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from sympy import Expr, Symbol

from symslr.evaluation.minima.objective import Objective
from symslr.evaluation.minima.search import Continuation, least
from symslr.evaluation.nodes.node import Context, Node, Pair


@final
class MinimumNode(Node):
    """The least value of ``body`` over real ``variables``; the error is of second order in the place."""

    def __init__(self, body: Node, variables: tuple[Symbol, ...]) -> None:
        self.body, self.variables = body, variables

    def closed(self, kernel: Expr) -> MinimumNode:
        return MinimumNode(self.body.closed(kernel), self.variables)

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
        value, error, place = least(Objective(self.body, self.variables, context, scope), intervals, continuation)
        return value, error, dict(zip(self.variables, place))
