"""Numbers with their errors: means of several columns by two rules or by replications, and what is read from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.tables.rules import COARSE, FINE, Rule
from symslr.evaluation.sampling.scatter import standard_error
from symslr.expression.value import Kind

LEAST_SQUARE = 1e-290
"""Mean square of weights that has all its digits in float64."""


@dataclass(frozen=True)
class Part:
    """A number, its error, and how it was made."""

    value: Any
    error: Any
    kind: Kind
    method: str

    def scaled(self, factor: Any) -> Part:
        return replace(self, value=self.value * factor, error=self.error * factor)


def added(parts: Sequence[Part]) -> Part:
    """The sum of numbers, as certain as the least certain of them."""
    kinds = {part.kind for part in parts}
    kind = next(k for k in (Kind.STATISTICAL, Kind.ESTIMATED, Kind.CERTIFIED) if k in kinds)
    methods = "; ".join(dict.fromkeys(part.method for part in parts))
    return Part(sum(part.value for part in parts), sum(part.error for part in parts), kind, methods)


@dataclass(frozen=True)
class Means:
    """Means of some columns: one row for every independent estimate, (estimates, columns).

    Attributes:
        rows: of a quadrature, its two rules, the finer first; of samples, the replications.
        kind, method: as of a ``Value``.
        rounding: what float64 may lose, of numbers of the size 1.
        unsettled: by how much more than two rules differ the finer may be off, where they have not come to rest.
    """

    rows: Any
    kind: Kind
    method: str
    rounding: float = 1e-15
    unsettled: float = 1.0

    def part(self, read: Callable[[Any], float] = lambda row: float(row[0])) -> Part:
        """A function of the means, the first one by default.

        Its error is one standard error with Student's factor, or the difference of two rules.
        """
        found = [read(row) for row in self.rows]
        if self.kind is Kind.STATISTICAL:
            return Part(float(np.mean(found)), standard_error(found), self.kind, self.method)
        error = self.unsettled * abs(found[0] - found[1]) + self.rounding * max(1.0, abs(found[0]))
        return Part(found[0], error, self.kind, self.method)


def by_two_rules(compute: Callable[[Rule], Any], method: str, rounding: float = 1e-15, factor: float = 1.0) -> Means:
    """What is computed by the fine and by the coarse rule, as a number or a row, with so many times more nodes of a key."""
    rows = np.array([np.atleast_1d(compute(replace(rule, key=rule.key / factor))) for rule in (FINE, COARSE)])
    return Means(rows, Kind.ESTIMATED, method, rounding)


def mixed(parts: Sequence[tuple[float, Means]]) -> Means:
    """Means of a mixture; where any is sampled, those that are not have their value in every replication."""
    if len(parts) == 1:
        return parts[0][1]
    sampled = [found for _, found in parts if found.kind is Kind.STATISTICAL]
    rows = sum(
        share * (found.rows if found.kind is Kind.STATISTICAL or not sampled else found.rows[:1])
        for share, found in parts
    )
    kind = Kind.STATISTICAL if sampled else Kind.ESTIMATED
    rounding, unsettled = (max(getattr(found, name) for _, found in parts) for name in ("rounding", "unsettled"))
    return Means(rows, kind, "; ".join(dict.fromkeys(found.method for _, found in parts)), rounding, unsettled)


def residual(row: Any) -> float:
    """E r^T C r - b^T G^{-1} b from the matrix of all products, the first of which are those of the read-out.

    Raises:
        CannotEvaluate: where a mean square of weights is 0, as far as float64 tells, or infinite.
    """
    size = round(np.sqrt(len(row)))
    products = row.reshape(size, size)
    products = (products + products.T) / 2
    gram, cross = products[1:, 1:], products[0, 1:]
    squares = np.diag(gram)
    if not np.all((squares > LEAST_SQUARE) & (squares < np.inf)):
        raise CannotEvaluate("attention: the mean square of its weights is 0 or leaves float64 at this scale")
    scale = np.sqrt(squares)
    solved = np.linalg.lstsq(gram / np.outer(scale, scale), cross / scale, rcond=1e-12)[0]
    return float(products[0, 0] - cross / scale @ solved)
