"""Expressions as float64 functions: every name that is printed stands for the function of NumPy or SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special
from sympy import (
    Abs,
    Expr,
    Heaviside,
    Max,
    Min,
    Sum,
    Symbol,
    besseli,
    besselj,
    erf,
    fresnels,
    gamma,
    harmonic,
    jn,
    sin,
    zeta,
)

from symslr import Attention, SpikedSLR, evaluate
from symslr.evaluation.numbers.compiled import compile_float
from symslr.model.symbols import x
from symslr.theory import population_risk

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


@pytest.mark.parametrize(
    ("kernel", "by_hand"),
    [(2 + besselj(0, x), lambda t: 2 + special.j0(t)), (2 + fresnels(x), lambda t: 2 + special.fresnel(t)[0])],
)
def test_functions_that_arb_lacks_have_many_digits_too(kernel: Expr, by_hand: Callable[[Any], Any]) -> None:
    """Beside 1 - E[s_1]^2/E[s_1^2 + s_2^2] for two tokens, the first one shifted, on a grid in float64."""
    found = evaluate(population_risk(SpikedSLR(), Attention(kernel)), {"L": 2, "nu": 2, "Delta": 0, "a": 1}, digits=17)
    key = np.arange(-10, 10, 0.05)
    first, second = (np.exp(-((key - mean) ** 2) / 2) for mean in (np.sqrt(2), 0))
    first, second = first / first.sum(), second / second.sum()
    share = by_hand(key)[:, None] / (by_hand(key)[:, None] + by_hand(key))
    known = 1 - (first @ share @ second) ** 2 / (first @ (share**2 + (1 - share) ** 2) @ second)
    assert found.error < 1e-17
    assert abs(float(found) - known) < 1e-14
