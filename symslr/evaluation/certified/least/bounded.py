"""Bounds of a Taylor model on its interval, where its values may be small, and how many terms a model needs."""

from __future__ import annotations

from functools import reduce
from math import ceil, exp, log
from typing import Any

from flint import arb

from symslr.evaluation.certified.taylor import TaylorModel

SLICES = 32
NEWTON_STEPS = 60
"""Number of slices on which a polynomial is bounded by the mean value theorem, and most Newton steps to its minimum."""


class Bounded:
    """Bounds of the least value of a Taylor model on a part of its interval.

    Args:
        model: of the function.
        left, right: exact numbers, -radius <= left <= right <= radius.

    Attributes:
        below: a lower bound of all values, exact.
        above: an upper bound of the least value, exact.
        lowest: an approximate minimiser.
        reach: a bound of its distance to the minimiser of the polynomial.

    Raises:
        ArithmeticError: for a part beyond the interval.
    """

    def __init__(self, model: TaylorModel, left: Any, right: Any) -> None:
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
            self.below = (self.value + self._possible_decrease() + model.rest).lower()
            self.above = (self.value + model.rest).upper()
            return
        self.lowest, self.reach = ((left + right) / 2).mid(), (right - left).upper()
        self.slices = [self._slice(first, i) for i in range(SLICES)]
        self.below = reduce(arb.min, [below for _, below, _ in self.slices]).lower()
        self.above = reduce(arb.min, [above for _, _, above in self.slices]).upper()

    def _slice(self, first: Any, i: int) -> tuple[Any, Any, Any]:
        """(the slice as a ball, a lower bound of the values on it, an upper bound of the value at its midpoint)."""
        width = self.right - self.left
        ends = (self.left + width * i / SLICES).union(self.left + width * (i + 1) / SLICES)
        middle = ends.mid()
        value = self.model.polynomial(middle) + self.model.rest
        return ends, (value + (ends - middle) * first(ends)).lower(), value.upper()

    def _bottom(self, first: Any, second: Any) -> Any:
        """An approximate minimiser of the convex polynomial, an exact number between the ends, by Newton's method."""
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

    def _possible_decrease(self) -> Any:
        """Minus a bound of how much lower than at ``lowest`` the polynomial may be: the minimum of slope s + curvature s^2/2."""
        if (self.lowest == self.left and self.slope >= 0) or (self.lowest == self.right and self.slope <= 0):
            return arb(0)
        return -self.slope * self.slope / (2 * self.curvature)

    def sublevel_interval(self, above: Any) -> tuple[Any, Any]:
        """The ends of an interval that contains every t at which the value may be <= ``above``."""
        if not self.is_convex:
            kept = [ends for ends, below, _ in self.slices if not below > above]
            return kept[0].lower(), kept[-1].upper()
        spare = (above - self.model.rest - self.value).upper().max(arb(0))
        root = (self.slope * self.slope + 2 * self.curvature * spare).sqrt()
        left, right = (self.lowest + (side * root - self.slope) / self.curvature for side in (-1, 1))
        return left.lower(), right.upper()


class BoundedInPower:
    """As ``Bounded``, for a function of s = t^n, n even: if it is flat in t at 0, it usually is not in s.

    Args:
        model, left, right: as for ``Bounded``, left <= 0 <= right.
        period: n.
    """

    def __init__(self, model: TaylorModel, left: Any, right: Any, period: int) -> None:
        self.left, self.right, self.period = left, right, period
        self.of_s = Bounded(model.in_power(period), arb(0), ((-left).max(right) ** period).upper())
        self.below, self.above, self.is_convex = self.of_s.below, self.of_s.above, self.of_s.is_convex
        self.lowest = arb(self.of_s.lowest).root(period).mid()
        reached = arb(self.of_s.lowest + self.of_s.reach).root(period)
        self.reach = (reached - self.lowest).upper().max(self.lowest)

    def sublevel_interval(self, above: Any) -> tuple[Any, Any]:
        """As for ``Bounded``."""
        reach = self.of_s.sublevel_interval(above)[1].max(arb(0)).root(self.period).upper()
        return (-reach).max(self.left), reach.min(self.right)


MOST_TERMS = 11
"""Most terms of a model, except on short parts."""
MOST_TERMS_AGAIN = 18
"""Most terms of a model that is computed again because the first one was too wide."""
FLOAT_NATS = 24.0
"""Nats of the second models, which floats still provide. They locate the minimiser so well that the next models are the last."""
LEAST_RATE = 1e-9
"""Lower bound of ``last_term_rate``."""


def model_terms(reach: float, radius: float, nats: float) -> tuple[int, int]:
    """(number of terms of a model so that its remainder is about e^-nats, number of terms that need more than float precision).

    Args:
        reach: distance from the centre up to which the remainder has to be that small, in units of the length over which the
            coefficients grow.
        radius: of the interval on which the last coefficient is enclosed, in the same units.
        nats: error of the sums.
    """
    needed = nats if reach == radius else nats + log(min(radius, 1.0))
    per_term = -log(min(reach, exp(-nats / MOST_TERMS)))
    return max(2, ceil(needed / per_term)), max(1, ceil((nats - FLOAT_NATS) / per_term))


def last_term_rate(model: TaylorModel) -> float:
    """q such that the last term of a model, t^m, is at most q^m on the interval."""
    last = model.polynomial[model.length - 1].abs_upper() * model.radius ** (model.length - 1)
    return max(LEAST_RATE, float(last.root(model.length - 1)))


def terms_for(last_term_rate: float, nats: float) -> int:
    """Number of terms after which the last one is e^-nats; 0 where that would be more than ``MOST_TERMS_AGAIN``."""
    return ceil(nats / -log(last_term_rate)) if last_term_rate < exp(-nats / MOST_TERMS_AGAIN) else 0


def lacking_nats(model: TaylorModel, nats: float) -> float:
    """Nats by which the errors of all but the last term have to shrink to be below e^-nats/2; 0 where they are."""
    others = model.error - model.polynomial[model.length - 1].rad() * model.radius ** (model.length - 1)
    wanted = arb(-nats).exp() / 2
    return float((others / wanted).log().upper()) + 1 if others > wanted else 0.0
