"""Randomised quasi-Monte Carlo: scrambled Sobol points as standard normals, the same for every value of a parameter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc

Array = NDArray[np.float64]


def normal_points(count: int, dimensions: int, seed: int) -> Array:
    """Standard normals, shape (dimensions, count): one independent scrambling per seed.

    Args:
        count: a power of two.
        dimensions: L = 10 asks for at most 32; Sobol's coordinates are well distributed far beyond that.

    Raises:
        ValueError: when the count is no power of two.
    """
    if count < 2 or count & (count - 1):
        raise ValueError(f"points: found {count}; expected a power of two, such as 4096")
    sobol = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(seed))
    # Half a cell of the 32-bit lattice away from 0, where the normal quantile is infinite.
    points = np.clip(sobol.random(count), 2.0**-33, 1 - 2.0**-33)
    return np.asarray(ndtri(np.ascontiguousarray(points.T)))


def sub_seed(seed: int, *numbers: int) -> int:
    """Its own scrambling for every randomisation, size and length; the same on every machine."""
    return int(np.random.SeedSequence([seed, *numbers]).generate_state(1)[0])
