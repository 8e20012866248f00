"""Degrees r for which the kernel x**r separates: high enough to find the mark, low enough not to concentrate on classes.

Both ends are solved from the derived shares, which depend on r through (1 + b^2/c^2)^r and (1 + (a^2 + b^2)/c^2)^r.
They grow like log n, the first at fixed parameters, the second at fixed t.
"""

from __future__ import annotations

import math
from functools import lru_cache

from sympy import Dummy, Expr, log, simplify, solve

from symslr.model.exact import exact
from symslr.model.separation import a, b, c, margin, power_kernel
from symslr.theory.separation.definition import Column, Row
from symslr.theory.separation.shares import DEGREE, shares


@lru_cache
def upper_degree() -> Expr:
    """The r at which the class of a row without the mark reaches the threshold, b mu = margin (b > margin).

    log((n/t - 1) margin / (b - margin)) / log(1 + b^2/c^2), exact when the other signs sum to 0.
    """
    ratio = Dummy(positive=True)
    (root,) = solve(b * _in_ratios(Row.SIBLING, Column.OWN, Dummy(), ratio) - margin, ratio)
    return log(simplify(root)) / log(1 + b**2 / c**2)


@lru_cache
def lower_degree() -> Expr:
    """The r at which the marked row of D1 reaches the threshold, a p + b m = margin, without help from its class.

    log(margin (n - t)/(a + b - margin)) / log(1 + (a^2 + b^2)/c^2); the class, of weight t (1 + b^2/c^2)^r, is left
    out.
    """
    top, ratio = Dummy(positive=True), Dummy(nonnegative=True)
    reach = a * _in_ratios(Row.MARKED, Column.MARK, top, ratio) + b * _in_ratios(Row.MARKED, Column.OWN, top, ratio)
    (root,) = solve((reach - margin).subs(ratio, 0), top)
    return log(simplify(root)) / log(1 + (a**2 + b**2) / c**2)


def taylor_rate(top: object, rest: object, gain: object = 1) -> float:
    """The constant r for which the Taylor polynomial of exp of degree r log n just finds the mark as n -> oo.

    At score s log n the polynomial of degree r log n grows like n**g(r, s), g = s where r >= s and r (1 + log(s/r))
    below: the largest of its terms, (s log n)^k / k!, lies at k = s log n or at its last one. The marked row stands out
    when g(r, top) - g(r, rest) exceeds ``gain``: n rows of another class weigh n**(1 + g(r, rest)).

    Args:
        top, rest: scores over log n of the marked row with itself, beta (a^2 + b^2 + c^2), and with another class,
            beta c^2.
        gain: 1 for the n rows of other classes.

    Raises:
        ValueError: when exp itself does not find the mark, top - rest <= gain.
    """
    high, low, need = (float(exact(v, name)) for v, name in ((top, "top"), (rest, "rest"), (gain, "gain")))
    if high - low <= need:
        raise ValueError(
            f"scores: found top - rest = {high - low:.6g}; expected more than {need:g}, so that exp separates"
        )

    def growth(rate: float, score: float) -> float:
        return score if rate >= score else rate * (1 + math.log(score / rate))

    left, right = 0.0, high
    for _ in range(60):
        middle = (left + right) / 2
        short = growth(middle, high) - growth(middle, low) < need
        left, right = (middle, right) if short else (left, middle)
    return (left + right) / 2


def _in_ratios(row: Row, column: Column, top: Expr, ratio: Expr) -> Expr:
    """The derived share with the weights of the mark and of the class in units of that of another class."""
    share = shares(power_kernel(DEGREE))[row, column]
    unit = c ** (2 * DEGREE)
    weights = {(a**2 + b**2 + c**2) ** DEGREE: unit * top, (b**2 + c**2) ** DEGREE: unit * ratio}
    return simplify(share.xreplace(weights))
