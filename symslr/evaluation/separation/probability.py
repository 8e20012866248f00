"""A probability kept exact: sums of powers of dyadic rationals, to any number of digits on demand."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from flint import arb, ctx, fmpz
from mpmath import mpf, workprec

from symslr.expression.value import Kind, Value
from symslr.parallel.serial import one_at_a_time

GUARD_BITS = 32
LARGEST_EXACT_BITS = 50_000_000
"""Size of the numbers that an exact fraction may take to form."""


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
        if not self.merged():
            return True
        return self._numerator() == 0 if self._is_small() else False

    def merged(self) -> tuple[tuple[int, int], ...]:
        """Terms of equal count added, zeros dropped."""
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
        start = time.perf_counter()
        if self.is_zero:
            return _exact(mpf(0), digits, start)
        ball = self._ball(int(digits * 3.33) + GUARD_BITS)
        with ctx.workprec(int(digits * 3.33) + 2 * GUARD_BITS), workprec(int(digits * 3.33) + 2 * GUARD_BITS):
            middle = mpf(ball.mid())
            error = mpf(ball.rad().upper()) if ball.rad() > 0 else mpf(0)
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

    def _is_small(self) -> bool:
        return len(self.terms) * self.bits * self.power <= LARGEST_EXACT_BITS

    def _numerator(self) -> int:
        return int(sum(self._integers(), fmpz(0)))

    def _integers(self) -> Iterator[Any]:
        for weight, count in self.merged():
            yield fmpz(weight) * fmpz(count) ** self.power


def _exact(number: Any, digits: int, start: float) -> Value:
    return Value(number, mpf(0), Kind.CERTIFIED, digits, "exact binomial sum", time.perf_counter() - start)
