"""The six scalars of the fixed point, in the coordinates in which it is searched."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from symslr.evaluation.finite_sample.fields import Array


@dataclass(frozen=True)
class ReplicaState:
    """What the fit looks like seen from the true vectors k*, v*; keys k, values v.

    Attributes:
        m_k, m_v: overlap with the true vector, k.k*/D and v.v*/D.
        q_k, q_v: squared length, |k|^2/D and |v|^2/D; at least m^2.
        V_k, V_v: response > 0, how far one sample left out could pull the fit; 0 when data abound.
    """

    m_k: float
    q_k: float
    V_k: float
    m_v: float
    q_v: float
    V_v: float

    @property
    def R_k(self) -> float:
        """q_k - m_k^2, the squared length outside k*."""
        return self.q_k - self.m_k**2

    @property
    def R_v(self) -> float:
        """q_v - m_v^2, the squared length outside v*."""
        return self.q_v - self.m_v**2

    def coordinates(self) -> Array:
        """(m_k, log R_k, log V_k, m_v, log R_v, log V_v): free of constraints."""
        return np.array(
            [self.m_k, math.log(self.R_k), math.log(self.V_k), self.m_v, math.log(self.R_v), math.log(self.V_v)]
        )

    @classmethod
    def from_coordinates(cls, point: Array) -> ReplicaState:
        m_k, m_v = float(point[0]), float(point[3])
        R_k, V_k, R_v, V_v = (float(np.exp(point[i])) for i in (1, 2, 4, 5))
        return cls(m_k, m_k**2 + R_k, V_k, m_v, m_v**2 + R_v, V_v)

    def with_samples(self, factor: float) -> ReplicaState:
        """A guess at ``factor`` times as many samples: V and q - m^2 die like 1/alpha where data abound."""
        less = math.log(factor)
        return self.from_coordinates(self.coordinates() - np.array([0.0, less, less, 0.0, less, less]))


STARTS = INFORMED, UNINFORMED = "informed", "uninformed"


def start(name: str, alpha: float) -> ReplicaState:
    """A start near the truth, or one that knows almost nothing; responses shrink like 1/alpha where data abound.

    At exactly m = 0 the iteration could not leave the symmetric point, so the uninformed start has m = 0.02.
    """
    shrink = min(1.0, 4 / alpha)
    if name == INFORMED:
        return ReplicaState(m_k=1.0, q_k=1.1, V_k=0.5 * shrink, m_v=0.9, q_v=0.9, V_v=0.3 * shrink)
    return ReplicaState(m_k=0.02, q_k=0.2, V_k=shrink, m_v=0.02, q_v=0.2, V_v=shrink)
