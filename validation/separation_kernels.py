r"""Which kernels separate: a window of degrees of $x^p$, Taylor polynomials of order $\log n$, and where linear wins."""

import math

import mpmath
from sympy import Expr, Rational, sqrt

from symslr.evaluation.separation.law import NeuronLaw
from symslr.evaluation.separation.sweeps import by_degree, smallest_taylor_degree, with_parameter, working_window
from symslr.model.separation import (
    LINEAR_KERNEL,
    SOFTMAX_KERNEL,
    Separation,
    a,
    b,
    c,
    margin,
    n,
    power_kernel,
    separation,
    t,
)
from symslr.simulate.separation import separation_frequency
from symslr.theory.separation.windows import lower_degree, taylor_rate, upper_degree
from symslr.validation.validation import NamedComparison, by_frequency

BASE = separation(n=1024, d=258, t=4, a0=0.05, a1=1.1, b=0.2, c=0.8, m=52)
SIZES = (256, 1024, 4096)
SEED = 231011685


def validate() -> list[NamedComparison]:
    windows = [entry for rows in SIZES for entry in _window(with_parameter(BASE, "n", rows))]
    return [*windows, *(_taylor(rows) for rows in (*SIZES, 16384)), *_taylor_limit(), *_monte_carlo(), *_linear_wins()]


def _window(parameters: Separation) -> list[NamedComparison]:
    """The exact window begins at the derived end within one degree, and ends within 20 % below the derived one."""
    values = {a: parameters.a1, b: parameters.b, c: parameters.c}
    values |= {n: parameters.n, t: parameters.t, margin: parameters.margin}
    low, high = (float(end.subs(values)) for end in (lower_degree(), upper_degree()))
    scan = (*range(1, 9), *range(int(0.7 * high), int(high) + 4))
    first, last = working_window(by_degree(parameters, power_kernel, scan)) or (0, 0)
    ratio = f"log n = {math.log(parameters.n):.3f}"
    return [
        NamedComparison(f"$x^p$, least degree at $n={parameters.n}$", low, first, 1.0, ratio),
        NamedComparison(f"$x^p$, largest degree at $n={parameters.n}$", high, last, 0.2 * high, ratio),
    ]


def _taylor(rows: int) -> NamedComparison:
    """The least degree of the exact law beside the one at which the marked row reaches the threshold on its own."""
    parameters = with_parameter(BASE, "n", rows)
    degree, reaching = smallest_taylor_degree(parameters), _reaching_degree(math.log(rows))
    note = rf"over $\log n$: {degree / math.log(rows):.3f}"
    return NamedComparison(rf"Taylor polynomial of $\exp$, least degree at $n={rows}$", reaching, degree, 1.0, note)


def _taylor_limit() -> list[NamedComparison]:
    """The least degree over log n tends to the derived constant."""
    constant = taylor_rate(BASE.a1**2 + BASE.b**2 + BASE.c**2, BASE.c**2)
    found = {power: _reaching_degree(power * math.log(2)) / (power * math.log(2)) for power in (100, 400, 1600)}
    note = ", ".join(f"$n = 2^{{{power}}}$: {ratio:.4f}" for power, ratio in found.items())
    return [
        NamedComparison(
            r"Taylor polynomial of $\exp$, least degree over $\log n$ as $n$ grows", constant, found[1600], 0.01, note
        )
    ]


def _reaching_degree(log_rows: float) -> int:
    """Least p with a1 p_share + b m > margin: Taylor weights exp(y) Q(p + 1, y) at the scores y of the data set."""
    mark, group, constant = float(BASE.a1), float(BASE.b), float(BASE.c)
    scores = [constant**2, group**2 + constant**2, mark**2 + group**2 + constant**2]
    goal = math.log(float(BASE.margin) / (mark + group - float(BASE.margin)))
    for degree in range(1, 10_000):
        other, sibling, marked = (_log_weight(degree, score * log_rows) for score in scores)
        crowd = log_rows + other + math.log1p((BASE.t - 1) * math.exp(sibling - other - log_rows))
        if marked - crowd > goal:
            return degree
    raise ValueError("degree: found none up to 10000")


def _log_weight(degree: int, score: float) -> float:
    return score + float(mpmath.log(mpmath.gammainc(degree + 1, score, regularized=True)))


def _monte_carlo() -> list[NamedComparison]:
    """Inside and outside the window, on the real networks."""
    parameters = separation(n=128, d=66, t=2, a0=0.05, a1=1.1, b=0.2, c=0.8, m=6)
    return [_drawn(f"x^{degree}", parameters, power_kernel(degree), LINEAR_KERNEL) for degree in (2, 3, 20, 60)]


def _linear_wins() -> list[NamedComparison]:
    """t = 1, a0 = .05, a1 = .5, b = .05, c = sqrt(.05/n): linear attention separates and softmax does not fire."""
    cases = []
    for rows in (64, 256):
        constant = sqrt(Rational(5, 100) / rows)
        made = separation(n=rows, d=rows + 2, t=1, a0=0.05, a1=0.5, b=0.05, c=constant, m=6)
        cases.append(_drawn(f"linear wins at n = {rows}", made, LINEAR_KERNEL, SOFTMAX_KERNEL))
    return cases


def _drawn(name: str, parameters: Separation, kernel: Expr, rival: Expr, size: int = 1500) -> NamedComparison:
    probability = float(NeuronLaw(parameters, kernel, rival).fixed_row)
    estimate = separation_frequency(parameters, size, SEED, kernel=kernel, rival=rival)
    return by_frequency(name, probability, round(estimate.mean * size), size, f"seed {SEED}")
