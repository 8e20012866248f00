"""Max-SLR at strong signals under steep attention, two tokens: one Laplace variable after the other, beside their product mesh.

And beside the trapezoid rule over the mean of two tokens and half their difference, from the definition. Times are the processor's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from sympy import Expr

from symslr import MaxSLR, evaluate
from symslr.budget import OutOfTime, processor_time
from symslr.evaluation import CannotEvaluate
from symslr.evaluation.laplace import node
from symslr.evaluation.laplace.floats import FloatSums
from symslr.model.catalogue import softmax, softmax1, softplus
from symslr.theory import population_risk

CASES = (
    (softmax, 30, 20),
    (softmax, 65, 60),
    (softmax1, 65, 60),
    (softmax1, 300, 30),
    (softmax1, 20, 250),
    (softplus, 260, 50),
)
SECONDS = 60.0
"""For one value; more is not waited for."""


def log_kernel(name: str, y: Any) -> Any:
    return np.where(y < -30.0, y, np.log(np.logaddexp(0.0, np.maximum(y, -30.0)))) if name == "softplus" else y


def by_hand(name: str, strength: float, scale: float) -> float:
    """The risk at L = 2; the selection is steep along the difference alone."""
    half = np.arange(-7.0, 7.0, min(0.04, 0.2 / max(strength, scale))) + 1e-4
    mean = np.arange(-7.0, 7.0, min(0.04, 0.4 / scale))
    hit = norm = mass = 0.0
    for d in np.array_split(half, 120):
        density = np.exp(-(d[:, None] ** 2) - mean[None, :] ** 2)
        one, other = (log_kernel(name, scale * (mean[None, :] + sign * d[:, None])) for sign in (1, -1))
        total = np.logaddexp(np.logaddexp(one, other), 0.0 if name == "softmax1" else -np.inf)
        one, other = np.exp(one - total), np.exp(other - total)
        hit += np.sum(density * (1.0 + np.tanh(strength * d))[:, None] * one)
        norm += np.sum(density * (one**2 + other**2))
        mass += np.sum(density)
    return float(1.0 - hit**2 / norm / mass)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """The processor time of one call, and what it returns or why it returns nothing."""
    start = time.process_time()
    try:
        with processor_time(SECONDS):
            found = call()
    except (CannotEvaluate, OutOfTime) as reason:
        found = reason
    return time.process_time() - start, found


def said(expected: float, found: Any) -> str:
    if isinstance(found, OutOfTime):
        return "no answer"
    if isinstance(found, CannotEvaluate):
        return "refused"
    return f"claims {float(found.error):.0e}, off by {abs(float(found) - expected):.0e}"


def main() -> None:
    print(f"{'':29}{'one after the other':38}{'product mesh':38}{'two tokens by hand':>18}")
    for attention, strength, scale in CASES:
        risk: Expr = population_risk(MaxSLR(noise=0), attention)
        at = {"L": 2, "nu": strength, "a": scale}
        seconds, expected = timed(partial(by_hand, attention.name, float(strength), float(scale)))
        ask = partial(evaluate, risk, at, backend="numpy")
        with patch.object(node, "STEEP", 0.0):
            ours, value = timed(ask)
        with (
            patch.object(FloatSums, "is_dear", False),
            patch.object(node, "STEEP", np.inf),
            patch.object(node, "POOR", np.inf),
        ):
            product, other = timed(ask)
        row = f"{attention.name}, nu = {strength}, a = {scale}"
        columns = (f"{t:5.1f} s, {said(expected, v)}" for t, v in ((ours, value), (product, other)))
        print(f"{row:29}" + "".join(f"{column:38}" for column in columns) + f"{seconds:16.1f} s")


if __name__ == "__main__":
    main()
