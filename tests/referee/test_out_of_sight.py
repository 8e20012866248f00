"""Integrands whose mass lies where floats see nothing, or beyond where the referee looks: a true number, or none."""

from fractions import Fraction

import pytest
from mpmath import mp, mpf
from sympy import Heaviside, Integral, Symbol, cosh, exp, oo

from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import L, a, chi, epsilon, x
from symslr.model.task import Task
from symslr.referee.arithmetic import CannotReferee
from symslr.referee.referee import referee
from tests.evaluation.test_narrow_weights import law

p, u = (Symbol(name, positive=True) for name in "pu")
y = Symbol("y", real=True)


@pytest.mark.parametrize("digits", [13, 20])
@pytest.mark.parametrize("scale", [500, 928])
def test_an_integrand_that_is_0_in_floats_has_no_number(digits: int, scale: int) -> None:
    """Its mass lies at +-928, where no float can follow; 0 +- 2e-308 and 2.7e-186799 stood for 1."""
    with pytest.raises(CannotReferee, match="so small that floats do not find its mass"):
        referee(ScalarExpectation(cosh(a * x) * exp(-(a**2) / 2), x, STANDARD_NORMAL), {"a": scale}, digits)


def test_a_tail_below_all_doubles() -> None:
    """Long doubles see it."""
    found = referee(Integral(exp(-(y**2)), (y, p, oo)), {"p": 47}, 20)
    with mp.workdps(40):
        assert abs(found.value - mp.sqrt(mp.pi) * mp.erfc(47) / 2) <= found.error < mpf(10) ** -970


@pytest.mark.parametrize("digits", [13, 20])
@pytest.mark.parametrize("power", ["1e-6", "4.6e-5", "1e-3", "0.01"])
@pytest.mark.parametrize(
    "integral",
    [
        Integral(u ** (p - 1) * exp(-u), (u, 0, oo)),
        Integral(u ** (p - 1), (u, 0, 1)),
        Integral((1 + u) ** (-1 - p), (u, 0, oo)),
    ],
)
def test_what_does_not_fall_as_far_as_one_looks_has_no_number(integral: Integral, power: str, digits: int) -> None:
    """The first one is nearly 1/p; it was 167 +- 16 at p = 4.6e-5."""
    with pytest.raises(CannotReferee, match="does not fall as far as the referee looks"):
        referee(integral, {"p": float(power)}, digits)


def test_an_integrand_of_few_digits() -> None:
    """Of 5e-324 floats have one bit: 2.4e-324 +- 1.4e-325 stood for 7.5e-324."""
    found = referee(ScalarExpectation(exp(a + x), x, STANDARD_NORMAL), {"a": -745}, 20)
    with mp.workdps(40):
        assert abs(found.value - mp.exp(-744.5)) <= found.error < mpf(10) ** -330


def test_an_integrand_that_is_0_has_the_integral_0() -> None:
    assert referee(Integral(Heaviside(a - 3) * exp(-u), (u, 0, oo)), {"a": 2}, 20).value == 0


def test_a_likelihood_ratio_that_no_float_holds_hides_a_part_of_the_law() -> None:
    """Regression: the relevant token's mode at -2, where the others have none, was lost, and E sum sigma^2 was 1/6."""
    spike = Fraction(1, 1500)
    relevant = law([(Fraction(1, 2), 1, spike), (Fraction(1, 2), -2, spike)])
    others = law([(Fraction(1, 3), 0, spike), (Fraction(2, 3), 1, spike)])
    with pytest.raises(CannotReferee, match="does not see all of its law"):
        referee(SequenceExpectation(chi[epsilon] ** 2, Task.from_token_laws(relevant, others).law), {L: 2}, 6)
