"""Approximate message passing for spiked-SLR: the posterior means of k* and v* from real samples."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from symslr.simulate.erm.data import TrainingSet
from symslr.simulate.log_domain import Array

NUMBERS_PER_BLOCK = 500_000
"""Entries of X handled at once, so that a block is still in the cache when it is used a second time."""

STARTS = ("uninformed", "informed")


@dataclass(frozen=True)
class MessagePassing:
    """Where the iteration stopped.

    Attributes:
        k, v: posterior means of k* and v*, shape (D,); the predictor is softmax at the key sqrt(nu) k and the value v.
        V_k, V_v: their variances per entry, 1 - q where the iteration knows the model.
        change: the larger of |k - k_old|, |v - v_old|, over sqrt(D), in the last step.
        converged: whether the change is below the tolerance.
        overlaps: (k.k*/D, v.v*/D) after each step, shape (steps, 2); empty where k*, v* are not known.
    """

    k: Array
    v: Array
    V_k: float
    V_v: float
    change: float
    converged: bool
    overlaps: Array


def message_passing(
    data: TrainingSet,
    *,
    nu: float,
    noise: float,
    damping: float = 0.4,
    iterations: int = 300,
    tolerance: float = 1e-5,
    start: str = "uninformed",
) -> MessagePassing:
    """Bayes-optimal generalised approximate message passing, prior N(0, 1) on every entry of k* and v*.

    With A = X/sqrt(D), omega_k = A k - V_k g_k and omega_v = A v - V_v g_v, and the posterior of the location
    p_l ~ exp(sqrt(nu) omega_k,l - (y - omega_v,l)^2/(2 (V_v + Delta^2))),

        g_k = sqrt(nu) p,   g_v = p (y - omega_v)/(V_v + Delta^2),   Q = sum g^2 / D,
        k = (A^T g_k - alpha nu E[sum p (1 - p)] k)/(1 + Q_k),   v = (A^T g_v + Q_v v)/(1 + Q_v),   V = 1/(1 + Q).

    The tokens' normaliser exp(-nu |k|^2/(2 D)) is why Q_k is positive although p (1 - p) enters with a minus. Messages
    and means are damped: undamped the iteration leaves the track of state evolution at these dimensions.

    Args:
        data: a training set of spiked-SLR, such as ``sample_training_set`` makes.
        nu, noise: of the task: the iteration knows the model.
        damping: share of the old message that is kept, in [0, 1).
        iterations, tolerance: stop when no more than this moves, or after so many steps.
        start: "uninformed", k = v = 0, or "informed", k = k* and v = v*.

    Raises:
        ValueError: for an option out of range, or where the iteration leaves the reals.

    Source: generalised approximate message passing, Rangan, ISIT 2011; the task from arXiv 2509.21936, section 5.
    """
    if not (0 < nu < math.inf and 0 <= noise < math.inf):
        raise ValueError(f"nu, noise: found {nu:g} and {noise:g}; expected finite nu > 0 and noise >= 0")
    if not 0 <= damping < 1:
        raise ValueError(f"damping: found {damping:g}; expected a share in [0, 1)")
    if start not in STARTS:
        raise ValueError(f"start: found {start!r}; expected {' or '.join(STARTS)}")
    state = _State.of(data, start)
    track: list[tuple[float, float]] = []
    change = math.inf
    for _ in range(iterations):
        change = state.step(data, nu, noise, damping)
        if not math.isfinite(change):
            raise ValueError("message passing: left the reals; expected convergence, so raise the damping")
        if data.k_star is not None and data.v_star is not None:
            D = data.dimension
            track.append((float(state.means[0] @ data.k_star) / D, float(state.means[1] @ data.v_star) / D))
        if change < tolerance:
            break
    k, v = state.means
    overlaps = np.array(track).reshape(-1, 2)
    V_k, V_v = (float(variance) for variance in state.variances)
    return MessagePassing(k, v, V_k, V_v, change, change < tolerance, overlaps)


@dataclass
class _State:
    """Means (2, D), their variances (2,), and the messages g of every token, (2, T)."""

    means: Array
    variances: Array
    messages: Array
    fresh: bool = field(default=True)

    @classmethod
    def of(cls, data: TrainingSet, start: str) -> _State:
        means = np.zeros((2, data.dimension))
        if start == "informed":
            if data.k_star is None or data.v_star is None:
                raise ValueError("start: found 'informed' where k* and v* are not known; expected 'uninformed'")
            means = np.stack([data.k_star, data.v_star])
        spread = 1.0 if start == "uninformed" else 1e-3
        return cls(means, np.full(2, spread), np.zeros((2, len(data.tokens))))

    def step(self, data: TrainingSet, nu: float, noise: float, damping: float) -> float:
        """One pass over the tokens; how far the means moved."""
        D, kept = data.dimension, 0.0 if self.fresh else damping
        directions = (self.means / math.sqrt(D)).astype(data.tokens.dtype)
        returned, exchange = np.zeros((2, D)), 0.0
        samples = max(1, NUMBERS_PER_BLOCK * data.size // data.tokens.size)
        for first in range(0, data.size, samples):
            offsets = data.offsets[first : first + samples + 1]
            rows = slice(offsets[0], offsets[-1])
            block = data.tokens[rows]
            omega = directions @ block.T - self.variances[:, None] * self.messages[:, rows]
            p, gap = _posterior(omega, data.y[first : first + samples], offsets, nu, self.variances[1] + noise**2)
            new = np.stack([math.sqrt(nu) * p, p * gap / (self.variances[1] + noise**2)])
            self.messages[:, rows] = kept * self.messages[:, rows] + (1 - kept) * new
            returned += self.messages[:, rows].astype(block.dtype) @ block
            exchange += float(np.sum(p * (1 - p)))
        precision = np.sum(self.messages**2, axis=1) / D
        back = np.array([-nu * exchange / D, precision[1]])
        means = (returned / math.sqrt(D) + back[:, None] * self.means) / (1 + precision)[:, None]
        means = kept * self.means + (1 - kept) * means
        change = float(np.max(np.linalg.norm(means - self.means, axis=1))) / math.sqrt(D)
        self.means, self.variances, self.fresh = means, 1 / (1 + precision), False
        return change


def _posterior(omega: Array, y: Array, offsets: NDArray[np.int64], nu: float, variance: float) -> tuple[Array, Array]:
    """Posterior of the location at every token of a block, and y - omega_v there."""
    starts, counts = offsets[:-1] - offsets[0], np.diff(offsets)
    gap = np.repeat(y, counts) - omega[1]
    score = math.sqrt(nu) * omega[0] - gap**2 / (2 * variance)
    mass = np.exp(score - np.repeat(np.maximum.reduceat(score, starts), counts))
    return mass / np.repeat(np.add.reduceat(mass, starts), counts), gap
