"""Integrals over a Laplace variable: sums of equal steps in log u, upwards until nothing is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate

BLOCK = 24
"""Values of log u at once."""
HIGHEST = 3000.0
"""log u by which an integral has to end."""
LOWEST = -42.0
"""log u below which a sum of weights that is 1 on average takes less than 1e-18."""


def over_log_u(
    integrand: Callable[[Any], tuple[Any, Any]],
    step: float,
    lowest: float,
    least: float,
    block: int = BLOCK,
    highest: float = HIGHEST,
) -> Any:
    """The integrals over log u of positive functions, (k,), by the trapezoid rule.

    Args:
        integrand: of log u, (n,), to the sums over them of every function, (k,), and what is left of each beyond the last of
            them, at most. The parts themselves say that only of what falls from there on; E e^{-uN} says it of any E e^{-uN} X,
            X <= N, even of a kernel of two sizes, between which an integrand vanishes.
        step, lowest: of log u, and its first value.
        least: share of an integral that may be left.
        block: nodes at once.
        highest: log u by which it has to end.

    Raises:
        CannotEvaluate: where they do not end.
    """
    number = int(np.floor(lowest / step))
    totals: Any = 0.0
    while number * step < highest:
        parts, left = integrand(step * np.arange(number, number + block))
        totals = totals + step * np.asarray(parts)
        if np.any(totals > 0) and np.all(np.asarray(left) <= least * totals):
            return totals
        number += block
    raise CannotEvaluate("the Laplace integral has no end; the kernel may vanish on part of the line")
