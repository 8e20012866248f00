"""Infinite sums whose terms fall by a steady factor, or ever faster; others have no number here."""

from __future__ import annotations

from collections.abc import Callable

from sympy import Expr, Integral

from symslr.expression.expectation import Expectation
from symslr.referee.arithmetic import Array, CannotReferee
from symslr.referee.plans import Quadrature
from symslr.referee.scan import NotFinite

BLOCK = 8
"""Terms whose largest one is compared with that of the next ones: every other term may be 0, and signs may change."""

LEAST_BLOCKS = 8

MOST_BLOCKS = 250

FALLING = 0.7
"""Factor from block to block above which a series takes too long."""

STEADY = 1e-3
"""By so much of itself the factor may grow from block to block: that of a power of the index grows for longer."""

BEYOND = 1000, 12
"""Terms that are looked at behind the last block: so many, where they are formulas, and at so many doublings of the distance."""

SPARE = 6
"""Digits by which what is left out lies below those that are aimed at."""


def infinite_sum(node: Expr, term: Callable[[int], Array], first: int, quadrature: Quadrature) -> Array:
    """The sum of ``term(k)``, k = first, first + 1, ...; a shifted pass goes on for longer, which shows what was left out.

    Raises:
        CannotReferee: where the terms do not fall by a factor that is steady or shrinks, or grow again further out.
    """
    _, shifted = quadrature.steps()
    smallest = 10.0 ** -(quadrature.digits + SPARE * (1 + shifted))
    total, largest = None, 0.0
    blocks: list[float] = []
    for start in range(first, first + MOST_BLOCKS * BLOCK, BLOCK):
        terms = [term(k) for k in range(start, start + BLOCK)]
        for value in terms:
            total = value if total is None else total + value
        blocks.append(max(map(_size, terms)))
        largest = max(largest, blocks[-1])
        if len(blocks) >= LEAST_BLOCKS and _has_fallen(blocks, smallest * largest):
            each = BEYOND[0] if quadrature.planning and not node.has(Expectation, Integral) else 0
            further = [start + BLOCK + n for n in range(each)] + [start + BLOCK * 2**n + n for n in range(1, BEYOND[1])]
            if any(_size_of(term, k) > max(blocks[-1], smallest * largest) for k in further):
                raise CannotReferee(f"the terms of {node} grow again")
            return total
    raise CannotReferee(f"the terms of {node} do not fall by a steady factor; such a series has no number here")


def _has_fallen(blocks: list[float], smallest: float) -> bool:
    """Whether what comes after the last block is small: at most what a geometric series with its factor has."""
    before, then, now = blocks[-3:]
    if then == 0 or before == 0:
        return now == then == before == 0
    earlier, factor = then / before, now / then
    return factor <= min(FALLING, (1 + STEADY) * earlier) and BLOCK * now / (1 - factor) <= smallest


def _size_of(term: Callable[[int], Array], k: int) -> float:
    """The size of a term far out; 0 where floats have none, as of 1/200!."""
    try:
        return _size(term(k))
    except NotFinite:
        return 0.0


def _size(value: Array) -> float:
    return abs(float(value.mid() if hasattr(value, "mid") else value))
