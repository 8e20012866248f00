"""The networks of several marked columns on the real matrices, over all sign matrices or random ones: no formula of the theory."""

from __future__ import annotations

from itertools import product

import numpy as np
from sympy import Expr

from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, Separation
from symslr.simulate.log_domain import Array
from symslr.simulate.separation import attention, data_matrix, threshold


def columns_matrix(parameters: Separation, columns: int, column: int, which: int) -> Array:
    """A in R^{n x (D + s + 1)} with the mark of D0 or D1 of row 0 in a column counted from 0; self-attention."""
    plain = data_matrix(parameters, parameters.queries(which), 0)
    marks = np.zeros((parameters.n, columns))
    marks[:, column] = plain[:, 0]
    return np.hstack([marks, plain[:, 1:]])


def columns_separated(
    parameters: Separation,
    columns: int,
    weights: Array,
    kernel: Expr = SOFTMAX_KERNEL,
    rival: Expr = LINEAR_KERNEL,
) -> Array:
    """For sign matrices (..., D + s + 1, m): whether every output is right on all 2 s data sets and the rival's are 0."""
    groups = [
        np.all(weights[..., :columns, :] == np.where(np.arange(columns) == g, 1.0, -1.0)[:, None], axis=-2)
        for g in range(columns)
    ]
    success = np.ones(weights.shape[:-2], dtype=bool)
    for column, which, of in product(range(columns), (0, 1), (kernel, rival)):
        matrix = columns_matrix(parameters, columns, column, which)
        seen = attention(matrix, matrix, matrix, of, float(parameters.beta))
        pushed = np.maximum(seen @ weights - threshold(parameters), 0.0).sum(axis=-2)
        for g, group in enumerate(groups):
            output = np.maximum((pushed * group).sum(axis=-1), 0.0)
            success &= (output > 0) == (of == kernel and which == 1 and g == column)
    return success


def columns_frequency(parameters: Separation, columns: int, size: int, seed: int) -> tuple[int, int]:
    """(successes, networks) of random sign matrices."""
    rng = np.random.default_rng(seed)
    shape = (size, parameters.d + columns - 1, parameters.m)
    return int(columns_separated(parameters, columns, rng.choice((-1.0, 1.0), size=shape)).sum()), size


def columns_exhaustive(parameters: Separation, columns: int, kernel: Expr = SOFTMAX_KERNEL) -> tuple[int, int]:
    """(successes, weight matrices) over all sign matrices.

    Raises:
        ValueError: for more than 2**18 matrices.
    """
    bits = (parameters.d + columns - 1) * parameters.m
    if bits > 18:
        raise ValueError(f"d*m: found {bits} signs; expected at most 18 to try them all")
    signs = np.array(list(product((-1.0, 1.0), repeat=bits))).reshape(-1, parameters.d + columns - 1, parameters.m)
    return int(columns_separated(parameters, columns, signs, kernel).sum()), len(signs)
