"""Fixed points x = function(x) of smooth maps by Anderson's acceleration, whose memory nearby maps can share."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = Any
MEMORY_LENGTH = 8
"""Number of past steps that are looked back to."""
LONGEST_MOVE = 1.0
"""Largest move of a coordinate in one step."""
GROWTH = 5.0
"""The memory is dropped where the residual has grown by this factor."""


@dataclass(frozen=True)
class AndersonMemory:
    """The memory of Anderson acceleration: past changes of the point and of the residual, a model of the map's Jacobian.

    Nearby maps, such as those of two randomisations, can share it: the second one then needs few steps.
    """

    pairs: deque[tuple[Array, Array]] = field(default_factory=lambda: deque(maxlen=MEMORY_LENGTH))

    def propose(self, point: Array, residual: Array) -> Array:
        """The next point: the combination of past changes that cancels the residual best (least squares), then a plain step."""
        if not self.pairs:
            return point + residual
        moves, changes = (np.array(part).T for part in zip(*self.pairs, strict=True))
        weights = np.linalg.lstsq(changes, residual, rcond=1e-9)[0]
        return point + residual - (moves + changes) @ weights


def anderson(
    function: Callable[[Array], Array],
    start: Array,
    tolerance: float,
    most_steps: int,
    memory: AndersonMemory,
    size: Callable[[Array, Array], float] = lambda point, residual: float(np.max(np.abs(residual))),
    *,
    monotone: bool = False,
) -> tuple[Array, int, float]:
    """Solve x = function(x) by Anderson's type-II mixing, until a step from x to function(x) is smaller than ``tolerance``.

    No coordinate moves by more than ``LONGEST_MOVE`` at once; the memory is dropped where the residual grew by ``GROWTH``.

    Args:
        start: shape (n,).
        size: of a step (point, residual); the largest coordinate by default.
        monotone: whether steps go on in one direction. Then a move that is shorter than the step along it leads to a fixed point
            that steps leave, and the step is taken.

    Returns:
        (point, steps made, distance left). The distance is the size of the last step where the iteration converged, else that of
        the step to the fixed point that the memory predicts: much more where the map is nearly the identity.
    """
    point = start
    residual = function(point) - point
    steps = 1
    while steps < most_steps and size(point, residual) >= tolerance:
        move = memory.propose(point, residual) - point
        if monotone and move @ residual < residual @ residual:
            move = residual
        move = np.clip(move, -LONGEST_MOVE, LONGEST_MOVE)
        found = function(point + move) - (point + move)
        steps += 1
        if np.max(np.abs(found)) > GROWTH * np.max(np.abs(residual)):
            memory.pairs.clear()
        else:
            memory.pairs.append((move, found - residual))
        point, residual = point + move, found
    left = size(point, residual)
    return point, steps, left if left < tolerance else size(point, memory.propose(point, residual) - point)
