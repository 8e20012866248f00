"""Each headline figure beside what one would otherwise run, as ratios in one run: ``make bench``.

Times are the processor's, the least of several taken in turn with the alternative's, of symslr's public call with all that
it does on the way. Errors are true relative errors, against certified values. What is extrapolated or a bound says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from alternatives import (
    in_the_trapezoids_favour,
    nested,
    nested_mpmath,
    plain_monte_carlo,
    trapezoid,
    tuned_monte_carlo,
    within,
)

from symslr import MaxSLR, SpikedSLR, evaluate, linear, minimal_risk
from symslr.theory import bayes_risk

ROUNDS, CALLS = 40, 20
LIMIT = 60.0
"""Seconds after which nested quadrature is stopped."""
SAMPLES = 400_000
RISK = bayes_risk(SpikedSLR(noise=0))


def seconds(call: Callable[[], object], calls: int = 1) -> float:
    start = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - start) / calls


def fastest(
    ours: Callable[[], object], theirs: Callable[[], object], rounds: int = ROUNDS, calls: int = CALLS
) -> tuple[float, float]:
    """The least time of both, taken in turn: on a shared machine all else is its other users' time."""
    ours(), theirs()
    pairs = [(seconds(ours, calls), seconds(theirs, calls)) for _ in range(rounds)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def line(name: str, ours: float, theirs: float, note: str, bound: str = "") -> None:
    print(
        f"{name:52} {ours * 1e3:10.3f} ms {theirs * 1e3:13.3f} ms {bound + format(theirs / ours, '.3g'):>10}  {note}",
        flush=True,
    )


def bayes(length: int, nu: object, digits: int | None = None) -> Callable[[], object]:
    return lambda: evaluate(RISK, {"L": length, "nu": nu}, digits=digits, backend="numpy")


def certified(length: int, nu: float) -> float:
    return float(evaluate(RISK, {"L": length, "nu": nu}, digits=25, backend="arb"))


def error(found: Any, length: int, nu: float) -> float:
    return abs(float(found) / certified(length, nu) - 1)


def fresh(seed: int) -> Iterator[float]:
    """Another strength every time."""
    rng = np.random.default_rng(seed)
    while True:
        yield float(rng.uniform(0.1, 100))


def another(length: int, strengths: Iterator[float]) -> object:
    """A value at the next strength."""
    return bayes(length, next(strengths))()


def single_values() -> None:
    in_the_trapezoids_favour()
    for nu in (2, 20, 60):
        by_hand = error(trapezoid(nu), 3, nu)
        note = f"errors {error(bayes(3, nu)(), 3, nu):.1e} and {by_hand:.1e}"
        line(f"L=3 nu={nu} / trapezoid 161 x 161", *fastest(bayes(3, nu), lambda nu=nu: trapezoid(nu)), note)
    for length in (3, 10, 1000, 10**6):
        call = partial(another, length, fresh(2))
        for _ in range(2000):
            call()
        note = "every nu new, uniform in (0.1, 100), after 2000 others"
        line(f"L={length} / trapezoid at L=3", *fastest(call, lambda: trapezoid(2.0)), note)
    strengths = fresh(3)
    cold = [seconds(bayes(17 + length, next(strengths))) for length in range(25)]
    line(
        "L=17 to 41 / trapezoid at L=3",
        float(np.median(cold)),
        seconds(lambda: trapezoid(2.0), CALLS),
        "the first value of its neighbourhood, median",
    )


def grid() -> None:
    strengths = np.linspace(0.1, 40, 1000)
    ours, theirs = fastest(bayes(3, strengths), lambda: [trapezoid(nu) for nu in strengths], 5, 1)
    line("1000 values of nu in one call / 1000 trapezoids", ours, theirs, f"{ours:.3f} ms a point")


def quadrature() -> None:
    result, theirs = within(LIMIT, lambda: nested(3, 2.0, 1e-4))
    ours, _ = fastest(bayes(3, 2, 6), lambda: None)
    line("L=3 nu=2 / scipy nquad in 2 dimensions", ours, theirs, f"its error {error(result, 3, 2):.1e}, asked for 1e-4")
    ours, _ = fastest(bayes(5, 2, 6), lambda: None)
    result, theirs = within(LIMIT, lambda: nested(5, 2.0, 1e-4))
    if result is not None:
        note = f"equal accuracy: 6 digits asked for, error {error(bayes(5, 2, 6)(), 5, 2):.0e}; its error {error(result, 5, 2):.1e}"
        line("L=5 nu=2 / scipy nquad in 4 dimensions", ours, theirs, note)
    ours, _ = fastest(bayes(5, 2), lambda: None)
    result, theirs = within(LIMIT, lambda: nested(5, 2.0, 1e-11))
    stopped = result is None
    note = (
        f"stopped at {LIMIT:.0f} s: a lower bound; asked for 1e-11"
        if stopped
        else f"its error {error(result, 5, 2):.1e}"
    )
    line("L=5 nu=2 / the same", ours, theirs, f"error {error(bayes(5, 2)(), 5, 2):.1e}; {note}", ">" if stopped else "")
    theirs = seconds(lambda: nested_mpmath(2.0))
    ours, _ = fastest(bayes(3, 2), lambda: None)
    line("L=3 nu=2 / mpmath's nested quadrature", ours, theirs, f"its error {error(nested_mpmath(2.0), 3, 2):.1e}")


def monte_carlo() -> None:
    ours, _ = fastest(bayes(3, 20), lambda: None)
    for name, method in (("importance-sampled", tuned_monte_carlo), ("plain", plain_monte_carlo)):
        measured = seconds(lambda method=method: method(20.0, SAMPLES))
        mean, spread = method(20.0, SAMPLES)
        times = (spread / 1e-4) ** 2
        note = f"extrapolated by N^(-1/2) to 1e-4 from {SAMPLES} samples, {spread:.1e} in {measured:.3f} s"
        note += f"; off by {abs(mean / certified(3, 20) - 1) / spread:.1f} standard errors"
        line(f"L=3 nu=20 / {name} Monte Carlo to 1e-4", ours, measured * times, note, "~")


def proved() -> None:
    for digits in (50, 200):
        points = [(2, 1), (1000, 10), (10**6, 30)] if digits == 50 else [(3, 10)]
        for length, nu in points:
            call = partial(evaluate, RISK, {"L": length, "nu": nu}, digits=digits, backend="arb")
            found = call()
            ours, theirs = fastest(call, bayes(length, nu), 3, 1)
            line(f"certified, {found.digits} digits, L={length} nu={nu} / float64", ours, theirs, f"{found.kind}")


def one_beside_another() -> None:
    largest, best = minimal_risk(MaxSLR(noise=0), linear), bayes_risk(MaxSLR(noise=0))
    at = {"L": 10, "nu": 5}
    ours, theirs = fastest(
        lambda: evaluate(largest, at, backend="numpy"), lambda: evaluate(best, at, backend="numpy"), 10
    )
    line("linear risk on max-SLR L=10 nu=5 / Bayes risk there", ours, theirs, "")


def main() -> None:
    print(f"{'Bayes risk on spiked-SLR / alternative':52} {'symslr':>13} {'alternative':>16} {'ratio':>10}")
    single_values()
    grid()
    quadrature()
    monte_carlo()
    proved()
    one_beside_another()


if __name__ == "__main__":
    main()
