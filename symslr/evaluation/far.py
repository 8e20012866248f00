"""The value that a function approaches as its one variable grows without bound or vanishes: Richardson's extrapolation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.objective import Objective

SPAN = 6
"""Doublings of the variable, at most."""
FEWEST = 4
"""Values that a table of differences needs."""
LOWEST = (1, 2)
"""Powers with which the series may begin: 2 where the kernel's limit is approached faster than by 1/a, as by softplus."""
SETTLED = 1e-10
"""Relative error of the limit from where on no further doubling is needed."""
USEFUL = 1e-4
"""Relative error of the limit above which there is none."""


@dataclass(frozen=True)
class Limit:
    """A value approached, with its error, as the variable goes to ``place``: 0, oo or -oo.

    ``level`` says that the function does not depend on the variable's size, as with the kernel relu(a x) = a relu(x).
    """

    value: float
    error: float
    place: float
    level: bool


def limit(objective: Objective, start: float, factor: float) -> Limit:
    """The limit of the values at start, start factor, start factor^2, ..., factor 2 or 1/2.

    An attention whose kernel has a limit of its own, such as log(1 + e^(a x))/a -> relu(x), has a risk that is a series in
    1/a. Its terms are eliminated one after another; the claimed error is the whole change that the last value made, of which
    the next value would make a fraction again.

    Raises:
        CannotEvaluate: where the values cannot be had far enough, or do not settle.
    """
    place = float(np.sign(start)) * np.inf if factor > 1 else 0.0
    values: list[float] = []
    error, found = 0.0, None
    for k in range(SPAN + 1):
        try:
            value, own = (float(part) for part in objective.pair([start * factor**k]))
        except (CannotEvaluate, OverflowError, ZeroDivisionError, FloatingPointError):
            break
        if not np.isfinite(value):
            break
        values.append(value)
        # A table of any order enlarges errors of the values by less than prod (2^p + 1)/(2^p - 1) < 9.
        error = max(error, 9.0 * own)
        if k + 1 < FEWEST:
            continue
        level = all(abs(other - value) <= error for other in values)
        for first in LOWEST:
            before, last = extrapolated(values[:-1], first), extrapolated(values, first)
            if found is None or abs(last - before) + error < found.error:
                found = Limit(last, abs(last - before) + error, place, level)
        if found is not None and (level or found.error <= SETTLED * abs(found.value)):
            break
    if found is None or not found.error <= USEFUL * abs(found.value):
        raise CannotEvaluate(f"the values from {start:.3g} on do not settle as the variable goes to {place:g}")
    return found


def extrapolated(values: list[float], first: int) -> float:
    """The end of Richardson's table for v(h), v(h/2), v(h/4), ... = v + c_first h^first + c_(first+1) h^(first+1) + ..."""
    column = values
    for power in range(first, first + len(values) - 1):
        column = [b + (b - a) / (2.0**power - 1.0) for a, b in pairwise(column)]
    return column[-1]
