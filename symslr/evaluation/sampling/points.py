"""Randomised uniform points of low discrepancy; the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy

SOBOL_DIMENSIONS = 2000
"""In more dimensions low-discrepancy points are no better than random ones."""
BLOCK = 2**21
"""Coordinates computed at once."""
HALF_CELL = 2.0**-33
"""Half the spacing of the points' 32-bit lattice: a point at 0 or 1, where quantiles are infinite, is moved so far inside."""


def uniforms(width: int, size: int, seed: int) -> Iterator[Any]:
    """``size`` uniform points in batches (n, width): scrambled Sobol points, or random ones in more than ``SOBOL_DIMENSIONS``."""
    random = np.random.default_rng(seed)
    sobol = scipy.stats.qmc.Sobol(width, scramble=True, rng=random) if width <= SOBOL_DIMENSIONS else None
    done = 0
    while done < size:
        count = 1 << max(0, min(size - done, BLOCK // width).bit_length() - 1)
        found = random.random((count, width)) if sobol is None else sobol.random(count)
        yield np.clip(found, HALF_CELL, 1 - HALF_CELL)
        done += count


def normal_points(count: int, dimensions: int, seed: int) -> Any:
    """Standard normals (dimensions, count) by quantiles of such points; every seed gives an independent scrambling.

    Raises:
        ValueError: when the count is no power of two.
    """
    if count < 2 or count & (count - 1):
        raise ValueError(f"points: found {count}; expected a power of two, such as 4096")
    return scipy.special.ndtri(np.ascontiguousarray(np.concatenate(list(uniforms(dimensions, count, seed))).T))


def sub_seed(seed: int, *numbers: int) -> int:
    """A seed of its own for every tuple of numbers, as of a randomisation, a size and a length; the same on every machine."""
    return int(np.random.SeedSequence([seed, *numbers]).generate_state(1)[0])
