"""Quantiles of a token's law, for any law that has a density."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.numbers.compiled import compile_float
from symslr.model.breakpoints import breakpoint_equations, solved
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.symbols import x

NODES = 2**13
"""Nodes of a table of quantiles, equally spaced in a variable u of which a token is sinh, exp or tanh."""
REACH = 30.0
"""The table covers |u| <= REACH."""
GAUSS_NODES = 5
"""Gauss-Legendre nodes between two of its nodes, for the mass."""
MASS_TOLERANCE = 1e-10
"""Largest distance from 1 of the mass of a law in such a table."""

Quantile = Callable[[Any], Any]
"""A function from uniform numbers to tokens, of the same shape."""


def quantiles(law: ScalarLaw) -> Quantile:
    """The quantile function of a law, by monotone cubic interpolation (PCHIP) in the logarithm of the mass below or above.

    Raises:
        CannotEvaluate: where the table does not hold all of the law.
    """
    if law == STANDARD_NORMAL:
        return scipy.special.ndtri
    at, slope, back = _map_of_line(float(law.lower), float(law.upper))
    kinks = [solved(equation, x) for equation in breakpoint_equations(law.density, x)]
    inside = [float(kink) for kink in kinks if kink is not None and law.lower < kink < law.upper]
    nodes = np.unique([*np.linspace(-REACH, REACH, NODES), *back(np.array(inside))])
    points, weights = np.polynomial.legendre.leggauss(GAUSS_NODES)
    widths = np.diff(nodes)
    places = nodes[:-1, None] + widths[:, None] * (1 + points) / 2
    with np.errstate(all="ignore"):
        (density,) = compile_float((x,), (law.density,))(at(places))
        heights = np.nan_to_num(np.broadcast_to(density, places.shape) * slope(places), nan=0.0, posinf=0.0)
    steps = widths / 2 * (heights @ weights)
    below, above = np.cumsum(steps), np.cumsum(steps[::-1])[::-1]
    if not abs(below[-1] - 1.0) < MASS_TOLERANCE:
        raise CannotEvaluate(f"token density {law.density}: its mass is {below[-1]:.6g} in a table; expected 1")
    sides = [_interpolated_inverse(below, nodes[1:]), _interpolated_inverse(above[::-1], nodes[:-1][::-1])]

    def tokens(uniform: Any) -> Any:
        return at(np.where(uniform < 0.5, sides[0](np.log(uniform)), sides[1](np.log1p(-uniform))))

    return tokens


def _interpolated_inverse(mass: Any, nodes: Any) -> Callable[[Any], Any]:
    """The node as a function of the logarithm of the mass up to it."""
    rises = np.flatnonzero(np.diff(mass, prepend=0.0) > 1e-14 * mass)
    return scipy.interpolate.PchipInterpolator(np.log(mass[rises]), nodes[rises])


def _map_of_line(lower: float, upper: float) -> tuple[Quantile, Quantile, Quantile]:
    """An increasing map of the line to an interval, its derivative, and its inverse."""
    if np.isfinite(lower) and np.isfinite(upper):
        half = (upper - lower) / 2

        def back(place: Any) -> Any:
            return np.arctanh((place - lower) / half - 1)

        return lambda u: lower + half * (1 + np.tanh(u)), lambda u: half / np.cosh(u) ** 2, back
    if np.isfinite(lower):
        return lambda u: lower + np.exp(u), np.exp, lambda place: np.log(place - lower)
    if np.isfinite(upper):
        return lambda u: upper - np.exp(-u), lambda u: np.exp(-u), lambda place: -np.log(upper - place)
    return np.sinh, np.cosh, np.arcsinh
