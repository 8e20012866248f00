"""Bounds of a Taylor model over its interval, and where it may be small; how many terms it has, and what it lacks."""

from __future__ import annotations

from functools import reduce
from math import ceil, exp, log
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


LONGEST = 11
"""Terms of the models on parts that are not short."""
LONGER = 18
"""Those of a model that is made again as its last one was too wide."""
MIDDLE = 24.0
"""Nats of the models after the first ones: floats give as many. They show the place so well that the next ones are the last."""
TINY = 1e-9
"""No last term is smaller than its power."""


def terms(reach: float, radius: float, nats: float) -> tuple[int, int]:
    """So many that what is left out is as small as the errors of the sums, as far as that can be; and of how many floats do not do.

    Args:
        reach: how far from the centre that has to be, relative to the length over which the coefficients of a model grow.
        radius: of the interval on which the last coefficient is enclosed: about so much it is off.
    """
    needed = nats if reach == radius else nats + log(min(radius, 1.0))
    per_term = -log(min(reach, exp(-nats / LONGEST)))
    return max(2, ceil(needed / per_term)), max(1, ceil((nats - MIDDLE) / per_term))


def rate(model: Taylor) -> float:
    """q where the last term of a model of n terms is as large as q^n."""
    last = model.polynomial[model.length - 1].abs_upper() * model.radius ** (model.length - 1)
    return max(TINY, float(last.root(model.length - 1)))


def enough(rate: float, nats: float) -> int:
    """Terms that make the last one as small as e^-nats; 0 where it would take more than ``LONGER``."""
    return ceil(nats / -log(rate)) if rate < exp(-nats / LONGER) else 0


def lacking(model: Taylor, nats: float) -> float:
    """Nats by which all but the last term of a model have to be less wide to be well below e^-nats; 0 where they are."""
    others = model.error - model.polynomial[model.length - 1].rad() * model.radius ** (model.length - 1)
    wanted = arb(-nats).exp() / 2
    return float((others / wanted).log().upper()) + 1 if others > wanted else 0.0
