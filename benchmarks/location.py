"""Bayes risks of laws of location beside Monte Carlo from the definition, extrapolated to a standard error of 1e-4, in one run.

Times are the processor's. Monte Carlo knows the posterior of every law; its time counts drawing and weighing alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sympy import Rational, sign

from symslr import Task
from symslr.evaluation.location import bayes_value
from symslr.evaluation.location.posterior import posterior
from symslr.evaluation.location.setting import Setting
from symslr.model.symbols import i, j, l
from symslr.simulate.location import LocationSampler

SAMPLES, WANTED, ROUNDS = 10_000, 1e-4, 5
LAWS: dict[str, tuple[Mapping[str, Any], object, int]] = {
    "one position": ({}, 4, 3),
    "one position, L = 1000": ({}, 16, 1000),
    "one position, L = 10^6": ({}, 30, 10**6),
    "prior 1/l, L = 1000": ({"prior": 1 / l}, 16, 1000),
    "prior 2^-l, L = 30": ({"prior": 2**-l}, 6, 30),
    "sign": ({"signal": "1:1/2,-1:1/2"}, 4, 3),
    "sign, L = 1000": ({"signal": "1:1/2,-1:1/2"}, 20, 1000),
    "random size": ({"signal": "1/2:1/3,2:2/3"}, 4, 10),
    "two directions": ({"signal": "(1,0):1/2,(0,1):1/2"}, 4, 3),
    "two directions, L = 1000": ({"signal": "(1,0):1/2,(0,1):1/2"}, 20, 1000),
    "coins": ({"location": "independent(1/8)"}, 4, 100),
    "all pairs rho = 1/2": ({"key_covariance": Rational(1, 2) ** sign(abs(i - j))}, 4, 3),
    "sign, all pairs rho = 1/2, L = 30": (
        {"signal": "1:1/2,-1:1/2", "key_covariance": Rational(1, 2) ** sign(abs(i - j))},
        6,
        30,
    ),
    "nine of ten": ({"location": "subset(9)"}, 4, 10),
    "two of four": ({"location": "subset(2)"}, 4, 4),
    "two of 1000": ({"location": "subset(2)"}, 16, 1000),
    "two of 10^6": ({"location": "subset(2)"}, 30, 10**6),
}


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """Of the processor, the least of some calls, and what they return; the first is not counted."""
    value, times = call(), []
    for _ in range(ROUNDS):
        start = time.process_time()
        value = call()
        times.append(time.process_time() - start)
        if times[0] > 1:
            break
    return min(times), value


def monte_carlo(task: Task) -> tuple[float, float, float]:
    """Processor time, mean and standard error of |r - a|^2 over drawn sequences."""
    sampler, found = LocationSampler.of(task, {}), posterior(Setting.of(task))
    rng, start = np.random.default_rng(1), time.process_time()
    losses = [np.sum((sample.read_out - found(sample.chi)[0]) ** 2, axis=1) for sample in sampler.stream(SAMPLES, rng)]
    loss = np.concatenate(losses)
    return time.process_time() - start, float(loss.mean()), float(loss.std() / np.sqrt(len(loss)))


def main() -> None:
    print(f"{'Bayes risk':34} {'value':>14} {'error':>8} {'symslr':>11} {'Monte Carlo to 1e-4':>20}")
    for name, (law, strength, length) in LAWS.items():
        task = Task(nu=strength, length=length, noise=0, **law)
        ours, value = seconds(lambda task=task: bayes_value(task))
        line = f"{name:34} {float(value.value):14.10f} {float(value.error):8.0e} {ours * 1e3:8.1f} ms"
        if length > 1000:
            print(f"{line} {'not drawn':>20}", flush=True)
            continue
        spent, mean, error = monte_carlo(task)
        theirs = spent * (error / WANTED) ** 2
        z = (mean - float(value.value)) / error
        print(f"{line} {theirs:18.1f} s  off by {z:+.1f} standard errors", flush=True)


if __name__ == "__main__":
    main()
