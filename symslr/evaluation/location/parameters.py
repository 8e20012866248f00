"""The parameters of an attention as one vector: scales and weights of its heads, its bias, and the kernel's own."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np

from symslr.evaluation.location.attend import Attend, Place

MOST_LOG = 700.0
"""Beyond it an exponential is no number of float64."""


@dataclass(frozen=True)
class Parameters:
    """What the least risk of an attention is searched over.

    Attributes:
        heads, directions: of the scales a_h in R^p.
        joint: weights log c_h that are free, of the heads behind the first.
        has_bias: whether one constant bias is free.
        own: names of the kernel's own parameters.
    """

    heads: int
    directions: int
    joint: int
    has_bias: bool
    own: tuple[str, ...]

    @classmethod
    def of(cls, attend: Attend) -> Parameters:
        attention = attend.attention
        joint = attention.heads - 1 if attention.is_joint else 0
        own = tuple(str(symbol) for symbol in attend.own)
        return cls(attention.heads, attend.setting.directions, joint, attention.bias == "free", own)

    @property
    def count(self) -> int:
        return self._scales + self.joint + self.has_bias + len(self.own)

    @property
    def _scales(self) -> int:
        return self.heads * self.directions

    def placed(self, vector: Any) -> Place:
        """The place that a vector (count,) stands for."""
        scales, rest = vector[: self._scales].reshape(self.heads, self.directions), vector[self._scales :]
        weights = np.concatenate([[0.0], rest[: self.joint]]) if self.joint else np.zeros(self.heads)
        bias = float(rest[self.joint]) if self.has_bias else 0.0
        own = tuple(float(number) for number in rest[self.joint + self.has_bias :])
        return Place(scales, weights, bias, own)

    def printed(self, vector: Any, extents: Any, unit: float) -> dict[str, tuple[float, float, float]]:
        """Every parameter by the name it prints with: where it stands, and the ends between which it may lie.

        Args:
            vector: (count,), where the parameters stand.
            extents: (2, count), how far below and above that they may lie.
            unit: what scales are divided by.
        """
        found = {}
        for k, name in enumerate(self._names()):
            at, low, high = float(vector[k]), float(vector[k] - extents[0, k]), float(vector[k] + extents[1, k])
            if k < self._scales:
                at, low, high = at / unit, low / unit, high / unit
            elif k < self._scales + self.joint:
                at, low, high = exp(at), exp(low), exp(min(high, MOST_LOG))
            found[name] = at, low, high
        return found

    def _names(self) -> list[str]:
        marks = [
            [str(h + 1)] * (self.heads > 1) + [str(d + 1)] * (self.directions > 1)
            for h in range(self.heads)
            for d in range(self.directions)
        ]
        names = ["_".join(["a", *mark]) for mark in marks]
        return [*names, *(f"c_{h + 2}" for h in range(self.joint)), *["b"] * self.has_bias, *self.own]
