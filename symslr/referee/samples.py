"""Long sequences by randomised quasi-Monte Carlo: scrambled Sobol points, mapped onto the tokens.

Tokens are drawn from their own law, the relevant one from its own, mixed with wider ones so that one token of a sequence comes from
these, on average. Whatever the draw is, the mean is that of the definition: the density of the draw is divided out. The error is
the spread between independent scramblings; a mean that few points carry is refused. A bump that no point meets is outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy  # hands out scipy.stats, which takes half a second to load, when points are drawn
from scipy.special import ndtri
from sympy import Expr

from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import FOLDED, ConditionalMean
from symslr.expression.scored import ScoredActivation
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import OTHERS, chi, epsilon, eta, x, xi, z, zeta
from symslr.referee.arithmetic import Array, CannotReferee, Floats
from symslr.referee.degree import degree_in
from symslr.referee.hermite import few_points
from symslr.referee.kinks import KINKED
from symslr.referee.scope import Scope
from symslr.referee.symmetry import symmetric
from symslr.referee.work import METER

if TYPE_CHECKING:
    from symslr.referee.interpreter import Interpreter

MOST_POINTS = 2**21
"""Points of one randomisation times those of the integrals around it."""

TABLE = 2049
"""Places at which the law of a token is tabulated."""

REACH = 42.0
"""A token on the whole line is sinh(s) with |s| up to this."""

WIDE = 2.0
"""How many times wider than the tokens' own law the one beside it is."""

FEWEST = 400
"""Effective points, of all scramblings together, that a mean takes: fewer may have missed where the mass is."""

PER_DRAW = 60
"""Operations for a token that is drawn."""

CLIP = 1e-12
"""How near to 0 and 1 a coordinate of a Sobol point may come."""


@dataclass
class Sampler:
    """The points of one randomisation.

    Attributes:
        size: a power of two.
        seed: of the scrambling.
        laws: expectation -> laws of its tokens; shared by the randomisations.
        used: whether anything was sampled.
        magnitude: the largest mean of an absolute integrand.
        effective: points that carry the mean, of the expectation that has the fewest.
    """

    size: int
    seed: int
    laws: dict[Any, list[TokenLaw]]
    used: bool = False
    magnitude: float = 0.0
    effective: float = float("inf")

    def points(self, dimension: int, most: int) -> np.ndarray:
        """Scrambled Sobol points in the unit cube, shape (points, dimension)."""
        return _sobol(dimension, min(self.size, max(2 ** int(np.log2(max(most, 1))), 16)), self.seed)


@lru_cache(maxsize=64)
def _sobol(dimension: int, size: int, seed: int) -> np.ndarray:
    engine = scipy.stats.qmc.Sobol(dimension, scramble=True, rng=np.random.default_rng([seed, size, dimension]))
    return np.clip(engine.random(size), CLIP, 1 - CLIP)


@dataclass(frozen=True)
class TokenLaw:
    """A law from which one token is drawn: x = x(s), s with a density that is constant between the places of a table.

    Attributes:
        place: s -> x and dx/ds.
        table: places s.
        level: the probability below each of them.
    """

    place: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    table: np.ndarray
    level: np.ndarray

    @classmethod
    def of(cls, place: Any, table: np.ndarray, density: np.ndarray) -> TokenLaw:
        """The law with about this density in s, up to a factor."""
        level = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
        return cls(place, table, level / level[-1])

    def drawn(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """x, and dx/du: what the density at x is multiplied by."""
        METER.add(PER_DRAW * len(u))
        cell = np.searchsorted(self.level, u, side="right") - 1
        rate = (self.table[1] - self.table[0]) / (self.level[cell + 1] - self.level[cell])
        at, slope = self.place(self.table[cell] + (u - self.level[cell]) * rate)
        return at, slope * rate


def sampled(self: Interpreter, node: SequenceExpectation, scope: Scope, length: int, sampler: Sampler) -> Array:
    """E_g[body] as a mean over the points of one randomisation, an array on the axes of the scope."""
    if not isinstance(self.arithmetic, Floats):
        raise CannotReferee("samples are drawn in floats alone")
    sampler.used = True
    job = _Job.of(self, node, scope, length)
    key = self.context(node, scope)
    if key not in sampler.laws:
        sampler.laws[key] = job.laws()
    points = sampler.points(max(job.dimension, 1), MOST_POINTS // scope.size)
    value, size, effective = job.mean(points, sampler.laws[key])
    sampler.magnitude = max(sampler.magnitude, float(np.max(size)))
    sampler.effective = min(sampler.effective, effective)
    return value


@dataclass(frozen=True)
class _Job:
    """One expectation to be sampled: which variables are drawn and which are summed by a rule for polynomials."""

    reader: Interpreter
    node: SequenceExpectation
    scope: Scope
    length: int
    tokens: int
    drawn: tuple[Any, ...]
    summed: tuple[Any, ...]
    rule: tuple[Array, Array] | None

    @classmethod
    def of(cls, reader: Interpreter, node: SequenceExpectation, scope: Scope, length: int) -> _Job:
        body, law = node.body, node.law
        scored = {s for sigma in body.atoms(ScoredActivation) for s in sigma.score.free_symbols}
        labels: list[Any] = [
            family.label
            for family in (z, zeta, eta)
            if body.has(family) or family.label in scored
            for _ in range(length)
        ] + ([xi] if body.has(xi) else [])
        symbols = set(labels) - scored
        try:
            polynomial = bool(symbols) and degree_in(body, symbols) <= 3
        except CannotReferee:
            polynomial = False
        summed = tuple(label for label in labels if polynomial and label in symbols)
        rule = few_points(reader.arithmetic, len(summed)) if summed else None
        needs = body.has(chi, IsLargest, *FOLDED, ConditionalMean) or law.weight.has(chi, IsLargest)
        drawn = tuple(label for label in labels if label not in set(summed))
        return cls(reader, node, scope, length, length if needs else 0, drawn, summed, rule)

    @property
    def dimension(self) -> int:
        return self.tokens + len(self.drawn)

    def mean(self, points: np.ndarray, laws: list[TokenLaw]) -> tuple[Array, Array, float]:
        """The mean of weight times body, that of its absolute value, and the points that carry it."""
        columns, weight = self._columns(points, laws)
        values = self._integrand(columns, len(points))
        if np.shape(values)[0] == 1:  # the body does not depend on what was drawn
            return values[0] * weight.mean(), np.abs(values[0]), effective_points(weight)
        weighted = values * weight.reshape((-1,) + (1,) * self.scope.depth)
        return weighted.mean(axis=0), np.abs(weighted).mean(axis=0), effective_points(np.abs(weighted))

    def _columns(self, points: np.ndarray, laws: list[TokenLaw]) -> tuple[list[np.ndarray], np.ndarray]:
        """Tokens, then values and noise, and the density of the definition over that of the draw."""
        columns, weight = [], np.ones(len(points))
        for i, law in enumerate(laws):
            at, slope = law.drawn(points[:, i])
            columns.append(at)
            weight = weight * slope * _values(self.reader, self.node.law.base.density, at, self.scope)
        columns += [ndtri(points[:, self.tokens + i]) for i in range(len(self.drawn))]
        return columns, np.where(np.isfinite(weight), weight, 0.0)

    def _integrand(self, columns: list[np.ndarray], count: int) -> Array:
        """Weight times body, summed over the rule of polynomials, averaged over positions; samples on the first axis."""
        depth = self.scope.depth
        on_axis = [column.reshape((-1,) + (1,) * (depth + 1)) for column in columns]
        bound = {chi.label: on_axis[: self.tokens]}
        named = list(zip(self.drawn, on_axis[self.tokens :]))
        size = 1
        if self.rule is not None:
            nodes = self.rule[0]
            size = len(nodes)
            named += [(label, nodes[:, i].reshape((-1,) + (1,) * depth)) for i, label in enumerate(self.summed)]
        inside = self.scope.bind(bound | bound_to(named), 2, count * size)
        total = over_positions(self.reader, self.node, inside, self.length)
        missing = depth + 2 - np.ndim(total)
        total = np.reshape(total, (1,) * missing + np.shape(total)) if missing > 0 else total
        if self.rule is None:
            return total[:, 0] if np.shape(total)[1] == 1 else total.mean(axis=1)
        if np.shape(total)[1] == 1:
            return total[:, 0]
        weights = self.rule[1].reshape((-1,) + (1,) * depth)
        return (total * weights).sum(axis=1)

    def laws(self) -> list[TokenLaw]:
        """Laws for the tokens."""
        if not self.tokens:
            return []
        law = self.node.law
        moved = law.relevant_factor if symmetric(self.node) else None
        others = _law(self.reader, law.base, law.base.density, self.scope, 1 / self.tokens)
        own = (
            others
            if moved is None
            else _law(self.reader, law.base, law.base.density * moved, self.scope, 1 / self.tokens)
        )
        return [own] + [others] * (self.tokens - 1)


def bound_to(named: Iterable[tuple[Any, Array]]) -> dict[Any, Any]:
    """What values and noise are bound to: families to lists, in their order."""
    bound: dict[Any, Any] = {}
    for label, column in named:
        if label == xi:
            bound[xi] = column
        else:
            bound.setdefault(label, []).append(column)
    return bound


def over_positions(self: Interpreter, node: SequenceExpectation, inside: Scope, length: int) -> Array:
    """(1/L) sum_e of weight times body, of a body only where the weight is not 0; at one position where all are alike.

    Raises:
        CannotReferee: where others are named and positions differ.
    """
    alike = length > 2 and symmetric(node)
    if length > 2 and not alike and any(symbol in self.symbols(node.body) for symbol in OTHERS):
        raise CannotReferee(f"{node} names tokens and is not symmetric in them")
    positions = (1,) if alike else range(1, length + 1)
    vanishes = node.law.weight.has(*KINKED)
    total: Array = self.number(0)
    for position in positions:
        rest = [other for other in range(1, length + 1) if other != position]
        at = inside.with_integers({epsilon: position, **dict(zip(OTHERS, rest))})
        weight = self.value(node.law.weight, at)
        term = weight * self.value(node.body, at)
        total = total + (np.where(weight == 0, self.number(0), term) if vanishes else term)
    return total / self.number(len(positions)) if len(positions) > 1 else total


def effective_points(weights: Array) -> float:
    """(sum of |w|)^2 / sum of w^2 along the first axis: how many equal points would have the same spread; the smallest of a row."""
    largest = np.max(weights, axis=0)
    scaled = weights / np.where(largest > 0, largest, 1.0)
    squares = (scaled**2).sum(axis=0)
    found = np.where(squares > 0, scaled.sum(axis=0) ** 2 / np.where(squares > 0, squares, 1.0), 0.0)
    return float(np.min(found))


def _values(self: Interpreter, density: Expr, at: np.ndarray, scope: Scope) -> np.ndarray:
    axis = at.reshape((-1,) + (1,) * scope.depth)
    found = np.asarray(self.value(density, scope.bind({x: axis}, 1, len(at))), dtype=float)
    if found.size not in (1, len(at)):
        raise CannotReferee("the law of the tokens depends on a variable of integration")
    return np.broadcast_to(found.ravel(), at.shape)


def _law(self: Interpreter, law: ScalarLaw, density: Expr, scope: Scope, share: float) -> TokenLaw:
    """The law with a density on the support of a token's, mixed with a ``share`` of a wider one.

    It is tabulated in a variable in which the support is the whole line.
    """
    low, high = (_end(self, end, scope) for end in law.support)

    def place(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if low is None and high is None:
            return np.sinh(s), np.cosh(s)
        if high is None:
            return low + np.exp(s), np.exp(s)
        if low is None:
            return high - np.exp(-s), np.exp(-s)
        share = 1 / (1 + np.exp(-s))
        return low + (high - low) * share, (high - low) * share * (1 - share)

    table = np.linspace(-REACH, REACH, 8 * TABLE)
    for _ in range(3):
        with np.errstate(all="ignore"):
            at, slope = place(table)
            own = np.where(np.isfinite(at), _values(self, density, at, scope) * slope, 0.0)
        own = np.where(np.isfinite(own) & (own > 0), own, 0.0)
        seen = np.nonzero(own > 1e-290 * own.max())[0]
        if len(seen) == 0:
            raise CannotReferee(f"the density {density} vanishes wherever it was looked at")
        first, last = max(seen[0] - 1, 0), min(seen[-1] + 1, len(table) - 1)
        table = np.linspace(table[first], table[last], 2 * TABLE)
    with np.errstate(all="ignore"):
        at, slope = place(table)
        height = _values(self, density, at, scope)
        height = np.where(np.isfinite(height * slope) & (height > 0), height, 0.0)
        own, wide = (
            np.where(each > 0, each * slope, 0.0) for each in (height, (height / height.max()) ** (1 / WIDE**2))
        )
    return TokenLaw.of(
        place, table, (1 - share) * own / np.trapezoid(own, table) + share * wide / np.trapezoid(wide, table)
    )


def _end(self: Interpreter, end: Expr, scope: Scope) -> float | None:
    if end.is_infinite:
        return None
    value = np.asarray(self.value(end, scope), dtype=float)
    if value.size != 1:
        raise CannotReferee("the support of the tokens depends on a variable of integration")
    return float(value.ravel()[0])
