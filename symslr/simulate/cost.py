"""Counts arithmetic operations by running attention, from its definition, on numbers that count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class Counter:
    """Arithmetic operations so far."""

    operations: int = 0


@dataclass(frozen=True)
class Counted:
    """A number whose sums, products, quotients and exponentials are counted."""

    value: float
    counter: Counter

    def _made(self, value: float) -> Counted:
        self.counter.operations += 1
        return Counted(value, self.counter)

    def __add__(self, other: Counted) -> Counted:
        return self._made(self.value + other.value)

    def __mul__(self, other: Counted) -> Counted:
        return self._made(self.value * other.value)

    def __truediv__(self, other: Counted) -> Counted:
        return self._made(self.value / other.value)

    def exp(self) -> Counted:
        """e to its power."""
        return self._made(math.exp(self.value))


Matrix = Sequence[Sequence[Counted]]


def counting(numbers: Sequence[Sequence[float]], counter: Counter) -> Matrix:
    """A matrix of numbers that count."""
    return [[Counted(float(number), counter) for number in row] for row in numbers]


def pairwise(queries: Matrix, keys: Matrix, values: Matrix, *, exponential: bool) -> list[list[Counted]]:
    """Rows of kernel(A1 A2^T) A3 over their normalisers, with the kernel exp or x."""
    outputs = []
    for query in queries:
        scores = [_inner(query, key) for key in keys]
        weights = [score.exp() for score in scores] if exponential else scores
        total = _sum(weights)
        shares = [weight / total for weight in weights]
        outputs.append([_inner(shares, column) for column in zip(*values, strict=True)])
    return outputs


def associative(queries: Matrix, keys: Matrix, values: Matrix) -> list[list[Counted]]:
    """The same for the kernel x as A1 (A2^T A3) over A1 (A2^T 1)."""
    columns = list(zip(*keys, strict=True))
    moments = [[_inner(key, value) for key in columns] for value in zip(*values, strict=True)]
    totals = [_sum(key) for key in columns]
    outputs = []
    for query in queries:
        total = _inner(query, totals)
        outputs.append([_inner(query, moment) / total for moment in moments])
    return outputs


def _inner(left: Sequence[Counted], right: Sequence[Counted]) -> Counted:
    return _sum([a * b for a, b in zip(left, right, strict=True)])


def _sum(terms: Sequence[Counted]) -> Counted:
    total, *rest = terms
    for term in rest:
        total = total + term
    return total
