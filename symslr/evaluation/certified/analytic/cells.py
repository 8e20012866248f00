"""Enclosures on rectangles of the complex plane, by Arb's complex balls."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from typing import Any

from flint import acb, arb, fmpq
from sympy import Expr

from symslr.evaluation.certified.analytic.proof import Arithmetic, by_arb
from symslr.evaluation.errors import NotProved
from symslr.evaluation.numbers.elementary import ball, by_squaring, normal_cdf


def rectangle(left: float, right: float, low: float, high: float) -> Any:
    """The rectangle [left, right] + i [low, high]."""
    return acb(interval(left, right), interval(low, high))


def interval(left: Any, right: Any) -> Any:
    """The ball that holds [left, right]."""
    return arb(left).union(arb(right))


class Cells(Arithmetic):
    """The arithmetic of rectangles."""

    def constant(self, expr: Expr) -> Any:
        return acb(ball(expr))

    def power(self, base: Any, exponent: Fraction) -> Any:
        if exponent.denominator == 1:
            if exponent < 0 and not base.abs_lower() > 0:
                raise NotProved("certified: a pole cannot be excluded")
            return integer_power(base, int(exponent))
        _off_the_cut(base)
        return (base.log() * fmpq(exponent.numerator, exponent.denominator)).exp()

    def function(self, at: Any, name: str) -> Any:
        if name == "log":
            _off_the_cut(at)
        if name == "atan" and not (at.real > 0 or at.real < 0 or abs(at.imag) < 1):
            raise NotProved("certified: a branch point of atan cannot be excluded")
        if name == "NormalCdf":
            return self._normal_cdf(at)
        found = by_arb(at, name)
        if name == "exp" and found.real.contains(0):  # a product of wide balls loses the sign that its factors have
            size, part = at.real.exp(), at.imag.cos()
            corners = [s * p for s in (size.lower(), size.upper()) for p in (part.lower(), part.upper())]
            return acb(reduce(arb.union, corners), found.imag)
        return found

    def fermi(self, at: Any) -> Any:
        """Where e^y has a real part >= 0 by the ends of each part: a quotient of wide balls loses the sign of its real part.

        With p = e^{-|Re y|}, c and s = cos and sin(Im y): (1 + pc, -ps)/(1 + 2pc + p^2) for Re y < 0, (pp + pc, -ps)/... else.
        """
        cosine, sine = at.imag.cos(), at.imag.sin()
        if not cosine >= 0:
            return super().fermi(at)
        is_left = bool(at.real.mid() < 0)
        small = (at.real if is_left else -at.real).exp()
        p, c = ([part.lower(), part.upper()] for part in (small, cosine))
        bottoms = [1 + 2 * p[i] * c[i] + p[i] * p[i] for i in range(2)]
        tops = [1 + p[i] * c[i] if is_left else p[i] * (p[i] + c[i]) for i in range(2)]
        return acb(
            interval((tops[0] / bottoms[1]).lower(), (tops[1] / bottoms[0]).upper()), -small * sine / interval(*bottoms)
        )

    def softplus(self, at: Any) -> Any:
        """It keeps its sign however small e^y is."""
        load = self.function(at, "exp")
        _off_the_cut(1 + load)
        return load.log1p()

    def _normal_cdf(self, at: Any) -> Any:
        """Phi(at): by its ends on the line, where it increases; else by erfc(z) = e^{-z^2} s(z), z = -at/sqrt(2).

        s(z) = (2/sqrt(pi)) int_0^oo e^{-t^2 - 2zt} dt changes by no more than min(2, 1/(Re z)^2)/sqrt(pi) where Re z > 0.
        """
        if at.imag.is_zero():
            return acb(interval(*(normal_cdf(end) for end in (at.real.lower(), at.real.upper()))))
        z = -at / arb(2).sqrt()
        lowest = z.real.lower()
        if not lowest > 0:
            return normal_cdf(at)
        middle = acb(z.real.mid(), z.imag.mid())
        off = abs(z - middle) * (1 / lowest**2).min(arb(2)) / arb.pi().sqrt()
        around = arb(0, off.upper())
        scaled = (middle * middle).exp() * middle.erfc() + acb(around, around)
        return self.function(-integer_power(z, 2), "exp") * scaled / 2


def integer_power(base: Any, n: int) -> Any:
    """By squaring: Arb's own power is undefined on some balls that hold 0."""
    if n < 0:
        return integer_power(1 / base, -n)
    if n % 2 == 0 and base.imag.is_zero():
        size = interval(base.abs_lower(), base.abs_upper())
        return acb(size**n) if size > 0 else acb(arb(0).union(base.abs_upper() ** n))
    return by_squaring(base, n, acb(1))


def _off_the_cut(at: Any) -> None:
    """The principal logarithm is analytic off (-oo, 0]."""
    if not (at.real > 0 or at.imag > 0 or at.imag < 0):
        raise NotProved("certified: a branch point of a logarithm or a root cannot be excluded")


CELLS = Cells()
