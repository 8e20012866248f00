"""Error terms that are tight somewhere: halve one, or drop it, and a number lies outside of its error.

Of the terms of referee and check these are tight at a known place: the drift of samples and the share of points that carry them
(_together), the rounding of a difference (Rounding.SPARE), the standard error of the definition beside that of the samples
(SampleMean.contradicts). Not known to be tight anywhere, and so not tested here: DOUBT, the noise that a look leaves in a minimum
(_of_place), MASS_ERROR, ROUNDED, NOISE of the law of a sum, ROUNDING and SHARED of exponential sums, the tail of an infinite sum,
the factor 10 of a limit.
"""

import numpy as np
import pytest

from symslr.check.zscore import REJECT, SampleMean
from symslr.referee import randomised, rounding
from symslr.referee.rounding import Rounding


def rounds(means: list[float], error: float, carried: list[float]) -> list[randomised._Round]:
    size = 2**10
    return [
        randomised._Round(mean, error, size, share * size * randomised.REPLICATIONS)
        for mean, share in zip(means, carried)
    ]


def test_a_mean_that_drifts_has_its_drift_for_an_error() -> None:
    """0.5 of it, and the value that all rounds move towards, one step further, lies outside."""
    mean, error, _ = randomised._together(rounds([1.0, 1.5], 1e-3, [1.0, 1.0]))
    assert abs(1.0 - mean) <= error
    assert abs(1.0 - mean) > error / 2


def test_an_error_grows_as_fewer_points_carry_the_mean() -> None:
    _, error, _ = randomised._together(rounds([1.0, 1.0], 1e-3, [0.8, 0.2]))
    assert error == pytest.approx(4e-3)


def test_the_rounding_of_a_difference_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every leaf moved by its error to one side: the readings by chance must reach it, as SPARE makes them, and half does not."""

    class Plain:
        dtype, coarseness = np.float64, 1.0

    class Quadrature:
        arithmetic, magnitude, noise, shared = Plain(), 0.0, 0.0, 0.0

    leaves = 25

    def read(rounded: Rounding) -> np.float64:
        return np.float64(sum(rounded.leaf(i, (), lambda: np.float64(0.0)) for i in range(leaves)))

    def error() -> float:
        first = Rounding(Quadrature())  # type: ignore[arg-type]
        read(first)
        first.known = {key: (value, 1.0, 0.0) for key, (value, _, _) in first.known.items()}
        return first.error(read, np.float64(0.0))

    assert error() >= leaves
    monkeypatch.setattr(rounding, "SPARE", rounding.SPARE / 2)
    assert error() < leaves


def test_a_sample_mean_is_rejected_at_its_limit() -> None:
    sample = SampleMean(0.0, 1e-3, 10**6, 1, 0.0)
    second = 1.0  # a standard error of 1e-3
    assert not sample.contradicts(0.99 * REJECT * 1e-3, 0.0, second)
    assert sample.contradicts(1.01 * REJECT * 1e-3, 0.0, second)
    assert not sample.contradicts(1.01 * REJECT * 1e-3, 0.0, 4 * second)
