"""The real networks on the real matrices: data sets, attention, four layers, and Monte Carlo over the random weights.

Everything is computed from the definition in float64, with no formula of the theory.

Source: arXiv 2310.11685, sections 1.1, 3.3 and 6 (the block layout is reconstructed).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from sympy import Expr, lambdify

from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, Marks, Separation
from symslr.model.symbols import x
from symslr.simulate.estimate import Estimate, RunningMean
from symslr.simulate.log_domain import Array

NUMBERS_PER_BATCH = 2_000_000


def data_matrix(parameters: Separation, marks: Marks, row: int) -> Array:
    """A in R^{n x d} with the mark in ``row`` (counted from 0)."""
    n, classes = parameters.n, parameters.classes
    matrix = np.zeros((n, parameters.d))
    matrix[row, 0] = float(marks.a)
    matrix[np.arange(n), 1 + np.arange(n) % classes] = float(marks.b)
    matrix[:, -1] = float(marks.c)
    return np.sqrt(np.log(n)) * matrix


def attention(queries: Array, keys: Array, values: Array, kernel: Expr, beta: float) -> Array:
    """f^T A3 for every row, (n, d): u = kernel(beta A1 A2^T), f = u / <u, 1>."""
    weights = _on_arrays(kernel)(beta * queries @ keys.T)
    return (weights / weights.sum(axis=1, keepdims=True)) @ values


def tensor_attention(first: Array, second: Array, values: Array, kernel: Expr, interaction: Array) -> Array:
    """The same as the paper writes it: row i is u_i = kernel(A_i vec X), where A_i is block i of A = A1 (x) A2.

    A has the shape (n^2, d^2), the block A_i its rows (i-1) n + 1, ..., i n, and X the shape (d, d).

    Source: arXiv 2310.11685, section 3.3.
    """
    rows = len(first)
    product = np.kron(first, second) @ interaction.reshape(-1)
    weights = _on_arrays(kernel)(product.reshape(rows, len(second)))
    return (weights / weights.sum(axis=1, keepdims=True)) @ values


def attention_on(parameters: Separation, kernel: Expr, which: int, row: int) -> Array:
    """Output (n, d) of the attention on the matrix of D0 or D1 whose mark is in ``row``."""
    queries = data_matrix(parameters, parameters.queries(which), row)
    keys = data_matrix(parameters, parameters.values(which), row)
    return attention(queries, keys, keys, kernel, float(parameters.beta))


def network(outputs: Array, weights: Array, threshold: float) -> Array:
    """F = relu(sum over rows and neurons of relu(output . w - tau)); weights (..., d, m), result (...)."""
    return np.maximum(np.maximum(outputs @ weights - threshold, 0.0).sum(axis=(-2, -1)), 0.0)


def threshold(parameters: Separation) -> float:
    """tau = (c + margin) sqrt(log n)."""
    return float(parameters.values(1).c + parameters.margin) * float(np.sqrt(np.log(parameters.n)))


def separates(
    parameters: Separation,
    weights: Array,
    rows: Iterable[int] = (0,),
    kernel: Expr = SOFTMAX_KERNEL,
    rival: Expr = LINEAR_KERNEL,
) -> Array:
    """For weights (..., d, m): F > 0 on D1, F = 0 on D0 and the rival's F = 0 on both, at every marked row."""
    tau = threshold(parameters)
    success = np.ones(weights.shape[:-2], dtype=bool)
    for row in rows:
        for of, which, fires in ((kernel, 1, True), (kernel, 0, False), (rival, 0, False), (rival, 1, False)):
            success &= (network(attention_on(parameters, of, which, row), weights, tau) > 0) == fires
    return success


def separation_frequency(
    parameters: Separation,
    size: int,
    seed: int,
    *,
    all_rows: bool = False,
    kernel: Expr = SOFTMAX_KERNEL,
    rival: Expr = LINEAR_KERNEL,
) -> Estimate:
    """How often networks with fresh random signs separate the data sets, for the marked row 0 or for all rows at once.

    Raises:
        ValueError: when size < 2.
    """
    rng = np.random.default_rng(seed)
    rows = range(parameters.n) if all_rows else (0,)
    batch = max(1, NUMBERS_PER_BATCH // (parameters.n * parameters.m))
    mean = RunningMean()
    while mean.size < size:
        count = min(batch, size - mean.size)
        weights = rng.choice((-1.0, 1.0), size=(count, parameters.d, parameters.m))
        mean.add(separates(parameters, weights, rows, kernel, rival).astype(float), np.ones(count))
    return mean.estimate(seed, "networks on matrices")


def exhaustive_success(
    parameters: Separation,
    rows: Iterable[int] = (0,),
    kernel: Expr = SOFTMAX_KERNEL,
    rival: Expr = LINEAR_KERNEL,
) -> tuple[int, int]:
    """(successes, weight matrices) over all 2**(d m) sign matrices.

    Raises:
        ValueError: for more than 2**20 matrices.
    """
    bits = parameters.d * parameters.m
    if bits > 20:
        raise ValueError(f"d*m: found {bits} signs; expected at most 20 to try them all")
    every = np.arange(2**bits)[:, None] >> np.arange(bits)[::-1] & 1
    signs = np.where(every, 1.0, -1.0).reshape(-1, parameters.d, parameters.m)
    success = separates(parameters, signs, rows, kernel, rival)
    return int(success.sum()), len(success)


def _on_arrays(kernel: Expr) -> Callable[[Array], Array]:
    return lambdify(x, kernel, ["numpy", "scipy"])
