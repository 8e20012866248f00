"""Each headline figure beside what one would otherwise run, as ratios in one run: ``make bench``.

Every line times symslr's public call (cache warm, overhead included) and the alternative in turn, and prints the
median of the pairwise ratios, with the true relative error of both against a certified value.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy.integrate import nquad

from symslr import MaxSLR, SpikedSLR, bayes_risk, evaluate, linear, minimal_risk
from symslr.model.task import Task

ROUNDS = 7


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def median_ratio(ours: Callable[[], object], theirs: Callable[[], object], rounds: int = ROUNDS) -> tuple[float, ...]:
    """(our median, their median, median of ours/theirs), run in turn so that drifts of the machine cancel."""
    if rounds > 1:
        ours(), theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    return (
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(a / b for a, b in pairs),
    )


def trapezoid_bayes(nu: float, nodes: int = 161, reach: float = 8.5) -> float:
    """What one writes by hand at L = 3: a 2-D trapezoid rule over the score differences D_1, D_2 of the two others.

    Given epsilon, D_l = sqrt(nu) (chi_l - chi_eps) is Gaussian with mean -nu, variance 2 nu and covariance nu; the error
    is E[(e^{D_1} + e^{D_2})/(1 + e^{D_1} + e^{D_2})].
    """
    t = np.linspace(-reach, reach, nodes)
    h = t[1] - t[0]
    first, second = np.meshgrid(t, t, indexing="ij")
    scale = np.sqrt(nu)
    one = -nu + scale * np.sqrt(2) * first
    two = -nu + scale * (first / np.sqrt(2) + np.sqrt(1.5) * second)
    weight = np.exp(-(first**2 + second**2) / 2) * h * h / (2 * np.pi)
    total = np.exp(one) + np.exp(two)
    return float(np.sum(weight * total / (1 + total)))


def nquad_bayes(nu: float) -> float:
    """scipy's adaptive quadrature over three keys, asked for four digits."""
    root = math.sqrt(nu)

    def body(a: float, b: float, c: float) -> float:
        others = math.exp(root * b) + math.exp(root * c)
        density = math.exp(-((a - root) ** 2 + b * b + c * c) / 2) / (2 * math.pi) ** 1.5
        return density * others / (others + math.exp(root * a))

    return float(nquad(body, [(-8, 8 + root)] + [(-8, 8)] * 2, opts={"epsabs": 1e-4, "epsrel": 1e-4})[0])


def monte_carlo(nu: float, samples: int, seed: int = 1) -> tuple[float, float]:
    """Tuned Monte Carlo at L = 3: the mean and its relative standard error.

    By symmetry the error is 2 E[1/(1 + e^{-D_1} + e^{D_2 - D_1})]. D_1 is drawn around 0, where the integrand times its
    density is largest, and D_2 from its law given D_1.
    """
    normals = np.random.default_rng(seed).standard_normal((2, samples))
    one = math.sqrt(2 * nu) * normals[0]
    two = (one - nu) / 2 + math.sqrt(1.5 * nu) * normals[1]
    share = 2 * np.exp((one**2 - (one + nu) ** 2) / (4 * nu)) / (1 + np.exp(-one) + np.exp(two - one))
    return float(share.mean()), float(share.std() / share.mean()) / math.sqrt(samples)


def certified(task: Task, **values: float) -> float:
    return float(evaluate(bayes_risk(task), {"Delta": 0, **values}, digits=25, backend="arb"))


def line(name: str, ours: Callable[[], object], theirs: Callable[[], object], note: str, rounds: int = ROUNDS) -> None:
    a, b, ratio = median_ratio(ours, theirs, rounds)
    print(f"{name:58} {a * 1e3:10.3f} ms {b * 1e3:10.3f} ms   ratio {ratio:.3g}   {note}")


def main() -> None:
    spiked, risk = SpikedSLR(), bayes_risk(SpikedSLR())

    def bayes(length: int, nu: object) -> Callable[[], object]:
        return lambda: evaluate(risk, {"L": length, "nu": nu, "Delta": 0}, backend="numpy")

    exact = certified(spiked, L=3, nu=2)
    by_hand = abs(trapezoid_bayes(2.0) / exact - 1)
    ours = abs(float(bayes(3, 2)()) / exact - 1)
    print(f"{'what':58} {'symslr':>13} {'alternative':>13}")
    note = f"true relative errors {ours:.1e} and {by_hand:.1e}"
    line("Bayes risk L=3 nu=2 / 2-D trapezoid by hand", bayes(3, 2), lambda: trapezoid_bayes(2.0), note)
    line("Bayes risk L=10^6 nu=20 / the same rule at L=3", bayes(10**6, 20), lambda: trapezoid_bayes(2.0), "any length")
    far, exact = abs(trapezoid_bayes(60.0)), certified(spiked, L=3, nu=60)
    mine = float(bayes(3, 60)())
    note = f"true relative errors {abs(mine / exact - 1):.1e} and {abs(far / exact - 1):.1e}"
    line("Bayes risk L=3 nu=60 / 2-D trapezoid by hand", bayes(3, 60), lambda: trapezoid_bayes(60.0), note)
    adaptive = nquad_bayes(2.0)
    note = f"its true relative error {abs(adaptive / certified(spiked, L=3, nu=2) - 1):.1e}"
    line("Bayes risk L=3 nu=2 / scipy nquad", bayes(3, 2), lambda: nquad_bayes(2.0), note, rounds=1)
    samples, exact = 400_000, certified(spiked, L=3, nu=20)
    mean, spread = monte_carlo(20.0, samples)
    note = f"{samples} samples leave {spread:.1e}, so 1e-4 takes {(spread / 1e-4) ** 2:.0f} times as long"
    note += f"; off by {abs(mean / exact - 1) / spread:.1f} standard errors"
    line("Bayes risk L=3 nu=20 / Monte Carlo", bayes(3, 20), lambda: monte_carlo(20.0, samples), note, 3)
    fresh = iter(np.random.default_rng(2).uniform(0.1, 100, 10_000).tolist())
    line(
        "Bayes risk L=3, another nu every time / trapezoid",
        lambda: [bayes(3, next(fresh))() for _ in range(50)],
        lambda: [trapezoid_bayes(2.0) for _ in range(50)],
        "50 of each",
    )
    grid = np.linspace(0.1, 40, 1000)
    line(
        "1000 values of nu in one call / 1000 trapezoids",
        bayes(3, grid),
        lambda: [trapezoid_bayes(v) for v in grid],
        "",
        3,
    )
    certify = lambda: evaluate(risk, {"L": 1000, "nu": 10, "Delta": 0}, digits=50, backend="arb")  # noqa: E731
    line("certified, 50 digits, L=1000 / the float64 value", certify, bayes(1000, 10), "certified beside estimated", 3)
    largest = minimal_risk(MaxSLR(), linear)
    line(
        "linear risk on max-SLR L=10 nu=5 / Bayes risk there",
        lambda: evaluate(largest, {"L": 10, "nu": 5, "Delta": 0}, backend="numpy"),
        lambda: evaluate(bayes_risk(MaxSLR()), {"L": 10, "nu": 5, "Delta": 0}, backend="numpy"),
        "",
    )


if __name__ == "__main__":
    main()
