"""Nodes of an outer axis: equally spaced, or further and further apart away from the peak where the window is long.

A kernel such as log(1 + e^(a x)) at a large scale a has moments that vary over steps of order one in log u where u a is of order
one, and over steps of order a beyond, where u e^(a x) decides. With v = c + s sinh(w/s) both are met by equal steps of w.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

LONG = 120.0
"""Windows longer than this are stretched."""
SCALE = 10.0
"""Within so much of the peak the nodes are nearly equally spaced."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """v from ``low`` to ``high``, with ``scale`` infinite where nothing is stretched."""

    low: float
    high: float
    centre: float
    scale: float

    @classmethod
    def over(cls, window: tuple[float, float], peak: float) -> Stretch:
        """The axis over a window."""
        low, high = window
        return cls(low, high, peak, SCALE if high - low > LONG else np.inf)

    @property
    def ends(self) -> tuple[float, float]:
        """(low, high) in w."""
        if np.isinf(self.scale):
            return self.low, self.high
        low, high = (self.scale * float(np.arcsinh((v - self.centre) / self.scale)) for v in (self.low, self.high))
        return low, high

    @property
    def length(self) -> float:
        """Of the window in w."""
        low, high = self.ends
        return high - low

    def density(self, v: Any) -> Any:
        """dv/dw."""
        return np.ones(len(v)) if np.isinf(self.scale) else np.hypot(1.0, (v - self.centre) / self.scale)

    def nodes(self, step: float) -> tuple[Any, Any, float]:
        """(v, dv/dw, step of w): every second and fourth node is a mesh too."""
        low, high = self.ends
        count = 4 * max(2, int(np.ceil((high - low) / step / 4)))
        exact = (high - low) / count
        w = low + exact * np.arange(count + 1)
        if np.isinf(self.scale):
            return w, np.ones(count + 1), exact
        return self.centre + self.scale * np.sinh(w / self.scale), np.cosh(w / self.scale), exact
