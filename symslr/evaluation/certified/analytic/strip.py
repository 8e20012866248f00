"""Rectangles around a piece of the real line on which a kernel has a real part >= 0 and the factors beside it are analytic.

And a kernel k(a x) at every a of an interval around 0, by what is proved of k and of the two ends of the interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import log
from typing import Any, TypeVar

import numpy as np
from flint import arb, ctx
from sympy import Expr, Symbol, exp

from symslr.evaluation.certified.analytic.arithmetic import CELLS, PROOF_BITS, all_enclosed, enclosed, rectangle
from symslr.evaluation.certified.analytic.growth import ROUNDING, Exponent, GrowthBounds
from symslr.evaluation.certified.outer import Array
from symslr.evaluation.errors import NotProved
from symslr.evaluation.numbers.elementary import Between

WIDEST, NARROWEST, NARROWER = 3.0, 0.02, 0.9
"""Half-widths are tried from the widest on, each this factor narrower: a wider strip means fewer nodes."""

CELL, GROWTH = 0.125, 16
"""Width of the cells near 0, where tokens and most poles lie; further out they are |x|/GROWTH wide."""

FARTHEST = 400.0
"""No integral is followed beyond |x| = FARTHEST."""

SMALLEST = 2.0**-9
"""Cells are halved down to this size, where an enclosure is too wide to decide."""


def _edges() -> list[float]:
    found = [0.0]
    while found[-1] < FARTHEST:
        found.append(found[-1] + max(CELL, found[-1] / GROWTH))
    return found


EDGES = _edges()
"""Of the cells on the right of 0; those on the left mirror them."""

STARTS = range(27, len(EDGES), 11)
"""Edges, from 4 on at about one ratio, from which on one enclosure may do for all x."""

Region = tuple[float, float, float, float]
"""left, right, low, high."""

Values = list[Any]

Found = TypeVar("Found")


@dataclass(frozen=True)
class Strip:
    """A rectangle low <= Re x <= high, |Im x| <= half_width, where the kernels have a real part >= 0 on all sides.

    Attributes:
        half_width: d.
        low, high: its ends.
        masses: for each factor F a ball above the integral of |F(x + id)| over low <= x <= high.
        ends: for each factor a ball above the sum of the largest |F| on the left and on the right side.
    """

    half_width: float
    low: float
    high: float
    masses: list[Any]
    ends: list[Any]

    def errors(self, step: Any) -> list[Any]:
        """For each factor a ball above what the midpoint rule is off the integral from ``low`` to ``high``, for every u >= 0."""
        decay, corner = (2 * arb.pi() * self.half_width / step).expm1(), step * arb.const_log2() / arb.pi()
        return [2 * mass / decay + corner * end for mass, end in zip(self.masses, self.ends)]


class Strips:
    """The strips of some kernels and the factors beside them, real on the real line; what was proved of a cell is kept.

    Args:
        variable: x.
        kernels, factors: as ``prepared``.
    """

    def __init__(self, variable: Symbol, kernels: tuple[Expr, ...], factors: Sequence[Expr]) -> None:
        self.variable, self.kernels, self.functions = variable, kernels, (*kernels, *factors)
        self._half_width = WIDEST
        self._known: dict[tuple[Region, bool], list[tuple[float, Values]]] = {}

    def widest(self, left: int, right: int) -> Strip:
        """The widest, of those tried, over so many cells on the left and on the right of 0.

        Raises:
            NotProved: when the narrowest is not proved either, with the reason of the last attempt.
        """
        while True:
            try:
                return self.of(self._half_width, left, right)
            except NotProved:
                if not self.narrow():
                    raise

    def narrow(self) -> bool:
        """Whether the next narrower ones may be tried, which are those from now on."""
        if self._half_width * NARROWER < NARROWEST:
            return False
        self._half_width *= NARROWER
        return True

    def of(self, half_width: float, left: int, right: int) -> Strip:
        """The strip of this half-width.

        Raises:
            NotProved: where no proof is found.
        """
        sides = ((-1, left), (1, right))
        cells = [_cell(side, i) for i in range(max(left, right)) for side, count in sides if i < count]
        edges = [self._proved((*cell, half_width, half_width), True) for cell in cells]  # cheap to refuse
        for cell in cells:  # in the lower half the functions are mirrored
            self._proved((*cell, 0.0, half_width), False)
        ends = [self._proved((at, at, 0.0, half_width), True) for at in (-EDGES[left], EDGES[right])]
        places = range(len(self.kernels), len(self.functions))
        return Strip(
            half_width,
            -EDGES[left],
            EDGES[right],
            [sum((width * sizes[j] for edge in edges for width, sizes in edge), arb(0)) for j in places],
            [sum((reduce(arb.max, [sizes[j] for _, sizes in end]) for end in ends), arb(0)) for j in places],
        )

    def _proved(self, region: Region, has_positive_kernel: bool) -> list[tuple[float, Values]]:
        """The widths of the parts of a region on which all functions are bounded, and upper bounds of their moduli."""

        def sizes(part: Region) -> tuple[float, Values]:
            found = all_enclosed(self.functions, self.variable, rectangle(*part), CELLS)
            for function, values in zip(self.functions, found):
                if not values.is_finite():
                    raise NotProved("certified: no bound was found for", function)
            for kernel, values in zip(self.kernels, found) if has_positive_kernel else ():
                if not values.real >= 0:
                    raise NotProved("certified: the kernel is too steep, or not seen to have a real part >= 0:", kernel)
            return part[1] - part[0], [values.abs_upper() for values in found]

        key = region, has_positive_kernel
        if key not in self._known:
            self._known[key] = _parts(region, sizes)
        return self._known[key]


def check_nonnegative(variable: Symbol, function: Expr) -> None:
    """Proves that a function is >= 0 on the real line, factor by factor: a ball around a double zero has a negative part.

    Raises:
        NotProved: where it is not seen.
    """
    if isinstance(function, exp) or (function.is_Pow and function.exp.is_integer and function.exp.is_even):
        return
    if function.is_Mul or function.is_Pow:
        for factor in function.args if function.is_Mul else function.args[:1]:
            check_nonnegative(variable, factor)
        return

    function, _ = at_unit_scale(function, variable)

    def nonnegative(region: Region) -> None:
        if not enclosed(function, variable, rectangle(*region), CELLS).real >= 0:
            raise NotProved("certified: too steep, or not seen to be >= 0:", function)

    for side in (-1, 1):
        for i in range(_start(variable, function, side)):
            _parts((*_cell(side, i), 0.0, 0.0), nonnegative)


def at_unit_scale(function: Expr, variable: Symbol) -> tuple[Expr, Between | None]:
    """(f(x), a) of f(a x), as it is where there is no such a; what holds of f on the whole line holds at every a."""
    for scale in function.atoms(Between):
        unit = function.xreplace({variable: variable / scale})
        if not unit.has(scale):
            return unit, scale
    return function, None


def _start(variable: Symbol, function: Expr, side: int) -> int:
    """The edge from which on a function is >= 0."""
    reason = NotProved("certified: too steep, or not seen to be >= 0 far out:", function)
    for start in STARTS:
        try:
            if GrowthBounds(variable, EDGES[start], side).values(function).interval.a >= 0:
                return start
        except NotProved as found:
            reason = found
    raise reason


def _cell(side: int, i: int) -> tuple[float, float]:
    return (EDGES[i], EDGES[i + 1]) if side > 0 else (-EDGES[i + 1], -EDGES[i])


def _parts(region: Region, find: Callable[[Region], Found]) -> list[Found]:
    """What is found on a region, or on the parts it is halved into until something is on each.

    Raises:
        NotProved: that of the smallest part where nothing is.
    """
    try:
        return [find(region)]
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
        return [found for part in parts for found in _parts(part, find)]


NEAR = (8.0, 16.0, 32.0)
"""1/k is bounded by cells up to here and by its growth beyond; by cells further where that shows nothing."""


class Family:
    """One kernel K(x); or all k(a x) with a in an interval that holds 0.

    Of all these the two ``members`` at the ends say enough where signs are asked for: a real part >= 0 on a rectangle around 0 is
    one on every smaller one, through which a x runs while a goes from an end to 0. Evaluated with a ball for a, x^2 + 2x + 3 would
    be negative far out, where a^2 x^2 may be as small as 0.

    Attributes:
        unit: k(x), or K where there is no scale.
        members: k(a x) at both ends, or K alone.
        is_swept: whether a may be 0.
    """

    def __init__(self, variable: Symbol, kernel: Expr) -> None:
        self.variable = variable
        self.unit, scale = at_unit_scale(kernel, variable)
        self.is_swept = scale is not None and bool(scale.enclosure.contains(0))
        self.members: tuple[Expr, ...] = (kernel,)
        if scale is not None and self.is_swept:
            ends = scale.enclosure.lower(), scale.enclosure.upper()
            self.members = tuple(self.unit.xreplace({variable: Between(scale.name, end) * variable}) for end in ends)
            self.sizes = {side: abs(float(end)) for side, end in zip((-1, 1), ends)}

    def lowest(self, logs: Array) -> Array:
        """log of the smallest values on cells, from those of every member: one row each, as many cells left of 0 as right of it."""
        if not self.is_swept:
            return logs[0]
        left, right = np.split(logs.min(axis=0), 2)
        return np.concatenate([np.minimum.accumulate(left[::-1])[::-1], np.minimum.accumulate(right)])

    def inverse(self, growth: GrowthBounds) -> Exponent:
        """A bound of 1/K where ``growth`` bounds functions.

        Raises:
            NotProved: where there is none.
        """
        if not self.is_swept:
            return growth.inverse(self.members[0])
        return reduce(
            Exponent.or_more, [self._everywhere[n * growth.side].times(1.0, a) for n, a in self.sizes.items()]
        )

    @cached_property
    def _everywhere(self) -> dict[int, Exponent]:
        """Bounds of 1/k that rise with |x| from 0 on, left and right."""
        for reach in NEAR:
            try:
                with ctx.workprec(PROOF_BITS):
                    return {side: self._one_sided(side, reach) for side in (-1, 1)}
            except NotProved as found:
                reason = found
        raise reason

    def _one_sided(self, side: int, reach: float) -> Exponent:
        far = GrowthBounds(self.variable, reach, side).inverse(self.unit)
        starts = [CELL * n if side > 0 else -CELL * (n + 1) for n in range(round(reach / CELL))]
        cells = [rectangle(start, start + CELL, 0.0, 0.0) for start in starts]
        lowest = min(float(enclosed(self.unit, self.variable, cell, CELLS).real.lower()) for cell in cells)
        if not lowest > 0:
            raise NotProved(f"certified: the kernel {self.unit} is not seen to be positive")
        return far.or_more(Exponent(-log(lowest) + ROUNDING * (1 + abs(log(lowest)))))
