"""Risks of two tokens from the definition, by Gauss panels over one after the other, in NumPy alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

Array = np.ndarray[Any, np.dtype[np.float64]]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def panels(*centres: float) -> tuple[Array, Array]:
    """Nodes and lengths on [-9, 9]; panels become shorter towards every centre, as far as 2^-14."""
    sides = np.concatenate([[0.0], 2.0 ** np.arange(-14.0, 5.0)])
    ends = np.unique(np.clip(np.concatenate([[-9.0, 9.0], *(y + s * sides for y in centres for s in (-1, 1))]), -9, 9))
    half = np.diff(ends)[:, None] / 2
    return (ends[:-1, None] + half * (1.0 + NODES)).ravel(), (half * WEIGHTS).ravel()


def risk_of_a_pair(
    log_kernel: Callable[[Array], Array], scale: float, strength: float, log_offset: float = -np.inf, bend: float = 0.0
) -> float:
    """The least risk of kernels k(a x) over their sum and an offset, under max-SLR of any strength, infinite too.

    Beside two equal tokens, and where one is at ``bend``, a weight or the selection may change as fast as it likes.
    """
    hit = norm = 0.0
    for own, length in zip(*panels(bend)):
        other, density = panels(own, bend)
        density = density * length * np.exp(-(own**2 + other**2) / 2) / (2 * np.pi)
        logs = np.stack(np.broadcast_arrays(log_kernel(scale * np.array([own])), log_kernel(scale * other), log_offset))
        sizes = np.exp(logs - np.max(logs, axis=0))
        one, two, _ = sizes / np.sum(sizes, axis=0)
        selects = expit(strength * (own - other)) if np.isfinite(strength) else 1.0 * (own > other)
        hit += float(np.sum(density * 2.0 * selects * one))
        norm += float(np.sum(density * (one**2 + two**2)))
    return 1.0 - hit**2 / norm
