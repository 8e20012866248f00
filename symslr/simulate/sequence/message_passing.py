"""Approximate message passing for a sequence model: posterior means of the teachers from real samples."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from symslr.model.sequence.model import SequenceModel
from symslr.simulate.log_domain import Array
from symslr.simulate.sequence.nodes import nodes
from symslr.simulate.sequence.posterior import Posterior
from symslr.simulate.sequence.samples import SequenceData


@dataclass(frozen=True)
class TeacherEstimate:
    """Where the iteration stopped.

    Attributes:
        means: posterior means of the teachers, shape (D, p).
        overlap: means^T W/D, shape (p, p).
        V: posterior covariance of one row, shape (p, p); I - V is the overlap where the iteration knows the model.
        change: |means - those before|/sqrt(D) in the last step.
        converged: whether that is below the tolerance.
    """

    means: Array
    overlap: Array
    V: Array
    change: float
    converged: bool


def estimate_teachers(
    data: SequenceData,
    model: SequenceModel,
    rng: np.random.Generator,
    *,
    start: float = 0.01,
    damping: float = 0.4,
    draws: int = 256,
    iterations: int = 100,
    tolerance: float = 2e-3,
) -> TeacherEstimate:
    """Bayes-optimal generalised approximate message passing with the channel of the model and the prior N(0, I_p) of a row.

    With A = X/sqrt(D), omega = A U - g V and g the scores of the samples,

        b = A^T g - U (sum dg/domega)/D,   U = b V,   V = (I + Lambda)^-1,   Lambda + Lambda^2 = b^T b/D.

    The precision is that at which U^T U/D + V = I, as in law: minus the slope of the scores is another one where a weight tilts
    the tokens, and their square leads away where V is too small. Means and scores are damped alike.

    Args:
        start: overlap of the first means with the truth; small for a start that knows next to nothing.
        damping: share of the old means and scores that is kept, in [0, 1).
        draws: nodes at most for the mean over the fields in which the label is not linear, a power of two.
        iterations, tolerance: stop when the means move by no more, or after so many steps.

    Raises:
        ValueError: for an option out of range, a label without noise, or nodes that are too coarse.

    Source: generalised approximate message passing, Rangan, ISIT 2011.
    """
    if model.noise == 0:
        raise ValueError("message passing: found a label without noise, which has no density; expected noise > 0")
    for name, value in (("damping", damping), ("start", start)):
        if not 0 <= value < 1:
            raise ValueError(f"{name}: found {value:g}; expected a number in [0, 1)")
    D, p = data.teachers.shape
    size, length = data.z.shape[:2]
    posterior = Posterior(model)
    over = nodes(draws, length, len(posterior.drawn), rng)
    A = data.X.reshape(-1, D) / math.sqrt(D)
    U = start * data.teachers + math.sqrt(start * (1 - start)) * rng.standard_normal((D, p))
    V, g = (1 - start) * np.eye(p), np.zeros((size, length, p))
    change, kept = math.inf, 0.0
    for _ in range(iterations):
        omega = (A @ U).reshape(size, length, p) - g @ V
        found = posterior.messages(data.y, omega, V, over)
        b = A.T @ found.g.reshape(-1, p) - U @ found.divergence / D
        V = _left_open(b.T @ b / D)
        moved = kept * U + (1 - kept) * b @ V
        g = kept * g + (1 - kept) * found.g
        change, U, kept = float(np.linalg.norm(moved - U)) / math.sqrt(D), moved, damping
        if not math.isfinite(change):
            raise ValueError("message passing: left the reals; expected convergence, so raise the damping")
        if change < tolerance:
            break
    return TeacherEstimate(U, U.T @ data.teachers / D, V, change, change < tolerance)


def _left_open(square: Array) -> Array:
    """(I + Lambda)^-1 with Lambda + Lambda^2 = b^T b/D."""
    values, vectors = np.linalg.eigh(square)
    return (vectors * (2 / (1 + np.sqrt(1 + 4 * np.maximum(values, 0.0))))) @ vectors.T
