"""The integrals of a Laplace form in float64 for the refinement loop, with their rounding errors."""

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

FEW_NODES = {1: 24, 2: 12}
"""Outer nodes per axis at which the token meshes are judged: two or three for every smooth factor of the integrand."""
LEVELS = 11.0
"""The last level of the token meshes: at one more every kernel would exceed the allowed number of nodes."""
LONG_WINDOW, MOST_WORK = 200.0, 2e8
"""From so many nats of the shorter window, or multiplications in a first table, on, two variables are integrated one after the
other: both methods then take about a second."""
LEAST_ROUNDING = 16.0
"""Roundings of a term besides those of its exponent: of some factors, its coefficient and the sum."""


class FloatSums(Sums):
    """See the module's docstring. The shifts are the largest logarithms of the integrands at few nodes.

    Args:
        found: where the integrals live.
        largest: a table with more entries is refused.
    """

    arithmetic = FLOAT
    finest = LEVELS

    def __init__(self, family: Family, found: Layout, largest: float = np.inf) -> None:
        self.family, self.tolerance, self.largest = family, family.tolerance, largest
        self.axes, self.steps, self.pieces = found.axes, first_steps(family), found.pieces
        self.level = min(found.first_level(family), LEVELS)

    @property
    def few(self) -> Outer:
        return self.outer(self.steps, FEW_NODES[len(self.steps)])

    def outer(self, steps: list[Any], count: int | None = None) -> Outer:
        """As ``Sums.outer``; with ``count``, only about so many nodes of every axis."""
        nodes = [axis.nodes(step) for axis, step in zip(self.axes, steps)]
        strides = [max(1, len(own[0]) // count) if count else 1 for own in nodes]
        v, densities = ([own[n][::stride] for own, stride in zip(nodes, strides)] for n in (0, 1))
        density = np.multiply.outer(*densities) if len(v) == 2 else densities[0]
        return Outer(v, density, [own[2] for own in nodes], max(strides) == 1)

    @property
    def is_dear(self) -> bool:
        """Whether a product mesh over two variables is too expensive: very long windows, or too many nodes."""
        if min(axis.high - axis.low for axis in self.axes) > LONG_WINDOW:
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
        """The sum over the moments of a term of a quantity per moment, times its power in the term."""
        return sum(n * part for n, part in zip(self.family.powers[term].tolist(), per_moment) if n)


class FloatTable:
    """A table at outer nodes with their density, and the integrands from it."""

    def __init__(self, sums: FloatSums, table: Table, density: Any) -> None:
        self.sums, self.table, self.density = sums, table, density

    @cached_property
    def terms(self) -> Any:
        """The terms with non-zero coefficients, in the order of ``Family.active``, divided by the first shifts: (terms, rules,
        *outer nodes).
        """
        terms, self.sums.shifts = self.table.family.values(self.table.grid, self.table.moments, self.sums.shifts)
        return terms * self.density

    @cached_property
    def values(self) -> Any:
        return self.sums.family.sums(self.terms)

    def shares(self, part: Any) -> list[float]:
        """For every integral the mean of ``part``, a function from a term to its values at the nodes, weighted by the sizes of
        the terms.
        """
        found, rest = [], iter(np.abs(self.terms[:, 0]))
        for own, size in zip(self.sums.family.integrals, FLOAT.masses(self.values[:, 0])):
            total = sum(float((next(rest) * part(t)).sum()) for t in own)
            found.append(total / size if size > 0 else 0.0)
        return found
