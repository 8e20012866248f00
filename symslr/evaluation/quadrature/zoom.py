"""The window of an outer variable: equal steps over a first guess, drawn in or out until they end around what counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from symslr.evaluation.errors import CannotEvaluate

MOST_ZOOMS = 40
"""A window grows by half its span or more at every look: 1.5^34 nats are the longest."""
LONGEST = 1e6
"""A window of log u longer than this belongs to an integral that does not converge."""

Seen = TypeVar("Seen")
Windows = list[tuple[float, float]]


def zoomed(look: Callable[[list[Any]], tuple[Any, Seen]], windows: Windows, count: int) -> tuple[Windows, Seen]:
    """The windows, and what was seen at last.

    Args:
        look: nodes of every axis to (where on their product the integrand counts, what else is to be kept).
        windows: first guesses, one for every axis.
        count: nodes of an axis.

    Raises:
        CannotEvaluate: where they do not end.
    """
    for _ in range(MOST_ZOOMS):
        nodes = [np.linspace(low, high, count) for low, high in windows]
        above, seen = look(nodes)
        found = [_relevant(above, own, n) for n, own in enumerate(nodes)]
        if all(_settled(old, new) for old, new in zip(windows, found)):
            return found, seen
        if any(high - low > LONGEST for low, high in found):
            break
        windows = found
    raise CannotEvaluate("the outer integrand decays too slowly: the integral may not converge")


def _relevant(above: Any, nodes: Any, axis: int) -> tuple[float, float]:
    """The window that holds the relevant nodes and one step around them; longer where they reach its end."""
    line = np.any(above, axis=tuple(m for m in range(above.ndim) if m != axis))
    index = np.flatnonzero(line)
    step, span = nodes[1] - nodes[0], nodes[-1] - nodes[0]
    low = nodes[0] - span / 2 if index[0] == 0 else nodes[index[0]] - step
    high = nodes[-1] + span / 2 if index[-1] == len(nodes) - 1 else nodes[index[-1]] + step
    return float(low), float(high)


def _settled(old: tuple[float, float], new: tuple[float, float]) -> bool:
    slack = 1e-9 * (old[1] - old[0])
    return old[0] <= new[0] + slack and new[1] <= old[1] + slack and new[1] - new[0] > 0.6 * (old[1] - old[0])
