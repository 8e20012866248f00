"""Wright's omega beside SciPy's and its equation."""

import numpy as np
import pytest
import scipy

from symslr.evaluation.numbers.compiled import wright_omega


def test_it_agrees_with_scipys() -> None:
    z = np.concatenate([np.linspace(-700, 700, 14_001), np.linspace(-5, 5, 1_001), [1e4, 1e8, 1e300]])
    known = scipy.special.wrightomega(z)
    # below 1 it is the exponential of a number known to half an ulp of |z|
    assert np.all(np.abs(wright_omega(z) / known - 1) < 1e-15 * np.maximum(4, np.abs(np.minimum(z, 0))))


def test_it_underflows_to_nothing() -> None:
    assert wright_omega(np.array([-1e3, -np.inf])).max() < 1e-300


@pytest.mark.parametrize("z", [-3.0, 0.0, 1.0, 2.5, 1e3])
def test_a_number_fulfils_the_equation(z: float) -> None:
    y = float(wright_omega(z))
    assert y + np.log(y) == pytest.approx(z, abs=1e-14 * max(1.0, z))
