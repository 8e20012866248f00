"""One axis of integration: pieces of the real line, each mapped so that the trapezoid rule converges geometrically."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from symslr.referee.arithmetic import Arithmetic, Array

End = Any
"""An end of an interval: a number of the arithmetic, an array of them, an exact break, or None for infinity."""


class Map(StrEnum):
    """x as a function of s on the whole line."""

    LINE = "x = s"
    HEAVY = "x = sinh s"
    LOGARITHMIC = "x = lower + e^s"
    UPWARDS = "x = lower + exp(s - e^-s)"
    DOWNWARDS = "x = upper - exp(s - e^-s)"
    FINITE = "x = lower + (upper - lower)/(1 + exp(-pi sinh s))"


SCAN = {
    Map.LINE: (-45.0, 45.0, 0.5),
    Map.HEAVY: (-80.0, 80.0, 0.5),
    Map.LOGARITHMIC: (-160.0, 120.0, 1.0),
    Map.UPWARDS: (-5.5, 5.5, 0.25),
    Map.DOWNWARDS: (-5.5, 5.5, 0.25),
    Map.FINITE: (-5.0, 5.0, 0.25),
}
"""Where to look for the mass of an integrand: from, to, step; dyadic, so that later grids are exact in binary."""


STEEP_FALL = 2
"""Power of the cutoff below which a profile falls faster than one step of a scan shows."""

GAIN = {
    Map.LINE: 0.85,
    Map.HEAVY: 0.9,
    Map.LOGARITHMIC: 0.95,
    Map.UPWARDS: 1.15,
    Map.DOWNWARDS: 1.15,
    Map.FINITE: 1.15,
}
"""Nodes grow with the digits to this power: 1 for an integrand analytic in a strip, 1/2 for a Gaussian, a little more
where the map itself is doubly exponential."""


@dataclass(frozen=True)
class Piece:
    """An interval with its map."""

    map: Map
    lower: End = None
    upper: End = None

    def nodes(self, arithmetic: Arithmetic, s: list[float], axes: int) -> tuple[Array, Array]:
        """x(s) and dx/ds on a new array axis in front of ``axes`` others."""
        at = arithmetic.array(s).reshape((len(s),) + (1,) * axes)
        call = arithmetic.call
        if self.map is Map.LINE:
            return at, at * 0 + arithmetic.exact(1)
        if self.map is Map.HEAVY:
            return call("sinh", at), call("cosh", at)
        if self.map is Map.LOGARITHMIC:
            grown = call("exp", at)
            return number(arithmetic, self.lower) + grown, grown
        if self.map is Map.FINITE:
            lower = number(arithmetic, self.lower)
            width = number(arithmetic, self.upper) - lower
            decay = call("exp", -(arithmetic.pi() * call("sinh", at)))
            slope = arithmetic.pi() * call("cosh", at) * decay / (1 + decay) / (1 + decay)
            return lower + width / (1 + decay), width * slope
        decay = call("exp", -at)
        grown = call("exp", at - decay)
        jacobian = grown * (1 + decay)
        if self.map is Map.UPWARDS:
            return number(arithmetic, self.lower) + grown, jacobian
        return number(arithmetic, self.upper) - grown, jacobian


def number(arithmetic: Arithmetic, end: End) -> Array:
    """An end of an interval in this arithmetic."""
    return arithmetic.exact(end) if isinstance(end, (int, float, Fraction)) else end


def pieces(lower: End, upper: End, breaks: Sequence[Fraction] = (), *, heavy: bool = False) -> list[Piece]:
    """The interval cut at ``breaks``, where the integrand has a kink or a jump."""
    if not breaks:
        if lower is None and upper is None:
            return [Piece(Map.HEAVY if heavy else Map.LINE)]
        if upper is None:
            return [Piece(Map.LOGARITHMIC, lower)]
        if lower is None:
            return [Piece(Map.DOWNWARDS, None, upper)]
        return [Piece(Map.FINITE, lower, upper)]
    first = Piece(Map.DOWNWARDS, None, breaks[0]) if lower is None else Piece(Map.FINITE, lower, breaks[0])
    last = Piece(Map.UPWARDS, breaks[-1]) if upper is None else Piece(Map.FINITE, breaks[-1], upper)
    return [first, *(Piece(Map.FINITE, a, b) for a, b in pairwise(breaks)), last]


def scan_points(piece: Piece, coarsening: float = 1.0) -> list[float]:
    """Where to look at a piece."""
    low, high, step = SCAN[piece.map]
    step *= coarsening
    return [low + i * step for i in range(int((high - low) / step) + 1)]


@dataclass(frozen=True)
class Fineness:
    """How a grid is laid.

    Attributes:
        more: how many times the digits of the plan are aimed at.
        scale: multiplies the number of nodes.
        shifted: whether the grid is moved and widened, so that a second sum shows what the first one missed.
    """

    arithmetic: Arithmetic
    more: float
    scale: float
    shifted: bool


@dataclass(frozen=True)
class Stretch:
    """The part of one piece (the ``index``-th of its axis) that carries mass, and how many nodes resolve it.

    Attributes:
        blind: whether the integrand was 0 in floats wherever a scan looked, so that the mass, if there is any, may lie elsewhere.
    """

    index: int
    map: Map
    low: float
    high: float
    count: float
    blind: bool = False

    def nodes(self, piece: Piece, fineness: Fineness, axes: int) -> tuple[Array, Array]:
        """Nodes and weights of the trapezoid rule, on an array axis in front of ``axes`` others.

        All s are exact in binary: a rounded step would cost the geometric convergence.
        """
        low, _, step = self._laid(fineness)
        shift = 0.25 if fineness.shifted else 0.5
        s = [low + (i + shift) * step for i in range(self.size(fineness))]
        x, jacobian = piece.nodes(fineness.arithmetic, s, axes)
        return x, jacobian * fineness.arithmetic.exact(step)

    def size(self, fineness: Fineness) -> int:
        """How many nodes there are."""
        low, high, step = self._laid(fineness)
        return math.ceil((high - low) / step)

    def _laid(self, fineness: Fineness) -> tuple[float, float, float]:
        """From where to where the nodes lie, and their distance."""
        low, high = self.low, self.high
        step = dyadic((high - low) / self.count / (fineness.more ** GAIN[self.map] * fineness.scale))
        if fineness.shifted:
            more = 2.0 ** math.floor(math.log2((high - low) / 16))
            low, high = low - more, high + more
        return low, high, step


def dyadic(step: float, bits: int = 9) -> float:
    """``step`` rounded to a short binary fraction."""
    mantissa, exponent = math.frexp(step)
    return math.ldexp(max(round(mantissa * 2**bits), 1), exponent - bits)


def stretch_of(profile: np.ndarray, s: list[float], cutoff: float) -> tuple[float, float] | None:
    """The interval of s outside of which ``profile`` stays below ``cutoff``."""
    above = np.nonzero(profile > cutoff)[0]
    if len(above) == 0:
        return None
    first, last = int(above[0]), int(above[-1])
    low = s[first] - _beyond(profile, first, first - 1, cutoff) * (s[1] - s[0]) if first > 0 else s[0]
    high = s[last] + _beyond(profile, last, last + 1, cutoff) * (s[1] - s[0]) if last < len(s) - 1 else s[-1]
    return low, high


def _beyond(profile: np.ndarray, inside: int, outside: int, cutoff: float) -> float:
    """How far between two points of a scan the cutoff is crossed, in eighths, with a quarter of a step to spare.

    A profile that falls far below may fall late, as exp(-e^x) does: the whole step.
    """
    if profile[outside] <= cutoff**STEEP_FALL:
        return 1.0
    drop = math.log(profile[inside] / profile[outside])
    return min(1.0, math.ceil(8 * (math.log(profile[inside] / cutoff) / drop + 0.25)) / 8)


def stacked(parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Nodes and weights of several pieces one after the other."""
    if len(parts) == 1:
        return parts[0]
    shape = np.broadcast_shapes(*(np.shape(side)[1:] for pair in parts for side in pair))
    nodes, weights = (
        np.concatenate([np.broadcast_to(pair[side], (len(pair[side]), *shape)) for pair in parts]) for side in (0, 1)
    )
    return nodes, weights


def at_edge(profile: np.ndarray, cutoff: float) -> bool:
    """Whether an integrand has not decayed where the scan ends."""
    return bool(profile[0] > cutoff or profile[-1] > cutoff)
