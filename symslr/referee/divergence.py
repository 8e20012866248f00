"""Does an integral of one variable diverge? Told where an integrand falls no faster than 1/|x| as far as floats reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

DOUBLINGS = np.array([*np.arange(-16, 24, 0.25), 32, 64, 120])
"""Powers of two of the distance from an end of the interval, or of its inverse, at which the integrand is looked at: close enough
to see it between where a factor overflows and where a density is 0, and no further than powers of it can be told."""

LAST = 32
"""Places in a row, the last ones seen, at which the integrand has one sign and its size times |x| never falls: a factor 256."""

ROUNDING = 1e-9
"""In the logarithms of sizes."""

BEYOND = 1e100
"""An integrand that has not fallen before it overflows has an integral of this size at least, where it is this large itself."""


def diverges(integrand: Callable[[Any], Any], lower: float | None, upper: float | None) -> bool:
    """Whether an integral is seen to diverge at an end, at infinity or at 0, or else to be larger than ``BEYOND``.

    Args:
        integrand: of an array of places, with its density.
        lower, upper: None where the interval has no end.
    """
    return any(_never_falls(np.asarray(integrand(places)), places) for places in _ways(lower, upper))


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


def _never_falls(values: np.ndarray, places: np.ndarray) -> bool:
    values = np.broadcast_to(values, places.shape)
    with np.errstate(all="ignore"):
        sizes = np.log(np.abs(values)) + np.log(np.abs(places))
    unseen = np.flatnonzero(~np.isfinite(sizes))
    end = int(unseen[0]) if len(unseen) else len(values)
    if end < LAST:
        return False
    # what is no number tells nothing of what lies behind it, and 0 is a fall
    if end < len(values) and not (np.isinf(values[end]) and sizes[end - 1] > np.log(BEYOND)):
        return False
    last, signs = sizes[end - LAST : end], np.sign(values[end - LAST : end])
    return bool(np.all(signs == signs[0]) and np.all(np.diff(last) >= -ROUNDING))
