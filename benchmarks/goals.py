"""Every goal that was set for the numbers, met or not, in one run: processor time beside what one would otherwise run.

Times are of one call after the first, in processor time, where the row does not say otherwise. The other column is a
trapezoid rule written by hand for the same number: over all tokens in NumPy, in long doubles or balls with one
Laplace variable per sum (``honesty.by_hand``), or the same under SciPy's bounded search.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
from alternatives import trapezoid
from any_kernel import BY_HAND, QUARTIC, SCALE, by_sum, timed
from honesty import Point, by_hand
from honesty.verdict import question
from scipy.optimize import minimize_scalar
from sympy import Rational, exp, log, oo

from symslr import MaxSLR, SpikedSLR, evaluate
from symslr.evaluation import CannotEvaluate, least_risk
from symslr.model.attention import Attention
from symslr.model.catalogue import softplus
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import x
from symslr.theory import bayes_risk, population_risk

SPIKED, MAX, LIMIT = SpikedSLR(noise=0), MaxSLR(noise=0), MaxSLR(oo, noise=0)
AT: dict[str, object] = {"L": 3, "nu": 2, "a": Rational(13, 10)}
FREE: dict[str, object] = {"L": 3, "nu": 2}


def once(call: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time of a call, and what it returns; no search knows the one before."""
    begin = time.process_time()
    value = call()
    return time.process_time() - begin, value


def row(name: str, goal: float, ours: Callable[[], Any], theirs: Callable[[], Any] | None, rounds: int = 0) -> bool:
    """One line; whether the goal is met. ``rounds`` calls after the first, or the first call where 0."""
    try:
        seconds, value = timed(ours, rounds) if rounds else once(ours)
        value = value[0] if isinstance(value, tuple) else value
        note = f"error {float(value.error):.0e}"
    except CannotEvaluate as reason:
        seconds, note = float("inf"), f"refused: {reason}"
    beside = f"{'-':>13} {'-':>9}"
    if theirs is not None:
        other = timed(theirs, rounds)[0] if rounds else once(theirs)[0]
        beside = f"{other * 1e3:10.1f} ms {other / seconds:9.3g}"
    is_met = seconds <= goal
    print(
        f"{name:48} {seconds * 1e3:10.2f} ms {goal * 1e3:9.1f} ms  {'met' if is_met else 'NOT MET':8}{beside}  {note}",
        flush=True,
    )
    return is_met


def in_balls(kernel: str, digits: int, task: str = "spiked") -> Callable[[], Any]:
    """The risk at a = 13/10 by formulas written by hand; two meshes, whose difference is the error."""
    attention = {"softplus": softplus, "quartic": Attention(1 + x**4, name="quartic")}[kernel]
    values = (("a", Fraction(13, 10)), ("nu", Fraction(2)))
    point = Point(task, attention, ((3, Fraction(1)),), Fraction(0), values, "numpy", None)
    return lambda: next(islice(by_hand.risks([(Fraction(1), question(point, 3))], digits), 1))


def searched(kernel: str) -> Callable[[], Any]:
    """SciPy's bounded search over the scale, the risk summed over three tokens."""
    own = BY_HAND[kernel]

    def at(scale: float) -> float:
        BY_HAND["moved"] = lambda t: own(scale / SCALE * t)
        return by_sum("moved", 2.0, 8)

    return lambda: minimize_scalar(at, bounds=(0.3, 5.0), method="bounded", options={"xatol": 1e-8})


def drawn(length: int) -> Callable[[], Any]:
    """Softplus at a = 2 with the relevant token the one of the largest key, 10^6 sequences: three digits."""

    def value() -> float:
        keys = np.random.default_rng(1).standard_normal((1_000_000, length))
        weights = np.logaddexp(0, 2 * keys)
        weights /= weights.sum(axis=1, keepdims=True)
        return float(1 - weights.max(axis=1).mean() ** 2 / np.mean(np.sum(weights**2, axis=1)))

    return value


def main() -> int:
    thirds = LengthLaw({n: Rational(1, 3) for n in (1, 2, 3)})
    print(f"{'work':48} {'symslr':>13} {'goal':>12}  {'':8}{'by hand':>13} {'ratio':>9}")
    exact = population_risk(SPIKED, softplus)
    met = [
        row(
            "softplus, float64",
            0.01,
            lambda: evaluate(exact, AT, backend="numpy"),
            lambda: by_sum("softplus", 2.0, 8),
            5,
        ),
        row("softplus, least risk, float64", 0.1, lambda: least_risk(SPIKED, softplus, FREE), searched("softplus"), 1),
        row(
            "softplus, least risk, 15 digits",
            1.0,
            lambda: least_risk(SPIKED, softplus, FREE, 15),
            searched("softplus"),
            1,
        ),
        row("softplus, 30 digits", 1.5, lambda: evaluate(exact, AT, 30), in_balls("softplus", 30), 1),
    ]
    risk = population_risk(SPIKED, QUARTIC)
    met += [
        row("1 + x^4, 30 digits", 0.5, lambda: evaluate(risk, AT, 30), in_balls("quartic", 30), 1),
        row("1 + x^4, least risk, 30 digits", 3.0, lambda: least_risk(SPIKED, QUARTIC, FREE, 30), None),
        row("softplus, 30 digits, proved", 1.5, lambda: evaluate(exact, AT, 30, "arb"), in_balls("softplus", 30), 1),
        row("1 + x^4, 30 digits, proved", 0.5, lambda: evaluate(risk, AT, 30, "arb"), in_balls("quartic", 30), 1),
        row("1 + x^4, least risk, 30 digits, proved", 3.0, lambda: least_risk(SPIKED, QUARTIC, FREE, 30, "arb"), None),
        row(
            "softplus, least risk, 30 digits, proved", 3.0, lambda: least_risk(SPIKED, softplus, FREE, 30, "arb"), None
        ),
    ]
    two, far = population_risk(MAX, softplus), {"a": 2}
    met.append(
        row("softplus on max-SLR", 0.05, lambda: evaluate(two, AT, backend="numpy"), in_balls("softplus", 18, "max"), 2)
    )
    for name, length, longest in (("L = 2", 2, 2), ("L = 3", 3, 3), ("L in {1, 2, 3}", thirds, 3)):
        task = MaxSLR(oo, noise=0, length=length)
        value = population_risk(task, softplus)
        met.append(
            row(f"softplus on max-SLR, nu = oo, {name}", 120.0, lambda v=value: evaluate(v, far), drawn(longest))
        )
    new = population_risk(SPIKED, Attention(log(2 + exp(x))))
    met.append(
        row(
            "log(2 + e^x), its first value",
            0.03,
            lambda: evaluate(new, AT, backend="numpy"),
            lambda: by_sum("softplus", 2.0, 8),
        )
    )
    bayes, place = bayes_risk(SPIKED), {"L": 3, "nu": 2}
    met += [
        row("Bayes risk, float64", 3e-4, lambda: evaluate(bayes, place, backend="numpy"), lambda: trapezoid(2.0), 20),
        row("Bayes risk, 50 digits, proved", 0.03, lambda: evaluate(bayes, place, 50, "arb"), None, 3),
    ]
    print(f"{sum(met)} of {len(met)} goals met")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
