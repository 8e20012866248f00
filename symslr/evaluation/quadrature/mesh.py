"""Quadrature meshes: the trapezoid rule in a variable y with x = x(y); every second node is again such a mesh.

For an integrand analytic near the real line of y each rule converges geometrically: halving the step squares the error. Three
nested meshes in one table therefore show the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.numbers.arithmetic import FLOAT, Arithmetic
from symslr.evaluation.numbers.compiled import wright_omega

MOST_STEPS = 2_000_000
"""Of one mesh: more show that the window is not that of the integrand."""


@dataclass(frozen=True, slots=True)
class Mesh:
    """Nodes and weights of a rule; ``nested[i]`` are the indices of its nodes that form the rule of 2^(i+1) times the step."""

    nodes: Any
    weights: Any
    nested: tuple[Any, ...] = ()

    def factors(self, rules: int = 3) -> Any:
        """What the weights are multiplied by for the rules of once, twice and four times the step, an array (rules, nodes)."""
        found = np.zeros((rules, len(self.nodes)))
        found[0] = 1.0
        for row, index, factor in zip(found[1:], self.nested, (2.0, 4.0)):
            row[index] = factor
        return found


def nested_weights(rules: int, count: int) -> Any:
    """An array (rules, nodes) that gives the trapezoid sums of 1, 2, 4, ... times the step as products with the values at the
    nodes.
    """
    found = np.zeros((rules, count))
    for n, row in enumerate(found):
        row[:: 2**n] = 2.0**n
    return found


def _strides(count: int) -> tuple[Any, ...]:
    return tuple(np.arange(0, count, 2**n) for n in (1, 2))


def _steps(span: float, step: float) -> int:
    """Number of steps over a span: a multiple of four, so that both ends belong to every nested mesh."""
    if not span / step < MOST_STEPS:
        raise CannotEvaluate(f"a mesh would need {span / step:.2g} nodes: the integrand has no window of its own size")
    return 4 * max(2, int(np.ceil(span / step / 4)))


@dataclass(frozen=True, slots=True)
class Line:
    """The trapezoid rule x = y on a window outside which the integrand is negligible: for light tails on the whole line."""

    low: float
    high: float
    step: float

    def mesh(self, arithmetic: Arithmetic, level: float) -> Mesh:
        count = _steps(self.high - self.low, self.step / 2**level)
        low, span = arithmetic.number(self.low), arithmetic.number(self.high) - arithmetic.number(self.low)
        step = span / count
        nodes = low + step * arithmetic.integers(0, count + 1)
        return Mesh(nodes, np.full(count + 1, step), _strides(count + 1))

    def lattice(self, arithmetic: Arithmetic, step: Any) -> Mesh:
        """The mesh with exactly this step, from the lower end, or from the upper one for a negative step."""
        count = _steps(self.high - self.low, abs(float(step)))
        start = arithmetic.number(self.low if step > 0 else self.high)
        nodes = start + step * arithmetic.integers(0, count + 1)
        return Mesh(nodes, np.full(count + 1, abs(step)), _strides(count + 1))


@dataclass(frozen=True, slots=True)
class Sinh:
    """x = centre + width sinh y: for algebraic tails on the whole line."""

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
    """The tanh-sinh rule on a finite interval, which may have integrable singularities at its ends."""

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


Piece = Line | Sinh | TanhSinh | ExpSinh
"""An interval and the map on it under which the trapezoid rule converges geometrically; ``step`` is that of level 0."""


def joined(pieces: tuple[Piece, ...], arithmetic: Arithmetic, level: float) -> Mesh:
    """One mesh over several pieces."""
    meshes = [piece.mesh(arithmetic, level) for piece in pieces]
    if len(meshes) == 1:
        return meshes[0]
    starts = np.cumsum([0, *(len(m.nodes) for m in meshes[:-1])])
    nested = tuple(np.concatenate([s + m.nested[n] for s, m in zip(starts, meshes)]) for n in (0, 1))
    nodes = np.concatenate([m.nodes for m in meshes])
    return Mesh(nodes, np.concatenate([m.weights for m in meshes]), nested)


TABLE_STEP = 0.2
"""Step of arsinh((x - c)/w) in the table from which the inverse of the map is found by Newton's method."""
NEWTON_STEPS = 4
"""From that table the error falls as 1e-2, 1e-4, 1e-8, 1e-16; one more step is for safety."""


@dataclass(frozen=True, slots=True)
class ArsinhSumMap:
    """The map y = sum_j arsinh((x - c_j)/w_j): equal steps of y are short near every centre c_j and grow away from them.

    Centres c and widths w are arrays (..., centres), one map for every row. Places x are (..., nodes).
    """

    centres: Any
    widths: Any

    @property
    def _each(self) -> Any:
        return zip(np.moveaxis(self.centres, -1, 0)[..., None], np.moveaxis(self.widths, -1, 0)[..., None])

    def heights(self, x: Any) -> Any:
        """y at x."""
        return sum(np.arcsinh((x - c) / w) for c, w in self._each)

    def density(self, x: Any) -> Any:
        """dy/dx."""
        return sum(1.0 / np.hypot(x - c, w) for c, w in self._each)

    def places(self, y: Any, low: float, high: float) -> Any:
        """x at y, between low and high: by Newton's method from a table that is fine around every centre."""
        furthest = float(np.arcsinh((high - low) / np.min(self.widths)))
        around = np.sinh(np.linspace(-furthest, furthest, 2 * int(np.ceil(furthest / TABLE_STEP)) + 1))
        table = (self.centres[..., None] + self.widths[..., None] * around).reshape(*np.shape(self.centres)[:-1], -1)
        table = np.sort(np.clip(table, low, high), axis=-1)
        heights = self.heights(table)
        x = np.empty(np.shape(y))
        for row in np.ndindex(x.shape[:-1]):
            x[row] = np.interp(y[row], heights[row], table[row])
        for _ in range(NEWTON_STEPS):
            x = np.clip(x - (self.heights(x) - y) / self.density(x), low, high)
        return x

    def mesh(self, reach: float, step: float) -> Mesh:
        """Meshes over [-reach, reach] with a step of y near ``step``, (rows, nodes), of the same number of nodes in all rows.

        Every second and every fourth node of a row form a mesh. The token at which exp(-u kappa(x)) falls moves with log u as
        far as a power tail reaches, so no fixed mesh resolves it everywhere. Here every log u has nodes of its own, with
        centres at the peaks of the laws and at that token.

        Args:
            reach: half the window, larger than every width.
        """
        ends = np.full((len(self.centres), 1), reach)
        low, high = self.heights(-ends), self.heights(ends)
        count = _steps(float(np.max(high - low)), step)
        own = (high - low) / count
        x = self.places(low + own * np.arange(count + 1), -reach, reach)
        return Mesh(x, own / self.density(x))


LONG_WINDOW = 120.0
"""Windows of log u longer than this, in nats, are mapped by a sinh."""
SCALE = 10.0
"""Width of that map, in nats: within so much of a centre nodes are nearly equally spaced."""


@dataclass(frozen=True, slots=True)
class SinhMap:
    """An outer axis v from ``low`` to ``high`` with the map v(w): a sinh around ``centres``, if there are any.

    A kernel such as log(1 + e^(a x)) at a large scale a has moments that vary over steps of order one in v = log u where u a is
    of order one, and over steps of order a beyond, where u e^(a x) decides. With v = c + s sinh(w/s) equal steps of w resolve
    both. With several centres c_j and widths s_j, w/s_0 is the sum of arsinh((v - c_j)/s_j), in float64 alone.

    To the left of a short window all moments are constant and the integrand is a power of u, exp(k v). With v = w - exp(w_0 -
    w) it falls doubly exponentially there, as by the rule of H. Takahasi and M. Mori (1974) for (0, oo).

    Attributes:
        tail: w_0; -oo without that map.
    """

    low: float
    high: float
    centres: tuple[float, ...] = ()
    widths: tuple[float, ...] = ()
    tail: float = -np.inf

    @classmethod
    def over(cls, window: tuple[float, float], centres: Sequence[float], tail: float = -np.inf) -> SinhMap:
        """The axis over a window, left of whose ``tail`` the integrand falls as a power of u.

        A long window is mapped by a sinh, unless it has so many centres that it would become no shorter.
        """
        low, high = window
        if high - low <= LONG_WINDOW:
            return cls(low, high, tail=tail)
        own = well_separated(centres)
        stretched = cls(low, high, own, (SCALE,) * len(own))
        return stretched if stretched.length < high - low else cls(low, high)

    @property
    def scale(self) -> float:
        """s_0; infinite without a sinh."""
        return self.widths[0] if self.widths else np.inf

    @property
    def _map(self) -> ArsinhSumMap:
        return ArsinhSumMap(np.array(self.centres), np.array(self.widths))

    @property
    def ends(self) -> tuple[float, float]:
        """(low, high) in w."""
        if not self.widths:
            return self._before(self.low), self._before(self.high)
        low, high = (self.scale * self._map.heights(np.array([self.low, self.high]))).tolist()
        return low, high

    @property
    def length(self) -> float:
        """Length of the window in w."""
        low, high = self.ends
        return high - low

    def _before(self, v: float) -> float:
        """w at v, without a sinh."""
        return v if np.isinf(self.tail) else v + float(wright_omega(self.tail - v))

    def places(self, w: Any) -> Any:
        """v at w, without the map of the left tail."""
        if not self.widths:
            return w
        if len(self.widths) > 1:
            return self._map.places(w / self.scale, self.low, self.high)
        return self.centres[0] + self.scale * np.sinh(w / self.scale)

    def nodes(self, step: float, arithmetic: Arithmetic = FLOAT) -> tuple[Any, Any, Any]:
        """(v, dv/dw, step of w) at the nodes; every second and every fourth node form a mesh too."""
        count = _steps(self.length, step)
        low, high = map(arithmetic.number, self.ends)
        exact = (high - low) / count
        w = low + exact * arithmetic.integers(0, count + 1)
        if not np.isinf(self.tail):
            rest = arithmetic.exp(self.tail - w)
            return w - rest, 1 + rest, exact
        if not self.widths:
            return w, np.full(count + 1, arithmetic.number(1)), exact
        if len(self.widths) > 1:
            v = self.places(w)
            return v, 1.0 / (self.scale * self._map.density(v)), exact
        up, down = arithmetic.exp(w / self.scale), arithmetic.exp(-w / self.scale)
        return self.centres[0] + self.scale * (up - down) / 2, (up + down) / 2, exact


def well_separated(places: Sequence[float]) -> tuple[float, ...]:
    """The places, in their order, that lie further than ``SCALE`` from all kept before them."""
    found: list[float] = []
    for place in places:
        if all(abs(place - other) > SCALE for other in found):
            found.append(place)
    return tuple(found)
