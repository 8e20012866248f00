"""What is printed is what is claimed: the decimal string lies within the printed error of the number."""

from __future__ import annotations

from fractions import Fraction

import pytest
from mpmath import ldexp, mpf, workprec

from symslr.expression.value import Kind, Value


@pytest.mark.parametrize("digits", [1, 7, 15, 28, 60])
@pytest.mark.parametrize("numerator", [1, 2, -20, 977])
def test_the_rounding_of_the_text_belongs_to_the_error(digits: int, numerator: int) -> None:
    with workprec(400):
        value, error = mpf(numerator) / 7, abs(mpf(numerator)) / 7 * mpf(10) ** -digits
    shown = Value(value, error, Kind.ESTIMATED, digits, "by hand").as_json()
    off = abs(Fraction(shown["value"]) - Fraction(numerator, 7))
    assert off + Fraction(10) ** -digits * abs(Fraction(numerator, 7)) <= Fraction(shown["error"]) + Fraction(1, 2**390)
    assert Fraction(shown["error"]) < 30 * Fraction(10) ** -digits * abs(Fraction(numerator, 7))


def test_an_exact_number_that_fits_its_text_has_no_error() -> None:
    assert Value(mpf(1) / 2, mpf(0), Kind.CERTIFIED, 17, "by hand").as_json()["error"] == "0.0"


def test_an_error_is_never_rounded_down() -> None:
    shown = Value(mpf(0), ldexp(1, -40), Kind.ESTIMATED, 3, "by hand").as_json()
    assert Fraction(shown["error"]) >= Fraction(1, 2**40)


def test_a_number_far_below_its_error_is_printed_as_nothing() -> None:
    said = Value(mpf("7e-109"), mpf("6.7e-4"), Kind.STATISTICAL, 0, "").as_json()
    assert said["value"] == "0.0"
    assert 6.7e-4 <= float(said["error"]) < 6.8e-4
    assert str(Value(mpf("3e-6"), mpf("6.7e-5"), Kind.STATISTICAL, 0, "")) == "3.e-6"
