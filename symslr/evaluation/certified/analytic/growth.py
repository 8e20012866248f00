"""Growth bounds of a function on a half line |x| >= X >= 1: |f(x)| <= |x|^power exp(constant + linear |x| + square x^2).

They are derived from the expression by rules for sums, products, powers, exponentials and logarithms. They are not sharp, but good
enough for the tails of integrals against a Gaussian. Ranges on a half line are intervals with infinite ends, by mpmath's ``iv``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import atan, inf, log, nextafter, pi, sqrt
from typing import Any

from flint import arb
from mpmath import iv
from sympy import Abs, Add, Expr, Max, Min, Mul, Poly, S, Symbol, exp, sign
from sympy import atan as atan_
from sympy import log as log_

from symslr.evaluation.certified.analytic.arithmetic import PIECES, Arithmetic, Turns, cached_with_refusals, enclosed
from symslr.evaluation.errors import NotProved
from symslr.evaluation.numbers.elementary import ball
from symslr.expression.special import NormalCdf

ROUNDING = 1e-12
"""Relative amount by which bounds are rounded up: more than the rounding of a few hundred float operations."""

LINEAR_ATAN = 1e-7
"""Arguments below this are used for arctan itself, right to 1 part in 10^14: a float might underflow."""


@dataclass(frozen=True)
class QuadraticBound:
    """constant + linear |x| + square x^2 + power log |x| in floats, every coefficient rounded up by ``ROUNDING``."""

    constant: float
    linear: float = 0.0
    square: float = 0.0
    power: float = 0.0

    def __add__(self, other: QuadraticBound) -> QuadraticBound:
        sums = zip(self._parts(), other._parts())
        return QuadraticBound(*(a + b + ROUNDING * (abs(a) + abs(b)) for a, b in sums))

    def times(self, factor: float, size: float = 1.0) -> QuadraticBound:
        """factor * bound(size * |x|), for a factor >= 0."""
        constant = self.constant + (self.power * log(size) if size != 1 else 0.0)
        parts = zip((constant, *self._parts()[1:]), (factor, factor * size, factor * size**2, factor))
        return QuadraticBound(*(a * own + ROUNDING * abs(a * own) for a, own in parts))

    def _parts(self) -> tuple[float, float, float, float]:
        return self.constant, self.linear, self.square, self.power

    @property
    def inverse(self) -> QuadraticBound:
        """Minus the bound, where it is an equality."""
        return QuadraticBound(*(-part for part in self._parts()))

    def maximum(self, other: QuadraticBound) -> QuadraticBound:
        """A quadratic bound above both, by the larger coefficients."""
        return QuadraticBound(*(max(a, b) for a, b in zip(self._parts(), other._parts())))

    @property
    def falls(self) -> bool:
        """Whether the quadratic tends to -oo as |x| grows."""
        return self.square < 0 or (self.square == 0 and (self.linear < 0 or (self.linear == 0 and self.power < 0)))

    def tail(self, start: float) -> Any:
        """An upper bound of the integral of exp(quadratic) over |x| >= start on one side.

        Raises:
            NotProved: where the quadratic does not decrease from there on.
        """
        if self.square == 0 == self.linear and self.power < -1 - 1e-9:
            log_tail = arb(self.constant) + arb(self.power + 1) * arb(start).log() - arb(-self.power - 1).log()
            return (log_tail + ROUNDING * (1 + abs(self.constant) + abs(self.power) * log(start))).exp()
        if self.power:  # |x|^p <= e^{p (log X - 1 + |x|/X)} for p > 0, with equality at X
            more = max(self.power, 0.0)
            constant = min(self.power, 0.0) * log(start) + more * (log(start) - 1)
            plain = QuadraticBound(self.constant, self.linear, self.square)
            return (plain + QuadraticBound(_up(constant), _up(more / start))).tail(start)
        slope = -(self.linear + 2 * self.square * start)
        if self.square > 0 or not slope > 0:
            raise NotProved(f"certified: the integrand is not seen to fall beyond |x| = {start:g}")
        top = arb(self.constant) + arb(self.linear) * start + arb(self.square) * start**2
        return (
            (top + ROUNDING * (abs(self.constant) + abs(self.linear) * start + start**2)).exp() / slope * (1 + ROUNDING)
        )


IDENTITY = QuadraticBound(0.0, power=1.0)
"""Of x itself."""


class GrowthBounds:
    """Growth bounds of functions on the half line side * x >= start >= 1."""

    def __init__(self, variable: Symbol, start: float, side: int) -> None:
        self.variable, self.start, self.side = variable, start, side
        self.region = half_line(start, side)
        self.known: dict[tuple[Any, ...], Any] = {}

    def without_pieces(self, expr: Expr) -> Expr:
        """The same function on the half line, where every |f|, max, min and step is one of its pieces."""
        return expr.replace(lambda node: isinstance(node, PIECES), self._one_piece)

    def _one_piece(self, node: Expr) -> Expr:
        first, *others = node.args
        difference = first - others[0] if isinstance(node, (Max, Min)) else first
        if len(others) > 1 and isinstance(node, (Max, Min)):
            return node
        interval = self.values(difference).interval
        if not (interval.a > 0 or interval.b < 0):
            return node
        is_positive = bool(interval.a > 0)
        if isinstance(node, (Max, Min)):
            return first if is_positive == isinstance(node, Max) else others[0]
        if isinstance(node, Abs):
            return first if is_positive else -first
        return S.One if is_positive else -S.One if isinstance(node, sign) else S.Zero

    def values(self, expr: Expr) -> RealSet:
        """The range of a function on the half line."""
        far = expr.replace(self._is_polynomial, self._led_by_the_highest_power)
        found: RealSet = enclosed(far, self.variable, self.region, HALF_LINE)
        return found

    def _is_polynomial(self, expr: Expr) -> bool:
        if not (expr.is_Add and expr.is_polynomial(self.variable)):
            return False
        polynomial = Poly(expr, self.variable)
        return bool(polynomial.degree() > 1 and not ball(polynomial.LC()).contains(0))

    def _led_by_the_highest_power(self, expr: Expr) -> Expr:
        """The polynomial as x^n (c_n + c_{n-1}/x + ...): sharper in interval arithmetic at large |x|."""
        terms = Poly(expr, self.variable).terms()
        degree = terms[0][0][0]
        return Mul(
            self.variable**degree, Add(*(c * self.variable ** (k - degree) for (k,), c in terms)), evaluate=False
        )

    @cached_with_refusals
    def modulus(self, expr: Expr) -> QuadraticBound:
        """A bound of log |f|; cached, as subexpressions recur."""
        if isinstance(expr, exp):
            return self.above(expr.exp)
        if expr == self.variable:
            return IDENTITY
        if expr.is_Mul:
            return sum((self.modulus(arg) for arg in expr.args), QuadraticBound(0.0))
        if expr.is_Pow and expr.exp.is_Rational:
            return (self.modulus(expr.base) if expr.exp > 0 else self.inverse(expr.base)).times(float(abs(expr.exp)))
        if (
            isinstance(expr, NormalCdf) and self.values(expr.args[0]).interval.b <= 0
        ):  # Phi(y) <= e^{-y^2/2}/2 for y <= 0
            return self.above(-(expr.args[0] ** 2) / 2) + QuadraticBound(_up(-log(2)))
        top = abs(self.values(expr).interval).b
        constant = QuadraticBound(_up(float(iv.log(top).b)) if top > 0 else -1e6) if top < iv.inf else None
        if expr.is_Add and (constant is None or all(self.values(arg).interval.b < iv.inf for arg in expr.args)):
            bounds = [self.modulus(arg) for arg in expr.args]
            total = reduce(QuadraticBound.maximum, bounds) + QuadraticBound(_up(log(len(bounds))))
            return total if constant is None or total.falls else constant
        if constant is not None:
            return constant
        if isinstance(expr, log_):
            return self._of_logarithm(expr.args[0])
        raise NotProved(f"certified: no bound was found for the growth of {expr}")

    def inverse(self, expr: Expr) -> QuadraticBound:
        """A bound of log |1/f|."""
        if expr == self.variable:
            return IDENTITY.inverse
        if isinstance(expr, exp):
            return self.above(-expr.exp)
        if expr.is_Mul:
            return sum((self.inverse(arg) for arg in expr.args), QuadraticBound(0.0))
        if expr.is_Pow and expr.exp.is_Rational:
            return (self.inverse(expr.base) if expr.exp > 0 else self.modulus(expr.base)).times(float(abs(expr.exp)))
        for arg in expr.args if expr.is_Add else ():
            if self._leads(arg, [other for other in expr.args if other != arg]):
                return self.inverse(arg) + QuadraticBound(_up(log(2)))  # |f| >= |arg| - |rest| >= |arg|/2
        bottom = abs(self.values(expr).interval).a
        if bottom > 0:
            return QuadraticBound(_up(float(-iv.log(bottom).a)))
        if isinstance(expr, log_) and self.values(expr.args[0] - 1).interval.a >= 0:
            # log(1 + w) >= w/(1 + w) for w > 0, so that 1/log <= 2 max(1, 1/w)
            return self.inverse(expr.args[0] - 1).maximum(QuadraticBound(0.0)) + QuadraticBound(_up(log(2)))
        if isinstance(expr, atan_) and self.values(expr.args[0]).interval.a >= 0:  # atan(w) >= w/(1 + w) for w > 0
            return self.inverse(expr.args[0]).maximum(QuadraticBound(0.0)) + QuadraticBound(_up(log(2)))
        if isinstance(expr, NormalCdf):  # Phi(y) >= e^{-y^2/2}/(2 sqrt(pi) (|y| + 1))
            (y,) = expr.args
            size = self.modulus(y).maximum(QuadraticBound(0.0)) + QuadraticBound(_up(log(2)))
            return self.above(y**2 / 2) + size + QuadraticBound(_up(log(4 * pi) / 2))
        if expr.is_Add and all(self.values(arg).interval.a >= 0 for arg in expr.args):
            return self._inverse_of_one(expr.args)
        raise NotProved(f"certified: no bound was found for how fast {expr} falls")

    def _inverse_of_one(self, terms: tuple[Expr, ...]) -> QuadraticBound:
        """A bound of log |1/sum| for terms >= 0: that of the term whose inverse grows least."""
        found = []
        for term in terms:
            try:
                found.append(self.inverse(term))
            except NotProved as reason:
                refused = reason
        if not found:
            raise refused
        return min(found, key=lambda bound: (bound.square, bound.linear, bound.power, bound.constant))

    def _leads(self, term: Expr, others: list[Expr]) -> bool:
        """Whether the modulus of a term is at least twice that of the sum of the others."""
        try:
            return bool(abs(self.values(Add(*(other / term for other in others))).interval).b <= 0.5)
        except NotProved:
            return False

    def above(self, expr: Expr) -> QuadraticBound:
        """A quadratic upper bound of f itself."""
        if not expr.has(self.variable):
            return QuadraticBound(_up(float(ball(expr).upper())))
        if expr.is_polynomial(self.variable) and Poly(expr, self.variable).degree() <= 2:
            return self._of_quadratic(Poly(expr, self.variable))
        if expr.is_polynomial(self.variable) and (led := self._of_higher_degree(Poly(expr, self.variable))) is not None:
            return led
        if expr.is_Add:
            return sum((self.above(arg) for arg in expr.args), QuadraticBound(0.0))
        if isinstance(expr, log_):
            return self.modulus(expr.args[0])
        factor, rest = expr.as_independent(self.variable, as_Add=False)
        if isinstance(rest, exp) and ball(factor) < 0 and self.values(rest.exp).interval.a >= 0:  # e^y >= 1 + y + y^2/2
            y = rest.exp
            more = y**2 / 2 if y.is_polynomial(self.variable) and Poly(y, self.variable).degree() == 1 else S.Zero
            return self.above((factor * (1 + y + more)).expand())
        if factor != 1 and ball(factor) > 0:
            return self._scaled(self.above(rest), factor)
        top = self.values(expr).interval.b
        if top < iv.inf:
            return QuadraticBound(_up(float(top)))
        if expr.is_Pow and expr.exp.is_Rational and 0 < expr.exp < 1:
            return self._of_root(self.above(expr.base), expr.exp)
        raise NotProved(f"certified: no bound was found for the growth of exp({expr})")

    @staticmethod
    def _of_root(inside: QuadraticBound, exponent: Expr) -> QuadraticBound:
        """A bound of w^q, 0 < q < 1, from one of w >= 0: 1 + w, or 1 + sqrt(w) where q <= 1/2, with sqrt(b|x|) <= (1 + b|x|)/2."""
        constant, linear, square, power = (max(part, 0.0) for part in inside._parts())
        linear += power  # log |x| <= |x|
        if exponent > S.Half:
            return QuadraticBound(_up(constant + 1), linear, square)
        return QuadraticBound(_up(sqrt(constant) + 1.5), _up(sqrt(square) + linear / 2))

    @staticmethod
    def _scaled(bound: QuadraticBound, factor: Expr) -> QuadraticBound:
        sizes = ball(factor)
        high, low = float(sizes.upper()), float(sizes.lower())
        return QuadraticBound(*(_up(part * (high if part > 0 else low)) for part in bound._parts()))

    def _of_quadratic(self, polynomial: Poly) -> QuadraticBound:
        c0, c1, c2 = (polynomial.coeff_monomial(self.variable**n) for n in range(3))
        return QuadraticBound(*(_up(float(ball(c).upper())) if c != 0 else 0.0 for c in (c0, self.side * c1, c2)))

    def _of_higher_degree(self, polynomial: Poly) -> QuadraticBound | None:
        """A bound of a polynomial of degree n > 2 that falls: by |x|^k <= X^{k-n} |x|^n for k < n, and -|x|^n <= -X^{n-2} x^2."""
        start, degree = self.start, polynomial.degree()
        highs = {k: ball(c * self.side**k) for (k,), c in polynomial.terms()}
        lead = highs[degree] + sum(
            (c.max(arb(0)) * arb(start) ** (k - degree) for k, c in highs.items() if 2 < k < degree), arb(0)
        )
        if not lead < 0:
            return None
        low = Poly({(k,): c for (k,), c in polynomial.terms() if k <= 2} or {(0,): S.Zero}, self.variable)
        return self._of_quadratic(low) + QuadraticBound(
            0.0, 0.0, _up(float((lead * arb(start) ** (degree - 2)).upper()))
        )

    def _of_logarithm(self, inside: Expr) -> QuadraticBound:
        """A bound of log |log w|, w > 0: |log w| is at most a multiple of |x|, or of x^2, as |x| >= 1."""
        both = self.modulus(inside).maximum(self.inverse(inside))
        total = max(both.constant, 1.0) + sum(max(part, 0.0) for part in both._parts()[1:])
        return QuadraticBound(_up(log(total))) + IDENTITY.times(2.0 if both.square > 0 else 1.0)


def _up(number: float) -> float:
    """The number rounded up by more than the rounding of a few float operations."""
    return number + ROUNDING * abs(number) if number < inf else inf


@dataclass(frozen=True)
class RealSet:
    """A set of real numbers.

    Attributes:
        interval: an interval that contains it; ends may be infinite.
        is_never_zero: whether 0 is known not to be in the set, even if the interval contains 0.
    """

    interval: Any
    is_never_zero: bool

    @property
    def is_positive(self) -> bool:
        return bool(self.interval.a > 0 or (self.interval.a >= 0 and self.is_never_zero))


def _interval(low: Any, high: Any) -> Any:
    return iv.mpf([low, high])


def _values(interval: Any, never_zero: bool = False) -> RealSet:
    return RealSet(interval, never_zero or bool(interval.a > 0 or interval.b < 0))


def half_line(start: float, side: int) -> RealSet:
    """The numbers x with side * x >= start > 0."""
    return _values(_interval(start, inf) if side > 0 else _interval(-inf, -start))


class HalfLine(Arithmetic):
    """The arithmetic of ``RealSet``."""

    def constant(self, expr: Expr) -> RealSet:
        enclosure = ball(expr)
        near = float(enclosure.mid())
        if enclosure == near:
            return _values(iv.mpf(near))
        low, high = nextafter(float(enclosure.lower()), -inf), nextafter(float(enclosure.upper()), inf)
        return _values(_interval(max(low, 0.0) if expr.is_nonnegative else low, high))

    def add(self, left: RealSet, right: RealSet) -> RealSet:
        return _values(left.interval + right.interval)

    def multiply(self, left: RealSet, right: RealSet) -> RealSet:
        if left.interval == 0 or right.interval == 0:  # 0 times an unbounded set of numbers is 0
            return _values(iv.mpf(0))
        return _values(left.interval * right.interval, left.is_never_zero and right.is_never_zero)

    def power(self, base: RealSet, exponent: Fraction) -> RealSet:
        if exponent.denominator != 1 and not base.is_positive:
            raise NotProved("certified: a branch point of a root cannot be excluded")
        low, high = base.interval.a, base.interval.b
        if exponent < 0 and not (base.is_never_zero and (low >= 0 or high <= 0)):
            raise NotProved("certified: a pole cannot be excluded")
        if exponent.denominator == 1:
            return _values(base.interval**exponent.numerator, base.is_never_zero)
        raised = iv.exp(iv.mpf(exponent.numerator) / exponent.denominator * iv.log(base.interval))
        return _values(raised, base.is_never_zero)

    def function(self, at: RealSet, name: str) -> RealSet:
        if name == "log" and not at.is_positive:
            raise NotProved("certified: a branch point of a logarithm cannot be excluded")
        if name == "gamma":
            raise NotProved("certified: no bound was found for the growth of a gamma function")
        if name in INCREASING:
            low, high = (INCREASING[name](end) for end in (at.interval.a, at.interval.b))
            return _values(_interval(low.a, high.b), name == "NormalCdf" or (name == "atan" and at.is_never_zero))
        if name == "exp":
            return _values(iv.exp(at.interval), True)
        return _values(iv.sin(at.interval) if name == "sin" else iv.cos(at.interval))

    def piece(self, name: str, arguments: list[RealSet], turns: Turns) -> RealSet:
        ends = [(own.interval.a, own.interval.b) for own in arguments]
        if name in ("Max", "Min"):
            choose = max if name == "Max" else min
            return _values(_interval(*(choose(column) for column in zip(*ends))))
        (low, high), is_positive = ends[0], arguments[0].is_positive
        if name == "Abs":
            least = 0 if low <= 0 <= high else min(abs(low), abs(high))
            return _values(_interval(least, max(abs(low), abs(high))), arguments[0].is_never_zero)
        low, high = (1, 1) if is_positive else (0, 0) if high < 0 else (0, 1)
        return _values(_interval(low, high) if name == "Heaviside" else _interval(2 * low - 1, 2 * high - 1))


def _asinh(end: Any) -> Any:
    size = abs(end)
    found = iv.log(size + iv.sqrt(size**2 + 1)) if size.b < iv.inf else iv.mpf([iv.inf, iv.inf])
    return found if end >= 0 else -found


def _erf(end: Any) -> Any:
    """1 - e^{-w^2} <= erf(w) <= 1 for w >= 0, and it is odd."""
    size = _interval((1 - iv.exp(-(end**2))).a, 1)
    return size if end >= 0 else -size


def _atan(end: Any) -> Any:
    nearly = end if abs(end) < LINEAR_ATAN else iv.mpf(atan(float(end)))  # which no float need hold
    return nearly * _interval(1 - ROUNDING, 1 + ROUNDING)


def _normal_cdf(end: Any) -> Any:
    """At most e^{-y^2/2}/2 for y <= 0."""
    rest = iv.exp(-(end**2) / 2) / 2
    return _interval(0, rest.b) if end <= 0 else _interval((1 - rest).a, 1)


INCREASING = {"log": iv.log, "asinh": _asinh, "erf": _erf, "atan": _atan, "NormalCdf": _normal_cdf}
"""Increasing functions, by interval enclosures at a point: their range follows from the ends of an interval."""

HALF_LINE = HalfLine()
