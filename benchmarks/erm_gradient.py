"""The gradient of the empirical risk beside the time to stream X once and beside numpy's four products: ``make bench``.

One thread; the memory's bandwidth, and so each ratio, depends on what else the machine does.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from symslr import SpikedSLR, linear, softmax
from symslr.model.attention import Attention
from symslr.simulate.erm import EmpiricalRisk, TrainingSet, sample_training_set

ROUNDS = 7
SIZE, DIMENSION, LENGTH = 6000, 5000, 3


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
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    print(f"empirical risk and gradient, N = {SIZE}, L = {LENGTH}, D = {DIMENSION}: ratio to one X.sum()")
    for kind in ("float64", "float32"):
        rng = np.random.default_rng(0)
        data = sample_training_set(SpikedSLR(), {"nu": 2, "Delta": 0, "L": LENGTH}, SIZE, DIMENSION, rng, dtype=kind)
        weights = rng.standard_normal(2 * DIMENSION)
        attentions: tuple[Attention, ...] = (softmax, linear)
        risks = [EmpiricalRisk(data, attention, 0.1, 0.1, {}) for attention in attentions]
        calls: dict[str, Callable[[], object]] = {"one pass (X.sum)": data.tokens.sum}
        calls |= {f"symslr, {risk.attention.name}": partial(risk, weights) for risk in risks}
        calls["numpy, four products, softmax"] = partial(four_products, data, weights)
        for call in calls.values():
            call()
        times = {name: [] for name in calls}
        for _ in range(ROUNDS):
            for name, call in calls.items():
                times[name].append(seconds(call))
        first = next(iter(times.values()))
        for name, found in times.items():
            ratio = statistics.median(ours / once for ours, once in zip(found, first))
            print(f"  {kind}  {name:32} {statistics.median(found) * 1e3:8.1f} ms   {ratio:5.2f}")


if __name__ == "__main__":
    main()
