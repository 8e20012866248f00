"""Expressions as functions of float64 arrays."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from sympy import Symbol, harmonic, jn, zeta

from symslr.evaluation.numbers.compiled import compile_float


def test_functions_that_only_scipy_knows() -> None:
    """Regression: the limit of max-SLR at strong signal holds a zeta, which is printed as it is."""
    y = Symbol("y", positive=True)
    found = compile_float([y], [zeta(2, y), harmonic(y, 2), jn(2, y)])(np.array([1.5]))
    bessel = mpmath.sqrt(mpmath.pi / 3) * mpmath.besselj(2.5, 1.5)
    expected = [mpmath.zeta(2, 1.5), mpmath.zeta(2) - mpmath.zeta(2, 2.5), bessel]
    assert [float(np.ravel(part)[0]) for part in found] == pytest.approx([float(v) for v in expected], rel=1e-12)
