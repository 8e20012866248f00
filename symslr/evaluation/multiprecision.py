"""mpmath: the same plan at a working precision that is raised until the error estimate meets the digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mpmath
from sympy import Symbol

from symslr.evaluation.errors import CannotEvaluate, OutOfDigits
from symslr.evaluation.nodes.node import Context, Pair
from symslr.evaluation.numbers.balls import Multiprecision
from symslr.expression.value import Kind, Value
from symslr.model.length_law import LengthLaw

METHOD = "mpmath: nested trapezoid rules"
ATTEMPTS = 5
"""Each adds the digits that were missing, and one: where a loss does not grow with the precision the second has all."""


def _scope(scalars: Mapping[Symbol, Any], arithmetic: Multiprecision) -> dict[Symbol, Pair]:
    scope: dict[Symbol, Any] = {}
    for symbol, value in scalars.items():
        if isinstance(value, LengthLaw):
            scope[symbol] = value
        else:
            number = arithmetic.number(value)
            scope[symbol] = (number, mpmath.mpf(0) if value.is_Integer else abs(number) * arithmetic.eps)
    return scope


def raised(
    carry_out: Callable[[Context, dict[Symbol, Pair]], tuple[Any, ...]], scalars: Mapping[Symbol, Any], digits: int
) -> tuple[Any, ...]:
    """Carry a plan out at growing precision until value and error, its first two results, have the digits.

    Raises:
        CannotEvaluate: when they do not after a few rounds.
    """
    lost = 0
    for _ in range(ATTEMPTS):
        bits = int((digits + lost) * 3.3220) + 24
        with mpmath.workprec(bits):
            arithmetic = Multiprecision(bits)
            tolerance = mpmath.mpf(10) ** -(digits + lost + 1)
            result = carry_out(Context(arithmetic, tolerance), _scope(scalars, arithmetic))
            value, error = result[:2]
            if not (mpmath.isfinite(value) and mpmath.isfinite(error)):
                raise CannotEvaluate(f"mpmath gave {mpmath.nstr(value, 5)}; expected a finite number")
            wanted = abs(value) * mpmath.mpf(10) ** -digits
            if error <= wanted:
                return result
            missing = int(mpmath.ceil(mpmath.log10(error / wanted))) if value != 0 else digits
        lost += max(2, missing + 1)
    raise OutOfDigits(f"mpmath: {digits} digits are out of reach; {max(0, digits - missing)} were obtained")


def packed(value: Any, error: Any, digits: int) -> Value:
    """A Value rounded to a little more than its digits."""
    reached = digits
    if value != 0 and error != 0:
        reached = max(digits, int(mpmath.floor(-mpmath.log10(error / abs(value)))))
    return Value(value, error, Kind.ESTIMATED, min(reached, digits + 5), METHOD)
