"""The integrals of a Laplace form in float64, as the refinement loop takes them, with their own rounding."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from symslr.evaluation.errors import TooDear
from symslr.evaluation.laplace.code import Family
from symslr.evaluation.laplace.rule import WIDER, Outer, Sums
from symslr.evaluation.laplace.survey import Layout, first_steps
from symslr.evaluation.laplace.table import EPS, Table
from symslr.evaluation.laplace.tokens import placed
from symslr.evaluation.numbers.arithmetic import FLOAT

FEW = {1: 24, 2: 12}
"""Outer nodes per axis at which the token meshes are judged: two or three of every smooth factor of the integrand."""
LEVELS = 11.0
"""The last level of the token meshes: one further, and no kernel has fewer nodes than are allowed."""
LONG, MOST_WORK = 200.0, 2e8
"""Nats of the shorter window, and multiplications in a first table, from where on two variables are better integrated one after the
other: either way then takes about a second."""
LEAST_ROUNDING = 16.0
"""Roundings of a term besides those of its exponent: of some factors, of its coefficient and of the sum."""


class FloatSums(Sums):
    """See the module's docstring; the shifts are the largest logarithms of the integrands at few nodes.

    Args:
        found: where the integrals live.
        largest: numbers in one table, from where on it is refused.
    """

    arithmetic = FLOAT
    finest = LEVELS

    def __init__(self, family: Family, found: Layout, largest: float = np.inf) -> None:
        self.family, self.tolerance, self.largest = family, family.tolerance, largest
        self.axes, self.steps, self.pieces = found.axes, first_steps(family), found.pieces
        self.level = min(found.first_level(family), LEVELS)

    @property
    def few(self) -> Outer:
        return self.outer(self.steps, FEW[len(self.steps)])

    def outer(self, steps: list[Any], count: int | None = None) -> Outer:
        """As ``Sums.outer``; only about so many of the nodes of every axis, where a number is given."""
        nodes = [axis.nodes(step) for axis, step in zip(self.axes, steps)]
        strides = [max(1, len(own[0]) // count) if count else 1 for own in nodes]
        v, densities = ([own[n][::stride] for own, stride in zip(nodes, strides)] for n in (0, 1))
        density = np.multiply.outer(*densities) if len(v) == 2 else densities[0]
        return Outer(v, density, [own[2] for own in nodes], max(strides) == 1)

    @property
    def is_dear(self) -> bool:
        """Whether a product mesh over two variables has so many nodes, or so many moments that only their logarithms can name."""
        if min(axis.high - axis.low for axis in self.axes) > LONG:
            return True
        nodes = max(len(own.mesh.nodes) for own in self.inner(self.level))
        return nodes * float(np.prod([axis.length / step for axis, step in zip(self.axes, self.steps)])) > MOST_WORK

    def is_smooth(self, axis: int) -> bool:
        # Far from the centres of a stretched one exp(-u) ends within a step. Where a token's weight is no Gaussian, as under a
        # mixture of a wide law and a narrow one, the error falls fast at first and slowly then.
        return not self.axes[axis].widths and all(self.family.are_gaussian)

    @property
    def is_stretched(self) -> bool:
        return any(axis.widths for axis in self.axes)

    def widen(self, late: list[int]) -> None:
        self.axes = [replace(a, high=a.high + WIDER) if n in late else a for n, a in enumerate(self.axes)]

    def inner(self, level: float) -> Any:
        return placed(self.family, self.pieces, level)

    def table(self, outer: Outer, inner: Any, rules: int = 1) -> FloatTable:
        if float(np.prod([len(w) for w in outer.v])) * max(len(own.mesh.nodes) for own in inner) > self.largest:
            raise TooDear("the table of exponentials is larger than it is worth")
        return FloatTable(self, Table(self.family, inner, outer.v, rules), outer.density)

    def rounding(self, table: FloatTable) -> list[float]:
        own, each = table.table, table.table.roundings()
        columns = own.moments.means, own.moments.logs, own.moments.scales
        means, logs, scales = ([part[0] for part in column] for column in columns)
        sizes = own.family.code.sizes(own.grid, means, logs, scales, own.family.p)
        return [EPS * share for share in table.shares(lambda t: self._over(t, each) + LEAST_ROUNDING + sizes[t])]

    def cut(self, table: FloatTable) -> list[float]:
        lost = table.table.lost()
        return table.shares(lambda t: np.minimum(self._over(t, lost), 1.0))

    def _over(self, term: int, per_moment: Any) -> Any:
        """The sum of what every moment has, by its power in a term."""
        return sum(n * part for n, part in zip(self.family.powers[term].tolist(), per_moment) if n)


class FloatTable:
    """A table at outer nodes with their density, carried out."""

    def __init__(self, sums: FloatSums, table: Table, density: Any) -> None:
        self.sums, self.table, self.density = sums, table, density

    @cached_property
    def terms(self) -> Any:
        """Every term that counts, in the order of ``Family.active``, with the first shifts: (terms, rules, *outer nodes)."""
        terms, self.sums.shifts = self.table.family.values(self.table.grid, self.table.moments, self.sums.shifts)
        return terms * self.density

    @cached_property
    def values(self) -> Any:
        return self.sums.family.sums(self.terms)

    def shares(self, part: Any) -> list[float]:
        """Of every integral the mean of ``part``, a function of a term at the nodes, by the terms' sizes."""
        found, rest = [], iter(np.abs(self.terms[:, 0]))
        for own, size in zip(self.sums.family.integrals, FLOAT.masses(self.values[:, 0])):
            total = sum(float((next(rest) * part(t)).sum()) for t in own)
            found.append(total / size if size > 0 else 0.0)
        return found
