"""Bayes state evolution of matrix overlaps: Q -> Qhat = alpha E sum_l g_l g_l^T -> Qhat (1 + Qhat)^-1, on one randomisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from symslr.evaluation.numbers.anderson import AndersonMemory, anderson
from symslr.evaluation.numbers.compiled import compile_float
from symslr.evaluation.sequence.samples import Samples
from symslr.theory.sequence import OVERLAP, prior_at_stationary_point

Array = Any
STARTS = INFORMED, UNINFORMED = "informed", "uninformed"
"""Where an iteration begins: near the truth, or nearly orthogonal to it."""
TOLERANCE = 1e-6
"""A fixed point is reached where one more step moves no entry of log (1 - Q) by more: less than the samples move them."""
MOST_STEPS = 300
"""Most steps of state evolution, which is slow close to a threshold."""
SMALLEST, LARGEST = 1e-7, 1 - 1e-9
"""Eigenvalues of Q, and of 1 - V."""


@dataclass(frozen=True)
class FixedPoint:
    """Overlaps that state evolution leaves as they are.

    Attributes:
        Q: shape (p, p).
        change: the most by which one more step moves an overlap, or the distance left where the iteration was given up.
        free_entropy: per dimension, up to a constant common to all fixed points.
    """

    Q: Array
    change: float
    free_entropy: float


class StateEvolution:
    """The map on one randomisation, in a subspace of the directions; outside it Q stays 0.

    Args:
        samples: of each length of the sequences, with its probability.
        basis: orthonormal columns that span the subspace; all directions by default.
        refined: how often the nodes of the inner fields are doubled.
    """

    def __init__(self, samples: Sequence[tuple[float, Samples]], basis: Array | None = None, refined: int = 0) -> None:
        self.samples, self.refined = samples, refined
        self.tied = samples[0][1].channel.split.tied
        self.basis = np.eye(len(self.tied)) if basis is None else basis
        self.last: tuple[Array, tuple[Array, float]] | None = None

    def means(self, Q: Array) -> tuple[Array, float]:
        """E sum_l g_l g_l^T, shape (p, p), and E log Z."""
        if self.last is not None and np.array_equal(self.last[0], Q):
            return self.last[1]
        squares, log_z = np.zeros(self.tied.shape), 0.0
        for probability, samples in self.samples:
            drawn, seen = samples.seen(clipped(Q), refined=self.refined)
            force = seen.force.reshape(-1, len(Q), len(drawn.weight))
            squares += probability * np.einsum("lkn,ljn->kj", force * drawn.weight, force, optimize=True)
            log_z += probability * float(seen.log_z @ drawn.weight)
        self.last = Q, (squares * self.tied, log_z)
        return self.last[1]

    def step(self, Q: Array, alpha: float) -> Array:
        """One step, from and to overlaps in the subspace."""
        conjugate = alpha * self.basis.T @ self.means(self.whole(Q))[0] @ self.basis
        own = np.linalg.solve(np.eye(len(conjugate)) + conjugate, conjugate)
        return (own + own.T) / 2

    def left(self, Q: Array, alpha: float) -> Array:
        """How far further steps from Q would lead in every overlap, by the ratio of two of them."""
        here = self.basis.T @ Q @ self.basis
        one = self.step(here, alpha)
        other = self.step(one, alpha)
        rate = float(np.max(np.abs(other - one))) / max(float(np.max(np.abs(one - here))), 1e-300)
        return np.abs(self.whole(one - here)) / (1 - min(rate, 0.999))

    def whole(self, Q: Array) -> Array:
        """Overlaps in the subspace as a p x p matrix."""
        return self.basis @ Q @ self.basis.T

    def solve(self, start: Array, alpha: float, memory: AndersonMemory | None = None) -> FixedPoint:
        """The fixed point on the way from ``start``, by Anderson's acceleration of log Qhat.

        Args:
            memory: of the steps of another randomisation, or at a value of alpha nearby; those of this one are added.
        """
        shape = (self.basis.shape[1],) * 2

        def step(place: Array) -> Array:
            return logs(self.step(from_logs(place.reshape(shape)), alpha)).ravel()

        def moved(place: Array, by: Array) -> float:
            one, other = (_spectral(at.reshape(shape), lambda own: np.logaddexp(0, own)) for at in (place, place + by))
            return float(np.max(np.abs(other - one)))

        place = logs(self.basis.T @ start @ self.basis).ravel()
        place, _, left = anderson(step, place, TOLERANCE, MOST_STEPS, memory or AndersonMemory(), moved, monotone=True)
        Q = from_logs(place.reshape(shape))
        following = self.step(Q, alpha)
        change = max(left, float(np.max(np.abs(following - Q))))
        return FixedPoint(self.whole(following), change, self.free_entropy(Q, alpha))

    def free_entropy(self, Q: Array, alpha: float) -> float:
        """At overlaps in the subspace, per dimension, up to a constant common to all of them."""
        prior = float(np.sum(_prior()(np.clip(np.linalg.eigvalsh(Q), 0.0, LARGEST))[0]))
        return prior + alpha * self.means(self.whole(Q))[1]


@cache
def _prior() -> Any:
    """The prior's part of the free entropy of an eigenvalue of Q, from its derivation."""
    return compile_float([OVERLAP], [prior_at_stationary_point()])


def clipped(Q: Array) -> Array:
    """Q with eigenvalues at which V = 1 - Q is positive."""
    return _spectral(Q, lambda own: np.clip(own, 0.0, LARGEST))


def logs(Q: Array) -> Array:
    """log Qhat = log Q (1 - Q)^-1, a symmetric matrix."""
    return _spectral(Q, lambda own: -np.log(1 / np.clip(own, SMALLEST, LARGEST) - 1))


def from_logs(conjugate: Array) -> Array:
    """The overlaps whose ``logs`` these are."""
    return _spectral(conjugate, lambda own: 1 / (1 + np.exp(-own)))


def _spectral(matrix: Array, function: Callable[[Array], Array]) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * function(values)) @ vectors.T
