"""Where values end for ten kernels: the largest scale and the largest nu, by doubling, that still have a value.

`python -m benchmarks.edge` prints a table; docs/domain.md names it.
"""

from __future__ import annotations

from sympy import Abs, Expr, Max, Rational, cosh, erf, exp, log, sin, sqrt, tanh

from symslr.evaluation import evaluate
from symslr.evaluation.errors import CannotEvaluate
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.symbols import x
from symslr.model.task import Task
from symslr.theory import population_risk

KERNELS: dict[str, Expr] = {
    "log(1+exp(x))": log(1 + exp(x)),
    "1+x^4": 1 + x**4,
    "1/(1+exp(-x))": 1 / (1 + exp(-x)),
    "1+tanh(x)": 1 + tanh(x),
    "1+erf(x)": 1 + erf(x),
    "sqrt(1+x^2)+x": sqrt(1 + x**2) + x,
    "max(x,0)+1/10": Max(x, 0) + Rational(1, 10),
    "2+sin(3x)": 2 + sin(3 * x),
    "1/cosh(x)": 1 / cosh(x),
    "1+|x|": 1 + Abs(x),
}
SPIKED, LARGEST = 2.0**20, 2.0**14
"""Nothing beyond is tried: of scales, and of nu."""


def has_value(task: Task, kernel: Expr, scale: float, nu: float) -> bool:
    try:
        found = evaluate(population_risk(task, Attention(kernel)), {"L": 3, "nu": nu, "a": scale, "Delta": 0})
    except CannotEvaluate:
        return False
    return float(found.error) < 1e-6


def edge(task: Task, kernel: Expr, of_scale: bool, most: float) -> str:
    """The last of 1, 2, 4, ... that has a value with six digits."""
    place = 1.0
    while place <= most and has_value(task, kernel, *((place, 2.0) if of_scale else (1.3, place))):
        place *= 2
    return f"{place / 2:.0f}" if place <= most else f"> {most:.0f}"


def main() -> None:
    print("| kernel | a, spiked nu = 2 | nu, spiked a = 1.3 | a, max nu = 2 | nu, max a = 1.3 |\n|---|---|---|---|---|")
    for name, kernel in KERNELS.items():
        own = [
            edge(task, kernel, of_scale, SPIKED if of_scale else LARGEST)
            for task in (SpikedSLR(), MaxSLR())
            for of_scale in (True, False)
        ]
        print(f"| `{name}` | {' | '.join(own)} |", flush=True)


if __name__ == "__main__":
    main()
