"""Maps x(s) of the line to an interval under which an end of the interval looks like a power tail.

A density finite at an end of x has a tail 1/s^2 there. One that grows as d^(-1/2) with the distance d from the end has a tail
1/s^(3/2), where the other end is infinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluation.numbers.arithmetic import FLOAT

NEAREST = 4.0 * FLOAT.eps
"""Least distance of a place from an end, relative to that end, at which float64 tells them apart."""


@dataclass(frozen=True, slots=True)
class Unfolded:
    """The map x(s), increasing: the identity; end +- (s + sqrt(s^2 + width^2))/2 for one end; with s/sqrt(s^2 + width^2) for
    two ends.
    """

    low: float
    high: float
    width: float = 1.0

    @property
    def ends(self) -> list[float]:
        """The finite ends."""
        return [end for end in (self.low, self.high) if np.isfinite(end)]

    def _distances(self, s: Any) -> tuple[Any, Any]:
        """Distances of x(s) from the lower and the upper end, infinite for an infinite end."""
        root = np.hypot(s, self.width)
        near, far = self.width * self.width / (2.0 * (root + np.abs(s))), (root + np.abs(s)) / 2.0
        if np.isfinite(self.low) and np.isfinite(self.high):
            near, far = (self.high - self.low) * near / root, (self.high - self.low) * far / root
        above, below = np.where(s < 0, near, far), np.where(s < 0, far, near)
        return above if np.isfinite(self.low) else np.inf, below if np.isfinite(self.high) else np.inf

    def places(self, s: Any) -> Any:
        """x(s), kept apart from the ends by what float64 resolves."""
        if not self.ends:
            return s
        above, below = self._distances(s)
        upwards = self.low + np.maximum(above, NEAREST * abs(self.low))
        downwards = self.high - np.maximum(below, NEAREST * abs(self.high))
        return np.where(above <= below, upwards, downwards)

    def beside(self, distances: Any) -> Any:
        """x at given distances from the one end, kept apart from it by what float64 resolves."""
        (end,) = self.ends
        return end + (1.0 if np.isinf(self.high) else -1.0) * np.maximum(distances, NEAREST * abs(end))

    def density(self, s: Any) -> Any:
        """dx/ds."""
        if not self.ends:
            return np.ones(np.shape(s))
        root, (above, below) = np.hypot(s, self.width), self._distances(s)
        if len(self.ends) == 1:
            return np.minimum(above, below) / root
        return (self.high - self.low) / (2.0 * root) * (self.width / root) ** 2

    @property
    def resolved_reach(self) -> Any:
        """The largest |s| to the left and to the right at which float64 tells x(s) from an end; infinite for an end at 0 or at
        infinity.
        """
        with np.errstate(divide="ignore"):
            ratio = np.array([self.width / (4.0 * NEAREST * np.abs(end)) for end in (self.low, self.high)])
        if len(self.ends) == 2:
            ratio = np.sqrt((self.high - self.low) * ratio / self.width)
        return self.width * np.where(np.isfinite([self.low, self.high]), ratio, np.inf)
