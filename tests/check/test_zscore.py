"""Calibration of the sample mean's z-score."""

import numpy as np
import pytest

from symslr.check.zscore import SampleMean


def test_z_is_standard_normal_for_a_true_mean() -> None:
    rng = np.random.default_rng(11)
    z = [SampleMean.of(rng.exponential(size=2000), 11).z(1.0) for _ in range(2000)]
    assert abs(np.mean(z)) < 5 / np.sqrt(2000) + 0.02  # skewness 2/sqrt(2000) leaves a bias of about 0.02
    assert abs(np.std(z) - 1) < 5 / np.sqrt(4000)


def test_a_wrong_mean_is_far() -> None:
    rng = np.random.default_rng(3)
    assert abs(SampleMean.of(rng.normal(1.0, 1.0, 10_000), 3).z(1.1)) > 8


def test_constant_samples() -> None:
    sample = SampleMean.of(np.ones(10), 0)
    assert sample.z(1.0) == 0.0
    assert sample.z(1.5) == np.inf


def test_power() -> None:
    rng = np.random.default_rng(5)
    assert SampleMean.of(rng.normal(1.0, 1.0, 100_000), 5).has_power
    assert not SampleMean.of(rng.normal(0.001, 1.0, 1000), 5).has_power
    assert not SampleMean.of(np.array([1.0] * 1000 + [1e6]), 5).has_power


def test_bad_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="samples"):
        SampleMean.of(np.array([1.0, np.nan]), 0)


def test_an_event_that_no_sample_met_contradicts_nothing() -> None:
    """The definition has the mean 2 and the second moment 10^9 of it; the samples know the half."""
    sample = SampleMean.of(np.random.default_rng(3).normal(1.0, 1.0, 10_000), 3)
    assert sample.contradicts(2.0, 0.0, 5.0)
    assert not sample.contradicts(2.0, 0.0, 1e9)
