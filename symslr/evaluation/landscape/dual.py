"""An array with its derivatives in a few directions: the chain rule for products of tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Dual:
    """``value`` of any shape and ``slopes`` of shape (directions, *value.shape)."""

    value: Array
    slopes: Array

    def __add__(self, other: Dual) -> Dual:
        return Dual(self.value + other.value, self.slopes + other.slopes)

    def __sub__(self, other: Dual) -> Dual:
        return Dual(self.value - other.value, self.slopes - other.slopes)

    def __mul__(self, other: Dual) -> Dual:
        return Dual(self.value * other.value, self.slopes * other.value + other.slopes * self.value)

    def scaled(self, factor: Array | float) -> Dual:
        """The product with numbers that do not move."""
        return Dual(self.value * factor, self.slopes * factor)

    def power(self, n: int) -> Dual:
        """The n-th power, n >= 0."""
        if n == 0:
            return Dual(np.ones_like(self.value), np.zeros_like(self.slopes))
        below = self.value ** (n - 1)
        return Dual(below * self.value, self.slopes * (n * below))

    def total(self, weights: Array) -> Dual:
        """The sum of weight times value over all entries."""
        count = len(self.slopes)
        flat = weights.reshape(-1)
        return Dual(np.asarray(self.value.reshape(-1) @ flat), self.slopes.reshape(count, -1) @ flat)
