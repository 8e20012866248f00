"""The gradient of the empirical risk beside the time to stream X once and beside numpy's products: ``make bench``.

Processor time of one thread, medians of ratios within a round: the memory's bandwidth depends on what else the machine
does. Streaming once is the faster of ``X.sum()`` and a compiled sum; one product X k of numpy reads X once as well.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numba import njit

from symslr import SpikedSLR, linear, softmax
from symslr.model.attention import Attention
from symslr.simulate.erm import EmpiricalRisk, TrainingSet, sample_training_set

ROUNDS = 40
SIZE, DIMENSION, LENGTH = 2400, 5000, 3
"""288 MB in float64, 144 MB in float32: several times the last cache."""


@njit(fastmath={"reassoc", "contract", "nsz"})
def total(flat: np.ndarray) -> float:
    """Sum of all entries, in vector registers."""
    found = flat.dtype.type(0)
    for i in range(len(flat)):
        found += flat[i]
    return found


def four_products(data: TrainingSet, weights: np.ndarray) -> None:
    """What one writes in numpy for softmax: two products with X to predict, two to differentiate."""
    X, root = data.tokens, np.sqrt(data.dimension)
    k, v = (weights.reshape(2, -1) / root).astype(X.dtype)
    chi, z = (X @ k).reshape(-1, LENGTH), (X @ v).reshape(-1, LENGTH)
    sigma = np.exp(chi - chi.max(axis=1, keepdims=True))
    sigma /= sigma.sum(axis=1, keepdims=True)
    prediction = np.sum(sigma * z, axis=1)
    residual = (prediction - data.y)[:, None].astype(X.dtype)
    (residual * sigma * (z - prediction[:, None])).ravel() @ X
    (residual * sigma).ravel() @ X


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def main() -> None:
    print(f"empirical risk and gradient, N = {SIZE}, L = {LENGTH}, D = {DIMENSION}: ratio to streaming X once")
    for kind in ("float64", "float32"):
        rng = np.random.default_rng(0)
        data = sample_training_set(SpikedSLR(), {"nu": 2, "Delta": 0, "L": LENGTH}, SIZE, DIMENSION, rng, dtype=kind)
        weights = rng.standard_normal(2 * DIMENSION)
        X, direction = data.tokens, weights[:DIMENSION].astype(kind)
        attentions: tuple[Attention, ...] = (softmax, linear)
        risks = [EmpiricalRisk(data, attention, 0.1, 0.1, {}) for attention in attentions]
        once: dict[str, Callable[[], object]] = {"X.sum()": X.sum, "compiled sum": partial(total, X.reshape(-1))}
        calls = once | {"one product X k": partial(np.matmul, X, direction)}
        calls |= {f"symslr, {risk.attention.name}": partial(risk, weights) for risk in risks}
        calls["numpy, four products, softmax"] = partial(four_products, data, weights)
        for call in calls.values():
            call()
        rounds = [{name: seconds(call) for name, call in calls.items()} for _ in range(ROUNDS)]
        for name in calls:
            ratio = statistics.median(found[name] / min(found[way] for way in once) for found in rounds)
            spent = statistics.median(found[name] for found in rounds)
            print(f"  {kind}  {name:32} {spent * 1e3:8.1f} ms {X.nbytes / spent / 1e9:6.1f} GB/s   {ratio:5.2f}")


if __name__ == "__main__":
    main()
