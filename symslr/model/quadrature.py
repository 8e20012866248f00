"""The integral of a function of one variable in float64, from panels that halve until two rules agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

ORDER = 16
"""Nodes of the Gauss-Legendre rule on a panel; the same rule on its two halves tells its error."""

HALVINGS = 10
"""Of a panel; what does not settle then, as beside an end where the integrand is infinite, is left to extrapolation."""

SETTLED = 1e-13
"""Difference of the two rules, over the whole or over 1, from which on a panel is left as it is."""

MOST_OPEN, MOST_LEFT, NOISE = 1024, 64, 4.0
"""Panels that are halved, and those that are left to extrapolation; more are an integrand whose rounding is seen, and so many of
their differences are its error."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(ORDER)


@dataclass(frozen=True)
class Part:
    """An integral with its error, and where on the nodes the integrand was negative."""

    value: float
    error: float
    negative: np.ndarray


def integrated(function: Callable[[np.ndarray], np.ndarray], edges: np.ndarray) -> Part:
    """The integral of a function of an array from the first edge to the last, cut at the others; the outer two may be infinite.

    Neither is a number where the function is none.
    """
    inner = edges[np.isfinite(edges)]
    low, high = inner[:-1], inner[1:]
    negative: list[np.ndarray] = []

    def rule(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        half = (high - low)[:, None] / 2
        at = (low + high)[:, None] / 2 + half * _NODES
        values = function(at.ravel()).reshape(at.shape)
        negative.append(at[values < 0])
        return (values * half) @ _WEIGHTS

    value = error = 0.0
    left: list[tuple[float, float]] = [(a, b) for a, b in pairwise(edges.tolist()) if np.isinf(a) or np.isinf(b)]
    whole = rule(low, high)
    scale = max(1.0, float(np.nansum(np.abs(whole))))
    for level in range(HALVINGS + 1):
        middle = (low + high) / 2
        halves = np.array([rule(low, middle), rule(middle, high)])
        apart = np.abs(halves.sum(axis=0) - whole)
        open_ = ~(apart <= SETTLED * scale)
        value += float(np.sum(halves[:, ~open_]))
        error += float(np.sum(apart[~open_]))
        if level == HALVINGS or np.count_nonzero(open_) > MOST_OPEN:
            if np.count_nonzero(open_) <= MOST_LEFT:
                left += zip(low[open_].tolist(), high[open_].tolist())
            else:  # rounding, which no rule takes away
                value += float(np.sum(halves[:, open_]))
                error += NOISE * float(np.sum(apart[open_]))
            break
        whole = halves[:, open_].ravel()
        low, high = np.concatenate([low[open_], middle[open_]]), np.concatenate([middle[open_], high[open_]])
        if not len(low):
            break
    from scipy.integrate import quad

    for ends in left:
        tail = [abs(end) for end in ends if np.isfinite(end) and any(map(np.isinf, ends))]
        unit = max(tail, default=0.0) or 1.0  # a tail is as wide as its end is far

        def scaled(at: float, unit: float = unit) -> float:
            return unit * float(function(np.array([unit * at]))[0])

        piece, off = quad(scaled, ends[0] / unit, ends[1] / unit, limit=300, epsabs=SETTLED, epsrel=1e-12)[:2]
        value, error = value + piece, error + off
    return Part(value, error, np.concatenate(negative))
