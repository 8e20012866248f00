"""How fast a function may grow along a half line: |f(x)| <= exp(constant + linear |x| + square x^2).

The bounds come from the expression: of a sum, a product, a power, an exponential, a logarithm. They are as good as a tail of
an integral against a Gaussian needs, not sharp. Values on a half line are real intervals with infinite ends, by mpmath's ``iv``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import atan, inf, log, nextafter, pi, sqrt
from typing import Any

from flint import arb
from mpmath import iv
from sympy import Add, Expr, Mul, Poly, S, Symbol, exp
from sympy import atan as atan_
from sympy import log as log_

from symslr.evaluation.certified.analytic.arithmetic import Arithmetic, enclosed, kept
from symslr.evaluation.errors import NotProved
from symslr.evaluation.numbers.elementary import ball
from symslr.expression.special import NormalCdf

ROUNDING = 1e-12
"""Relative; more than the rounding of the few hundred float operations that a bound is made of."""

SMALL = 1e-7
"""Up to here arctan is its argument to 1 part in 10^14, and needs no float, which may be too small for one."""


@dataclass(frozen=True)
class Exponent:
    """The quadratic constant + linear |x| + square x^2 in floats, every coefficient rounded up by ``ROUNDING``."""

    constant: float
    linear: float = 0.0
    square: float = 0.0

    def __add__(self, other: Exponent) -> Exponent:
        sums = zip(self._parts(), other._parts())
        return Exponent(*(a + b + ROUNDING * (abs(a) + abs(b)) for a, b in sums))

    def times(self, factor: float, size: float = 1.0) -> Exponent:
        """For a factor >= 0, at size * |x| in the place of |x|."""
        parts = zip(self._parts(), (factor, factor * size, factor * size**2))
        return Exponent(*(a * own + ROUNDING * abs(a * own) for a, own in parts))

    def _parts(self) -> tuple[float, float, float]:
        return self.constant, self.linear, self.square

    def or_more(self, other: Exponent) -> Exponent:
        """An upper bound of both."""
        return Exponent(*(max(a, b) for a, b in zip(self._parts(), other._parts())))

    @property
    def falls(self) -> bool:
        """Whether it goes to -oo far out."""
        return self.square < 0 or (self.square == 0 and self.linear < 0)

    def tail(self, start: float) -> Any:
        """A ball above the integral of e^{...} over |x| >= start on one side.

        Raises:
            NotProved: where the exponential does not fall from there on.
        """
        slope = -(self.linear + 2 * self.square * start)
        if self.square > 0 or not slope > 0:
            raise NotProved(f"certified: the integrand is not seen to fall beyond |x| = {start:g}")
        top = arb(self.constant) + arb(self.linear) * start + arb(self.square) * start**2
        return (
            (top + ROUNDING * (abs(self.constant) + abs(self.linear) * start + start**2)).exp() / slope * (1 + ROUNDING)
        )


class GrowthBounds:
    """Bounds where side x >= start >= 1."""

    def __init__(self, variable: Symbol, start: float, side: int) -> None:
        self.variable, self.side = variable, side
        self.region = half_line(start, side)
        self.known: dict[tuple[Any, ...], Any] = {}
        self._line = Exponent(_up(log(start) - 1), _up(1 / start))
        """|x| <= e^{log X - 1 + |x|/X}, with equality at X = start."""

    def values(self, expr: Expr) -> Values:
        """An interval of the values on the half line."""
        far = expr.replace(self._is_polynomial, self._led_by_the_highest_power)
        found: Values = enclosed(far, self.variable, self.region, HALF_LINE)
        return found

    def _is_polynomial(self, expr: Expr) -> bool:
        if not (expr.is_Add and expr.is_polynomial(self.variable)):
            return False
        polynomial = Poly(expr, self.variable)
        return bool(polynomial.degree() > 1 and not ball(polynomial.LC()).contains(0))

    def _led_by_the_highest_power(self, expr: Expr) -> Expr:
        """x^n (c_n + c_{n-1}/x + ...), where what stands beside c_n is small far out."""
        terms = Poly(expr, self.variable).terms()
        degree = terms[0][0][0]
        return Mul(
            self.variable**degree, Add(*(c * self.variable ** (k - degree) for (k,), c in terms)), evaluate=False
        )

    @kept
    def modulus(self, expr: Expr) -> Exponent:
        """Of |f|; factors have parts in common."""
        if isinstance(expr, exp):
            return self.above(expr.exp)
        if expr == self.variable:
            return self._line
        if expr.is_Mul:
            return sum((self.modulus(arg) for arg in expr.args), Exponent(0.0))
        if expr.is_Pow and expr.exp.is_Rational:
            return (self.modulus(expr.base) if expr.exp > 0 else self.inverse(expr.base)).times(float(abs(expr.exp)))
        if (
            isinstance(expr, NormalCdf) and self.values(expr.args[0]).interval.b <= 0
        ):  # Phi(y) <= e^{-y^2/2}/2 for y <= 0
            return self.above(-(expr.args[0] ** 2) / 2) + Exponent(_up(-log(2)))
        top = abs(self.values(expr).interval).b
        constant = Exponent(_up(float(iv.log(top).b)) if top > 0 else -1e6) if top < iv.inf else None
        if expr.is_Add and (constant is None or all(self.values(arg).interval.b < iv.inf for arg in expr.args)):
            bounds = [self.modulus(arg) for arg in expr.args]
            total = reduce(Exponent.or_more, bounds) + Exponent(_up(log(len(bounds))))
            return total if constant is None or total.falls else constant
        if constant is not None:
            return constant
        if isinstance(expr, log_):
            return self._of_logarithm(expr.args[0])
        raise NotProved(f"certified: no bound was found for the growth of {expr}")

    def inverse(self, expr: Expr) -> Exponent:
        """Of |1/f|."""
        if isinstance(expr, exp):
            return self.above(-expr.exp)
        if expr.is_Mul:
            return sum((self.inverse(arg) for arg in expr.args), Exponent(0.0))
        if expr.is_Pow and expr.exp.is_Rational:
            return (self.inverse(expr.base) if expr.exp > 0 else self.modulus(expr.base)).times(float(abs(expr.exp)))
        for arg in expr.args if expr.is_Add else ():
            if self._leads(arg, [other for other in expr.args if other != arg]):
                return self.inverse(arg) + Exponent(_up(log(2)))  # |f| >= |arg| - |rest| >= |arg|/2
        bottom = abs(self.values(expr).interval).a
        if bottom > 0:
            return Exponent(_up(float(-iv.log(bottom).a)))
        if isinstance(expr, log_) and self.values(expr.args[0] - 1).interval.a >= 0:
            # log(1 + w) >= w/(1 + w) for w > 0, so that 1/log <= 2 max(1, 1/w)
            return self.inverse(expr.args[0] - 1).or_more(Exponent(0.0)) + Exponent(_up(log(2)))
        if isinstance(expr, atan_) and self.values(expr.args[0]).interval.a >= 0:  # atan(w) >= w/(1 + w) for w > 0
            return self.inverse(expr.args[0]).or_more(Exponent(0.0)) + Exponent(_up(log(2)))
        if isinstance(expr, NormalCdf):  # Phi(y) >= e^{-y^2/2}/(2 sqrt(pi) (|y| + 1))
            (y,) = expr.args
            size = self.modulus(y).or_more(Exponent(0.0)) + Exponent(_up(log(2)))
            return self.above(y**2 / 2) + size + Exponent(_up(log(4 * pi) / 2))
        if expr.is_Add and all(self.values(arg).interval.a >= 0 for arg in expr.args):
            return self._inverse_of_one(expr.args)
        raise NotProved(f"certified: no bound was found for how fast {expr} falls")

    def _inverse_of_one(self, terms: tuple[Expr, ...]) -> Exponent:
        """Of the term >= 0 whose inverse grows least: a sum of such is no smaller."""
        found = []
        for term in terms:
            try:
                found.append(self.inverse(term))
            except NotProved as reason:
                refused = reason
        if not found:
            raise refused
        return min(found, key=lambda bound: (bound.square, bound.linear, bound.constant))

    def _leads(self, term: Expr, others: list[Expr]) -> bool:
        """Whether the modulus of a term is at least twice that of the sum of the others."""
        try:
            return bool(abs(self.values(Add(*(other / term for other in others))).interval).b <= 0.5)
        except NotProved:
            return False

    def above(self, expr: Expr) -> Exponent:
        """A quadratic above f itself."""
        if not expr.has(self.variable):
            return Exponent(_up(float(ball(expr).upper())))
        if expr.is_polynomial(self.variable) and Poly(expr, self.variable).degree() <= 2:
            return self._of_quadratic(Poly(expr, self.variable))
        if expr.is_Add:
            return sum((self.above(arg) for arg in expr.args), Exponent(0.0))
        if isinstance(expr, log_):
            return self.modulus(expr.args[0])
        factor, rest = expr.as_independent(self.variable, as_Add=False)
        if factor != 1 and ball(factor) > 0:
            return self._scaled(self.above(rest), factor)
        top = self.values(expr).interval.b
        if top < iv.inf:
            return Exponent(_up(float(top)))
        if expr.is_Pow and expr.exp.is_Rational and 0 < expr.exp < 1:
            return self._of_root(self.above(expr.base), expr.exp)
        raise NotProved(f"certified: no bound was found for the growth of exp({expr})")

    @staticmethod
    def _of_root(inside: Exponent, exponent: Expr) -> Exponent:
        """w^q, from a bound of w >= 0: at most 1 + w, and 1 + sqrt(w) where q <= 1/2; sqrt(b|x|) is at most (1 + b|x|)/2."""
        constant, linear, square = (max(part, 0.0) for part in inside._parts())
        if exponent > S.Half:
            return Exponent(_up(constant + 1), linear, square)
        return Exponent(_up(sqrt(constant) + 1.5), _up(sqrt(square) + linear / 2))

    @staticmethod
    def _scaled(bound: Exponent, factor: Expr) -> Exponent:
        sizes = ball(factor)
        high, low = float(sizes.upper()), float(sizes.lower())
        return Exponent(*(_up(part * (high if part > 0 else low)) for part in bound._parts()))

    def _of_quadratic(self, polynomial: Poly) -> Exponent:
        c0, c1, c2 = (polynomial.coeff_monomial(self.variable**n) for n in range(3))
        return Exponent(*(_up(float(ball(c).upper())) for c in (c0, self.side * c1, c2)))

    def _of_logarithm(self, inside: Expr) -> Exponent:
        """|log w|, w > 0, is at most a multiple of |x|, or of x^2, as |x| >= 1."""
        both = self.modulus(inside).or_more(self.inverse(inside))
        total = max(both.constant, 1.0) + max(both.linear, 0.0) + max(both.square, 0.0)
        return Exponent(_up(log(total))) + self._line.times(2.0 if both.square > 0 else 1.0)


def _up(number: float) -> float:
    """Rounded up by more than the rounding of a few float operations."""
    return number + ROUNDING * abs(number) if number < inf else inf


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
        if exponent.denominator == 1:
            return _values(base.interval**exponent.numerator, base.is_never_zero)
        raised = iv.exp(iv.mpf(exponent.numerator) / exponent.denominator * iv.log(base.interval))
        return _values(raised, base.is_never_zero)

    def function(self, at: Values, name: str) -> Values:
        if name == "log" and not at.is_positive:
            raise NotProved("certified: a branch point of a logarithm cannot be excluded")
        if name in INCREASING:
            low, high = (INCREASING[name](end) for end in (at.interval.a, at.interval.b))
            return _values(_interval(low.a, high.b), name == "NormalCdf" or (name == "atan" and at.is_never_zero))
        if name == "exp":
            return _values(iv.exp(at.interval), True)
        return _values(iv.sin(at.interval) if name == "sin" else iv.cos(at.interval))


def _erf(end: Any) -> Any:
    """1 - e^{-w^2} <= erf(w) <= 1 for w >= 0, and it is odd."""
    size = _interval((1 - iv.exp(-(end**2))).a, 1)
    return size if end >= 0 else -size


def _atan(end: Any) -> Any:
    nearly = end if abs(end) < SMALL else iv.mpf(atan(float(end)))  # which no float need hold
    return nearly * _interval(1 - ROUNDING, 1 + ROUNDING)


def _normal_cdf(end: Any) -> Any:
    """At most e^{-y^2/2}/2 for y <= 0."""
    rest = iv.exp(-(end**2) / 2) / 2
    return _interval(0, rest.b) if end <= 0 else _interval((1 - rest).a, 1)


INCREASING = {"log": iv.log, "erf": _erf, "atan": _atan, "NormalCdf": _normal_cdf}
"""Functions that are bounded at both ends of an interval."""

HALF_LINE = HalfLine()
