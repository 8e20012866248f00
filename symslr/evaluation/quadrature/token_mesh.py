"""Where the token integrals live: pieces of the line between kinks, inside the windows of all weights together."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy
from sympy import Expr, Symbol

from symslr.evaluation.numbers.arithmetic import FLOAT, Arithmetic
from symslr.evaluation.quadrature.breakpoints import solved
from symslr.evaluation.quadrature.mesh import ExpSinh, Line, Piece, Sinh, TanhSinh
from symslr.evaluation.quadrature.scan import Window


def gaussian_window(curvature: float, centre: float, depth: float) -> Window:
    """Window of exp(curvature (x - centre)^2), curvature < 0."""
    reach = float(np.sqrt(-depth / curvature))
    return Window(centre - reach, centre + reach, centre, float(np.sqrt(-1 / curvature)), depth)


def cover(windows: list[Window], low: float, high: float, kinks: list[float]) -> tuple[Piece, ...]:
    """Pieces that hold every window, of which there is one at least, cut at the kinks between ``low`` and ``high``."""
    start, end = min(w.low for w in windows), max(w.high for w in windows)
    width = min(w.width for w in windows)
    heavy = any(w.is_heavy for w in windows)
    margin = 0.05 * (end - start)
    cuts = sorted(
        {k for k in kinks if max(low, start - margin) < k < min(high, end + margin)}
    )  # beyond an end is nothing
    on_line = np.isinf(low) and np.isinf(high)
    if on_line and not cuts:
        if not heavy:
            return (Line(start - margin, end + margin, 0.7 * width),)
        centre = float(np.median([w.peak for w in windows]))
        reach = float(np.arcsinh(max(end - centre, centre - start) / width))
        return (Sinh(centre, width, reach, 0.25),)
    if not heavy:
        edges = sorted({max(low, start - margin), *cuts, min(high, end + margin)})
        return tuple(TanhSinh(a, b) for a, b in itertools.pairwise(edges))
    first, last = max(low, start), min(high, end)
    if not cuts:
        cuts = [low if np.isfinite(low) else high]
    pieces: list[Piece] = [TanhSinh(a, b) for a, b in itertools.pairwise(cuts)]
    if first < cuts[0]:
        if np.isfinite(low):
            pieces.insert(0, TanhSinh(low, cuts[0]))
        else:
            pieces.insert(0, ExpSinh(cuts[0], -1, width, float(np.log((cuts[0] - first) / width)) + 1))
    if last > cuts[-1]:
        if np.isfinite(high):
            pieces.append(TanhSinh(cuts[-1], high))
        else:
            pieces.append(ExpSinh(cuts[-1], +1, width, float(np.log((last - cuts[-1]) / width)) + 1))
    return tuple(pieces)


def zeros_of(
    equations: Iterable[Expr], x: Symbol, parameters: tuple[Symbol, ...], arithmetic: Arithmetic
) -> list[tuple[Any, Any]]:
    """(Its zero as a function of the parameters where it is linear in x, the equation as a function of x and them) each."""
    pairs = [(solved(equation, x), equation) for equation in equations]
    return [
        (
            None if zero is None else arithmetic.compile(parameters, [zero]),
            arithmetic.compile((x, *parameters), [equation]),
        )
        for zero, equation in pairs
    ]


def kinks_between(equations: Iterable[tuple[Any, Any]], p: tuple[float, ...], start: float, end: float) -> list[float]:
    """Places where equations vanish, as ``zeros_of`` gives them."""
    found: list[float] = []
    for exact, equation in equations:
        if exact is not None:
            found.append(float(exact(*p)[0]))
        else:
            found += changes_of_sign(lambda x, f=equation: f(x, *p)[0], start, end)
    return sorted({x for x in found if np.isfinite(x)})


MOST_STEPS = 1000
"""Of a search for a zero: ten times as many as halving takes."""


def changes_of_sign(function: Any, start: float, end: float) -> list[float]:
    """Zeros of a function of one variable at which it changes its sign, as far as a grid shows them.

    A value on an array may differ in its last bit from that of its entry alone: where only rounding has a sign, there is none.
    A place is known to its last bit, or to a tiny part of the line where it is near 0, which no number of halvings reaches; where
    the function has no value it counts as 0.
    """
    grid = np.linspace(start, end, 1025)
    values = np.broadcast_to(function(grid), grid.shape)
    found = [float(x) for x in grid[values == 0]]

    def alone(x: float) -> float:
        return float(np.nan_to_num(function(x)))

    near, signs = FLOAT.eps**2 * (end - start), np.sign(values)
    for i in np.flatnonzero(signs[:-1] * signs[1:] < 0):
        low, high = grid[i], grid[i + 1]
        if np.sign(alone(low)) * np.sign(alone(high)) < 0:
            found.append(float(scipy.optimize.brentq(alone, low, high, xtol=near, maxiter=MOST_STEPS, disp=False)))
    return found
