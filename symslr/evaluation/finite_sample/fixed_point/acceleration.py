"""Fixed points of smooth maps of a few scalars: Anderson's acceleration, with a memory that outlives one iteration."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from symslr.evaluation.finite_sample.samples.points import Array

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


def fixed_point(
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
