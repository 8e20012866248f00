"""Detects divergent integrals of one variable: growth beyond any power, or decay no faster than 1/|x|."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

DOUBLINGS = np.array([*np.arange(-16, 24, 0.25), 32, 64, 120, 180, 250])
"""Powers of two of the distance from an end of the interval, or of its inverse, at which the integrand is looked at: close enough
to see it between where a factor overflows and where a density is 0, and as far as the fourth power is a float."""

LAST = 16
"""Places in a row, the last ones seen, at which the integrand has one sign and its size times |x| never falls."""

ROUNDING = 1e-12
"""Of the logarithms of sizes, which are below 200."""

STEADY = 1e-9
"""Change of the power of x, over the last places, from where on it is none: logarithms may win or lose further out."""


def diverging_tail(integrand: Callable[[Any], Any], lower: float | None, upper: float | None) -> float | None:
    """What an integral that diverges grows like, at infinity or at 0; None where it is not seen to diverge.

    That is the logarithm of the integrand's size times |x| at the last place; infinite where the integrand grows exponentially, and
    ever faster, until it overflows. The same in two arithmetics shows that it is no rounding of a constant that is 0.

    Args:
        integrand: of an array of places, with its density.
        lower, upper: None where the interval has no end.
    """
    for places in _ways(lower, upper):
        found = _tail(np.broadcast_to(np.asarray(integrand(places)), places.shape), places)
        if found is not None:
            return found
    return None


def _ways(lower: float | None, upper: float | None) -> Iterator[np.ndarray]:
    """Places on the way to every end."""
    distance = 2.0**DOUBLINGS
    if upper is None:
        yield (lower or 0.0) + distance
    if lower is None:
        yield (upper or 0.0) - distance
    if lower == 0:
        yield 1 / distance
    if upper == 0:
        yield -1 / distance


def _tail(values: np.ndarray, places: np.ndarray) -> float | None:
    with np.errstate(all="ignore"):
        logs = np.log(np.abs(values))
        sizes = logs + np.log(np.abs(places))
    unseen = np.flatnonzero(~np.isfinite(sizes))
    end = int(unseen[0]) if len(unseen) else len(values)
    if end < LAST:
        return None
    last = slice(end - LAST, end)
    if np.any(np.sign(values[last]) != np.sign(values[end - 1])) or np.any(np.diff(sizes[last]) < -ROUNDING):
        return None
    if end < len(values):  # what is no number tells nothing of what lies behind it, and 0 is a fall
        rates = np.diff(logs[last]) / np.diff(np.abs(places[last]))
        return float("inf") if np.isinf(values[end]) and np.all(np.diff(rates) >= -STEADY * rates[1:]) else None
    powers = np.diff(sizes[last]) / np.abs(np.diff(np.log(np.abs(places[last]))))
    return float(sizes[-1]) if abs(powers[-1] - powers[-2]) < STEADY else None
