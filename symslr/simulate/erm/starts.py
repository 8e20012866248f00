"""Named starting points of an optimiser, since the minimum it finds may depend on them."""

from __future__ import annotations

import numpy as np

from symslr.simulate.erm.data import TrainingSet
from symslr.simulate.log_domain import Array

SMALL = 0.1
"""Standard deviation of the entries of a random start: |k|/sqrt(D), |v|/sqrt(D) near 0.1."""

NAMES = ("informed", "random")

Start = str | Array


def start_vector(start: Start, data: TrainingSet, seed: int) -> Array:
    """(k, v) laid end to end, shape (2D,).

    Args:
        start: ``"informed"``, k = k* and v = v*; ``"random"``, entries N(0, SMALL^2) from the seed; or an array of
            shape (2, D) or (2D,).

    Raises:
        ValueError: for another name or shape, or an informed start where k*, v* are not known.
    """
    dimension = data.dimension
    if isinstance(start, str):
        if start == "random":
            return SMALL * np.random.default_rng(seed).standard_normal(2 * dimension)
        if start != "informed":
            raise ValueError(f"start: found {start!r}; expected {', '.join(NAMES)} or an array of shape (2, D)")
        if data.k_star is None or data.v_star is None:
            raise ValueError("start: found 'informed' where k* and v* are not known; expected 'random' or an array")
        return np.concatenate([data.k_star, data.v_star])
    weights = np.asarray(start, dtype=np.float64)
    if weights.size != 2 * dimension or weights.shape not in ((2, dimension), (2 * dimension,)):
        raise ValueError(f"start: found shape {weights.shape}; expected (2, {dimension}), the rows k and v")
    if not np.all(np.isfinite(weights)):
        raise ValueError("start: found an entry that is not finite; expected real numbers")
    return weights.ravel().copy()


def start_name(start: Start) -> str:
    """What a start is called in a record."""
    return start if isinstance(start, str) else "given"
