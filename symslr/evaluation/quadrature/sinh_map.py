"""Nodes of an outer axis: equally spaced, or further and further apart away from the peak where the window is long.

A kernel such as log(1 + e^(a x)) at a large scale a has moments that vary over steps of order one in log u where u a is of order
one, and over steps of order a beyond, where u e^(a x) decides. With v = c + s sinh(w/s) both are met by equal steps of w.

In a short window the left is long: there all moments are constants and the integrand is a power of u, exp(k v). With
v = w - exp(w_0 - w) it falls doubly exponentially, as by the rule of H. Takahasi and M. Mori (1974) for (0, oo).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from symslr.evaluation.numbers.arithmetic import FLOAT, Arithmetic

LONG = 120.0
"""Windows longer than this are stretched."""
SCALE = 10.0
"""Within so much of the peak the nodes are nearly equally spaced."""


@dataclass(frozen=True, slots=True)
class SinhMap:
    """v from ``low`` to ``high``, with ``scale`` infinite where no sinh stretches it; ``tail`` is w_0, or -oo."""

    low: float
    high: float
    centre: float
    scale: float
    tail: float = -np.inf

    @classmethod
    def over(cls, window: tuple[float, float], peak: float, tail: float = -np.inf) -> SinhMap:
        """The axis over a window; left of ``tail`` the integrand falls as a power of u."""
        low, high = window
        is_long = high - low > LONG
        return cls(low, high, peak, SCALE if is_long else np.inf, -np.inf if is_long else tail)

    @property
    def ends(self) -> tuple[float, float]:
        """(low, high) in w."""
        if np.isinf(self.scale):
            return self._before(self.low), self._before(self.high)
        low, high = (self.scale * float(np.arcsinh((v - self.centre) / self.scale)) for v in (self.low, self.high))
        return low, high

    @property
    def length(self) -> float:
        """Of the window in w."""
        low, high = self.ends
        return high - low

    def _before(self, v: float) -> float:
        """w of v where no sinh stretches the axis."""
        return v if np.isinf(self.tail) else v + float(scipy.special.wrightomega(self.tail - v))

    def density(self, v: Any) -> Any:
        """dv/dw."""
        if not np.isinf(self.tail):
            return 1.0 + scipy.special.wrightomega(self.tail - v)
        return np.ones(len(v)) if np.isinf(self.scale) else np.hypot(1.0, (v - self.centre) / self.scale)

    def nodes(self, step: float, arithmetic: Arithmetic = FLOAT) -> tuple[Any, Any, Any]:
        """(v, dv/dw, step of w): every second and fourth node is a mesh too."""
        count = 4 * max(2, int(np.ceil(self.length / step / 4)))
        low, high = map(arithmetic.number, self.ends)
        exact = (high - low) / count
        w = low + exact * arithmetic.integers(0, count + 1)
        if not np.isinf(self.tail):
            rest = arithmetic.exp(self.tail - w)
            return w - rest, 1 + rest, exact
        if np.isinf(self.scale):
            return w, arithmetic.full(count + 1, arithmetic.number(1)), exact
        up, down = arithmetic.exp(w / self.scale), arithmetic.exp(-w / self.scale)
        return self.centre + self.scale * (up - down) / 2, (up + down) / 2, exact
