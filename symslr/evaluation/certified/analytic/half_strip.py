"""Enclosures on half strips {|x| >= X, |y| <= d} of the complex plane: intervals with infinite ends, by mpmath's ``iv``.

A value is known twice, by its real and imaginary part and by its modulus and argument, as z^4 has a positive real part far
out that products of rectangles do not show, and 1 + e^z a modulus above 1 that its sector does not show.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import nextafter, pi
from typing import Any

from mpmath import inf, iv
from sympy import Expr

from symslr.evaluation.certified.analytic.proof import Arithmetic, NotProved
from symslr.evaluation.numbers.elementary import ball

PI = iv.pi


@dataclass(frozen=True)
class Values:
    """A set of complex numbers.

    Attributes:
        re, im: intervals of the real and imaginary part.
        modulus: interval of the modulus.
        argument: an interval that holds an argument of every number; None where none is known.
        is_never_zero: whether 0 is excluded, also where the modulus comes arbitrarily close.
    """

    re: Any
    im: Any
    modulus: Any
    argument: Any
    is_never_zero: bool

    @property
    def is_principal(self) -> bool:
        """Whether the arguments are those of the principal logarithm."""
        return self.argument is not None and self.argument.b < PI.a and self.argument.a > -PI.a


def _interval(low: Any, high: Any) -> Any:
    return iv.mpf([low, high])


def _common(left: Any, right: Any) -> Any:
    """The intersection of two enclosures of one number."""
    low, high = max(left.a, right.a), min(left.b, right.b)
    return _interval(low, high) if low <= high else left


def _times(left: Any, right: Any) -> Any:
    """The product; 0 times an unbounded set of numbers is 0."""
    return iv.mpf(0) if left == 0 or right == 0 else left * right


def _made(re: Any, im: Any, modulus: Any = None, argument: Any = None, never_zero: bool = False) -> Values:
    """Both descriptions, each sharpened by the other."""
    flat = iv.sqrt(re**2 + im**2)
    modulus = flat if modulus is None else _common(flat, modulus)
    if argument is not None and argument.delta < PI.a:
        argument = argument - 2 * PI * round(float(argument.mid) / (2 * pi))
    if re.a > 0 or (re.a >= 0 and never_zero):
        seen = iv.atan2(im, re) if re.a > 0 else _interval(-PI.b / 2, PI.b / 2)
        argument = seen if argument is None or not argument.delta < seen.delta else argument
    if argument is not None:
        re, im = _common(re, modulus * iv.cos(argument)), _common(im, modulus * iv.sin(argument))
    return Values(re, im, modulus, argument, never_zero or bool(modulus.a > 0))


def half_strip(start: float, side: int, half_width: float) -> Values:
    """The numbers x + iy with side x >= start > 0, |y| <= half_width."""
    away = _interval(start, inf)
    across = _interval(-half_width, half_width)
    if side > 0:
        return _made(away, across)
    # their arguments lie around pi, where no principal argument reaches; products know what to do with it
    turned = iv.atan2(across, away) + PI
    return _made(-away, across, argument=turned)


class HalfStrip(Arithmetic):
    """The arithmetic of ``Values``."""

    def constant(self, expr: Expr) -> Values:
        enclosure = ball(expr)
        near = float(enclosure.mid())
        exact = enclosure == near
        low, high = nextafter(float(enclosure.lower()), -inf), nextafter(float(enclosure.upper()), inf)
        if expr.is_nonnegative:
            low = max(low, 0.0)
        re = iv.mpf(near) if exact else _interval(low, high)
        argument = iv.mpf(0) if re.a > 0 else PI if re.b < 0 else None
        return _made(re, iv.mpf(0), argument=argument)

    def add(self, left: Values, right: Values) -> Values:
        argument = modulus = None
        if left.argument is not None and right.argument is not None:
            low, high = min(left.argument.a, right.argument.a), max(left.argument.b, right.argument.b)
            spread = _interval(low, high).delta
            if spread.b < PI.a:  # both in one sector, which holds the sum
                argument = _interval(low, high)
                total = left.modulus + right.modulus
                modulus = _interval((total * iv.cos(spread / 2)).a, total.b)
        return _made(left.re + right.re, left.im + right.im, modulus, argument)

    def multiply(self, left: Values, right: Values) -> Values:
        both = left.argument is not None and right.argument is not None
        return _made(
            _times(left.re, right.re) - _times(left.im, right.im),
            _times(left.re, right.im) + _times(left.im, right.re),
            _times(left.modulus, right.modulus),
            left.argument + right.argument if both else None,
            left.is_never_zero and right.is_never_zero,
        )

    def power(self, base: Values, exponent: Fraction) -> Values:
        if exponent.denominator != 1 and not base.is_principal:
            raise NotProved("certified: a branch point of a root cannot be excluded")
        if exponent < 0 and not base.is_never_zero:
            raise NotProved("certified: a pole cannot be excluded")
        if base.argument is None:
            return self._by_products(base, exponent)
        size = iv.mpf(exponent.numerator) / exponent.denominator
        modulus = _raised(base.modulus, size)
        whole = _interval(-inf, inf)
        made = _made(whole, whole, modulus, base.argument * size, base.is_never_zero)
        if 0 < exponent <= 4 and exponent.denominator == 1:
            flat = self._by_products(base, exponent)
            return _made(
                _common(made.re, flat.re), _common(made.im, flat.im), modulus, made.argument, made.is_never_zero
            )
        return made

    def _by_products(self, base: Values, exponent: Fraction) -> Values:
        if exponent < 0:
            square = base.modulus**2
            inverse = _made(base.re / square, -base.im / square, 1 / base.modulus, None, True)
            return self._by_products(inverse, -exponent)
        result = base
        for _ in range(int(exponent) - 1):
            result = self.multiply(result, base)
        return result

    def function(self, name: str, at: Values) -> Values:
        if name == "exp":
            size = iv.exp(at.re)
            return _made(size * iv.cos(at.im), size * iv.sin(at.im), size, at.im, True)
        if name == "log":
            if not at.is_principal or not at.is_never_zero:
                raise NotProved("certified: a branch point of a logarithm cannot be excluded")
            low = -inf if at.modulus.a <= 0 else iv.log(_interval(at.modulus.a, at.modulus.a)).a
            high = inf if at.modulus.b == inf else iv.log(_interval(at.modulus.b, at.modulus.b)).b
            return _made(_interval(low, high), at.argument)
        if name == "erf":
            return self._erf(at)
        cosh, sinh = (iv.exp(at.im) + iv.exp(-at.im)) / 2, (iv.exp(at.im) - iv.exp(-at.im)) / 2
        sin, cos = iv.sin(at.re), iv.cos(at.re)
        return _made(sin * cosh, cos * sinh) if name == "sin" else _made(cos * cosh, -sin * sinh)

    def _erf(self, at: Values) -> Values:
        """erf(w) = 1 - erfc(w), and |erfc(w)| <= exp((Im w)^2 - (Re w)^2) for Re w >= 0; erf is odd."""
        if at.re.a < 0 < at.re.b or not abs(at.im).b < inf:
            raise NotProved("certified: erf has no bound where its argument may have any real part")
        rest = iv.exp(abs(at.im).b ** 2 - abs(at.re).a ** 2).b
        sign = 1 if at.re.a >= 0 else -1
        return _made(sign + _interval(-rest, rest), _interval(-rest, rest))


def _raised(modulus: Any, exponent: Any) -> Any:
    """modulus^exponent for a modulus that may reach 0 or oo."""

    def end(at: Any) -> Any:
        if at in (0, inf):
            grows = (at == inf) == (exponent.a > 0)
            return _interval(inf, inf) if grows else iv.mpf(0)
        return iv.exp(exponent * iv.log(_interval(at, at)))

    ends = end(modulus.a), end(modulus.b)
    return _interval(min(e.a for e in ends), max(e.b for e in ends))


HALF_STRIP = HalfStrip()
