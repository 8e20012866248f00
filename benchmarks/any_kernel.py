"""Risks of kernels that are no exponentials, beside sums over three tokens from the definition, in one run.

Times are the processor's. The sum over three tokens is a product of Gauss-Legendre panels, which knows where the tokens
live and needs no search; its error is its difference from symslr's value.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sympy import Rational, oo

from symslr import MaxSLR, SpikedSLR, evaluate
from symslr.evaluation import least_risk
from symslr.model.attention import Attention
from symslr.model.catalogue import softplus
from symslr.model.symbols import x
from symslr.theory import population_risk

QUARTIC = Attention(1 + x**4, name="1 + x^4")
BY_HAND: dict[str, Callable[[Any], Any]] = {"softplus": lambda t: np.logaddexp(0, t), "1 + x^4": lambda t: 1 + t**4}
SCALE = 1.3


def timed(call: Callable[[], Any], rounds: int = 5) -> tuple[float, Any]:
    """The least processor time of several calls, and what they return; the first is not counted, no search knows the one before."""
    result, times = call(), []
    for _ in range(rounds):
        start = time.process_time()
        result = call()
        times.append(time.process_time() - start)
    return min(times), result


def by_sum(kernel: str, nu: float, count: int, order: int = 12) -> float:
    """The spiked risk at L = 3 on a product mesh of three tokens."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    edges = np.linspace(-9, 9 + np.sqrt(nu), count + 1)
    half = np.diff(edges)[:, None] / 2
    t = (edges[:-1, None] + half * (1 + nodes)).ravel()
    mass = (half * weights).ravel() * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)
    own, first = BY_HAND[kernel](SCALE * t), mass * np.exp(np.sqrt(nu) * t - nu / 2)
    pair = mass[:, None] * mass[None, :]
    others, squares = own[:, None] + own[None, :], own[:, None] ** 2 + own[None, :] ** 2
    mean = norm = 0.0
    for weight, one in zip(first, own):
        total = one + others
        mean += weight * np.sum(pair * one / total)
        norm += weight * np.sum(pair * (one**2 + squares) / total**2)
    return float(1 - mean**2 / norm)


def main() -> None:
    spiked, largest, limit = SpikedSLR(noise=0), MaxSLR(noise=0), MaxSLR(oo, noise=0)
    at: dict[str, object] = {"L": 3, "nu": 2, "a": Rational(13, 10)}
    for attention in (softplus, QUARTIC):
        risk = population_risk(spiked, attention)
        ours, value = timed(lambda r=risk: evaluate(r, at, backend="numpy"))
        for count in (8, 16):
            theirs, other = timed(lambda k=attention.name, n=count: by_sum(k, 2.0, n), 1)
            note = f"claims {float(value.error):.0e}; the sum is off by {abs(other - float(value)):.0e}"
            name = f"{attention.name} / sum over three tokens, {12 * count} nodes each"
            print(f"{name:52} {ours * 1e3:10.1f} ms {theirs * 1e3:10.1f} ms {theirs / ours:8.3g}  {note}", flush=True)
        seconds, value = timed(lambda r=risk: evaluate(r, at, digits=30), 1)
        print(
            f"{attention.name + ', 30 digits':52} {seconds * 1e3:10.1f} ms  error {float(value.error):.0e}", flush=True
        )
        seconds, (value, _) = timed(lambda k=attention: least_risk(spiked, k, {"L": 3, "nu": 2}), 1)
        print(
            f"{attention.name + ', least risk':52} {seconds * 1e3:10.1f} ms  error {float(value.error):.0e}", flush=True
        )
    for name, task, place in (
        ("softplus on max-SLR, nu = 2", largest, at),
        ("softplus on max-SLR, nu = 5, scale 4", largest, {"L": 3, "nu": 5, "a": 4}),
        ("softplus on max-SLR, nu = oo, L = 2", limit, {"L": 2, "a": 2}),
        ("softplus on max-SLR, nu = oo, L = 3", limit, {"L": 3, "a": 2}),
    ):
        seconds, value = timed(lambda t=task, p=place: evaluate(population_risk(t, softplus), p, backend="numpy"), 2)
        print(f"{name:52} {seconds * 1e3:10.1f} ms  error {float(value.error):.0e}", flush=True)
    seconds, (value, _) = timed(lambda: least_risk(largest, softplus, {"L": 3, "nu": 5}), 1)
    print(f"{'softplus on max-SLR, nu = 5, least risk':52} {seconds * 1e3:10.1f} ms  error {float(value.error):.0e}")


if __name__ == "__main__":
    main()
