"""Expressions as float64 functions: every name that is printed stands for the function of NumPy or SciPy."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from sympy import Abs, Expr, Heaviside, Max, Min, Sum, Symbol, besseli, erf, gamma, harmonic, jn, sin, zeta

from symslr.evaluation.numbers.compiled import compile_float

t, k = Symbol("t", real=True), Symbol("k", integer=True, positive=True)
AT = 1.75

NAMES: dict[str, tuple[Expr, Any]] = {
    "zeta": (zeta(t), mpmath.zeta(AT)),
    "Hurwitz zeta": (zeta(t, 3), mpmath.zeta(AT, 3)),
    "zeta in a sum": (Sum(zeta(t + k), (k, 1, 3)), sum(mpmath.zeta(AT + n) for n in (1, 2, 3))),
    "harmonic": (harmonic(t, 2), mpmath.zeta(2) - mpmath.zeta(2, 1 + AT)),
    "spherical Bessel": (jn(2, t), mpmath.sqrt(mpmath.pi / (2 * AT)) * mpmath.besselj(2.5, AT)),
    "gamma": (gamma(t), mpmath.gamma(AT)),
    "Bessel": (besseli(0, t), mpmath.besseli(0, AT)),
    "erf": (erf(t), mpmath.erf(AT)),
    "step": (Heaviside(t), 1),
    "largest": (Max(t, 1, sin(t)), AT),
    "smallest": (Min(t, 1), 1),
    "size": (Abs(t - 2), 0.25),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_printed_name_is_found(name: str) -> None:
    expr, expected = NAMES[name]
    (value,) = compile_float((t,), [expr])(AT)
    assert abs(float(value) - float(expected)) <= 1e-14 * abs(float(expected))


def test_a_size_of_zero_divides_as_in_numpy() -> None:
    with np.errstate(divide="ignore"):
        assert compile_float((t,), [1 / Abs(t)])(0.0)[0] == np.inf
