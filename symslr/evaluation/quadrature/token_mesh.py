"""Pieces of the token variable for quadrature: cut at kinks, inside the windows of all weights together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from sympy import Expr, Symbol

from symslr.evaluation.numbers.arithmetic import FLOAT, Arithmetic
from symslr.evaluation.quadrature.mesh import ExpSinh, Line, Piece, Sinh, TanhSinh
from symslr.evaluation.quadrature.scan import Window
from symslr.model.breakpoints import solved


def gaussian_window(curvature: float, centre: float, depth: float) -> Window:
    """Window of exp(curvature (x - centre)^2), curvature < 0."""
    reach = float(np.sqrt(-depth / curvature))
    return Window(centre - reach, centre + reach, centre, float(np.sqrt(-1 / curvature)), depth)


def cover(windows: list[Window], low: float, high: float, kinks: list[float]) -> tuple[Piece, ...]:
    """Pieces that cover all the windows (at least one), cut at the kinks between ``low`` and ``high``."""
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
    """For every equation (its zero as a function of the parameters, None unless it is linear in x; the equation as a function
    of x and them).
    """
    pairs = [(solved(equation, x), equation) for equation in equations]
    return [
        (
            None if zero is None else arithmetic.compile(parameters, [zero]),
            arithmetic.compile((x, *parameters), [equation]),
        )
        for zero, equation in pairs
    ]


def kinks_between(equations: Iterable[tuple[Any, Any]], p: tuple[float, ...], start: float, end: float) -> list[float]:
    """The zeros in increasing order of the equations given as by ``zeros_of``; those that are not linear are sought from start
    to end.
    """
    found: list[float] = []
    for exact, equation in equations:
        if exact is not None:
            with np.errstate(all="ignore"):  # no place, as 3/a at a = 0, is infinite
                found.append(float(exact(*map(np.float64, p))[0]))
        else:
            found += changes_of_sign(lambda x, f=equation: f(x, *p)[0], start, end)
    return sorted({x for x in found if np.isfinite(x)})


Places = tuple[Sequence[Any], Sequence[tuple[Any, Any]], tuple[Any, ...]]
"""Numbers, equations as given by ``zeros_of``, and their parameters, all in one arithmetic."""
END_TOLERANCE = 1e-9
"""Part of a piece by which an end in float64 may differ from the exact place that it stands for, besides some roundings."""
MOST_SECANTS = 60
"""Secant steps for a zero that float64 has to a few roundings: each gains half as many digits again, or more."""


def at_exact_ends(pieces: tuple[Piece, ...], places: Places, arithmetic: Arithmetic) -> tuple[Piece, ...]:
    """The pieces with ends at the exact places of which they are roundings; other ends are those of windows.

    An end of the tokens at 1/3, rounded to float64, leaves out 1e-17 of the mass.
    """
    numbers, equations, p = places
    known = [*numbers, *(zero(*p)[0] for zero, _ in equations if zero is not None)]
    lengths: dict[float, float] = {}
    for piece in pieces:
        if isinstance(piece, (TanhSinh, ExpSinh)):
            ends, length = _ends(piece)
            lengths |= {end: min(length, lengths.get(end, length)) for end in ends}
    found: dict[float, Any] = {}
    for end, length in lengths.items():
        near = [place for place in known if np.isfinite(float(place))]
        near += [_secant_zero(own, p, end, length, arithmetic) for zero, own in equations if zero is None]
        best = min(near, key=lambda place: abs(float(place) - end), default=end)
        if abs(float(best) - end) <= END_TOLERANCE * length + 64 * FLOAT.eps * abs(end):
            found[end] = best

    def moved(piece: Piece) -> Piece:
        if isinstance(piece, TanhSinh):
            return replace(piece, low=found.get(piece.low, piece.low), high=found.get(piece.high, piece.high))
        return replace(piece, end=found.get(piece.end, piece.end)) if isinstance(piece, ExpSinh) else piece

    return tuple(map(moved, pieces))


def _ends(piece: TanhSinh | ExpSinh) -> tuple[tuple[Any, ...], float]:
    """The ends towards which nodes crowd, and the length over which they do."""
    if isinstance(piece, ExpSinh):
        return (piece.end,), piece.width
    return (piece.low, piece.high), float(piece.high) - float(piece.low)


def _secant_zero(equation: Any, p: tuple[Any, ...], start: float, length: float, arithmetic: Arithmetic) -> Any:
    """The zero of an equation near ``start`` by the secant method; the last iterate where it does not converge."""

    def value(x: Any) -> Any:
        return arithmetic.number(arithmetic.middle(equation(x, *p)[0]))

    before, at = arithmetic.number(start + END_TOLERANCE * length), arithmetic.number(start)
    try:
        old, new = value(before), value(at)
        for _ in range(MOST_SECANTS):
            if new in (0, old):
                break
            step = arithmetic.number(arithmetic.middle(new * (at - before) / (new - old)))
            if abs(float(step)) > length:
                break
            before, old, at = at, new, arithmetic.number(arithmetic.middle(at - step))
            new = value(at)
            if abs(step) <= arithmetic.eps * abs(at):
                break
    except (ArithmeticError, ValueError):
        return arithmetic.number(start)
    return at


def lost_beside_ends(pieces: tuple[Piece, ...], decades: float) -> int:
    """Bits lost by cancellation at nodes near an end other than 0: so many more are needed for the digits of x - end."""
    lost = 0.0
    for piece in pieces:
        if isinstance(piece, (TanhSinh, ExpSinh)):
            ends, length = _ends(piece)
            farthest = max(abs(float(end)) for end in ends)
            if farthest > 0:
                lost = max(lost, BITS_PER_DECADE * decades + max(0.0, math.log2(farthest / length)))
    return math.ceil(lost)


BITS_PER_DECADE = 4.3
"""Bits between an end and the nearest node, per decimal digit of the arithmetic: for TanhSinh it lies at 10^(-1.25 digits) of
the length."""
MOST_STEPS = 1000
"""Of a search for a zero: ten times as many as bisection takes."""


def changes_of_sign(function: Any, start: float, end: float) -> list[float]:
    """Zeros at which a function changes sign on a grid of 1024 steps; where it has no value it counts as 0.

    The sign is confirmed at single places, as a value in an array may differ by a rounding from that alone. A zero is exact to
    the last bit, or to a tiny part of the interval near 0, where relative precision cannot be reached by bisection.
    """
    grid = np.linspace(start, end, 1025)
    values = np.broadcast_to(function(grid), grid.shape)
    found = [float(x) for x in grid[values == 0]]

    def at_one_place(x: float) -> float:
        return float(np.nan_to_num(function(x)))

    near, signs = FLOAT.eps**2 * (end - start), np.sign(values)
    for i in np.flatnonzero(signs[:-1] * signs[1:] < 0):
        low, high = grid[i], grid[i + 1]
        if np.sign(at_one_place(low)) * np.sign(at_one_place(high)) < 0:
            found.append(
                float(scipy.optimize.brentq(at_one_place, low, high, xtol=near, maxiter=MOST_STEPS, disp=False))
            )
    return found
