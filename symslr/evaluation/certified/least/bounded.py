"""Bounds of a Taylor model over its interval, and where it may be small."""

from __future__ import annotations

from typing import Any

from flint import arb, arb_poly

from symslr.evaluation.certified.least.taylor import Taylor

SLICES = 32
NEWTON_STEPS = 60


class Bounded:
    """A model's least value.

    Attributes:
        below: an exact number below all values.
        above: an exact number above one of the values.
    """

    def __init__(self, model: Taylor) -> None:
        self.model, self.radius = model, model.radius
        first = model.polynomial.derivative()
        second = first.derivative()
        self.curvature = second(arb(0, self.radius)).lower()
        self.is_convex = bool(self.curvature > 0)
        if self.is_convex:
            self.lowest = self._bottom(first, second)
            self.value, self.slope = model.polynomial(self.lowest), first(self.lowest)
            self.below = (self.value + self._fall() + model.rest).lower()
            self.above = (self.value + model.rest).upper()
            return
        self.slices = []
        width = self.radius / SLICES
        for i in range(SLICES):
            middle = (self.radius * (2 * i + 1 - SLICES) / SLICES).mid()
            around = arb(0, width.upper()) * first(middle + arb(0, width.upper()))
            value = model.polynomial(middle) + model.rest
            self.slices.append((middle, (value + around).lower(), value.upper()))
        self.below = _least([below for _, below, _ in self.slices])
        self.above = _least([above for _, _, above in self.slices])

    def _bottom(self, first: Any, second: Any) -> Any:
        """About where the convex polynomial is least on the interval, an exact number in it."""
        if first(-self.radius) >= 0:
            return -self.radius
        if first(self.radius) <= 0:
            return self.radius
        t = arb(0)
        for _ in range(NEWTON_STEPS):
            step = (first(t) / second(t)).mid()
            moved = (t - step).mid().max(-self.radius).min(self.radius).mid()
            if moved == t:
                break
            t = moved
        return t

    def _fall(self) -> Any:
        """How much lower than at ``lowest`` the polynomial may be: of slope s + curvature s^2/2 the least over the interval."""
        if (self.lowest == -self.radius and self.slope >= 0) or (self.lowest == self.radius and self.slope <= 0):
            return arb(0)
        return -self.slope * self.slope / (2 * self.curvature)

    def near(self, above: Any) -> tuple[float, float]:
        """(shift, radius) of an interval, in floats, that holds every t at which the value may be <= ``above``."""
        if self.is_convex:
            spare = (above - self.model.rest - self.value).upper().max(arb(0))
            size = abs(self.slope)
            reach = (size + (size * size + 2 * self.curvature * spare).sqrt()) / self.curvature
            left, right = (self.lowest - reach).max(-self.radius), (self.lowest + reach).min(self.radius)
        else:
            kept = [middle for middle, below, _ in self.slices if not below > above]
            half = self.radius / SLICES
            left, right = kept[0] - half, kept[-1] + half
        shift = float(((left + right) / 2).mid())
        radius = _above((right - shift).max(shift - left))
        return shift, radius


def _above(number: Any) -> float:
    """A float above a ball."""
    return float(number.upper()) * (1 + 1e-15)


def _least(numbers: list[Any]) -> Any:
    found = numbers[0]
    for number in numbers[1:]:
        found = found.min(number)
    return found.lower()
