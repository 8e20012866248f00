"""What a search says where it has not seen all that it must: values that are too dear, and kernels that change beyond it."""

from __future__ import annotations

from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.minima.local import Least
from symslr.evaluation.minima.objective import Objective
from symslr.evaluation.minima.outwards import FURTHEST


def all_looked_at(objective: Objective, places: list[Any], values: Any) -> None:
    """Nothing, where the function is known at every place of a scan, or has no value there.

    log(1 + e^x) + e^(40 x - 800) is softplus at small scales, and nearly selects the largest token at large ones.

    Raises:
        CannotEvaluate: where a value is too dear: it may be the least.
    """
    found = np.isfinite(values)
    for k in sorted(np.flatnonzero(~found), key=lambda k: max(map(abs, places[k]))):
        reason = objective.too_dear(places[k])
        if not reason:
            continue
        known = sorted({place[0] for place, own in zip(places, found) if own})
        raise unknown(objective, places[k], reason, f"{known[1]:.3g}:{known[-2]:.3g}" if len(known) > 2 else "LOW:HIGH")


def unknown(objective: Objective, place: Any, reason: object, parts: str) -> CannotEvaluate:
    """What is said where the function has no value at a place that may be the lowest."""
    at = ", ".join(f"{symbol} = {x:.3g}" for symbol, x in zip(objective.variables, place))
    return CannotEvaluate(
        f"the least value is not known, as there is none at {at} ({reason}); give bounds within which there are "
        f"(--bounds {objective.variables[0]}:{parts} on the command line)"
    )


def all_reached(objective: Objective, intervals: list[tuple[float, float]], found: Least) -> None:
    """Nothing, where a search has met all that a kernel does.

    Raises:
        CannotEvaluate: where the kernel changes so far out that no scale of the search meets it.
    """
    if len(intervals) > 1 or not np.isinf(intervals[0]).any() or objective.met <= FURTHEST:
        return
    if not objective.met <= abs(float(found[2][0][0])) < np.inf:
        name = objective.variables[0]
        raise CannotEvaluate(
            f"the least value is not known: the kernel changes so far out that only {name} near {objective.met:.2g} meets it, and "
            f"values are searched up to {FURTHEST:g}; give bounds (--bounds {name}:LOW:HIGH on the command line)"
        )


def why(objective: Objective, place: list[float]) -> str:
    """What is said where there is no value."""
    try:
        objective.pair(place)
    except (CannotEvaluate, ArithmeticError) as fault:
        return f" ({fault})"
    return ""
