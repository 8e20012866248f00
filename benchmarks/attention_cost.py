"""Pairwise attention against linear attention multiplied out by associativity: operations counted, processor time measured.

``OMP_NUM_THREADS=1 python benchmarks/attention_cost.py``. Times are the processor's, the least of several, in numpy, float64.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from symslr.theory import cost

COLUMNS = 64
SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
ROUNDS = 7


def softmax(queries: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """exp(A1 A2^T) A3 over its normalisers."""
    weights = np.exp(queries @ keys.T)
    return (weights / weights.sum(axis=1, keepdims=True)) @ values


def pairwise(queries: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(A1 A2^T) A3 over its normalisers."""
    weights = queries @ keys.T
    return (weights / weights.sum(axis=1, keepdims=True)) @ values


def associative(queries: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A1 (A2^T A3) over A1 (A2^T 1)."""
    return (queries @ (keys.T @ values)) / (queries @ keys.sum(axis=0))[:, None]


def seconds(call: Callable[[], object]) -> float:
    """Processor time of one call, the least of several."""
    found = []
    for _ in range(ROUNDS):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    """Print one line for each number of rows."""
    rng = np.random.default_rng(0)
    print(f"attention on n rows of d = {COLUMNS} numbers: millions of operations, milliseconds")
    print(f"{'n':>6}{'softmax':>22}{'linear, n^2':>22}{'linear, n':>22}{'ratio counted':>16}{'measured':>10}")
    formulas = (cost.pairwise_attention(1), cost.pairwise_attention(0), cost.associative_attention())
    for rows in SIZES:
        matrix = rng.random((rows, COLUMNS)) / COLUMNS
        counts = [float(formula.subs({cost.n: rows, cost.d: COLUMNS})) / 1e6 for formula in formulas]
        runs = (softmax, pairwise, associative)
        times = [1e3 * seconds(lambda run=run, matrix=matrix: run(matrix, matrix, matrix)) for run in runs]
        assert np.allclose(pairwise(matrix, matrix, matrix), associative(matrix, matrix, matrix))
        cells = "".join(f"{count:>11.3f}{spent:>8.3f} ms" for count, spent in zip(counts, times))
        print(f"{rows:>6}{cells}{counts[0] / counts[2]:>16.1f}{times[0] / times[2]:>10.1f}")


if __name__ == "__main__":
    main()
