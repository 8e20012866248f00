"""A minimum on a line where Newton steps fail: flat to a high order, or with a kink. Golden section, in any arithmetic."""

from __future__ import annotations

from typing import Any

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.minima.objective import Objective
from symslr.evaluation.nodes.node import Pair

GOLDEN = 0.6180339887498949
REACH = 0.05
"""Half the first bracket, relative to the place."""
WIDENINGS = 4
MOST = 300
"""Steps of the search: each takes a fifth of a digit off the bracket."""


def bracketed(objective: Objective, start: float) -> tuple[Any, Any, list[Pair]]:
    """(value, error, [(place, error)]): the bracket shrinks until the function is level on it within its own error.

    Raises:
        CannotEvaluate: where the function does not rise on both sides of the start.
    """
    searching = objective.searching
    number = searching.context.arithmetic.number
    low, middle, high = _bracket(searching, start)
    for _ in range(MOST):
        rise = max(low[1], high[1]) - middle[1]
        if rise <= middle[2] + number(searching.context.tolerance) * abs(middle[1]) / 10:
            value, error = objective.pair([middle[0]])
            return value, error + abs(rise), [(middle[0], high[0] - low[0])]
        longer = low if middle[0] - low[0] > high[0] - middle[0] else high
        tried = _at(searching, middle[0] + (longer[0] - middle[0]) * number(1 - GOLDEN))
        if tried[1] < middle[1]:
            inner, middle = middle, tried
            low, high = (low, inner) if longer is low else (inner, high)
        else:
            low, high = (tried, high) if longer is low else (low, tried)
    raise CannotEvaluate("the minimum could not be refined: the function is neither smooth nor level there")


def _at(objective: Objective, place: Any) -> tuple[Any, Any, Any]:
    """(place, value, error)."""
    return (place, *objective.pair([place]))


def _bracket(objective: Objective, start: float) -> tuple[Any, Any, Any]:
    number = objective.context.arithmetic.number
    middle = _at(objective, number(start))
    reach = number(REACH * max(abs(start), 0.1))
    for _ in range(WIDENINGS):
        low, high = _at(objective, middle[0] - reach), _at(objective, middle[0] + reach)
        if min(low[1] + low[2], high[1] + high[2]) >= middle[1] - middle[2]:
            return low, middle, high
        middle = min(low, high, key=lambda point: point[1])
    raise CannotEvaluate("the minimum could not be refined: the function falls on beside it")
