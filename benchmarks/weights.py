"""Weights of exchangeable tokens add up to one, whatever the kernel: a truth for random integrals that needs no referee.

    L E[s_1] = 1        L E[s_1^2] + L (L - 1) E[s_1 s_2] = 1        s_j = kappa(x_j) / sum_i kappa(x_i)

Each mean is an integral over u of moments E[kappa^n e^{-u kappa}], evaluated on its own: what one leaves out no other has. Risks
are ratios of such means whose truth has to be computed; here it is known.

    python -m benchmarks.weights --points 1000 --seed 1
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mpmath import mpf
from sympy import Expr, Float, Integral, Rational, Symbol, erf, exp, factorial, log, oo, prod, sin, sqrt

from symslr.evaluation import CannotEvaluate, evaluate
from symslr.expression.expectation import ScalarExpectation
from symslr.model.scalar_law import ScalarLaw, laplace, normal, student
from symslr.model.symbols import a, x

u = Symbol("u", positive=True)

KERNELS: dict[str, Expr] = {
    "exp": exp(a * x),
    "1 + exp": 1 + exp(a * x),
    "exp + exp(3)": exp(a * x) + exp(3 * a * x),
    "softplus": log(1 + exp(a * x)),
    "softplus^2": log(1 + exp(a * x)) ** 2,
    "1/100 + softplus": Rational(1, 100) + log(1 + exp(a * x)),
    "softplus(x - 3)": log(1 + exp(a * (x - 3))),
    "sigmoid": 1 / (1 + exp(-a * x)),
    "1 + x^4": 1 + (a * x) ** 4,
    "3/2 + erf": Rational(3, 2) + erf(a * x),
    "root + exp": sqrt(1 + (a * x) ** 2) + exp(-a * x),
    "exp/(1 + exp(1/2))": exp(a * x) / (1 + exp(a * x / 2)),
    "softplus, waves": log(1 + exp(a * x)) * (2 + sin(10 * x)),
}
LAWS: dict[str, ScalarLaw] = {
    "N(0, 1)": normal(),
    "N(1, 2)": normal(1, 2),
    "Laplace": laplace(),
    "Student 3": student(3),
    "Student 7": student(7),
}
LENGTHS = (1, 2, 2, 3, 10)
SECONDS = 10.0
"""Of processor time for an integral."""


@dataclass(frozen=True)
class Point:
    """One identity: the kernel, the law, the scale, the length, the digits, and whether it is that of the squares."""

    kernel: str
    law: str
    scale: Expr
    length: int
    digits: int
    squares: bool


def random_point(number: int, seed: int) -> Point:
    """The point of a number, the same whatever else is drawn."""
    rng = random.Random(f"{seed}-{number}")
    scale = Float(f"{10 ** rng.uniform(-0.5, 2.5):.3g}")
    return Point(
        rng.choice(list(KERNELS)),
        rng.choice(list(LAWS)),
        Rational(str(scale)),
        rng.choice(LENGTHS),
        rng.randint(3, 12),
        rng.random() < 0.5,
    )


def mean_of(kernel: Expr, law: ScalarLaw, powers: Sequence[int], length: Expr | int | None = None) -> Integral:
    """E prod_j s_j^n_j of the first tokens of a sequence as an integral over u, by default of as many tokens as powers."""
    total, count = sum(powers), len(powers)
    moments = [ScalarExpectation(kernel**n * exp(-u * kernel), x, law) for n in powers]
    others = ScalarExpectation(exp(-u * kernel), x, law) ** ((count if length is None else length) - count)
    return Integral(u ** (total - 1) / factorial(total - 1) * prod(moments) * others, (u, 0, oo))


def judged(point: Point) -> tuple[str, float]:
    """("true", "false" or "refused", distance from 1 in errors)."""
    n = point.length
    parts = [(n, (1,))] if not point.squares else [(n, (2,)), *([(n * (n - 1), (1, 1))] if n > 1 else [])]
    total, error = mpf(0), mpf(0)
    for weight, powers in parts:
        try:
            mean = mean_of(KERNELS[point.kernel], LAWS[point.law], powers, n)
            found = evaluate(mean, {"a": point.scale}, digits=point.digits, seconds=SECONDS)
        except CannotEvaluate:
            return "refused", 0.0
        total, error = total + weight * found.value, error + weight * found.error
    apart = abs(total - 1)
    return ("true" if apart <= error else "false"), float(apart / error) if error else float(apart > 0)


def main() -> None:
    """Print every false point, and how many there are of each verdict by kernel."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    table: Counter[tuple[str, str]] = Counter()
    for number in range(asked.points):
        point = random_point(number, asked.seed)
        verdict, apart = judged(point)
        table[point.kernel, verdict] += 1
        if verdict == "false":
            print(f"false: {point}, off by {apart:.3g} errors", flush=True)
    verdicts = ("true", "false", "refused")
    for kernel in KERNELS:
        print(f"{kernel:20}", *(f"{table[kernel, verdict]:4} {verdict}" for verdict in verdicts))
    print(f"{'all':20}", *(f"{sum(table[kernel, v] for kernel in KERNELS):4} {v}" for v in verdicts))


if __name__ == "__main__":
    main()
