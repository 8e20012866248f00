"""A Monte Carlo mean with its standard error, gathered batch by batch."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from symslr.simulate.log_domain import Array


@dataclass(frozen=True)
class Estimate:
    """``mean`` +- ``standard_error`` of ``size`` independent samples.

    Attributes:
        seed: of ``numpy.random.default_rng``; the same call with the same seed gives the same mean.
        method: what was sampled and how.
        effective_size: what the samples are worth under their importance weights; ``size`` if exact.
    """

    mean: float
    standard_error: float
    size: int
    seed: int
    method: str
    effective_size: float

    def z_score(self, expected: float) -> float:
        """(mean - expected) / standard error."""
        return (self.mean - expected) / self.standard_error


class RunningMean:
    """Mean and variance by Chan's merging of batches; a sum of squares would cancel digits."""

    def __init__(self) -> None:
        self.size, self.mean, self.scatter = 0, 0.0, 0.0
        self.weight, self.weight_squared = 0.0, 0.0

    def add(self, samples: Array, weights: Array) -> None:
        """Take in a batch of samples of mass ``weights`` each."""
        weighted = weights * samples
        size, mean = len(weighted), float(weighted.mean())
        gap, total = mean - self.mean, self.size + size
        self.scatter += float(np.sum((weighted - mean) ** 2)) + gap**2 * self.size * size / total
        self.mean += gap * size / total
        self.size = total
        self.weight += float(weights.sum())
        self.weight_squared += float(np.sum(weights**2))

    def estimate(self, seed: int, method: str) -> Estimate:
        """The mean so far.

        Raises:
            ValueError: when the mean is not finite, or fewer than two samples were taken.
        """
        if self.size < 2:
            raise ValueError(f"size: found {self.size}; expected at least 2 samples for a standard error")
        if not math.isfinite(self.mean) or not math.isfinite(self.scatter):
            raise ValueError(f"Monte Carlo mean: found {self.mean}; the loss or its weight overflows here")
        error = math.sqrt(self.scatter / (self.size - 1) / self.size)
        return Estimate(self.mean, error, self.size, seed, method, self.weight**2 / self.weight_squared)
