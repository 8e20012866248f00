"""Enclosures on the half lines x >= X and x <= -X: real intervals with infinite ends, by mpmath's ``iv``."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import nextafter
from typing import Any

from mpmath import inf, iv
from sympy import Expr

from symslr.evaluation.certified.analytic.proof import Arithmetic, NotProved
from symslr.evaluation.numbers.elementary import ball


@dataclass(frozen=True)
class Values:
    """A set of real numbers.

    Attributes:
        interval: that holds them, with ends that may be infinite.
        is_never_zero: whether 0 is excluded, also where the numbers come arbitrarily close.
    """

    interval: Any
    is_never_zero: bool

    @property
    def is_positive(self) -> bool:
        return bool(self.interval.a > 0 or (self.interval.a >= 0 and self.is_never_zero))


def _interval(low: Any, high: Any) -> Any:
    return iv.mpf([low, high])


def _values(interval: Any, never_zero: bool = False) -> Values:
    return Values(interval, never_zero or bool(interval.a > 0 or interval.b < 0))


def half_line(start: float, side: int) -> Values:
    """The numbers x with side x >= start > 0."""
    return _values(_interval(start, inf) if side > 0 else _interval(-inf, -start))


class HalfLine(Arithmetic):
    """The arithmetic of ``Values``."""

    def constant(self, expr: Expr) -> Values:
        enclosure = ball(expr)
        near = float(enclosure.mid())
        if enclosure == near:
            return _values(iv.mpf(near))
        low, high = nextafter(float(enclosure.lower()), -inf), nextafter(float(enclosure.upper()), inf)
        return _values(_interval(max(low, 0.0) if expr.is_nonnegative else low, high))

    def add(self, left: Values, right: Values) -> Values:
        return _values(left.interval + right.interval)

    def multiply(self, left: Values, right: Values) -> Values:
        if left.interval == 0 or right.interval == 0:  # 0 times an unbounded set of numbers is 0
            return _values(iv.mpf(0))
        return _values(left.interval * right.interval, left.is_never_zero and right.is_never_zero)

    def power(self, base: Values, exponent: Fraction) -> Values:
        if exponent.denominator != 1 and not base.is_positive:
            raise NotProved("certified: a branch point of a root cannot be excluded")
        low, high = base.interval.a, base.interval.b
        if exponent < 0 and not (base.is_never_zero and (low >= 0 or high <= 0)):
            raise NotProved("certified: a pole cannot be excluded")
        odd = exponent.numerator % 2 == 1
        ends = [_power(end, exponent, odd) for end in (low, high)]
        if low < 0 < high:
            ends.append(iv.mpf(0))
        return _values(_interval(min(e.a for e in ends), max(e.b for e in ends)), base.is_never_zero)

    def function(self, at: Values, name: str) -> Values:
        low, high = at.interval.a, at.interval.b
        if name == "exp":
            return _values(iv.exp(at.interval), True)
        if name == "log":
            if not at.is_positive:
                raise NotProved("certified: a branch point of a logarithm cannot be excluded")
            return _values(_interval(_logarithm(low).a, _logarithm(high).b))
        if name == "erf":  # 1 - e^{-w^2} <= erf(w) <= 1 for w >= 0; it is odd and increases
            return _values(_interval(_erf(low).a, _erf(high).b))
        if name == "NormalCdf":  # at most e^{-y^2/2}/2 for y <= 0; it increases
            return _values(_interval(_normal_cdf(low).a, _normal_cdf(high).b), True)
        return _values(iv.sin(at.interval) if name == "sin" else iv.cos(at.interval))


def _power(end: Any, exponent: Fraction, odd: bool) -> Any:
    """|end|^exponent, with the sign of the end where the power is odd."""
    size = abs(end)
    if size in (0, inf):
        raised = iv.inf if (size == inf) == (exponent > 0) else iv.mpf(0)
    else:
        raised = iv.exp(iv.mpf(exponent.numerator) / exponent.denominator * iv.log(size))
    return -raised if odd and end < 0 else raised


def _logarithm(end: Any) -> Any:
    return iv.log(end) if 0 < end < inf else iv.inf if end == inf else -iv.inf


def _erf(end: Any) -> Any:
    size = _interval((1 - iv.exp(-(end**2))).a, 1)
    return size if end >= 0 else -size


def _normal_cdf(end: Any) -> Any:
    rest = iv.exp(-(end**2) / 2) / 2
    return _interval(0, rest.b) if end <= 0 else _interval((1 - rest).a, 1)


HALF_LINE = HalfLine()
