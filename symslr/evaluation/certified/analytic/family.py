"""A kernel k(a x) at every a of an interval around 0, by what is proved of k and of the two ends of the interval."""

from __future__ import annotations

from functools import cached_property, reduce
from math import log

import numpy as np
from flint import ctx
from sympy import Expr, Symbol

from symslr.evaluation.certified.analytic.cells import CELLS, rectangle
from symslr.evaluation.certified.analytic.growth import ROUNDING, Exponent, GrowthBounds
from symslr.evaluation.certified.analytic.proof import PROOF_BITS, NotProved, enclosed
from symslr.evaluation.certified.analytic.strip import CELL, at_unit_scale
from symslr.evaluation.certified.outer import Array
from symslr.evaluation.numbers.elementary import Between

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
        return reduce(Exponent.or_more, [self._everywhere[n * growth.side].along(a) for n, a in self.sizes.items()])

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
