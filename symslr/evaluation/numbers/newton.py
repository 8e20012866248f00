"""Newton's method for the minima of many functions at once, one of each sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self, TypeVar

import numpy as np

Array = Any
MOST_STEPS = 100
"""Most steps; normally ``DECREMENT`` ends it."""
DECREMENT = 1e-10
"""Newton decrement, relative to 1 + |F|, below which the next step is the last; the error is then of the order of its square."""


class Sampled(Protocol):
    """What is held fixed in the function of every sample."""

    def take(self, columns: Array) -> Self:
        """The same of some of the samples."""


S = TypeVar("S", bound=Sampled)


def newton(
    descent: Callable[[S, Array], tuple[Array, Array, Array]], samples: S, start: Array, tolerance: float = DECREMENT
) -> tuple[Array, Array]:
    """Damped Newton descent from ``start`` (d, n) to a local minimum of each sample: (places (d, n), F (n,)).

    Args:
        descent: (samples, places) -> (F, a step along which F falls, the slope of F along it).
        tolerance: Newton decrement, relative to 1 + |F|, below which the next step is the last.
    """
    keys, values = np.array(start), np.empty(start.shape[1])
    active = np.arange(start.shape[1])
    part, at = samples, np.array(start)
    value, step, slope = descent(part, at)
    length = np.ones(len(active))
    for _ in range(MOST_STEPS):
        last = -slope <= tolerance * (1 + np.abs(value))
        trial = at + length * step
        if last.any():
            keys[:, active[last]], values[active[last]] = trial[:, last], value[last]
            stay = np.flatnonzero(~last)
            if not len(stay):
                return keys, values
            active, part, at, trial = active[stay], part.take(stay), at[:, stay], trial[:, stay]
            value, step, slope, length = value[stay], step[:, stay], slope[stay], length[stay]
        new_value, new_step, new_slope = descent(part, trial)
        falls = new_value <= value + 1e-4 * length * slope + 1e-15 * (1 + np.abs(value))
        at = np.where(falls, trial, at)
        value, slope = np.where(falls, new_value, value), np.where(falls, new_slope, slope)
        step, length = np.where(falls, new_step, step), np.where(falls, 1.0, length / 4)
    keys[:, active], values[active] = at, value
    return keys, values


@np.errstate(all="ignore")  # a pivot of 0 gives an infinite step, which the caller rejects by the pivot
def newton_step(matrix: Array, gradient: Array) -> tuple[Array, Array]:
    """(-H^-1 g, smallest pivot) by H = L D L^T without pivoting: exact wherever the smallest pivot is positive.

    One small system for every column; written out so that thousands are solved at once.

    Args:
        matrix: symmetric, shape (dimension, dimension, n); overwritten.
        gradient: shape (dimension, n).
    """
    step = -gradient
    for i in range(len(gradient)):
        pivot = np.where(matrix[i, i] > 0, matrix[i, i], 1.0)
        below = matrix[i + 1 :, i] / pivot
        matrix[i + 1 :, i + 1 :] -= below[:, None] * matrix[i, i + 1 :]
        step[i + 1 :] -= below * step[i]
        step[i] /= pivot
        matrix[i, i + 1 :] = below
    for i in reversed(range(len(gradient) - 1)):
        step[i] -= np.einsum("ln,ln->n", matrix[i, i + 1 :], step[i + 1 :])
    return step, np.einsum("iin->in", matrix).min(axis=0)
