"""Bounds of a Taylor model over its interval, and where it may be small."""

from __future__ import annotations

from functools import reduce
from typing import Any

from flint import arb

from symslr.evaluation.certified.taylor import Taylor

SLICES = 32
NEWTON_STEPS = 60
"""Parts on which a polynomial is bounded by the mean value theorem; steps towards its minimum, which end where nothing moves."""


class Bounded:
    """A model's least value on a part of its interval.

    Args:
        model: of the function.
        left, right: exact numbers, -radius <= left <= right <= radius.

    Attributes:
        below: an exact number below all values.
        above: an exact number above one of the values.
        lowest, reach: about where the function is least, and how far from it that may be.

    Raises:
        ArithmeticError: for a part beyond the interval.
    """

    def __init__(self, model: Taylor, left: Any, right: Any) -> None:
        if not (-model.radius <= left and right <= model.radius):
            raise ArithmeticError("a part reaches beyond its model")
        self.model, self.left, self.right = model, left, right
        first = model.polynomial.derivative()
        second = first.derivative()
        self.curvature = second(left.union(right)).lower()
        self.is_convex = bool(self.curvature > 0)
        if self.is_convex:
            self.lowest = self._bottom(first, second)
            self.value, self.slope = model.polynomial(self.lowest), first(self.lowest)
            self.reach = (abs(self.slope) / self.curvature).upper()
            self.below = (self.value + self._fall() + model.rest).lower()
            self.above = (self.value + model.rest).upper()
            return
        self.lowest, self.reach = ((left + right) / 2).mid(), (right - left).upper()
        self.slices = [self._slice(first, i) for i in range(SLICES)]
        self.below = reduce(arb.min, [below for _, below, _ in self.slices]).lower()
        self.above = reduce(arb.min, [above for _, _, above in self.slices]).upper()

    def _slice(self, first: Any, i: int) -> tuple[Any, Any, Any]:
        """(the slice as a ball, a bound below the values on it, one above the value in its middle)."""
        width = self.right - self.left
        ends = (self.left + width * i / SLICES).union(self.left + width * (i + 1) / SLICES)
        middle = ends.mid()
        value = self.model.polynomial(middle) + self.model.rest
        return ends, (value + (ends - middle) * first(ends)).lower(), value.upper()

    def _bottom(self, first: Any, second: Any) -> Any:
        """About where the convex polynomial is least, an exact number between the ends."""
        if first(self.left) >= 0:
            return self.left
        if first(self.right) <= 0:
            return self.right
        t = ((self.left + self.right) / 2).mid()
        for _ in range(NEWTON_STEPS):
            moved = (t - first(t) / second(t)).mid().max(self.left).min(self.right).mid()
            if moved == t:
                break
            t = moved
        return t

    def _fall(self) -> Any:
        """How much lower than at ``lowest`` the polynomial may be: slope s + curvature s^2/2 at its least."""
        if (self.lowest == self.left and self.slope >= 0) or (self.lowest == self.right and self.slope <= 0):
            return arb(0)
        return -self.slope * self.slope / (2 * self.curvature)

    def near(self, above: Any) -> tuple[Any, Any]:
        """The ends of an interval that holds every t at which the value may be <= ``above``."""
        if not self.is_convex:
            kept = [ends for ends, below, _ in self.slices if not below > above]
            return kept[0].lower(), kept[-1].upper()
        spare = (above - self.model.rest - self.value).upper().max(arb(0))
        root = (self.slope * self.slope + 2 * self.curvature * spare).sqrt()
        left, right = (self.lowest + (side * root - self.slope) / self.curvature for side in (-1, 1))
        return left.lower(), right.upper()


class Folded:
    """As ``Bounded``, of a function of t^n, n even: where it is flat at 0, it need not be so as a function of s = t^n.

    Args:
        model, left, right: as for ``Bounded``, left <= 0 <= right.
        period: n.
    """

    def __init__(self, model: Taylor, left: Any, right: Any, period: int) -> None:
        self.left, self.right, self.period = left, right, period
        self.of_s = Bounded(model.folded(period), arb(0), ((-left).max(right) ** period).upper())
        self.below, self.above, self.is_convex = self.of_s.below, self.of_s.above, self.of_s.is_convex
        self.lowest = arb(self.of_s.lowest).root(period).mid()
        reached = arb(self.of_s.lowest + self.of_s.reach).root(period)
        self.reach = (reached - self.lowest).upper().max(self.lowest)

    def near(self, above: Any) -> tuple[Any, Any]:
        """As that of ``Bounded``."""
        reach = self.of_s.near(above)[1].max(arb(0)).root(self.period).upper()
        return (-reach).max(self.left), reach.min(self.right)
