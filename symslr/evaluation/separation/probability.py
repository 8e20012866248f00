"""Exact probabilities, as sums of powers of dyadic rationals, with any number of digits on demand; and exact binomial sums.

A set of counts in 0..N is a bit mask.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from flint import arb, ctx, fmpz
from mpmath import workprec
from sympy import Expr, Rational

from symslr.evaluation.numbers.balls import centre, radius
from symslr.evaluation.numbers.elementary import ball
from symslr.expression.value import Kind, Value
from symslr.parallel.serial import one_at_a_time

GUARD_BITS = 32
"""Extra bits of precision for the rounding of sums."""
LARGEST_EXACT_BITS = 50_000_000
"""Largest total size, in bits, of the integers from which an exact fraction is formed."""


@dataclass(frozen=True)
class Probability:
    """sum_i weight_i (count_i / 2**bits)**power, with integer weights and counts: an exact rational.

    Attributes:
        terms: pairs (weight, count).
        bits: d, so that counts are numbers of sign vectors out of 2**d.
        power: m, the number of neurons.
    """

    terms: tuple[tuple[int, int], ...]
    bits: int
    power: int

    def complement(self) -> Probability:
        """1 - P, exactly."""
        flipped = tuple((-weight, count) for weight, count in self.terms)
        return Probability((*flipped, (1, 1 << self.bits)), self.bits, self.power)

    @cached_property
    def is_zero(self) -> bool:
        return not self.merged() or (self._is_small() and self._numerator() == 0)

    def merged(self) -> tuple[tuple[int, int], ...]:
        """The terms with those of equal count added and zeros dropped."""
        total: dict[int, int] = {}
        for weight, count in self.terms:
            total[count] = total.get(count, 0) + weight
        return tuple((w, c) for c, w in total.items() if w and c)

    def fraction(self) -> Fraction:
        """The exact rational.

        Raises:
            ValueError: when it would take more than 50 million bits.
        """
        if not self._is_small():
            raise ValueError(
                f"exact fraction: {len(self.terms)} terms of {self.bits * self.power} bits each; expected a smaller "
                "d or m (value(digits) gives any number of digits)"
            )
        return Fraction(self._numerator(), 1 << (self.bits * self.power))

    @one_at_a_time
    def value(self, digits: int = 30) -> Value:
        """The probability to ``digits`` significant digits with a proved error."""
        start, bits = time.perf_counter(), int(digits * 3.33) + GUARD_BITS
        ball = arb(0) if self.is_zero else self._ball(bits)
        with ctx.workprec(bits + GUARD_BITS), workprec(bits + GUARD_BITS):
            middle, error = centre(ball), radius(ball)
        return Value(middle, error, Kind.CERTIFIED, digits, "exact binomial sum", time.perf_counter() - start)

    def __float__(self) -> float:
        return float(self.value(17).value)

    def _ball(self, goal: int) -> Any:
        bits = goal + self.bits + GUARD_BITS
        while True:
            with ctx.workprec(bits):
                scale = arb(2) ** -self.bits
                total = sum((arb(fmpz(w)) * (arb(fmpz(c)) * scale) ** self.power for w, c in self.merged()), arb(0))
                if total.rel_accuracy_bits() >= goal:
                    return total
            bits *= 2

    @one_at_a_time
    def is_at_most(self, bound: Expr) -> bool:
        """Whether P <= bound, decided exactly: by balls of growing precision, finally by the exact fraction."""
        bits = 64
        while bits <= self.bits * self.power:
            with ctx.workprec(bits):
                rates = ((weight, _log_share(count, self.bits, bits)) for weight, count in self.merged())
                excess = sum((weight * (self.power * rate).exp() for weight, rate in rates), -ball(bound))
            if excess > 0:
                return False
            if excess <= 0:
                return True
            bits *= 2
        fraction = self.fraction()
        return bool(Rational(fraction.numerator, fraction.denominator) <= bound)

    def _is_small(self) -> bool:
        return len(self.terms) * self.bits * self.power <= LARGEST_EXACT_BITS

    def _numerator(self) -> int:
        return int(sum((fmpz(weight) * fmpz(count) ** self.power for weight, count in self.merged()), fmpz(0)))


@lru_cache(maxsize=64)
def _log_share(count: int, size: int, bits: int) -> Any:
    """log(count / 2**size) as a ball, by log1p of the exact difference from 1: accurate for a share close to 1."""
    with ctx.workprec(bits):
        return (arb(fmpz(count - (1 << size))) * arb(2) ** -size).log1p()


MOST_CLASSES = 20_000
"""Largest row of Pascal's triangle whose table of partial sums is stored: 50 MB."""


def interval(low: int, high: int) -> int:
    """The set {low, ..., high}; empty when high < low."""
    return (1 << (high + 1)) - (1 << low) if high >= low else 0


def runs(members: int) -> Iterator[tuple[int, int]]:
    """Intervals (low, high) that make up a set."""
    start = 0
    while members:
        skip = (members & -members).bit_length() - 1
        members >>= skip
        length = (~members & -~members).bit_length() - 1
        yield start + skip, start + skip + length - 1
        members >>= length
        start += skip + length


@lru_cache(maxsize=8)
def partial_sums(row: int) -> tuple[int, ...]:
    """sum_{s < h} binomial(row, s) for h = 0..row + 1.

    Raises:
        ValueError: beyond row 20000, where the table would not fit in memory.
    """
    if row > MOST_CLASSES:
        raise ValueError(f"d: found {row + 3} columns; expected at most {MOST_CLASSES + 3} for exact binomial sums")
    total, term, table = 0, 1, [0]
    for s in range(row + 1):
        total += term
        table.append(total)
        term = term * (row - s) // (s + 1)
    return tuple(table)


def binomial_mass(row: int, members: int) -> int:
    """sum over s in the set of binomial(row, s)."""
    table = partial_sums(row)
    return sum(table[high + 1] - table[low] for low, high in runs(members))


def falling_partial_sums(row: int, high: int) -> Iterator[int]:
    """sum_{s <= high} binomial(row - r, s) for r = 0..row, by B(N+1, h) = 2 B(N, h) - C(N, h) read backwards."""
    ascending = []
    total = 1 if high >= 0 else 0
    term = 1 if high == 0 else 0  # binomial(N, high)
    for size in range(row + 1):
        ascending.append(total)
        total = 2 * total - term
        if high >= 0:
            term = 1 if size + 1 == high else (term * (size + 1) // (size + 1 - high) if size + 1 > high else 0)
    yield from reversed(ascending)
