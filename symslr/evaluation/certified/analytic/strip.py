"""A strip around the real line on which a kernel has a real part >= 0 and the factors beside it are analytic and die out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb
from sympy import Expr, Symbol, exp

from symslr.evaluation.certified.analytic.cells import CELLS, rectangle
from symslr.evaluation.certified.analytic.growth import GrowthBounds
from symslr.evaluation.certified.analytic.proof import NotProved, all_enclosed, enclosed

WIDEST, NARROWEST, NARROWER = 3.0, 0.02, 0.8
"""Half-widths are tried from the widest on, each this factor narrower: a wider strip means fewer nodes."""

STARTS = (4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 96.0, 128.0, 192.0)
"""Where the half strips begin, tried in this order: from there on one enclosure has to do for all |x|."""

CELL = 0.125
"""Width of the cells between them."""

SMALLEST = 2.0**-9
"""Cells are halved down to this size, where an enclosure is too wide to decide."""

Region = tuple[float, float, float, float]
"""left, right, low, high."""


@dataclass(frozen=True)
class Strip:
    """|Im x| <= half_width, as far as it is proved.

    Attributes:
        half_width: d.
        start: X, from which on the growth of the factors is bounded by ``tails``.
        masses: for each factor F a ball above the integral of |F(x + id)| over the line.
    """

    half_width: float
    start: float
    masses: tuple[Any, ...]


def widest_strip(variable: Symbol, kernel: Expr, factors: Sequence[Expr]) -> Strip:
    """The widest strip, of those tried, on which Re kernel >= 0 on both edges and all functions are analytic.

    Raises:
        NotProved: when the narrowest is not proved either, with the reason of the last attempt.
    """
    half_width = WIDEST
    while True:
        try:
            return strip_of(variable, kernel, factors, half_width)
        except NotProved as reason:
            half_width *= NARROWER
            if half_width < NARROWEST:
                raise reason


def strip_of(variable: Symbol, kernel: Expr, factors: Sequence[Expr], half_width: float) -> Strip:
    """The strip of this half-width.

    Raises:
        NotProved: where no proof is found.
    """
    functions = (kernel, *factors)
    masses = [arb(0)] * len(factors)

    def analytic(region: Region) -> None:
        for function, values in zip(functions, all_enclosed(functions, variable, rectangle(*region), CELLS)):
            if not values.is_finite():
                raise NotProved("certified: no bound was found for", function)

    def positive(region: Region) -> None:
        if not enclosed(kernel, variable, rectangle(*region), CELLS).real >= 0:
            raise NotProved("certified: the kernel is not seen to have a real part >= 0:", kernel)

    def bounded(region: Region) -> None:
        analytic(region)
        values = all_enclosed(functions, variable, rectangle(*region), CELLS)[1:]
        masses[:] = [mass + value.abs_upper() * (region[1] - region[0]) for mass, value in zip(masses, values)]

    def prove(cells: list[float]) -> None:
        """Real on the real line, the functions are mirrored in the lower half; what is cheap to refuse comes first."""
        for left in cells:
            _covered((left, left + CELL, half_width, half_width), positive)
        for left in cells:
            _covered((left, left + CELL, 0.0, half_width), analytic)
            _covered((left, left + CELL, half_width, half_width), bounded)

    near = _cells(STARTS[0])
    prove(near)
    for start in STARTS:
        try:
            sides = [GrowthBounds(variable, start, side, half_width) for side in (-1, 1)]
            tails = [[side.modulus(factor).tail(start) for side in sides] for factor in factors]
            for side in sides:
                if not side.values(kernel).re.a >= 0:
                    raise NotProved("certified: the kernel is not seen to have a real part >= 0 far out:", kernel)
            break
        except NotProved:
            if start == STARTS[-1]:
                raise
    prove(_cells(start)[len(near) :])
    return Strip(half_width, start, tuple(mass + below + above for mass, (below, above) in zip(masses, tails)))


def check_nonnegative(variable: Symbol, function: Expr, start: float) -> None:
    """Proves that a function is >= 0 on the real line, factor by factor: a ball around a double zero has a negative part.

    Raises:
        NotProved: where it is not seen.
    """
    if isinstance(function, exp) or (function.is_Pow and function.exp.is_integer and function.exp.is_even):
        return
    if function.is_Mul or function.is_Pow:
        for factor in function.args if function.is_Mul else function.args[:1]:
            check_nonnegative(variable, factor, start)
        return

    def nonnegative(region: Region) -> None:
        if not enclosed(function, variable, rectangle(*region), CELLS).real >= 0:
            raise NotProved("certified: not seen to be >= 0:", function)

    for side in (-1, 1):
        if not GrowthBounds(variable, start, side, 0.0).values(function).re.a >= 0:
            raise NotProved("certified: not seen to be >= 0 far out:", function)
    for left in _cells(start):
        _covered((left, left + CELL, 0.0, 0.0), nonnegative)


def _cells(start: float) -> list[float]:
    """Left ends of the cells, from the middle outwards: there tokens lie, and most poles."""
    return sorted((CELL * i - start for i in range(round(2 * start / CELL))), key=lambda left: abs(left + CELL / 2))


def _covered(region: Region, holds: Callable[[Region], None]) -> None:
    """Whether something holds on a region or on the halves it is cut into.

    Raises:
        NotProved: that of the smallest part where it does not.
    """
    try:
        holds(region)
    except NotProved:
        left, right, low, high = region
        if max(right - left, high - low) < SMALLEST:
            raise
        if right - left >= high - low:
            middle = (left + right) / 2
            parts = [(left, middle, low, high), (middle, right, low, high)]
        else:
            middle = (low + high) / 2
            parts = [(left, right, low, middle), (left, right, middle, high)]
        for part in parts:
            _covered(part, holds)
