"""The finite-n correction: the mark at which the marked row of D1 reaches the threshold when the other signs cancel.

With w_1 = w_g = w_d = 1 and the other signs summing to 0 the row reaches the threshold where a p + b m = margin (nu is
of order t/n). Both shares depend on the mark through n**(beta a^2), in which the equation is linear.
"""

from __future__ import annotations

import math
from functools import lru_cache

from sympy import Dummy, Expr, expand, expand_power_exp, lambdify, solve

from symslr.model.separation import SOFTMAX_KERNEL, a, b, beta, margin, n, t
from symslr.theory.separation.definition import Column, Row
from symslr.theory.separation.shares import shares

STEPS = 60
"""Halvings: the mark is found to 1e-16."""


@lru_cache
def critical_power() -> Expr:
    """n**(beta a^2) at which a p + b m = margin: (margin (n-t) n**(-beta b^2) + ...)/(a + b - margin)."""
    power = Dummy(positive=True)
    derived = shares(SOFTMAX_KERNEL)
    reach = a * derived[Row.MARKED, Column.MARK] + b * derived[Row.MARKED, Column.OWN] - margin
    spread = reach.replace(lambda e: e.is_Pow and e.base == n, lambda e: expand_power_exp(n ** expand(e.exp)))
    (root,) = solve(spread.subs(n ** (beta * a**2), power), power)
    return root


def boundary_width(rows: int, blocks: int, reach: float, temperature: float = 1.0) -> float:
    """The b at which a row without the mark reaches the threshold, b mu = margin, when the other signs cancel.

    Raises:
        ValueError: where no b below 4/sqrt(beta) does, as with a single class of huge margin.
    """
    numbers = {beta: temperature, n: rows, t: blocks}
    share = lambdify(b, shares(SOFTMAX_KERNEL)[Row.SIBLING, Column.OWN].subs(numbers), "math")
    low, high = 0.0, 4.0 / temperature**0.5
    if high * share(high) <= reach:
        raise ValueError(
            f"finite-n boundary: found none for b below {high:.3g}; expected margin < {high * share(high):.3g}"
        )
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * share(middle) < reach else (low, middle)
    return (low + high) / 2


def boundary_mark(rows: int, blocks: int, width: float, reach: float, temperature: float = 1.0) -> float:
    """The a1 that solves the finite-n condition, by bisection on (max(0, margin - b), 4/sqrt(beta)).

    Raises:
        ValueError: where b alone reaches the threshold at every mark, or no mark below 4/sqrt(beta) does.
    """
    numbers = {b: width, beta: temperature, margin: reach, n: rows, t: blocks}
    needed = lambdify(a, critical_power().subs(numbers), "math")
    low, high = max(0.0, reach - width) + 1e-12, 4.0 / temperature**0.5

    def short(mark: float) -> bool:
        power = needed(mark)
        return power > 0 and math.log(power) > temperature * mark**2 * math.log(rows)

    if not short(low) or short(high):
        raise ValueError(
            f"finite-n boundary: found none for a1 in ({low:.3g}, {high:.3g}) at n={rows}, t={blocks}, b={width}; "
            "expected the marked row to miss the threshold at the lower end and to reach it at the upper"
        )
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if short(middle) else (low, middle)
    return (low + high) / 2
