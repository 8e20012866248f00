"""Bayes state evolution of matrix overlaps: Q -> Qhat = alpha E sum_l g_l g_l^T -> Qhat (1 + Qhat)^-1, on one randomisation."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluation.sequence.samples import Samples

Array = Any
Memory = deque[tuple[Array, Array]]
"""Changes of log Qhat and of its step, from one step to the next."""
TOLERANCE = 1e-6
"""A fixed point is reached where one more step moves no overlap by more: less than the samples move them."""
MOST_STEPS, AGAIN = 150, 20
"""Most steps of state evolution, which is slow close to a threshold; steps after which the acceleration begins anew, as it may
circle."""
MEMORY, FARTHEST = 5, 0.7
"""Steps that Anderson's acceleration looks back, and the most by which it moves a log Qhat beyond the step itself."""
SMALLEST, LARGEST = 1e-7, 1 - 1e-9
"""Eigenvalues of Q, and of 1 - V."""


@dataclass(frozen=True)
class FixedPoint:
    """Overlaps that state evolution leaves as they are.

    Attributes:
        Q: shape (p, p).
        change: the most by which one more step moves an overlap.
        free_entropy: per dimension, up to a constant common to all fixed points.
    """

    Q: Array
    change: float
    free_entropy: float


class StateEvolution:
    """The map on one randomisation, in a subspace of the directions; outside it Q stays 0.

    Args:
        basis: orthonormal columns that span the subspace; all directions by default.
        refined: how often the nodes of the inner fields are doubled.
    """

    def __init__(self, samples: Samples, basis: Array | None = None, refined: int = 0) -> None:
        self.samples, self.refined = samples, refined
        self.width = len(samples.channel.model.teachers)
        self.basis = np.eye(self.width) if basis is None else basis

    def means(self, Q: Array) -> tuple[Array, float]:
        """E sum_l g_l g_l^T, shape (p, p), and E log Z."""
        drawn, seen = self.samples.seen(clipped(Q), refined=self.refined)
        force = seen.force.reshape(-1, self.width, len(drawn.weight))
        return np.einsum("lkn,ljn,n->kj", force, force, drawn.weight), float(seen.log_z @ drawn.weight)

    def step(self, Q: Array, alpha: float) -> Array:
        """One step, from and to overlaps in the subspace."""
        conjugate = alpha * self.basis.T @ self.means(self.whole(Q))[0] @ self.basis
        own = np.linalg.solve(np.eye(len(conjugate)) + conjugate, conjugate)
        return (own + own.T) / 2

    def left(self, Q: Array, alpha: float) -> float:
        """How far further steps from Q would lead, by the ratio of two of them."""
        one = self.step(self.basis.T @ Q @ self.basis, alpha)
        other = self.step(one, alpha)
        size = float(np.max(np.abs(one - self.basis.T @ Q @ self.basis)))
        rate = float(np.max(np.abs(other - one))) / max(size, 1e-300)
        return size / (1 - min(rate, 0.999))

    def whole(self, Q: Array) -> Array:
        """Overlaps in the subspace as a p x p matrix."""
        return self.basis @ Q @ self.basis.T

    def solve(self, start: Array, alpha: float, memory: Memory | None = None) -> FixedPoint:
        """The fixed point on the way from ``start``, by Anderson's acceleration of log Qhat.

        Args:
            memory: of the steps of another randomisation, or at a value of alpha nearby; those of this one are added.
        """
        Q, change = self.basis.T @ start @ self.basis, math.inf
        memory = deque(maxlen=MEMORY) if memory is None else memory
        before: tuple[Array, Array] | None = None
        for n in range(MOST_STEPS):
            following = self.step(Q, alpha)
            change = float(np.max(np.abs(following - Q)))
            if change < TOLERANCE:
                break
            place, step = logs(Q).ravel(), (logs(following) - logs(Q)).ravel()
            if before is not None:
                if n % AGAIN == 0 or np.linalg.norm(step) > 2 * np.linalg.norm(before[1]):
                    memory.clear()
                else:
                    memory.append((place - before[0], step - before[1]))
            before = place, step
            Q = from_logs((place + step + beyond(step, memory)).reshape(Q.shape))
        full = self.whole(Q)
        hidden = np.linalg.eigvalsh(np.eye(len(Q)) - Q)
        prior = (np.trace(Q) + float(np.sum(np.log(np.maximum(hidden, 1 - LARGEST))))) / 2
        return FixedPoint(full, change, prior + alpha * self.means(full)[1])


def beyond(step: Array, memory: Memory) -> Array:
    """How far Anderson's acceleration goes beyond a step."""
    if len(memory) < 2:
        return np.zeros_like(step)
    places, steps = (np.array(own).T for own in zip(*memory))
    found = -(places + steps) @ np.linalg.lstsq(steps, step, rcond=1e-8)[0]
    return found * min(1.0, FARTHEST / max(float(np.max(np.abs(found))), 1e-300))


def clipped(Q: Array) -> Array:
    """Q with eigenvalues at which V = 1 - Q is positive."""
    values, vectors = np.linalg.eigh(Q)
    return (vectors * np.clip(values, 0.0, LARGEST)) @ vectors.T


def logs(Q: Array) -> Array:
    """log Qhat = log Q (1 - Q)^-1, a symmetric matrix."""
    values, vectors = np.linalg.eigh(Q)
    values = np.clip(values, SMALLEST, LARGEST)
    return (vectors * np.log(values / (1 - values))) @ vectors.T


def from_logs(conjugate: Array) -> Array:
    """The overlaps whose ``logs`` these are."""
    values, vectors = np.linalg.eigh(conjugate)
    return (vectors / (1 + np.exp(-values))) @ vectors.T
