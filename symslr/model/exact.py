"""Values from outside become exact SymPy objects; text never does (model/text.py parses text)."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Integral, Real

from sympy import Basic, Integer, Rational, nan, oo, zoo


def exact(value: object, what: str = "value") -> Basic:
    """The exact SymPy object for a number or expression.

    A float stands for the decimal it prints as: ``0.1`` is 1/10, not its binary neighbour.

    Raises:
        TypeError: for text and for anything that is not a real number or a SymPy object.
        ValueError: for nan and complex infinity.
    """
    if isinstance(value, Basic):
        if value in (nan, zoo):
            raise ValueError(f"{what}: found {value}; expected a real number")
        return value
    if isinstance(value, Integral):
        return Integer(int(value))
    if isinstance(value, Fraction):
        return Rational(value.numerator, value.denominator)
    if isinstance(value, Real):
        number = float(value)
        if math.isnan(number):
            raise ValueError(f"{what}: found nan; expected a real number")
        if math.isinf(number):
            return oo if number > 0 else -oo
        return Rational(repr(number))
    expected = "a number or a SymPy expression (text goes through symslr.model.text.parse_expression)"
    raise TypeError(f"{what}: found {type(value).__name__} {value!r}; expected {expected}")
