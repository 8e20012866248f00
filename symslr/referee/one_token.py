"""Integrals over one token of products of its variables, functions of it, and exponentials e^{-u h} of what sums run over.

A token is chi, under its law, and a score s = slope chi + spread w + start with w from N(0, 1): a trapezoid sum on a grid in chi
and s, cut where a function has a kink. An exponential depends on one of the two alone, so the integrals for all u at once are
products of matrices.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import gamma, hypot, inf
from typing import TYPE_CHECKING

import numpy as np
from sympy import Expr, Rational

from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.symbols import x
from symslr.referee.axes import SCAN, pieces, stacked
from symslr.referee.kinks import scalar_breaks
from symslr.referee.scope import Scope
from symslr.referee.work import METER, Memory

if TYPE_CHECKING:
    from symslr.referee.interpreter import Interpreter

REACH = 8.7
"""Standard deviations to either side of a mass."""

FAR = 45.0
"""Where masses that functions shift are looked for."""

NEGLIGIBLE = 1e-17
STEP, STEEPEST = 0.3, 0.5
"""Step in a token, in standard deviations; and times the largest slope of log h."""

MAPPED = 0.08
"""Step along a map onto a token with heavy tails or kinks."""

UNSEEN = 1e-9
"""Mass of a token that a grid may miss while it is refined."""

LOG_STEP = 0.25
"""In log u: the error of the trapezoid sum for S^-p is e^(-pi^2/0.25) = 7e-18."""

SMALL, LARGE = 39.0, 42.0
"""-log of what is left out of the integral over u at its two ends."""

MOST_NODES, MOST_EXPONENTS = 6000, 6000
PER_OPERATION = 40
"""Products of a matrix product that take as long as one operation on an array."""

MOST_INTEGRALS = 2**12
LOOKED_AT = 97
"""Values of S at which a sum of exponentials is held against its power."""


class OutOfReach(Exception):
    """A table would be too large, or a function is not one that tables are made for."""


@dataclass(frozen=True)
class Score:
    """s = slope chi + spread w + start; ``spread`` 0 where no score leaves the line of chi."""

    slope: float = 0.0
    spread: float = 0.0
    start: float = 0.0


@dataclass(frozen=True)
class Line:
    """A function of one variable of a token: ``expr`` in x at ``slope`` chi + ``start``, or at the score.

    Attributes:
        numbers: what the other symbols of ``expr`` stand for.
    """

    expr: Expr
    numbers: tuple[tuple[str, object], ...]
    of_score: bool = False
    slope: float = 1.0
    start: float = 0.0

    def at(self, reader: Interpreter, scope: Scope, axis: np.ndarray) -> np.ndarray:
        """Its values along the axis of chi, or of s."""
        place = axis if self.of_score else self.slope * axis + self.start
        values = reader.value(self.expr, scope.bind({x: place}, 1, len(place)))
        return np.broadcast_to(np.asarray(values, dtype=float), place.shape)


@dataclass(frozen=True)
class Total:
    """offset + the sum of a function over all tokens."""

    line: Line
    offset: float


Factor = tuple[int, int, tuple[tuple[Line, int], ...]]
"""Powers of chi and of w, and of functions in the order in which they were met: no set tells the order of a product."""

Ends = tuple[float, float]


@dataclass(frozen=True)
class Token:
    """The law of a token and its score.

    Attributes:
        breaks: kinks of functions along chi, and along s.
        ends: of chi, beyond which nothing counts; those of s lie as many standard deviations away from its start.
    """

    law: ScalarLaw
    score: Score
    breaks: tuple[tuple[Fraction, ...], tuple[Fraction, ...]]
    ends: Ends

    @classmethod
    def of(
        cls,
        reader: Interpreter,
        scope: Scope,
        law: ScalarLaw,
        score: Score,
        lines: Iterable[Line],
        grown: tuple[tuple[Line, int], ...],
    ) -> Token:
        """The token on which these functions live; ``grown`` are those that may move its mass, with their powers."""
        found: tuple[set[Fraction], set[Fraction]] = set(), set()
        found[0].update(scalar_breaks(reader, [law.density], x, scope))
        for line in lines:
            # along chi a steep line turns as sharply as it is steep
            at = x if line.of_score else Rational(line.start) + Rational(line.slope or 1.0) * x
            found[line.of_score].update(scalar_breaks(reader, [line.expr.xreplace({x: at})], x, scope))
        breaks = tuple(sorted(found[0])), tuple(sorted(found[1]))
        normal = law == STANDARD_NORMAL
        if score.spread and not normal:
            raise OutOfReach
        free = cls(law, score, breaks, (-FAR, FAR) if normal else (-inf, inf))
        look, weights = free.axis(reader, scope, STEP / 4 if normal else STEP, 0.0)
        with np.errstate(all="ignore"):
            density = np.log(free.density(reader, scope, look) * weights)
            alone = [_grown(reader, scope, line, power, score, look) for line, power in grown]
        together = np.sum(alone, axis=0) if alone else 0.0
        kept = np.zeros(len(look), dtype=bool)
        for own in (0.0, *alone, together):
            logs = np.where(np.isfinite(density + own), density + own, -np.inf)
            kept |= logs > np.max(logs) + np.log(NEGLIGIBLE)
        reach = look[kept] if kept.any() else look
        low, high = float(np.min(reach)), float(np.max(reach))
        if normal and not -FAR + STEP < low < high < FAR - STEP:
            raise OutOfReach
        return cls(law, score, breaks, (low - STEP, high + STEP) if normal else (low, high))

    @property
    def deviation(self) -> float:
        """Of the score."""
        return hypot(self.score.slope, self.score.spread) or 1.0

    def density(self, reader: Interpreter, scope: Scope, nodes: np.ndarray) -> np.ndarray:
        """Of chi."""
        if self.law == STANDARD_NORMAL:
            return np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)
        return np.broadcast_to(reader.value(self.law.density, scope.bind({x: nodes}, 1, len(nodes))), nodes.shape)

    def axis(
        self, reader: Interpreter, scope: Scope, step: float, shift: float, of_score: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nodes along chi, or along the score, and what they weigh in an integral."""
        low, high = self.ends
        if of_score:
            low, high = (self.score.start + self.deviation * end for end in self.ends)
        breaks = tuple(place for place in self.breaks[of_score] if low < place < high)
        if self.law == STANDARD_NORMAL and not breaks:
            count = int((high - low) / step) + 2
            if not count <= MOST_NODES:
                raise OutOfReach
            return low + step * (np.arange(count) + shift), np.full(count, step)
        if self.law == STANDARD_NORMAL:
            parts = pieces(low, high, breaks)
        else:
            below, above = (None if e.is_infinite else reader.value(e, scope) for e in (self.law.lower, self.law.upper))
            parts = pieces(below, above, breaks, heavy=True)
        mapped = MAPPED * step / STEP
        laid = []
        for piece in parts:
            first, last, _ = SCAN[piece.map]
            count = int((last - first) / mapped) + 1
            if not count <= MOST_NODES:
                raise OutOfReach
            places, slopes = piece.nodes(reader.arithmetic, list(first + mapped * (np.arange(count) + shift)), 0)
            laid.append((places, slopes * mapped))
        nodes, weights = stacked(laid)
        kept = (nodes >= low) & (nodes <= high) & (weights > 0)
        return nodes[kept], weights[kept]


def _grown(reader: Interpreter, scope: Scope, line: Line, power: int, score: Score, look: np.ndarray) -> np.ndarray:
    """The logarithm of a function to its power; of the score, as far from its start as chi is from 0."""
    at = score.start + (hypot(score.slope, score.spread) or 1.0) * look if line.of_score else look
    own = power * np.log(np.abs(line.at(reader, scope, at)))
    return np.where(np.isfinite(own), own, -np.inf)


@dataclass
class Exponents:
    """u_k, the first of them 0, and the weights with which e^{-u S} make (offset + S)^-p."""

    nodes: np.ndarray
    step: float
    offset: float
    low: float
    high: float

    @classmethod
    def of(cls, offset: float, low: float, high: float, scale: float, shift: float) -> Exponents:
        step = LOG_STEP / scale
        first, last = -np.log(high + offset) - SMALL, np.log(LARGE / (low + offset)) + 0.5
        count = int((last - first) / step) + 2
        if not np.isfinite(count) or count > MOST_EXPONENTS:
            raise OutOfReach
        logs = first + step * (np.arange(count) + shift)
        return cls(np.concatenate([[0.0], np.exp(logs)]), step, offset, low, high)

    def weights(self, power: int) -> np.ndarray:
        """For the nodes after the first; of power 0, which is the first alone, 1."""
        if power == 0:
            return np.ones(1)
        u = self.nodes[1:]
        return u**power * np.exp(-u * self.offset) * (self.step / gamma(power))

    def error(self, power: int) -> float:
        """The largest relative difference from S^-p where S may lie."""
        if power == 0:
            return 0.0
        sums = np.geomspace(self.low, self.high, LOOKED_AT)
        made = np.exp(-sums[:, None] * self.nodes[None, 1:]) @ self.weights(power)
        wanted = (sums + self.offset) ** -float(power)
        found = float(np.max(np.abs(made / wanted - 1)))
        return found if np.isfinite(found) else np.inf


@dataclass
class Table:
    """One grid, and the integrals over it that were asked for.

    Attributes:
        mass: density times weights, along chi, or along chi and s.
        exponents: one for each total.
    """

    score: Score
    chi: np.ndarray
    s: np.ndarray | None
    mass: np.ndarray
    exponents: list[Exponents]
    damping: list[tuple[bool, np.ndarray]]
    known: Memory = field(default_factory=lambda: Memory(MOST_INTEGRALS))

    @classmethod
    def of(
        cls,
        reader: Interpreter,
        scope: Scope,
        token: Token,
        totals: tuple[Total, ...],
        length: int,
        fineness: tuple[float, float, bool],
    ) -> Table:
        """A table at a fineness: (steps of the token this many times shorter, those of log u, whether grids are moved)."""
        finer, scale, shifted = fineness
        shift = 0.37 if shifted else 0.0
        score = token.score
        wide = _step(reader, scope, totals, token, False) / (finer * scale)
        chi, weights = token.axis(reader, scope, wide, shift)
        s = None
        mass = token.density(reader, scope, chi) * weights
        if score.spread > 0:
            step = _step(reader, scope, totals, token, True) * min(token.deviation, 2 * score.spread)
            s, across = token.axis(reader, scope, step / (finer * scale), shift, True)
            w = (s[None, :] - score.slope * chi[:, None] - score.start) / score.spread
            mass = mass[:, None] * np.exp(-(w**2) / 2) * (across / (score.spread * np.sqrt(2 * np.pi)))
        if not abs(float(mass.sum()) - 1) <= UNSEEN:
            raise OutOfReach
        exponents, damping = [], []
        for total in totals:
            axis = s if total.line.of_score and s is not None else chi
            heights = total.line.at(reader, scope, axis)
            if not np.all(np.isfinite(heights)) or np.any(heights <= 0):
                raise OutOfReach
            found = Exponents.of(total.offset, length * heights.min(), length * heights.max(), scale, shift)
            exponents.append(found)
            METER.add(len(found.nodes) * heights.size)
            damping.append((total.line.of_score, np.exp(-found.nodes[:, None] * heights[None, :])))
        return cls(score, chi, s, mass, exponents, damping)

    def integral(self, reader: Interpreter, scope: Scope, factor: Factor) -> np.ndarray:
        """The mean of chi^a w^b times functions times the exponentials, one axis for each total."""
        return self.known.get(factor, lambda: self._integral(reader, scope, factor))

    def _integral(self, reader: Interpreter, scope: Scope, factor: Factor) -> np.ndarray:
        a, b, lines = factor
        METER.add(self._operations // PER_OPERATION)
        along = self.chi**a
        across = None if self.s is None else np.ones(len(self.s))
        for line, power in lines:
            if line.of_score:
                assert self.s is not None
                assert across is not None
                across = across * line.at(reader, scope, self.s) ** power
            else:
                along = along * line.at(reader, scope, self.chi) ** power
        if self.s is None:
            return self._joined(self.mass * along, False)
        mass = self.mass * along[:, None] * across
        if b:
            w = (self.s[None, :] - self.score.slope * self.chi[:, None] - self.score.start) / self.score.spread
            mass = mass * w**b
        kinds = [of_score for of_score, _ in self.damping]
        if kinds in ([True, False], [False, True]):
            (_, by_chi), (_, by_s) = sorted(self.damping, key=lambda pair: pair[0])
            joint = by_chi @ mass @ by_s.T
            return joint.T if kinds[0] else joint
        of_score = kinds[:1] == [True]
        return self._joined(mass.sum(axis=0 if of_score else 1), of_score)

    @property
    def _operations(self) -> int:
        """Products that one integral takes."""
        rows = [len(found.nodes) for found in self.exponents]
        first, second = (*rows, 1, 1)[:2]
        return first * self.mass.size + first * second * max(self.mass.shape)

    def _joined(self, mass: np.ndarray, of_score: bool) -> np.ndarray:
        """Totals that all depend on one variable, of which ``mass`` is the mass."""
        assert all(kind == of_score for kind, _ in self.damping)
        if not self.damping:
            return np.asarray(mass.sum())
        if len(self.damping) == 1:
            return self.damping[0][1] @ mass
        (_, first), (_, second) = self.damping
        return (first * mass) @ second.T


def _step(reader: Interpreter, scope: Scope, totals: Iterable[Total], token: Token, of_score: bool) -> float:
    """In standard deviations: short where a total changes fast."""
    if token.law != STANDARD_NORMAL:
        return STEP
    look = np.linspace(*token.ends, 401)
    if of_score:
        look = token.score.start + token.deviation * look
    step = STEP
    for total in totals:
        if total.line.of_score == of_score:
            with np.errstate(all="ignore"):
                steepest = float(np.max(np.abs(np.diff(np.log(total.line.at(reader, scope, look)))))) / (
                    look[1] - look[0]
                )
            if np.isfinite(steepest):
                step = min(step, STEEPEST / max(steepest, 1e-9))
    return step
