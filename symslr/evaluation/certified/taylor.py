"""Taylor models: a function on [c - r, c + r] as a polynomial in t = a - c and a ball that holds what is left of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from flint import arb, arb_poly, arb_series

from symslr.evaluation.errors import NotProved
from symslr.evaluation.numbers.elementary import by_squaring


@dataclass(frozen=True)
class Taylor:
    """f(c + t) is in polynomial(t) + rest for all |t| <= radius.

    Attributes:
        polynomial: coefficients as balls, degree below ``length``.
        rest: a ball.
        radius: exact.
        length: number of terms kept.
    """

    polynomial: Any
    rest: Any
    radius: Any
    length: int

    @property
    def _whole(self) -> Any:
        return arb(0, self.radius)

    def like(self, polynomial: Any, rest: Any = 0) -> Taylor:
        """A model on the same interval; terms beyond ``length`` go to the rest."""
        coefficients = polynomial.coeffs()
        beyond = arb_poly(coefficients[self.length :])
        kept = arb_poly(coefficients[: self.length])
        return replace(self, polynomial=kept, rest=arb(rest) + beyond(self._whole) * arb(0, self.radius**self.length))

    @property
    def values(self) -> Any:
        """A ball around all values."""
        return self.polynomial(self._whole) + self.rest

    @property
    def error(self) -> Any:
        """Of all values at most this."""
        radii = [own.rad() * self.radius**k for k, own in enumerate(self.polynomial.coeffs())]
        return sum(radii, self.rest.rad()).upper()

    def __add__(self, other: Taylor) -> Taylor:
        return self.like(self.polynomial + other.polynomial, self.rest + other.rest)

    def __mul__(self, other: Taylor) -> Taylor:
        rest = self.polynomial(self._whole) * other.rest + self.rest * other.values
        return self.like(self.polynomial * other.polynomial, rest)

    def times(self, number: Any) -> Taylor:
        """By a ball."""
        return self.like(self.polynomial * number, self.rest * number)

    def inverse(self) -> Taylor:
        """1/f = q + (1 - q f)/f for any polynomial q; here the one of the formal series.

        Raises:
            NotProved: where f is not seen to differ from 0.
        """
        values = self.values
        if values.contains(0):
            raise NotProved("certified: a division by an enclosure of zero")
        formal = arb_series(self.polynomial.coeffs(), self.length).inv()
        guess = self.like(arb_poly([formal[i] for i in range(self.length)]))
        off = self.like(arb_poly([1])) + (guess * self).times(-1)
        return guess + off.times(1 / values)

    def power(self, n: int) -> Taylor:
        """f^n."""
        if n < 0:
            return self.inverse().power(-n)
        return by_squaring(self, n, self.like(arb_poly([1])))

    def folded(self, period: int) -> Taylor:
        """g(s) with f(t) = g(t^period), of a function f of which that is known; its other coefficients are zero.

        Raises:
            ArithmeticError: where the last coefficient, which holds all that is left, is none of those.
        """
        if (self.length - 1) % period:
            raise ArithmeticError("a model ends between two powers of those that it has")
        kept, radius = arb_poly(self.polynomial.coeffs()[::period]), (self.radius**period).upper()
        return replace(self, polynomial=kept, radius=radius, length=self.length // period + 1)

    def mirrored(self) -> Taylor:
        """f(c - t)."""
        return self.like(self.polynomial(arb_poly([0, -1])), self.rest)


class Jet(Taylor):
    """As a Taylor model, with all that is left of the series in the last coefficient: it holds what that is at every t.

    So near c, where that coefficient has a small factor, little is left out however long the interval is.
    """

    def like(self, polynomial: Any, rest: Any = 0) -> Jet:
        """A model on the same interval; terms beyond ``length`` go to the last coefficient."""
        coefficients = polynomial.coeffs()
        kept, beyond = coefficients[: self.length], arb_poly(coefficients[self.length - 1 :])
        if len(coefficients) > self.length:
            kept[-1] = beyond(self._whole)
        return replace(self, polynomial=arb_poly(kept), rest=arb(rest))
