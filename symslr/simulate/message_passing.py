"""Approximate message passing for single-location regression: posterior means of k* and v* from real samples."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from symslr.model.task import Task
from symslr.simulate.erm.data import TrainingSet
from symslr.simulate.log_domain import Array
from symslr.simulate.position_levels import PositionLevels, position_levels
from symslr.simulate.posterior_force import posterior_force
from symslr.simulate.values import Values, fixed

STARTS = ("uninformed", "informed")


@dataclass(frozen=True)
class MessagePassing:
    """Where the iteration stopped.

    Attributes:
        k, v: posterior means of k* and v*, shape (D,).
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
    task: Task,
    values: Values,
    *,
    damping: float = 0.5,
    iterations: int = 300,
    tolerance: float = 1e-4,
    start: str = "uninformed",
) -> MessagePassing:
    """Bayes-optimal generalised approximate message passing; k* and v* are uniform on the sphere of radius sqrt(D).

    With A = X/sqrt(D), omega = A u - V g for u = k and u = v alike, and g the gradient of the samples' log Z in omega
    (``posterior_force``),

        b = A^T g - (sum dg/domega / D) u,   u = V b,   V = 2/(1 + sqrt(1 + 4 |b|^2/D)),

    where V is what makes |u|^2/D + V = 1: the length is known, so nothing that the tokens' normaliser says of it, such
    as exp(-nu |k|^2/(2 D)) of the spiked task, has to be told apart from the weight. Means and messages are
    damped alike: undamped the iteration leaves the track of state evolution at these dimensions, and damped differently a
    single sample with two nearly level positions can flip for ever.

    Args:
        data: a training set of the task, such as ``sample_training_set`` makes.
        task, values: what was sampled: the iteration knows the model. Any weight of the relevant token alone (spiked-SLR
            and other token laws) or selection by a kernel (max-SLR, also at nu = infinity).
        damping: share of the old means and messages that is kept, in [0, 1).
        iterations, tolerance: stop when the means move by no more, or after so many steps; overlaps scatter by 1/sqrt(D).
        start: "uninformed", k = v = 0, or "informed", k = k* and v = v*.

    Raises:
        ValueError: for an option out of range, a weight of another kind, or where the iteration leaves the reals.

    Source: generalised approximate message passing, Rangan, ISIT 2011; the task from arXiv 2509.21936, section 5.
    """
    if not 0 <= damping < 1:
        raise ValueError(f"damping: found {damping:g}; expected a share in [0, 1)")
    if start not in STARTS:
        raise ValueError(f"start: found {start!r}; expected {' or '.join(STARTS)}")
    levels, noise = position_levels(task.law, values), float(fixed(task.noise, values))
    state = _State.of(data, start)
    track: list[tuple[float, float]] = []
    change = math.inf
    for _ in range(iterations):
        change = state.step(data, levels, noise, damping)
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

    def step(self, data: TrainingSet, levels: PositionLevels, noise: float, damping: float) -> float:
        """One step; how far the means moved."""
        D, kept, kind = data.dimension, 0.0 if self.fresh else damping, data.tokens.dtype
        directions = (self.means / math.sqrt(D)).astype(kind)
        omega = directions @ data.tokens.T - self.variances[:, None] * self.messages
        force = posterior_force(levels, omega, self.variances, data.y, data.offsets, noise)
        returned = force.messages.astype(kind) @ data.tokens
        pull = returned / math.sqrt(D) - force.divergence[:, None] / D * self.means
        variances = 2 / (1 + np.sqrt(1 + 4 * np.sum(pull**2, axis=1) / D))
        means = kept * self.means + (1 - kept) * variances[:, None] * pull
        # Damped alike, what a sample gave to the means is what is taken from its own field: nothing feeds back to it.
        self.messages = kept * self.messages + (1 - kept) * force.messages
        change = float(np.max(np.linalg.norm(means - self.means, axis=1))) / math.sqrt(D)
        self.means, self.variances, self.fresh = means, variances, False
        return change
