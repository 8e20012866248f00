"""Integrals over one token of products of its variables, functions of it, and exponentials e^{-u h} of what sums run over.

A token is chi, with density N(0, 1), and a score s = slope chi + spread w + start with w another N(0, 1): a trapezoid sum on a
grid in chi and s. An exponential depends on one of the two alone, so the integrals for all u at once are products of matrices.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import gamma, hypot
from typing import TYPE_CHECKING

import numpy as np
from sympy import Expr

from symslr.model.symbols import x
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


Factor = tuple[int, int, frozenset[tuple[Line, int]]]
"""Powers of chi and of w, and of functions."""

Ranges = tuple[tuple[float, float], tuple[float, float]]
"""Of chi and of s."""


def ranges(reader: Interpreter, scope: Scope, score: Score, functions: tuple[tuple[Line, int], ...]) -> Ranges:
    """Where a token has its mass under each of the functions, to its power, and under all of them."""
    look = np.linspace(-FAR, FAR, 1441)
    deviation = hypot(score.slope, score.spread) or 1.0
    shifts = [0.0]
    profile = np.zeros(len(look))
    for line, power in functions:
        axis = score.start + deviation * look if line.of_score else look
        with np.errstate(all="ignore"):
            own = power * np.log(np.abs(line.at(reader, scope, axis)))
        own = np.where(np.isfinite(own), own, -np.inf)
        # a shift of the score moves chi by what the two have in common, at most by as much
        profile = profile + own
        shifts += _masses(look, own)
    shifts += _masses(look, profile)
    low, high = min(shifts) - REACH, max(shifts) + REACH
    if low < -FAR or high > FAR:
        raise OutOfReach
    return (low, high), (score.start + deviation * low, score.start + deviation * high)


def _masses(look: np.ndarray, own: np.ndarray) -> list[float]:
    """By how much a function moves the mass of a standard normal to either side."""
    with np.errstate(all="ignore"):
        log = own - look**2 / 2
    where = look[log > np.max(log) + np.log(NEGLIGIBLE)]
    return [min(0.0, float(where[0]) + REACH), max(0.0, float(where[-1]) - REACH)] if len(where) else [0.0]


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
        exponents: one for each total.
    """

    score: Score
    chi: np.ndarray
    s: np.ndarray | None
    density: np.ndarray
    exponents: list[Exponents]
    damping: list[tuple[bool, np.ndarray]]
    known: Memory = field(default_factory=lambda: Memory(MOST_INTEGRALS))

    @classmethod
    def of(
        cls,
        reader: Interpreter,
        scope: Scope,
        score: Score,
        totals: tuple[Total, ...],
        span: Ranges,
        length: int,
        fineness: tuple[float, float, bool],
    ) -> Table:
        """A table at a fineness: (steps of the token this many times shorter, those of log u, whether grids are moved)."""
        finer, scale, shifted = fineness
        shift = 0.37 if shifted else 0.0
        scored = score.spread > 0
        wide = _step(reader, scope, totals, span, False) / (finer * scale)
        chi = _axis(*span[0], wide, shift)
        s = None
        density = np.exp(-(chi**2) / 2) * (wide / np.sqrt(2 * np.pi))
        if scored:
            deviation = hypot(score.slope, score.spread)
            step = _step(reader, scope, totals, span, True) * deviation * min(1.0, 2 * score.spread / deviation)
            step = step / (finer * scale)
            s = _axis(*span[1], step, shift)
            w = (s[None, :] - score.slope * chi[:, None] - score.start) / score.spread
            density = density[:, None] * np.exp(-(w**2) / 2) * (step / (score.spread * np.sqrt(2 * np.pi)))
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
        return cls(score, chi, s, density, exponents, damping)

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
            return self._joined(self.density * along, False)
        mass = self.density * along[:, None] * across
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
        return first * self.density.size + first * second * max(self.density.shape)

    def _joined(self, mass: np.ndarray, of_score: bool) -> np.ndarray:
        """Totals that all depend on one variable, of which ``mass`` is the mass."""
        assert all(kind == of_score for kind, _ in self.damping)
        if not self.damping:
            return np.asarray(mass.sum())
        if len(self.damping) == 1:
            return self.damping[0][1] @ mass
        (_, first), (_, second) = self.damping
        return (first * mass) @ second.T


def _axis(low: float, high: float, step: float, shift: float) -> np.ndarray:
    count = int((high - low) / step) + 2
    if not count <= MOST_NODES:
        raise OutOfReach
    return low + step * (np.arange(count) + shift)


def _step(reader: Interpreter, scope: Scope, totals: Iterable[Total], span: Ranges, of_score: bool) -> float:
    """In standard deviations: short where a total changes fast."""
    low, high = span[of_score]
    look = np.linspace(low, high, 401)
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
