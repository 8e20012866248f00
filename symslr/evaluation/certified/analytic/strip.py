"""Strips of analyticity: rectangles around a part of the real line on which kernels have real part >= 0 and factors are analytic.

Also a family of kernels k(a x), a in an interval that contains 0, by what is proved of k and of the two ends of the interval.
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

from symslr.evaluation.certified.analytic.arithmetic import PROOF_BITS, RECTANGLES, all_enclosed, enclosed, rectangle
from symslr.evaluation.certified.analytic.growth import ROUNDING, GrowthBounds, QuadraticBound
from symslr.evaluation.certified.outer import Array
from symslr.evaluation.errors import NotProved
from symslr.evaluation.numbers.elementary import Between

WIDEST, NARROWEST, NARROWER = 3.0, 0.02, 0.9
"""Half-widths of a strip are tried from the widest to the narrowest, in ratios NARROWER: a wider strip needs fewer nodes."""

CELL_WIDTH, CELLS_PER_OCTAVE = 0.125, 16
"""Width of the cells near 0, where tokens and most poles lie; further out cells are |x| divided by the second number wide."""

LARGEST_X = 400.0
"""Largest |x| at which a rule may end."""

SMALLEST_CELL = 2.0**-9
"""Cells are bisected down to this size where an enclosure is too wide to decide."""


def _edges() -> list[float]:
    found = [0.0]
    while found[-1] < LARGEST_X:
        found.append(found[-1] + max(CELL_WIDTH, found[-1] / CELLS_PER_OCTAVE))
    return found


EDGES = _edges()
"""Edges of the cells to the right of 0; those to the left are mirrored."""

FAR_EDGES = range(27, len(EDGES), 11)
"""Indices of edges, from x = 4 on in roughly equal ratios, beyond which one enclosure of a half line is tried."""

Region = tuple[float, float, float, float]
"""left, right, low, high."""

Moduli = list[Any]

Found = TypeVar("Found")


@dataclass(frozen=True)
class Strip:
    """A rectangle low <= Re x <= high, |Im x| <= half_width of analyticity, with kernels of real part >= 0 on its boundary.

    Attributes:
        half_width: d.
        low, high: its ends.
        masses: for each factor F an upper bound of the integral of |F(x + id)| over low <= x <= high.
        ends: for each factor an upper bound of max |F| on the left side plus max |F| on the right side.
    """

    half_width: float
    low: float
    high: float
    masses: list[Any]
    ends: list[Any]

    def errors(self, step: Any) -> list[Any]:
        """For each factor an upper bound of |midpoint rule - integral| from ``low`` to ``high``, for every u >= 0."""
        decay, corner = (2 * arb.pi() * self.half_width / step).expm1(), step * arb.const_log2() / arb.pi()
        return [2 * mass / decay + corner * end for mass, end in zip(self.masses, self.ends)]


class Strips:
    """The search for strips of given kernels and factors, real on the real line; results for cells are cached.

    Args:
        variable: x.
        kernels, factors: as ``prepared``.
    """

    def __init__(self, variable: Symbol, kernels: tuple[Expr, ...], factors: Sequence[Expr]) -> None:
        self.variable, self.kernels, self.functions = variable, kernels, (*kernels, *factors)
        self._half_width = WIDEST
        self._known: dict[tuple[Region, bool], list[tuple[float, Moduli]]] = {}

    def widest(self, left: int, right: int) -> Strip:
        """The widest strip that is proved, over ``left`` cells left of 0 and ``right`` cells right of it.

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
        """Go to the next narrower half-width; False where that would be below ``NARROWEST``."""
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

    def _proved(self, region: Region, has_positive_kernel: bool) -> list[tuple[float, Moduli]]:
        """(width, upper bounds of the moduli of all functions) for the parts of a region on which all are seen to be bounded."""

        def sizes(part: Region) -> tuple[float, Moduli]:
            found = all_enclosed(self.functions, self.variable, rectangle(*part), RECTANGLES)
            for function, values in zip(self.functions, found):
                if not values.is_finite():
                    raise NotProved("certified: no bound was found for", function)
            for kernel, values in zip(self.kernels, found) if has_positive_kernel else ():
                if not values.real >= 0:
                    raise NotProved("certified: the kernel is too steep, or not seen to have a real part >= 0:", kernel)
            return part[1] - part[0], [values.abs_upper() for values in found]

        key = region, has_positive_kernel
        if key not in self._known:
            self._known[key] = _by_bisection(region, sizes)
        return self._known[key]


def check_nonnegative(variable: Symbol, function: Expr) -> None:
    """Prove that a function is >= 0 on the real line, factor by factor: an enclosure near a double zero has a negative part.

    Raises:
        NotProved: where no proof is found.
    """
    if isinstance(function, exp) or (function.is_Pow and function.exp.is_integer and function.exp.is_even):
        return
    if function.is_Mul or function.is_Pow:
        for factor in function.args if function.is_Mul else function.args[:1]:
            check_nonnegative(variable, factor)
        return

    function, _ = at_unit_scale(function, variable)

    def nonnegative(region: Region) -> None:
        if not enclosed(function, variable, rectangle(*region), RECTANGLES).real >= 0:
            raise NotProved("certified: too steep, or not seen to be >= 0:", function)

    for side in (-1, 1):
        for i in range(_start(variable, function, side)):
            _by_bisection((*_cell(side, i), 0.0, 0.0), nonnegative)


def at_unit_scale(function: Expr, variable: Symbol) -> tuple[Expr, Between | None]:
    """(f(x), a) for a function f(a x), else (function, None); what holds for f on the whole line holds for every a."""
    for scale in function.atoms(Between):
        unit = function.xreplace({variable: variable / scale})
        if not unit.has(scale):
            return unit, scale
    return function, None


def _start(variable: Symbol, function: Expr, side: int) -> int:
    """Index of an edge beyond which a function is >= 0."""
    reason = NotProved("certified: too steep, or not seen to be >= 0 far out:", function)
    for start in FAR_EDGES:
        try:
            if GrowthBounds(variable, EDGES[start], side).values(function).interval.a >= 0:
                return start
        except NotProved as found:
            reason = found
    raise reason


def _cell(side: int, i: int) -> tuple[float, float]:
    return (EDGES[i], EDGES[i + 1]) if side > 0 else (-EDGES[i + 1], -EDGES[i])


def _by_bisection(region: Region, find: Callable[[Region], Found]) -> list[Found]:
    """The results of ``find`` on the parts of a region, which is bisected until ``find`` succeeds on each.

    Raises:
        NotProved: that of a part of the smallest size where ``find`` fails.
    """
    try:
        return [find(region)]
    except NotProved:
        left, right, low, high = region
        if max(right - left, high - low) < SMALLEST_CELL:
            raise
        if right - left >= high - low:
            middle = (left + right) / 2
            parts = [(left, middle, low, high), (middle, right, low, high)]
        else:
            middle = (low + high) / 2
            parts = [(left, right, low, middle), (left, right, middle, high)]
        return [found for part in parts for found in _by_bisection(part, find)]


FAMILY_REACHES = (8.0, 16.0, 32.0)
"""1/k is bounded by cells up to the first of these |x|, and by growth bounds beyond; up to the next where that fails."""


class Family:
    """One kernel K(x), or the family k(a x) with a in an interval that contains 0.

    For signs the two ``members`` at the ends of the interval suffice: if k has real part >= 0 at all a x, x in a rectangle around
    0, for a at an end, then also for every smaller a, which covers a smaller rectangle. Evaluation with a ball for a would not do:
    x^2 + 2x + 3 would have negative values at large |x|, as a^2 x^2 may be as small as 0.

    Attributes:
        unit: k(x), or K where there is no scale a.
        members: k(a x) for a at both ends, or K alone.
        is_swept: whether the interval of a contains 0.
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
        """log of lower bounds of all kernels of the family on cells, from those of the members (one row each, symmetric about
        0)."""
        if not self.is_swept:
            return logs[0]
        left, right = np.split(logs.min(axis=0), 2)
        return np.concatenate([np.minimum.accumulate(left[::-1])[::-1], np.minimum.accumulate(right)])

    def inverse(self, growth: GrowthBounds) -> QuadraticBound:
        """A growth bound of 1/K on the half line of ``growth``.

        Raises:
            NotProved: where none is found.
        """
        if not self.is_swept:
            return growth.inverse(self.members[0])
        return reduce(
            QuadraticBound.maximum, [self._everywhere[n * growth.side].times(1.0, a) for n, a in self.sizes.items()]
        )

    @cached_property
    def _everywhere(self) -> dict[int, QuadraticBound]:
        """Growth bounds of 1/k on the whole half lines right (1) and left (-1) of 0."""
        for reach in FAMILY_REACHES:
            try:
                with ctx.workprec(PROOF_BITS):
                    return {side: self._one_sided(side, reach) for side in (-1, 1)}
            except NotProved as found:
                reason = found
        raise reason

    def _one_sided(self, side: int, reach: float) -> QuadraticBound:
        far = GrowthBounds(self.variable, reach, side).inverse(self.unit)
        starts = [CELL_WIDTH * n if side > 0 else -CELL_WIDTH * (n + 1) for n in range(round(reach / CELL_WIDTH))]
        cells = [rectangle(start, start + CELL_WIDTH, 0.0, 0.0) for start in starts]
        lowest = min(float(enclosed(self.unit, self.variable, cell, RECTANGLES).real.lower()) for cell in cells)
        if not lowest > 0:
            raise NotProved(f"certified: the kernel {self.unit} is not seen to be positive")
        return far.maximum(QuadraticBound(-log(lowest) + ROUNDING * (1 + abs(log(lowest)))))
