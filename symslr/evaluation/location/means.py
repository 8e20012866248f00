"""Estimates with errors: means by two quadrature rules or by random replications, and functions of such means."""

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
"""Least mean square of weights that is accepted: below, float64 loses digits to underflow."""


@dataclass(frozen=True)
class Estimate:
    """A number with its error, the kind of that error (see ``Value``), and the method."""

    value: Any
    error: Any
    kind: Kind
    method: str

    def scaled(self, factor: Any) -> Estimate:
        return replace(self, value=self.value * factor, error=self.error * factor)


def sum_of_estimates(parts: Sequence[Estimate]) -> Estimate:
    """The sum of estimates; errors add, and the kind is that of the least certain one."""
    kinds = {part.kind for part in parts}
    kind = next(k for k in (Kind.STATISTICAL, Kind.ESTIMATED, Kind.CERTIFIED) if k in kinds)
    methods = "; ".join(dict.fromkeys(part.method for part in parts))
    return Estimate(sum(part.value for part in parts), sum(part.error for part in parts), kind, methods)


@dataclass(frozen=True)
class Means:
    """Several estimates of the same means.

    Attributes:
        rows: shape (estimates, columns). Quadrature: the finer rule, then the coarser one. Sampling: independent replications.
        kind, method: as in a ``Value``.
        rounding: rounding error of a number of size 1.
        inflation: the difference of the two rules is multiplied by this to give the error.
    """

    rows: Any
    kind: Kind
    method: str
    rounding: float = 1e-15
    inflation: float = 1.0

    def estimate(self, read: Callable[[Any], float] = lambda row: float(row[0])) -> Estimate:
        """A function of the row of means, the first mean by default, with its error.

        The error is one standard error with Student's factor, or the difference of the two rules and the rounding.
        """
        found = [read(row) for row in self.rows]
        if self.kind is Kind.STATISTICAL:
            return Estimate(float(np.mean(found)), standard_error(found), self.kind, self.method)
        error = self.inflation * abs(found[0] - found[1]) + self.rounding * max(1.0, abs(found[0]))
        return Estimate(found[0], error, self.kind, self.method)


def by_two_rules(compute: Callable[[Rule], Any], method: str, rounding: float = 1e-15, factor: float = 1.0) -> Means:
    """``compute`` by the fine and by the coarse rule, a number or a row; steps of a key are divided by ``factor``."""
    rows = np.array([np.atleast_1d(compute(replace(rule, key=rule.key / factor))) for rule in (FINE, COARSE)])
    return Means(rows, Kind.ESTIMATED, method, rounding)


def mixture(parts: Sequence[tuple[float, Means]]) -> Means:
    """The mean of a mixture from (probability, means) pairs; a quadrature is repeated in every replication of a sample."""
    if len(parts) == 1:
        return parts[0][1]
    sampled = [found for _, found in parts if found.kind is Kind.STATISTICAL]
    rows = sum(
        share * (found.rows if found.kind is Kind.STATISTICAL or not sampled else found.rows[:1])
        for share, found in parts
    )
    kind = Kind.STATISTICAL if sampled else Kind.ESTIMATED
    rounding, inflation = (max(getattr(found, name) for _, found in parts) for name in ("rounding", "inflation"))
    return Means(rows, kind, "; ".join(dict.fromkeys(found.method for _, found in parts)), rounding, inflation)


def least_squares_residual(row: Any) -> float:
    """E r^T C r - b^T G^{-1} b from the flattened Gram matrix of (r, sigma_1, ..., sigma_H), shape ((H + 1)^2,).

    Raises:
        CannotEvaluate: where a mean square of weights is 0 in float64, or infinite.
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
