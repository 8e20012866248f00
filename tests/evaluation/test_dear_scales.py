"""Least risks of kernels so steep that meshes are too dear at some scales of the scan, and sampled risks beside those of meshes."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Abs, exp, sin

from symslr.budget import processor_time
from symslr.evaluation import evaluate
from symslr.evaluation.minima.least import least_risk
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax1, softplus
from symslr.model.symbols import x
from symslr.theory import population_risk

KERNELS = {
    "exp(x |x|)": (exp(x * Abs(x)), lambda keys: keys * np.abs(keys)),
    "exp(-(x - 3)^2)": (exp(-((x - 3) ** 2)), lambda keys: -((keys - 3) ** 2)),
    "2 + sin(x^2)": (2 + sin(x**2), lambda keys: np.log(2 + np.sin(keys**2))),
}


@pytest.mark.parametrize(
    ("name", "task"), [("exp(x |x|)", "spiked"), ("exp(-(x - 3)^2)", "max"), ("2 + sin(x^2)", "spiked")]
)
def test_the_least_risk_is_that_of_drawn_sequences(name, task):
    """Over scales beyond all that tokens of usual size meet; the scan of the risk of the samples has its own 400 scales."""
    kernel, log_kernel = KERNELS[name]
    random = np.random.default_rng(1)
    keys = random.normal(size=(60_000, 3))
    if task == "spiked":
        keys[:, 0] += 2
    logs = 2 * keys if task == "spiked" else 4 * keys
    posterior = np.exp(logs - logs.max(axis=1, keepdims=True))
    posterior /= posterior.sum(axis=1, keepdims=True)

    def risk(scale: float) -> float:
        logs = log_kernel(scale * keys)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        return 1 - (posterior * weights).sum(axis=1).mean() ** 2 / (weights**2).sum(axis=1).mean()

    lowest = min(risk(side * scale) for scale in np.geomspace(0.01, 60, 200) for side in (1, -1))
    own = (SpikedSLR(4) if task == "spiked" else MaxSLR(4)).with_length(3)
    with processor_time(60):
        value, _ = least_risk(own, Attention(kernel), {"Delta": 0}, 6)
    assert float(value.value) == pytest.approx(lowest, abs=0.01)


def test_a_bottom_behind_the_usual_scales_is_found():
    """Softmax-1 is best where it selects as the law does, at a = nu nearly, which a scan to 16 follows outwards."""
    value, places = least_risk(MaxSLR(300).with_length(20), softmax1, {"Delta": 0}, 4)
    at_best = evaluate(population_risk(MaxSLR(300).with_length(20), softmax1, 300), {"Delta": 0}, 6)
    assert float(value.value) <= float(at_best.value) * (1 + 1e-4)
    assert 200 < float(places["a"].value) < 450


def test_a_risk_that_is_level_far_out_has_its_limit():
    """Softplus at L = 1000: from a = 1000 on values differ by less than their errors."""
    task = MaxSLR(300).with_length(1000)
    value, _ = least_risk(task, softplus, {"Delta": 0}, 6)
    far = evaluate(population_risk(task, softplus, 1500), {"Delta": 0})
    assert abs(float(value.value - far.value)) < float(value.error) + float(far.error) + 1e-8
