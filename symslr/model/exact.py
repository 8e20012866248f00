"""Values from outside become exact SymPy objects; text by the whitelist of model/text.py."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

from sympy import Expr, Float, Integer, Rational, Symbol, nan, oo, zoo
from sympy.core.numbers import ComplexInfinity, ImaginaryUnit, NaN

from symslr.model.symbols import TYPED
from symslr.model.walk import distinct_nodes


class NotExact(TypeError, ValueError):
    """Text, a truth value or anything else that is neither a real number nor a SymPy expression."""


NUMBERS = int, float, Fraction, str, Expr
"""Kinds of one number, or its formula."""


def check_is(value: object, kind: type, what: str, example: str) -> None:
    """Raises TypeError, in one line, for a value of another kind than the one expected, of which there is an example."""
    if not isinstance(value, kind):
        raise TypeError(f"{what}: found {_shown(value)}; expected {kind.__name__}, such as {example}")


def _shown(value: object) -> str:
    if callable(value) and hasattr(value, "__name__"):
        return f"the {type(value).__name__} {value.__name__}, which was not called"
    return f"{type(value).__name__} {' '.join(repr(value).split())[:60]}"


def exact(value: object, what: str = "value") -> Expr:
    """The exact SymPy object for a number or expression.

    A float, inside an expression too, stands for the decimal it prints as: ``0.1`` is 1/10, not its binary neighbour. A
    ``Symbol("nu")`` of SymPy is the nu of ``symslr.symbols``, likewise the others that are typed.

    Text is read as a formula in the symbols of ``symslr.symbols``, by the whitelist of ``model.text``.

    Raises:
        NotExact: for a truth value, and anything that is not a real number, a SymPy expression or text.
        TextError: for text that is no formula.
        ValueError: for nan, complex infinity and complex numbers, also inside an expression.
    """
    if hasattr(value, "_sympy_"):  # as a quantity of the theory has it
        value = value._sympy_()
    if isinstance(value, Expr):
        return _exact_expression(value, what)
    if isinstance(value, str):
        from symslr.model.text import formula  # which needs numbers made exact

        return formula(value, what)
    if isinstance(value, bool):
        raise NotExact(f"{what}: found {value}; expected a number, not a truth value")
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
    raise NotExact(f"{what}: found {_shown(value)}; expected a number, a formula as text or a SymPy expression")


def _exact_expression(value: Expr, what: str) -> Expr:
    if value.is_Rational:
        return value
    plain = {own: TYPED[own.name] for own in value.free_symbols if own == Symbol(own.name) and own.name in TYPED}
    if plain:
        value = value.xreplace(plain)
    if value.is_Symbol:
        return value
    odd = {node for node in distinct_nodes(value) if isinstance(node, (Float, ImaginaryUnit, NaN, ComplexInfinity))}
    if not odd:
        return value
    if nan in odd or zoo in odd:
        raise ValueError(f"{what}: found {value}; expected a real number")
    if any(isinstance(item, ImaginaryUnit) for item in odd):
        raise ValueError(f"{what}: found the complex {value}; expected a real number or expression")
    return value.xreplace({item: _decimal(item) for item in odd})


def _decimal(number: Float) -> Expr:
    """The decimal a SymPy float prints as: the shortest one at double precision, all its digits beyond."""
    double = float(number)
    return Rational(repr(double)) if Float(double) == number and math.isfinite(double) else Rational(str(number))


def check_not_negative(values: Mapping[str, Any]) -> None:
    """Refuse a signal strength nu and a noise Delta, by name, that are negative numbers."""
    for name in ("nu", "Delta"):
        own = values.get(name)
        if isinstance(own, NUMBERS) and exact(own, name).is_negative:
            raise ValueError(f"{name}: found {own}; expected a number >= 0")
