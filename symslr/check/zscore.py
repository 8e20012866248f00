"""Small calibrated statistics: a sample mean against a number."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

REJECT = 5.0
"""|z| beyond which a mean contradicts a number: once in 1.7 million for a true one."""

POWER = 1e-2
"""Largest relative standard error at which a sample says anything."""

HEAVY = 0.2
"""Largest share of the sum of squares that one sample may hold: above it the mean is not to be trusted as normal."""


@dataclass(frozen=True)
class SampleMean:
    """A mean, its standard error, the number of samples, and the seed they came from.

    Attributes:
        concentration: largest share of one sample in the sum of squared deviations.
        heaviest: the largest weight of a sample.
    """

    mean: float
    error: float
    size: int
    seed: int
    concentration: float
    heaviest: float = 1.0

    @classmethod
    def of(cls, samples: np.ndarray, seed: int, weights: np.ndarray | float = 1.0) -> SampleMean:
        """The mean of iid samples, each times its weight, and its standard error s/sqrt(n).

        Raises:
            ValueError: for fewer than two samples or one that is not finite.
        """
        samples = np.asarray(samples * weights, dtype=float)
        if samples.size < 2 or not np.all(np.isfinite(samples)):
            raise ValueError(
                f"samples: found {samples.size} of which some may not be finite; expected two or more numbers"
            )
        squares = (samples - samples.mean()) ** 2
        total = float(squares.sum())
        error = math.sqrt(total / (samples.size - 1) / samples.size)
        concentration = float(squares.max()) / total if total > 0 else 0.0
        return cls(float(samples.mean()), error, samples.size, seed, concentration, float(np.max(weights)))

    def z(self, number: float, number_error: float = 0.0) -> float:
        """(mean - number) in standard errors; the number's own error is added in quadrature."""
        spread = math.hypot(self.error, number_error)
        if spread == 0.0:
            return 0.0 if math.isclose(self.mean, number, rel_tol=1e-12, abs_tol=1e-12) else math.inf
        return (self.mean - number) / spread

    def contradicts(self, number: float, number_error: float, second_moment: float) -> bool:
        """Whether the mean lies beyond ``REJECT`` standard errors, those of the definition counted too.

        A rare and large event that no sample met leaves no trace in the samples' own spread: ``second_moment`` is that of
        a sample by definition. A mean that one sample decides contradicts nothing.
        """
        error = max(self.error, math.sqrt(second_moment / self.size))
        return self.concentration <= HEAVY and not abs(self.mean - number) <= REJECT * math.hypot(error, number_error)

    @property
    def has_power(self) -> bool:
        """Whether the standard error is small beside the mean and no single sample decides."""
        return 0.0 < self.error <= POWER * abs(self.mean) and self.concentration <= HEAVY
