"""Arrays of balls, in floats or in Arb, and power series with such arrays as coefficients.

Where few digits suffice, a float midpoint and radius are far faster than Arb; radii are rounded up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import inf, nextafter
from operator import add, matmul, mul
from typing import Any

import numpy as np
from flint import arb, arb_mat

from symslr.evaluation.numbers.balls import exponentials, to_one_unit

FLOAT_ERROR = 2.0**-52
"""Bound of the relative error of a float operation: twice the unit roundoff."""

EXP_ERROR = 2.0**-48
"""Bound of the relative error of an exponential and of the additions around it."""

RADIUS_FACTOR = 1 + 2.0**-36
"""Factor by which radii are rounded up: more than the rounding of a sum of some thousand terms."""

UNDERFLOW = 1e-300
"""Added to radii: more than what underflow loses."""


@dataclass(frozen=True)
class FloatBalls:
    """A matrix of balls: midpoints and radii as float arrays."""

    middle: Any
    radius: Any

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any]]) -> FloatBalls:
        """From rows of Arb's balls."""
        middles = [[float(own) for own in row] for row in rows]
        off = [[_above((own - at).abs_upper()) for own, at in zip(*both)] for both in zip(rows, middles)]
        return cls(np.array(middles), np.array(off))

    @classmethod
    def loads(cls, slopes: Sequence[Any], first: int, per_octave: int, count: int) -> FloatBalls:
        """e^{-us}: a row for each of u = 2^{i/per_octave}, i = first, ..., a column for each slope."""
        nodes = [[-(arb.const_log2() * (first + i) / per_octave).exp()] for i in range(count)]
        exponents = cls.of(nodes) * cls.of([slopes])
        low, high = (np.exp(exponents.middle + side * exponents.radius) for side in (-1, 1))
        return cls((low + high) / 2, ((high - low) / 2 + EXP_ERROR * high) * RADIUS_FACTOR + UNDERFLOW)

    def __add__(self, other: FloatBalls) -> FloatBalls:
        total = self.middle + other.middle
        return FloatBalls(total, (self.radius + other.radius + FLOAT_ERROR * abs(total)) * RADIUS_FACTOR + UNDERFLOW)

    def __mul__(self, other: FloatBalls) -> FloatBalls:
        product, size = self.middle * other.middle, abs(other.middle) + other.radius
        radius = abs(self.middle) * other.radius + self.radius * size + FLOAT_ERROR * abs(product)
        return FloatBalls(product, radius * RADIUS_FACTOR + UNDERFLOW)

    def __matmul__(self, other: FloatBalls) -> FloatBalls:
        own, size = abs(self.middle), abs(other.middle)
        rounding = FLOAT_ERROR * (self.middle.shape[1] + 4)
        radius = own @ (other.radius + rounding * size) + self.radius @ (size + other.radius)
        return FloatBalls(self.middle @ other.middle, radius * RADIUS_FACTOR + UNDERFLOW)

    def scaled(self, p: int, q: int) -> FloatBalls:
        """Times p/q."""
        total = self.middle * (p / q)
        return FloatBalls(total, (self.radius * abs(p / q) + 2 * FLOAT_ERROR * abs(total)) * RADIUS_FACTOR + UNDERFLOW)

    def columns(self, places: Sequence[int]) -> FloatBalls:
        """The columns with these indices."""
        return FloatBalls(self.middle[:, places], self.radius[:, places])

    @classmethod
    def beside(cls, arrays: Sequence[FloatBalls]) -> FloatBalls:
        """Several matrices side by side."""
        return cls(np.hstack([own.middle for own in arrays]), np.hstack([own.radius for own in arrays]))

    def to_one_unit(self) -> FloatBalls:
        """The entries rounded to a common absolute precision, which makes products of Arb's matrices faster; unchanged for
        floats."""
        return self

    def transposed(self) -> FloatBalls:
        """The transposed matrix."""
        return FloatBalls(self.middle.T, self.radius.T)

    def widened(self, error: Any) -> FloatBalls:
        """Every radius increased by ``error``."""
        return FloatBalls(self.middle, (self.radius + _above(error)) * RADIUS_FACTOR)

    def single(self) -> Any:
        """The entry of a 1 x 1 matrix as one of Arb's balls."""
        return arb(float(self.middle[0, 0]), float(self.radius[0, 0]))


@dataclass(frozen=True)
class ArbBalls:
    """As ``FloatBalls``, in Arb's balls at the current precision."""

    values: Any

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any]]) -> ArbBalls:
        values = np.empty((len(rows), len(rows[0])), dtype=object)
        for at, row in zip(values, rows):
            at[:] = row
        return cls(values)

    @classmethod
    def loads(cls, slopes: Sequence[Any], first: int, per_octave: int, count: int) -> ArbBalls:
        return cls.of(exponentials(slopes, first, per_octave, count))

    def __add__(self, other: ArbBalls) -> ArbBalls:
        return ArbBalls(self.values + other.values)

    def __mul__(self, other: ArbBalls) -> ArbBalls:
        return ArbBalls(self.values * other.values)

    def __matmul__(self, other: ArbBalls) -> ArbBalls:
        return ArbBalls.of((arb_mat(self.values.tolist()) * arb_mat(other.values.tolist())).tolist())

    def scaled(self, p: int, q: int) -> ArbBalls:
        return ArbBalls(self.values * p / q)

    def columns(self, places: Sequence[int]) -> ArbBalls:
        return ArbBalls(self.values[:, places])

    @classmethod
    def beside(cls, arrays: Sequence[ArbBalls]) -> ArbBalls:
        return cls(np.hstack([own.values for own in arrays]))

    def to_one_unit(self) -> ArbBalls:
        return ArbBalls(to_one_unit(self.values))

    def transposed(self) -> ArbBalls:
        return ArbBalls(self.values.T)

    def widened(self, error: Any) -> ArbBalls:
        return ArbBalls(self.values + arb(0, error.upper()))

    def single(self) -> Any:
        return self.values[0, 0]


def _above(number: Any) -> float:
    """A float above an Arb ball >= 0."""
    return nextafter(float(number.upper()), inf) * (1 + FLOAT_ERROR)


@dataclass(frozen=True)
class PowerSeries:
    """A power series truncated after ``length`` terms; coefficients may be anything that can be added and multiplied."""

    coefficients: list[Any]
    length: int

    def __add__(self, other: PowerSeries) -> PowerSeries:
        more, less = sorted((self.coefficients, other.coefficients), key=len, reverse=True)
        return PowerSeries([own + less[k] if k < len(less) else own for k, own in enumerate(more)], self.length)

    def __mul__(self, other: PowerSeries) -> PowerSeries:
        return self._cauchy(other, mul)

    def __matmul__(self, other: PowerSeries) -> PowerSeries:
        return self._cauchy(other, matmul)

    def _cauchy(self, other: PowerSeries, operation: Callable[[Any, Any], Any]) -> PowerSeries:
        left, right, found = self.coefficients, other.coefficients, []
        for k in range(min(self.length, len(left) + len(right) - 1)):
            places = range(max(0, k + 1 - len(right)), min(k + 1, len(left)))
            found.append(reduce(add, [operation(left[m], right[k - m]) for m in places]))
        return PowerSeries(found, self.length)

    def of_each(self, operation: Callable[[Any], Any]) -> PowerSeries:
        """The series with ``operation`` applied to every coefficient."""
        return PowerSeries([operation(own) for own in self.coefficients], self.length)

    def to_one_unit(self) -> PowerSeries:
        return self.of_each(lambda own: own.to_one_unit())

    def transposed(self) -> PowerSeries:
        return self.of_each(lambda own: own.transposed())

    def scaled(self, p: int, q: int) -> PowerSeries:
        """Times p/q."""
        return self.of_each(lambda own: own.scaled(p, q))

    def widened(self, error: Any) -> PowerSeries:
        """The series of a function with a constant error: the first coefficient is widened."""
        first, *others = self.coefficients
        return PowerSeries([first.widened(error), *others], self.length)

    def exponential(self, value: Any) -> PowerSeries:
        """exp(series), given ``value`` = exp(first coefficient)."""
        found, length = [value], self.length if len(self.coefficients) > 1 else 1
        for k in range(1, length):
            places = range(1, min(k + 1, len(self.coefficients)))
            parts = [(self.coefficients[m] * found[k - m]).scaled(m, k) for m in places]
            found.append(reduce(add, parts))
        return PowerSeries(found, self.length)
