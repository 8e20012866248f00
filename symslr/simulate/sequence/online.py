"""A student of a sequence model that learns from a stream: one fresh sample for each step of gradient descent."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from symslr.model.float64 import compiled
from symslr.model.sequence.model import SequenceModel
from symslr.simulate.log_domain import Array
from symslr.simulate.sequence.samples import sample_sequence_model
from symslr.simulate.sequences import orthogonal_frame

NUMBERS = 2_000_000
"""Entries of tokens drawn at once."""


@dataclass(frozen=True)
class OnlineRun:
    """Overlaps of a student on its way.

    Attributes:
        times: t = gamma steps/D, as they were asked for.
        M: W^T W*/D with the teachers, shape (times, r, p).
        Q: W^T W/D of the student, shape (times, r, r).
    """

    times: Array
    M: Array
    Q: Array


def run_online(
    model: SequenceModel,
    start: tuple[Array, Array],
    times: Sequence[float],
    dimension: int,
    rng: np.random.Generator,
    *,
    gamma: float = 1.0,
    ridge: float = 0.0,
) -> OnlineRun:
    """One-pass stochastic gradient descent of the student's loss l(y, s), s = X W/sqrt(D).

    Each step takes a fresh sample: with w = W/sqrt(D), w <- w - (gamma/D) (X^T dl/ds + ridge w).

    Args:
        start: M (r, p) and Q (r, r) of the student at first, with Q - M M^T positive semidefinite.
        times: increasing; the state is noted after the step at which each is reached.

    Raises:
        ValueError: for a model without a student, a step that is not positive, or a start that no student has.
    """
    if model.student is None:
        raise ValueError("student: found none in the model; expected the table [student]")
    if gamma <= 0:
        raise ValueError(f"gamma: found {gamma:g}; expected a positive step")
    student, slope, length = model.student, _slope(model), model.length
    p = len(model.teachers)
    frame = orthogonal_frame(dimension, p + len(student.names), rng).T
    W = frame[:, :p]
    w = frame @ _coordinates(*start) / math.sqrt(dimension)
    steps = [round(t * dimension / gamma) for t in times]
    batch, done, noted = max(1, NUMBERS // (length * dimension)), 0, []
    for until in steps:
        while done < until:
            data = sample_sequence_model(model, min(batch, until - done), dimension, rng, W)
            for X, y, z in zip(data.X, data.y, data.z):
                w -= gamma / dimension * (X.T @ slope(y, X @ w, z) + ridge * w)
            done += len(data.y)
        noted.append((w.T @ W / math.sqrt(dimension), w.T @ w))
    return OnlineRun(np.asarray(times, float), *(np.array(part) for part in zip(*noted)))


def _coordinates(M: Array, Q: Array) -> Array:
    """The student in the frame of the teachers and of as many directions across, shape (p + r, r)."""
    across = np.asarray(Q) - M @ M.T
    values, vectors = np.linalg.eigh(across)
    if values.min() < -1e-12:
        raise ValueError(f"start: found Q - M M^T with the eigenvalue {values.min():.3g}; expected none below 0")
    return np.vstack([np.asarray(M).T, (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T])


def _slope(model: SequenceModel) -> Callable[[Array, Array, Array], Array]:
    """dl/ds of one sample, shape (L, r), as a function of label, student's fields and teachers' fields."""
    student = model.student
    assert student is not None
    fields = [s for row in student.fields for s in row]
    symbols = (*student.outputs, *fields, *(s for row in model.fields for s in row))
    slopes = [compiled(symbols, student.loss.diff(s)) for s in fields]
    shape = len(student.fields), len(student.names)

    def at(y: Array, s: Array, z: Array) -> Array:
        values = (*y, *s.ravel(), *z.ravel())
        return np.array([one(*values) for one in slopes], float).reshape(shape)

    return at
