"""Taylor models: a function on [c - r, c + r] as a polynomial in t = a - c plus a ball that holds the remainder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from flint import arb, arb_poly, arb_series

from symslr.evaluation.errors import NotProved
from symslr.evaluation.numbers.elementary import by_squaring


@dataclass(frozen=True)
class TaylorModel:
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

    def like(self, polynomial: Any, rest: Any = 0) -> TaylorModel:
        """A model on the same interval; terms beyond ``length`` are added to ``rest``."""
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
        """An upper bound of the error of all values."""
        radii = [own.rad() * self.radius**k for k, own in enumerate(self.polynomial.coeffs())]
        return sum(radii, self.rest.rad()).upper()

    def __add__(self, other: TaylorModel) -> TaylorModel:
        return self.like(self.polynomial + other.polynomial, self.rest + other.rest)

    def __mul__(self, other: TaylorModel) -> TaylorModel:
        rest = self.polynomial(self._whole) * other.rest + self.rest * other.values
        return self.like(self.polynomial * other.polynomial, rest)

    def times(self, number: Any) -> TaylorModel:
        """The product with a ball."""
        return self.like(self.polynomial * number, self.rest * number)

    def inverse(self) -> TaylorModel:
        """1/f = q + (1 - q f)/f, which holds for any polynomial q; here that of the formal power series of 1/f.

        Raises:
            NotProved: where the enclosure of f contains 0.
        """
        values = self.values
        if values.contains(0):
            raise NotProved("certified: a division by an enclosure of zero")
        formal = arb_series(self.polynomial.coeffs(), self.length).inv()
        guess = self.like(arb_poly([formal[i] for i in range(self.length)]))
        off = self.like(arb_poly([1])) + (guess * self).times(-1)
        return guess + off.times(1 / values)

    def power(self, n: int) -> TaylorModel:
        """f^n."""
        if n < 0:
            return self.inverse().power(-n)
        return by_squaring(self, n, self.like(arb_poly([1])))

    def in_power(self, period: int) -> TaylorModel:
        """The model of g with f(t) = g(t^period), for an f that is known to be of this form.

        Raises:
            ArithmeticError: where the degree of the last coefficient, which holds the remainder, is no multiple of the period.
        """
        if (self.length - 1) % period:
            raise ArithmeticError("a model ends between two powers of those that it has")
        kept, radius = arb_poly(self.polynomial.coeffs()[::period]), (self.radius**period).upper()
        return replace(self, polynomial=kept, radius=radius, length=self.length // period + 1)

    def mirrored(self) -> TaylorModel:
        """f(c - t)."""
        return self.like(self.polynomial(arb_poly([0, -1])), self.rest)


class Jet(TaylorModel):
    """A Taylor model whose last coefficient is a ball that holds the Lagrange remainder at every t.

    Its error goes like t^(length - 1): small near c, however long the interval is.
    """

    def like(self, polynomial: Any, rest: Any = 0) -> Jet:
        """A model on the same interval; terms beyond ``length`` are added to the last coefficient."""
        coefficients = polynomial.coeffs()
        kept, beyond = coefficients[: self.length], arb_poly(coefficients[self.length - 1 :])
        if len(coefficients) > self.length:
            kept[-1] = beyond(self._whole)
        return replace(self, polynomial=arb_poly(kept), rest=arb(rest))
