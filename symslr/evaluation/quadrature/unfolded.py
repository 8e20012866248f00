"""Intervals as images of the line, x = x(s), with ends that s reaches as a power: a power tail and an end look alike.

A density that is finite at an end of x is one with a tail 1/s^2 there, one that grows as d^(-1/2) with the distance d one with
1/s^(3/2) beside an infinite other end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluation.numbers.arithmetic import FLOAT

NEAREST = 4.0 * FLOAT.eps
"""Parts of an end by which float64 tells a place from it."""


@dataclass(frozen=True, slots=True)
class Unfolded:
    """The line itself, or x = end +- (s + sqrt(s^2 + width^2))/2, or from ``low`` to ``high`` as s/sqrt(s^2 + width^2).

    x grows with s.
    """

    low: float
    high: float
    width: float = 1.0

    @property
    def ends(self) -> list[float]:
        """Those that are finite."""
        return [end for end in (self.low, self.high) if np.isfinite(end)]

    def _distances(self, s: Any) -> tuple[Any, Any]:
        """From both ends, infinite from an end that is."""
        root = np.hypot(s, self.width)
        near, far = self.width * self.width / (2.0 * (root + np.abs(s))), (root + np.abs(s)) / 2.0
        if np.isfinite(self.low) and np.isfinite(self.high):
            near, far = (self.high - self.low) * near / root, (self.high - self.low) * far / root
        above, below = np.where(s < 0, near, far), np.where(s < 0, far, near)
        return above if np.isfinite(self.low) else np.inf, below if np.isfinite(self.high) else np.inf

    def places(self, s: Any) -> Any:
        """x of s, not nearer to an end than float64 tells."""
        if not self.ends:
            return s
        above, below = self._distances(s)
        upwards = self.low + np.maximum(above, NEAREST * abs(self.low))
        downwards = self.high - np.maximum(below, NEAREST * abs(self.high))
        return np.where(above <= below, upwards, downwards)

    def beside(self, distances: Any) -> Any:
        """x so far from the one end, not nearer than float64 tells."""
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
    def told(self) -> Any:
        """Sizes of s, downwards and upwards, from where on float64 does not tell x(s) from an end; infinite for one at 0."""
        with np.errstate(divide="ignore"):
            ratio = np.array([self.width / (4.0 * NEAREST * np.abs(end)) for end in (self.low, self.high)])
        if len(self.ends) == 2:
            ratio = np.sqrt((self.high - self.low) * ratio / self.width)
        return self.width * np.where(np.isfinite([self.low, self.high]), ratio, np.inf)
