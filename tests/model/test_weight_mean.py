"""The mean of a weight whose mass lies far out, in several places."""

from __future__ import annotations

import pytest
from sympy import Abs, Expr, Integer, Rational, Symbol, cosh, exp, pi, sqrt

from symslr.model.admissible import NoDensity, check_density, check_weight_at
from symslr.model.float64 import compiled
from symslr.model.scalar_law import ScalarLaw, laplace, student
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import chi, epsilon, nu, x
from symslr.model.weight_mean import weight_mean

SIGN = exp(-nu / 2) * cosh(sqrt(nu) * chi[epsilon])
SQUARES = (Rational(47, 20), Rational(16, 47)), (Rational(9, 5), Rational(11, 18))
THREE = (exp(nu * chi[epsilon] - nu**2 / 2) + exp(40 * chi[epsilon] - 800) + 2 * exp(-90 * chi[epsilon] - 4050)) / 4


@pytest.mark.parametrize(("weight", "strength"), [(SIGN, 2), (SIGN, 1e4), (SIGN, 1e8), (THREE, 7), (THREE, 1000)])
def test_every_distant_peak_is_found(weight: Expr, strength: float) -> None:
    """Gaussians under other means: the mean is 1, half or a quarter of it at each peak."""
    found = weight_mean(SequenceLaw(weight, Integer(2)), {nu: strength})
    assert abs(found.value - 1) <= 1e-9 + found.error < 1e-6


def test_a_peak_that_float64_cannot_place_is_not_taken_for_nothing() -> None:
    with pytest.raises(NoDensity, match="its mean is not found"):
        check_weight_at(SequenceLaw(SIGN, Integer(2)), 2, ((nu, 1e300),))


def test_symbols_of_one_name_are_two() -> None:
    """And a symbol may be called as a function of NumPy's is, or as a letter."""
    one, two, three = Symbol("t", real=True), Symbol("t", positive=True), Symbol("exp")
    assert compiled((one, two, three), three - two * exp(one))(0.0, 2.0, 7.0) == 5.0
    letters = [Symbol(f"letter_{place}") for place in (1, 0)]
    assert compiled(tuple(letters), letters[0] - letters[1])(5.0, 3.0) == 2.0


def test_squares_that_cancel_in_an_exponent_leave_no_peak_of_rounding() -> None:
    """Regression: at 1e17, where the squares of a normal ratio cancel to rounding, a peak was seen, and the law was refused."""
    wide, narrow = (exp(-((x / scale + shift) ** 2) / 2) / (scale * sqrt(2 * pi)) for scale, shift in SQUARES)
    ratio = ((9 * laplace().density + 11 * narrow) / (20 * wide)).subs(x, chi[epsilon])
    found = weight_mean(SequenceLaw(ratio, Integer(2), ScalarLaw(wide)), {})
    assert abs(found.value - 1) <= found.error + 1e-12
    assert found.error < 1e-6


@pytest.mark.parametrize("dof", [4, 5, 9, 15, Rational(7, 2)])
def test_a_shifted_law_of_student_has_mass_1(dof: object) -> None:
    """Multiplied out, its denominator lost ten digits, and the law was refused."""
    for mean in (Rational(217, 50), 6, 9, -20):
        check_density(student(dof, mean))


@pytest.mark.parametrize(
    ("mean", "scale"), [(0, 10**5), (3 * 10**5, 15 * 10**4), (-(10**9), 10**9), (10**6, 3 * 10**5)]
)
def test_a_wide_law_has_mass_1(mean: int, scale: int) -> None:
    """Regression: beyond 10^4 nothing was cut, and of the first the mass .08 was found."""
    z = (x - mean) / scale
    for shape in (exp(-(z**2) / 2) / sqrt(2 * pi), exp(-Abs(z)) / 2, 1 / (2 * cosh(pi * z / 2))):
        check_density(ScalarLaw(shape / scale))
