"""The integrals of a Laplace form in Arb balls, as the refinement loop takes them: the same sum at any precision.

With a step log(2)/m of v = log u the table needs m exponentials per token: exp(-2 u kappa) = exp(-u kappa)^2 gives the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, log, log2
from typing import Any

import mpmath
import numpy as np
from flint import arb, arb_mat

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace.code import Constants, LaplaceCode
from symslr.evaluation.laplace.family import Family
from symslr.evaluation.laplace.rule import WIDER, Outer, Sums
from symslr.evaluation.laplace.survey import layout
from symslr.evaluation.laplace.tokens import MOST_NODES
from symslr.evaluation.numbers.balls import Balls, array, exponentials
from symslr.evaluation.quadrature.mesh import Line, Mesh, joined

LARGEST_TABLE = 100_000_000
"""Entries of the product of outer nodes and tokens: some minutes."""
FEW = {1: 24, 2: 8}
"""Outer nodes per axis at which the token meshes are judged: a product of 64 costs as much as a line of them."""
FIRST_STEP = {1: 0.48, 2: 0.96}
"""Times pi^2/nats, the first step of log u: exp(-pi^2/h) is the error on a strip of half-width pi/2, seen at twice the step; with
two variables the first table is held to a quarter of the nodes."""
LN2 = log(2)
"""An octave of u, as a step of log u."""


@dataclass(frozen=True, slots=True)
class Octaves:
    """Nodes u_i = 2^(first + i/m), i < count; ``chosen`` are the ones in use."""

    first: int
    per_octave: int
    count: int
    chosen: range

    @staticmethod
    def filling(low: float, high: float, step: float) -> Octaves:
        """Steps no longer than ``step`` over a window."""
        per_octave, first = max(1, ceil(LN2 / step)), int(np.floor(low / LN2))
        count = 4 * ceil((high / LN2 - first) * per_octave / 4) + 1
        return Octaves(first, per_octave, count, range(count))

    @staticmethod
    def spread(low: float, high: float, count: int) -> Octaves:
        """A few nodes over a window, whole octaves apart."""
        first = int(np.floor(low / LN2))
        octaves = ceil(high / LN2) - first + 1
        return Octaves(first, 1, octaves, range(0, octaves, max(1, octaves // count)))

    @property
    def step(self) -> Any:
        return arb.const_log2() / self.per_octave

    def nodes(self) -> Any:
        """v_i = log u_i."""
        return array([self.step * (self.first * self.per_octave + i) for i in self.chosen])

    def exponentials(self, slopes: Any) -> list[list[Any]]:
        """Rows exp(-u_i kappa) for the chosen i."""
        rows = exponentials(slopes, self.first * self.per_octave, self.per_octave, self.count)
        return [rows[i] for i in self.chosen]


@dataclass(slots=True)
class Weights:
    """Tokens of one kernel, kappa there for every Laplace variable, and the weights of its moments, (moments, tokens)."""

    mesh: Mesh
    slopes: list[Any]
    rows: list[Any]


class BallSums(Sums):
    """See the module's docstring."""

    def __init__(
        self, code: LaplaceCode, family: Family, p: tuple[Any, ...], arithmetic: Balls, tolerance: Any
    ) -> None:
        self.code, self.family, self.p, self.arithmetic, self.tolerance = code, family, p, arithmetic, tolerance
        self.nats = float(-mpmath.log(tolerance))
        self.guard = int(log2(2.0 + float(family.largest.max())))  # a power multiplies relative errors
        found = layout(family)
        self.pieces, self.windows = found.pieces, [(axis.low, axis.high) for axis in found.axes]
        axes = len(self.windows)
        self.steps = [FIRST_STEP[axes] * float(np.pi) ** 2 / (2.0 + self.nats)] * axes
        self.few = _outer([Octaves.spread(*window, FEW[axes]) for window in self.windows])
        self.level = self._first_level()

    @cached_property
    def constants(self) -> Constants:
        """At the precision that powers ask for."""
        return self.code.constants(self.p)

    def _first_level(self) -> float:
        """A level at which the Gaussian factors, and singularities at a distance of about 2, are resolved."""
        level = 1.0
        for piece in (piece for own in self.pieces for piece in own):
            wanted = 0.24 if not isinstance(piece, Line) else piece.step * 2.0
            wanted = min(wanted * np.sqrt(34.0 / self.nats), wanted * 0.5 + 10.0 / self.nats)
            level = max(level, float(np.log2(piece.step / wanted)) + 1.0)
        return level

    def outer(self, steps: list[Any]) -> Outer:
        return _outer([Octaves.filling(*window, float(step)) for window, step in zip(self.windows, steps)])

    def widen(self, late: list[int]) -> None:
        self.windows = [(low, high + WIDER if n in late else high) for n, (low, high) in enumerate(self.windows)]

    def inner(self, level: float) -> list[Weights]:
        placed = []
        for k, own in enumerate(self.pieces):
            mesh = joined(own, self.arithmetic, level)
            if len(mesh.nodes) > MOST_NODES:
                raise CannotEvaluate(
                    "mpmath: a token integral does not converge geometrically (a kink that is not shown?)"
                )
            slopes, exponents, rests = self.code.weights(k, mesh.nodes, self.p)
            rows = [self.arithmetic.exp(exponent) * rest * mesh.weights for exponent, rest in zip(exponents, rests)]
            placed.append(Weights(mesh, [self.arithmetic.exp(g) for g in slopes], rows))
        return placed

    def table(self, outer: Outer, inner: list[Weights]) -> BallTable:
        return BallTable(self, outer, inner)

    def cut(self, table: BallTable) -> list[Any]:
        """By the largest share of any moment, times its power."""
        arithmetic, shares = self.arithmetic, 0.0
        for kernel, indices, factors in zip(table.kernels, self.family.moments_of, table.factors):
            ends = [[array([line[e] for line in own]) for own in factors] for e in (0, -1)]
            left, right = (own[0] if len(own) == 1 else np.multiply.outer(*own) for own in ends)
            for row, i in zip(kernel.rows, indices):
                lost = abs(row[0]) * left + abs(row[-1]) * right
                share = np.frompyfunc(lambda end, whole: min(float(end.abs_upper() / whole.abs_lower()), 1.0), 2, 1)
                if self.family.largest[i] > 0:
                    shares = shares + share(lost, table.moments()[i]) * (8.0 * float(self.family.largest[i]))
        found = []
        for own in table.values():
            mass = arithmetic.mass(own)
            found.append(arithmetic.mass(own * np.minimum(shares, 1.0)) / mass if mass > 0 else mass)
        return found


def _outer(octaves: list[Octaves]) -> Outer:
    return Outer(octaves, 1, [own.step for own in octaves])


class BallTable:
    """exp(-u kappa) at octaves of u and at the tokens of every kernel."""

    def __init__(self, sums: BallSums, outer: Outer, kernels: list[Weights]) -> None:
        nodes = float(np.prod([len(own.chosen) for own in outer.v])) * max(len(own.mesh.nodes) for own in kernels)
        if nodes > LARGEST_TABLE:
            raise CannotEvaluate("mpmath: the table of exponentials is too large; ask for fewer digits")
        self.sums, self.octaves, self.kernels = sums, outer.v, kernels
        self.factors = [[own.exponentials(s) for own, s in zip(outer.v, kernel.slopes)] for kernel in kernels]

    def moments(self, coarser: int = 0) -> list[Any]:
        """Every moment on the product of the outer nodes, without its height."""
        found: list[Any] = [None] * len(self.sums.family.form.moments)
        for kernel, indices, factors in zip(self.kernels, self.sums.family.moments_of, self.factors):
            rows, tables = kernel.rows, factors
            if coarser:
                keep = [int(i) for i in kernel.mesh.nested[coarser - 1]]
                rows = [row[keep] * 2**coarser for row in rows]
                tables = [[[line[k] for k in keep] for line in table] for table in tables]
            for i, mean in zip(indices, _contracted(rows, tables)):
                found[i] = mean
        return found

    def values(self, coarser: int = 0) -> list[Any]:
        sums, means = self.sums, self.moments(coarser)
        family, exp = sums.family, sums.arithmetic.exp
        nodes = [own.nodes() for own in self.octaves]
        grid = nodes if len(nodes) == 1 else [nodes[0][:, None], nodes[1][None, :]]
        moments = family.form.moments
        logs = [_log(mean) if moment.is_survival else arb(0) for moment, mean in zip(moments, means)]
        heights = [own[2] if m.gaussian is not None else arb(0) for m, own in zip(moments, sums.constants.gaussians)]
        terms = sums.code.terms(grid, means, logs, heights, sums.p)
        sizes = {t: exp(terms[t][0]) * terms[t][1] * sums.constants.coefficients[t] for t in family.active}
        none = np.full(np.shape(means[0]), arb(0), dtype=object)
        return [sum((sizes[t] for t in own), none) for own in family.integrals]


def _contracted(rows: list[Any], tables: list[Any]) -> list[Any]:
    """Sums over the tokens for every row of weights, on the product of the outer nodes."""
    if len(tables) == 1:
        product = (arb_mat(tables[0]) * arb_mat([list(row) for row in rows]).transpose()).tolist()
        return [array([line[n] for line in product]) for n in range(len(rows))]
    right = arb_mat(tables[1]).transpose()
    products = (arb_mat([[t * w for t, w in zip(line, row)] for line in tables[0]]) * right for row in rows)
    return [np.array([array(line) for line in product.tolist()]) for product in products]


def _log(survival: Any) -> Any:
    """log M; where M cannot be told from zero, of what it may be at most."""
    return np.frompyfunc(lambda m: m.log() if m > 0 else arb(m.abs_upper()).log(), 1, 1)(survival)
