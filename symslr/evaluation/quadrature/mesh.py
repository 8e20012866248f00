"""Meshes: equal steps in a variable y with x = x(y), every second node being a mesh of its own.

Each rule converges geometrically for an integrand analytic near the line of y, so that halving the step squares the error:
three nested meshes in one table tell how far it has come.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.numbers.arithmetic import Arithmetic

MOST_STEPS = 2_000_000
"""Of one mesh: more are a sign that the window is that of something else."""


@dataclass(frozen=True, slots=True)
class Mesh:
    """Nodes and weights of a rule; ``nested[i]`` are the indices of the mesh with step 2^(i+1) h."""

    nodes: Any
    weights: Any
    nested: tuple[Any, ...]

    def coarser(self, times: int) -> tuple[Any, Any]:
        """Indices and weights of the mesh with 2^times the step."""
        index = self.nested[times - 1]
        return index, self.weights[index] * 2**times


class Piece(Protocol):
    """An interval and the map that makes the trapezoid rule converge on it; ``step`` is that of level 0."""

    @property
    def step(self) -> float: ...

    def mesh(self, arithmetic: Arithmetic, level: float) -> Mesh: ...


def _strides(count: int) -> tuple[Any, ...]:
    return tuple(np.arange(0, count, 2**n) for n in (1, 2))


def _steps(span: float, step: float) -> int:
    """Number of steps over a span: a multiple of four, so that the ends belong to every nested mesh."""
    if not span / step < MOST_STEPS:
        raise CannotEvaluate(f"a mesh would need {span / step:.2g} nodes: the integrand has no window of its own size")
    return 4 * max(2, int(np.ceil(span / step / 4)))


@dataclass(frozen=True, slots=True)
class Line:
    """x = y on a window outside which the integrand is negligible: light tails on the whole line."""

    low: float
    high: float
    step: float

    def mesh(self, arithmetic: Arithmetic, level: float) -> Mesh:
        count = _steps(self.high - self.low, self.step / 2**level)
        low, span = arithmetic.number(self.low), arithmetic.number(self.high) - arithmetic.number(self.low)
        step = span / count
        nodes = low + step * arithmetic.integers(0, count + 1)
        return Mesh(nodes, arithmetic.full(count + 1, step), _strides(count + 1))


@dataclass(frozen=True, slots=True)
class Sinh:
    """x = centre + width sinh y: algebraic tails on the whole line."""

    centre: float
    width: float
    reach: float
    step: float

    def mesh(self, arithmetic: Arithmetic, level: float) -> Mesh:
        half = _steps(self.reach, self.step / 2**level)
        step = arithmetic.number(self.reach) / half
        y = step * arithmetic.integers(-half, half + 1)
        up, down = arithmetic.exp(y), arithmetic.exp(-y)
        width = arithmetic.number(self.width)
        nodes = arithmetic.number(self.centre) + width * (up - down) / 2
        return Mesh(nodes, step * width * (up + down) / 2, _strides(2 * half + 1))


@dataclass(frozen=True, slots=True)
class TanhSinh:
    """Double exponential rule on a finite interval; integrable singularities at its ends do no harm."""

    low: Any
    high: Any
    step: float = 0.25

    def mesh(self, arithmetic: Arithmetic, level: float) -> Mesh:
        reach = float(np.arcsinh(1.25 * arithmetic.decades * np.log(10) / np.pi))
        half = _steps(reach, self.step / 2**level)
        step = arithmetic.number(reach) / half
        y = step * arithmetic.integers(-half, half + 1)
        up, down = arithmetic.exp(y), arithmetic.exp(-y)
        decay = arithmetic.exp(-arithmetic.pi * abs(up - down) / 2)  # (1 - q)/q beyond the middle
        near = decay / (1 + decay)
        low, high = arithmetic.number(self.low), arithmetic.number(self.high)
        span = high - low
        left = np.arange(2 * half + 1) < half
        nodes = np.where(left, low + span * near, high - span * near)
        weights = step * span * arithmetic.pi / 2 * (up + down) * near / (1 + decay)
        return Mesh(nodes, weights, _strides(2 * half + 1))


@dataclass(frozen=True, slots=True)
class ExpSinh:
    """x = end + sign width exp(y - exp(-y)): a half line with any tail, algebraic ones included."""

    end: Any
    sign: int
    width: float
    reach: float
    step: float = 0.125

    def mesh(self, arithmetic: Arithmetic, level: float) -> Mesh:
        lowest = -float(np.log(2.3 * arithmetic.decades))
        count = _steps(self.reach - lowest, self.step / 2**level)
        step = (arithmetic.number(self.reach) - arithmetic.number(lowest)) / count
        y = arithmetic.number(lowest) + step * arithmetic.integers(0, count + 1)
        inner = arithmetic.exp(-y)
        distance = arithmetic.number(self.width) * arithmetic.exp(y - inner)
        nodes = arithmetic.number(self.end) + self.sign * distance
        return Mesh(nodes, step * distance * (1 + inner), _strides(count + 1))


def joined(pieces: tuple[Piece, ...], arithmetic: Arithmetic, level: float) -> Mesh:
    """One mesh over several pieces."""
    meshes = [piece.mesh(arithmetic, level) for piece in pieces]
    if len(meshes) == 1:
        return meshes[0]
    starts = np.cumsum([0, *(len(m.nodes) for m in meshes[:-1])])
    nested = tuple(np.concatenate([s + m.nested[n] for s, m in zip(starts, meshes)]) for n in (0, 1))
    nodes = np.concatenate([m.nodes for m in meshes])
    return Mesh(nodes, np.concatenate([m.weights for m in meshes]), nested)
