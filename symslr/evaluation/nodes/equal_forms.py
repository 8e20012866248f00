"""Equal formulas as a node of the plan: the next one is asked where those before it have lost digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, final

from sympy import Expr, Symbol

from symslr.evaluation.errors import CannotEvaluate, TooDear, beside
from symslr.evaluation.nodes.node import Context, Node, Pair

POOR = 30.0
"""An error of so many tolerances, relative, is worth another formula."""


@final
class FormsNode(Node):
    """The value with the smallest error among ``forms``, which are equal; those after a good one are not evaluated."""

    def __init__(self, forms: Sequence[Node]) -> None:
        self.forms, self.axes = tuple(forms), max(form.axes for form in forms)

    def closed(self, kernel: Expr) -> FormsNode:
        return FormsNode([form.closed(kernel) for form in self.forms])

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        (value,) = self.at(context, [scope])
        return value()

    def at(self, context: Context, scopes: Sequence[Mapping[Symbol, Pair]]) -> list[Callable[[], Pair]]:
        best: list[Pair | Exception] = [CannotEvaluate("no formula gives a number")] * len(scopes)
        todo, poor = list(range(len(scopes))), POOR * context.tolerance
        if self.axes > 1 and context.enough is not None:
            poor = max(poor, context.enough)
        for form in self.forms:
            for i, get in zip(todo, form.at(context, [scopes[i] for i in todo])):
                best[i] = _better(best[i], get)
            todo = [i for i in todo if _is_poor(best[i], poor)]
            if not todo:
                break
        return [partial(_given, pair) for pair in best]


def _better(known: Pair | Exception, get: Callable[[], Pair]) -> Pair | Exception:
    try:
        value, error = get()
    except (CannotEvaluate, ArithmeticError) as fault:
        return beside(fault, known) if isinstance(known, Exception) else known
    return (value, error) if isinstance(known, Exception) or not error >= known[1] else known


def _is_poor(pair: Pair | Exception, tolerance: Any) -> bool:
    if isinstance(pair, Exception):
        return not isinstance(pair, TooDear)
    return bool(not pair[1] <= tolerance * abs(pair[0]))


def _given(pair: Pair | Exception) -> Pair:
    if isinstance(pair, Exception):
        raise pair
    return pair
