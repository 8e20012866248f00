"""The fixed point on one randomisation: accelerated steps in settled basins, then a guarded look for better ones.

Anderson's acceleration has a memory that outlives one iteration.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.finite_sample.fixed_point.saddle import SaddleMap, Step
from symslr.evaluation.finite_sample.order_parameters import ReplicaState
from symslr.evaluation.finite_sample.problem import Training
from symslr.evaluation.finite_sample.samples.points import Array

TOLERANCE = 1e-6
"""No coordinate (m, log R, log V of keys and values) may move by more under one more step."""
ARRIVED = 0.1
"""A solution that still moves by more has not arrived: its branch may have ended."""
MOST_STEPS = 150
"""Of all iterations together; what has not arrived by then says how far it still moves."""
MOST_ROUNDS = 6
"""Iterations, each with the jumps of the samples between their minima found anew."""
SAME = 0.02
"""Fixed points no farther apart in any coordinate are one branch."""
ELSEWHERE = 2.0
"""Those of two randomisations that are farther apart in log R or log V, or in m in units of 1 + |m|, are not: keys of length 25 at
a ridge of 3e-5 scatter by 2 in m and by 1 in log R."""


DEPTH = 8
"""Changes that are remembered; there are six coordinates."""
LONGEST = 1.0
"""Largest move of a coordinate (m, log R or log V) in one step."""


@dataclass(frozen=True)
class Memory:
    """Changes of the point and of the residual that they caused: what is known of the map's Jacobian.

    Maps that differ little, such as those of two randomisations, share it, and the second needs few steps.
    """

    pairs: deque[tuple[Array, Array]] = field(default_factory=lambda: deque(maxlen=DEPTH))

    def propose(self, point: Array, residual: Array) -> Array:
        """The next point: the combination of remembered changes that cancels the residual best, then a plain step."""
        if not self.pairs:
            return point + residual
        moves, changes = (np.array(part).T for part in zip(*self.pairs, strict=True))
        weights = np.linalg.lstsq(changes, residual, rcond=1e-9)[0]
        return point + residual - (moves + changes) @ weights


@dataclass(frozen=True)
class Iteration:
    """Where an iteration ended: the point, the residual there (one more step moves by it), and the steps made.

    Attributes:
        distance: largest coordinate of the way to the fixed point, as the memory has it: where a step moves little because
            the map is nearly the identity, it is much more than a step.
    """

    point: Array
    residual: Array
    steps: int
    distance: float


def accelerated(
    function: Callable[[Array], Array],
    start: Array,
    tolerance: float,
    most_steps: int,
    memory: Memory,
) -> Iteration:
    """x = function(x), until every coordinate moves by less than ``tolerance``.

    Anderson's type-II mixing; no coordinate moves by more than ``LONGEST`` at once, and the memory is dropped where the
    residual grew fivefold.
    """
    point = start
    residual = function(point) - point
    steps = 1
    while steps < most_steps and np.max(np.abs(residual)) >= tolerance:
        move = np.clip(memory.propose(point, residual) - point, -LONGEST, LONGEST)
        found = function(point + move) - (point + move)
        steps += 1
        if np.max(np.abs(found)) > 5 * np.max(np.abs(residual)):
            memory.pairs.clear()
        else:
            memory.pairs.append((move, found - residual))
        point, residual = point + move, found
    return Iteration(point, residual, steps, float(np.max(np.abs(memory.propose(point, residual) - point))))


@dataclass(frozen=True)
class FixedPoint:
    """A fixed point on one randomisation.

    Attributes:
        state: the order parameters.
        risk: test risk E (y - f)^2.
        training_loss: E (y - f)^2/2 on the training samples.
        energy: value of the fit's objective per dimension.
        change: largest move of a coordinate under one more guarded step, or what is left of the way where the iteration was
            given up. Above ``TOLERANCE`` it is the jump of the few samples whose two best minima are nearly level, of order
            1/n, unless the iteration has not arrived.
    """

    state: ReplicaState
    risk: float
    training_loss: float
    energy: float
    change: float


def solve(
    saddle: SaddleMap,
    training: Training,
    start: ReplicaState,
    tolerance: float = TOLERANCE,
    memory: Memory | None = None,
    most_steps: int = MOST_STEPS,
) -> FixedPoint:
    """The fixed point reached from ``start``.

    A sample whose proximal problem has two nearly level minima jumps between them, which makes the map discontinuous by
    order 1/n. So the basins are settled by guarded minimisation, the smooth map in these basins is iterated to its fixed
    point, and this is repeated until a guarded step moves nothing, or the same few samples keep changing sides.

    Args:
        memory: what earlier solutions taught about the map's Jacobian; added to.
        most_steps: passes over the samples after which the best state so far is returned.

    Raises:
        CannotEvaluate: where the first step leaves the reals; where a later one does, ``change`` tells.
    """
    memory = Memory() if memory is None else memory
    saddle.forget()
    point, steps, left = start.coordinates(), 0, 0.0
    best: tuple[float, ReplicaState, Step] | None = None

    def settled(at: Array) -> Array:
        return saddle.step(ReplicaState.from_coordinates(at), training, guarded=False).following.coordinates()

    for _ in range(MOST_ROUNDS):
        state = ReplicaState.from_coordinates(point)
        try:
            step = saddle.step(state, training, guarded=True)
        except CannotEvaluate:
            if best is None:
                raise
            break
        steps += 1
        change = float(np.max(np.abs(step.following.coordinates() - point)))
        if best is None or change < best[0]:
            best = change, state, step
        if change < tolerance or steps >= most_steps:
            break
        try:
            found = accelerated(settled, point, tolerance / 2, most_steps - steps, memory)
        except CannotEvaluate:
            break
        point, steps = found.point, steps + found.steps
        left = found.distance if np.max(np.abs(found.residual)) >= tolerance / 2 else 0.0
    assert best is not None
    change, state, step = best
    change = max(change, left)
    return FixedPoint(state, saddle.test_risk(state), step.training_loss, step.energy, change)


def attempt(
    saddle: SaddleMap, training: Training, start: ReplicaState, arrived: float = ARRIVED, **how: Any
) -> FixedPoint | None:
    """``solve``, or None where the iteration leaves the reals or ends while it still moves by ``arrived``."""
    try:
        point = solve(saddle, training, start, **how)
    except CannotEvaluate:
        return None
    return point if point.change < arrived else None


def has_strayed(point: FixedPoint, home: ReplicaState) -> bool:
    """Whether a fixed point is not on the branch that is ``home`` on another randomisation."""
    here, there = point.state.coordinates(), home.coordinates()
    units = np.array([1 + abs(home.m_k), 1, 1, 1 + abs(home.m_v), 1, 1])
    return bool(np.max(np.abs(here - there) / units) >= ELSEWHERE)


def is_new(point: FixedPoint, known: Iterable[FixedPoint]) -> bool:
    """Whether a fixed point is on none of the branches that are known."""
    at = point.state.coordinates()
    return all(np.max(np.abs(at - other.state.coordinates())) >= SAME for other in known)
