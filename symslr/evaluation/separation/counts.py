"""Sets of counts 0..N as bit masks, and exact sums of binomial coefficients over them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import comb

MOST_CLASSES = 20_000
"""Table of partial sums up to this row: 50 MB."""


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


def binomial(row: int, s: int) -> int:
    """binomial(row, s), 0 outside 0..row."""
    return comb(row, s) if 0 <= s <= row else 0
