"""Does an integral of one variable diverge? Told where an integrand falls no faster than 1/|x| as far as floats reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

DOUBLINGS = np.array([*range(-8, 24), 32, 64, 128, 256, 512, 1000], dtype=float)
"""Powers of two of the distance from an end of the interval, or of its inverse, at which the integrand is looked at."""

LAST = 16
"""Places in a row, the last before floats overflow, at which the integrand has one sign and its size times |x| never falls."""

ROUNDING = 1e-9
"""In the logarithms of sizes."""


def diverges(integrand: Callable[[Any], Any], lower: float | None, upper: float | None) -> bool:
    """Whether an integral is seen to diverge at an end: at infinity, or at 0 where the interval ends there.

    Where the integrand overflows, its integral is only seen to be beyond what floats hold.

    Args:
        integrand: of an array of places, with its density.
        lower, upper: None where the interval has no end.
    """
    return any(_never_falls(np.asarray(integrand(places), dtype=float), places) for places in _ways(lower, upper))


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
    with np.errstate(all="ignore"):
        sizes = np.log(np.abs(values)) + np.log(np.abs(places))
    beyond = np.flatnonzero(~np.isfinite(sizes))
    end = int(beyond[0]) if len(beyond) else len(values)
    # a number that is none says nothing of what lies behind it, and 0 says that the integrand falls
    if end < LAST or (end < len(values) and not np.isinf(values[end])):
        return False
    last, signs = sizes[end - LAST : end], np.sign(values[end - LAST : end])
    return bool(np.all(signs == signs[0]) and np.all(np.diff(last) >= -ROUNDING))
