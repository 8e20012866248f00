"""The integrals of a Laplace form in Arb balls, as the refinement loop takes them: the same sum at any precision.

With a step log(2)/m of v = log u the table needs m exponentials per token: exp(-2 u kappa) = exp(-u kappa)^2 gives the rest.
Under an exponential kernel a step log(2)/n of log kappa makes it a function of one lattice, and the sums over tokens products of
polynomials.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, exp, inf, lcm, log, log2
from typing import Any

import mpmath
import numpy as np
from flint import arb, arb_mat, arb_poly

from symslr.evaluation.errors import CannotEvaluate, OutOfDigits
from symslr.evaluation.laplace.code import Constants, Family, LaplaceCode
from symslr.evaluation.laplace.rule import WIDER, Outer, Sums
from symslr.evaluation.laplace.survey import Layout
from symslr.evaluation.laplace.table import Table
from symslr.evaluation.laplace.tokens import MOST_NODES, placed
from symslr.evaluation.numbers.balls import OCTAVES, Balls, array, exponentials
from symslr.evaluation.quadrature.convergence import tail_in_last_terms
from symslr.evaluation.quadrature.mesh import Line, Mesh, Piece, joined
from symslr.evaluation.quadrature.token_mesh import at_exact_ends, lost_beside_ends

LARGEST_TABLE = 100_000_000
"""Entries of the product of outer nodes and tokens: some minutes."""
FEW = {1: 24, 2: 8}
"""Outer nodes per axis at which the token meshes are judged: a product of 64 costs as much as a line of them."""
FIRST_STEP = {1: 0.48, 2: 0.96}
"""Times pi^2/nats, the first step of log u: exp(-pi^2/h) is the error on a strip of half-width pi/2, seen at twice the step; with
two variables the first table is held to a quarter of the nodes."""
LN2 = log(2)
"""An octave of u, as a step of log u."""
LOOKS = 4
"""Nodes to one of log u at which it is seen how small the moments become."""
ROUGH = 4.0
"""The level of the tokens for that: steps of a twentieth of the narrowest weight."""
DEEPEST = 1e5
"""Largest u kappa in a product of polynomials: their coefficients then range over 150,000 bits, and it takes a second."""
LONGER = 5
"""Times as many tokens as elsewhere may lie on a lattice, where their cost does not grow with the outer nodes."""
GAIN = 64
"""Entries of the whole table for one of the lattice, from which on it is worth a product of polynomials."""


@dataclass(frozen=True, slots=True)
class Octaves:
    """Nodes u_i = 2^(first + i/m), i < count; ``chosen`` are the ones in use."""

    first: int
    per_octave: int
    count: int
    chosen: range

    @staticmethod
    def filling(low: float, high: float, step: float, unit: int) -> Octaves:
        """Steps no longer than ``step`` over a window, a multiple of ``unit`` to an octave."""
        per_octave, first = unit * ceil(LN2 / step / unit), int(np.floor(low / LN2))
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
        start = self.first * self.per_octave
        if self.chosen.step > OCTAVES * self.per_octave:
            return [exponentials(slopes, start + i, self.per_octave, 1)[0] for i in self.chosen]
        rows = exponentials(slopes, start, self.per_octave, self.count)
        return [rows[i] for i in self.chosen]


@dataclass(slots=True)
class Weights:
    """Tokens of one kernel, kappa there for every Laplace variable, and the weights of its moments, (moments, tokens).

    From one token to the next kappa grows by the factor 2^(1/per_octave), where that is not None.
    """

    mesh: Mesh
    slopes: list[Any]
    rows: list[Any]
    per_octave: int | None


class BallSums(Sums):
    """See the module's docstring."""

    def __init__(
        self,
        code: LaplaceCode,
        family: Family,
        found: Layout,
        p: tuple[Any, ...],
        arithmetic: Balls,
        tolerance: Any,
    ) -> None:
        self.code, self.family, self.p, self.arithmetic, self.tolerance = code, family, p, arithmetic, tolerance
        self.nats = float(-mpmath.log(tolerance))
        self.guard = int(log2(2.0 + float(family.largest.max())))  # a power multiplies relative errors
        self.pieces, self.windows = found.pieces, [(axis.low, axis.high) for axis in found.axes]
        axes = len(self.windows)
        self.steps = [FIRST_STEP[axes] * float(np.pi) ** 2 / (2.0 + self.nats)] * axes
        self.level = self._first_level()
        self.lattices = [self._has_lattice(k) for k in range(len(self.pieces))]
        self.unit = ceil(LN2 / self.steps[0] / 4) if any(self.lattices) else 1
        self.last = [0] * len(self.pieces)

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

    @property
    def few(self) -> Outer:
        return _outer([Octaves.spread(*window, FEW[len(self.windows)]) for window in self.windows])

    def outer(self, steps: list[Any]) -> Outer:
        return _outer([Octaves.filling(*window, float(h), self.unit) for window, h in zip(self.windows, steps)])

    def widen(self, late: list[int]) -> None:
        self.windows = [(low, high + WIDER if n in late else high) for n, (low, high) in enumerate(self.windows)]

    def inner(self, level: float) -> list[Weights]:
        found = []
        for k, own in enumerate(self.pieces):
            line, per_octave = own[0], None
            if self.lattices[k] and isinstance(line, Line):
                rate = self.constants.exponentials[k][1]
                per_octave = self._per_octave(k, LN2 / abs(float(rate)) / line.step * 2**level)
                mesh = line.lattice(self.arithmetic, arb.const_log2() / (per_octave * rate))
            else:
                with self.arithmetic.more_bits(self._more_bits(own)):
                    mesh = joined(self._exactly(k, own), self.arithmetic, level)
            most = MOST_NODES[1] * (LONGER if per_octave else 1)
            if len(mesh.nodes) > most:
                raise OutOfDigits(
                    f"mpmath: an integral over a token needs more than {most} nodes, as where a kernel or a weight is very "
                    "steep or has a kink that is not seen; ask for fewer digits, or for a smaller scale or signal"
                )
            with self.arithmetic.more_bits(self._more_bits(own)):
                slopes, exponents, rests = self.code.weights(k, mesh.nodes, self.p)
                rows = [self.arithmetic.exp(exponent) * rest * mesh.weights for exponent, rest in zip(exponents, rests)]
                kappas = [self.arithmetic.exp(g) for g in slopes]
            found.append(Weights(mesh, [g * 1 for g in kappas], [row * 1 for row in rows], per_octave))
        return found

    def _more_bits(self, pieces: tuple[Piece, ...]) -> int:
        return lost_beside_ends(pieces, self.arithmetic.decades)

    def _exactly(self, k: int, pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
        """The pieces of a kernel, placed in float64, with the ends of its tokens and its kinks as exact as the context is."""
        ends = self.code.constants(self.p).ends[k]
        touches = [(None, slope) for slope in self.code.touches[k]]
        return at_exact_ends(pieces, (ends, [*self.code.kinks[k], *touches], self.p), self.arithmetic)

    def _has_lattice(self, k: int) -> bool:
        """Whether a kernel is one exponential on one line, along one axis."""
        is_line = len(self.pieces[k]) == 1 and isinstance(self.pieces[k][0], Line)
        is_one = all(self.family.form.are_exponential) and len(self.windows) == 1
        return is_line and is_one and float(self.family.constants.exponentials[k][1]) != 0

    def _per_octave(self, k: int, wanted: float) -> int:
        """Tokens to an octave of kappa: at least so many, on few lattices with the outer nodes, and more than the last time."""
        self.last[k] = self.unit * ceil(max(wanted, self.last[k] + 1) / self.unit)
        return self.last[k]

    @cached_property
    def deepest(self) -> float:
        """u kappa of the tokens that count where the integrand does, at most; told from moments in float64."""
        (low, high), family = self.windows[0], self.family
        try:
            tokens = placed(family, self.pieces, ROUGH)
            found = Table(family, tokens, [np.linspace(low, high, ceil(LOOKS * (high - low)) + 1)]).moments
        except CannotEvaluate:
            return inf
        depth = 0.0
        for k, own in enumerate(family.moments_of):
            for n, i in enumerate(own):
                logs = np.log(np.abs(found.means[i][0])) + found.scales[i][0] - tokens[k].tops[n]
                depth = max(depth, -float(np.min(logs, where=np.isfinite(logs), initial=0.0)))
        return (self.nats + family.depth + depth) * exp(1.0 / LOOKS)

    def table(self, outer: Outer, inner: list[Weights], rules: int = 1) -> BallTable:
        return BallTable(self, outer, inner, rules)

    def cut(self, table: BallTable) -> list[Any]:
        """By the largest share of any moment, times its power."""
        arithmetic, shares, means = self.arithmetic, 0.0, table.moments[0]
        for kernel, indices in zip(table.kernels, self.family.moments_of):
            places = (0, 1, -2, -1)
            pairs = [own.exponentials([slope[e] for e in places]) for own, slope in zip(table.octaves, kernel.slopes)]
            ends = [[array([line[e] for line in own]) for own in pairs] for e in range(len(places))]
            first, second, third, last = (own[0] if len(own) == 1 else np.multiply.outer(*own) for own in ends)
            for row, mean, i in zip(kernel.rows, (means[i] for i in indices), indices):
                if self.family.largest[i] > 0:
                    left, right = abs(row[0]) * first, abs(row[-1]) * last
                    lost = _beyond(left, abs(row[1]) * second) + _beyond(right, abs(row[-2]) * third)
                    shares = shares + _share(lost, mean) * float(self.family.largest[i])
        values = table.values[:, 0]
        left_out = arithmetic.masses(values * np.minimum(shares, 1.0))
        return [lost / mass if mass > 0 else mass for lost, mass in zip(left_out, arithmetic.masses(values))]


def _beyond(last: Any, before: Any) -> Any:
    """What lies beyond an end of a mesh, from its last two terms, elementwise."""
    return np.frompyfunc(lambda a, b: a * float(tail_in_last_terms(float(a.mid() / b.mid()))), 2, 1)(last, before)


def _share(part: Any, whole: Any) -> Any:
    """part/whole at most, where both are balls, and at most 1."""

    def share(a: Any, b: Any) -> float:
        return min(float(a.abs_upper() / b.abs_lower()), 1.0) if b.abs_lower() > 0 else 1.0

    return np.frompyfunc(share, 2, 1)(part, whole)


def _outer(octaves: list[Octaves]) -> Outer:
    return Outer(octaves, 1, [own.step for own in octaves])


class BallTable:
    """exp(-u kappa) at octaves of u and at the tokens of every kernel."""

    def __init__(self, sums: BallSums, outer: Outer, kernels: list[Weights], rules: int) -> None:
        self.sums, self.octaves, self.kernels, self.rules = sums, outer.v, kernels, rules
        self.factors: list[Any] = []
        for kernel in kernels:
            nodes = float(np.prod([len(own.chosen) for own in outer.v])) * len(kernel.mesh.nodes)
            lattice = None if kernel.per_octave is None else Lattice.of(outer.v[0], kernel)
            if lattice is not None and lattice.size * GAIN < nodes and sums.deepest < DEEPEST:
                self.factors.append(lattice.filled(sums.deepest))
            elif nodes > LARGEST_TABLE:
                raise OutOfDigits("mpmath: the table of exponentials is too large; ask for fewer digits")
            else:
                self.factors.append([own.exponentials(s) for own, s in zip(outer.v, kernel.slopes)])

    @cached_property
    def moments(self) -> list[list[Any]]:
        """For every rule every moment on the product of the outer nodes, without its height."""
        found: list[list[Any]] = [[None] * len(self.sums.family.form.moments) for _ in range(self.rules)]
        for kernel, indices, factors in zip(self.kernels, self.sums.family.moments_of, self.factors):
            for rule, means in enumerate(found):
                keep = kernel.mesh.nested[rule - 1] if rule else slice(None)
                rows = [row[keep] * 2**rule for row in kernel.rows]
                own = (
                    factors.contracted(rows, keep) if isinstance(factors, Lattice) else _contracted(rows, factors, keep)
                )
                for i, mean in zip(indices, own):
                    means[i] = mean
        return found

    @cached_property
    def values(self) -> Any:
        return np.array([self._values(means) for means in self.moments]).swapaxes(0, 1)

    def _values(self, means: list[Any]) -> list[Any]:
        """Every integrand, from its moments."""
        sums, nodes = self.sums, [own.nodes() for own in self.octaves]
        family, exp, moments = sums.family, sums.arithmetic.exp, sums.family.form.moments
        grid = nodes if len(nodes) == 1 else [nodes[0][:, None], nodes[1][None, :]]
        logs = [_log(mean) if moment.is_survival else arb(0) for moment, mean in zip(moments, means)]
        heights = [own[2] if m.gaussian is not None else arb(0) for m, own in zip(moments, sums.constants.gaussians)]
        terms = sums.code.terms(grid, means, logs, heights, sums.p)
        sizes = {t: exp(terms[t][0]) * terms[t][1] * sums.constants.coefficients[t] for t in family.active}
        none = np.full(np.shape(means[0]), arb(0), dtype=object)
        return [sum((sizes[t] for t in own), none) for own in family.integrals]


@dataclass(slots=True)
class Lattice:
    """exp(-u kappa) where kappa grows by the factor 2^(1/n) from token to token: log2 of u kappa is a multiple of 1/lcm(m, n).

    Attributes:
        octaves: the outer nodes, m to an octave.
        lowest, per_octave, tokens: kappa of the first token, n, and the number of tokens.
        stride, classes: lcm/m and lcm/n; every class of outer nodes has a lattice of its own, of n to an octave.
        deepest, samples: the largest u kappa that is not left out, and the exponentials of every class.
    """

    octaves: Octaves
    lowest: Any
    per_octave: int
    tokens: int
    stride: int
    classes: int
    deepest: float = inf
    samples: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, octaves: Octaves, kernel: Weights) -> Lattice:
        """Without its samples."""
        m, n = octaves.per_octave, kernel.per_octave or 1
        common = lcm(m, n)
        return cls(octaves, kernel.slopes[0][0], n, len(kernel.mesh.nodes), common // m, common // n)

    @property
    def size(self) -> int:
        """How many samples there are at most."""
        return self.classes * self._count

    @property
    def _count(self) -> int:
        return self.stride * (ceil(self.octaves.count / self.classes) - 1) + self.tokens

    def filled(self, deepest: float) -> Lattice:
        """With samples, as long as u kappa is below ``deepest``."""
        octaves, n = self.octaves, self.per_octave
        below = ceil(n * (log2(deepest) - float(self.lowest.log()) / LN2 - octaves.first)) + 1
        starts = [self.lowest * (octaves.step * part).exp() for part in range(self.classes)]
        lines = exponentials(starts, octaves.first * n, n, min(max(below, 1), self._count))
        return replace(self, deepest=deepest, samples=[arb_poly(list(own)) for own in zip(*lines)])

    def contracted(self, rows: list[Any], keep: Any) -> list[Any]:
        """Sums over the tokens ``keep`` for every row, at the chosen outer nodes; what lies deeper is in their radii."""
        found, last = [], self.tokens - 1
        for row in rows:
            spread = np.full(self.tokens, arb(0), dtype=object)
            spread[keep] = row
            backwards = arb_poly(list(spread[::-1]))
            products = [(own * backwards).coeffs() for own in self.samples]
            left_out = arb(0, (arb(-self.deepest).exp() * sum(map(abs, row), arb(0))).upper())
            places = [(i % self.classes, last + i // self.classes * self.stride) for i in self.octaves.chosen]
            means = [products[part][at] if at < len(products[part]) else arb(0) for part, at in places]
            found.append(array(means) + left_out)
        return found


def _contracted(rows: list[Any], tables: list[Any], keep: Any) -> list[Any]:
    """Sums over the tokens ``keep`` for every row of weights, on the product of the outer nodes."""
    tables = (
        [[array(line)[keep].tolist() for line in table] for table in tables]
        if len(rows[0]) < len(tables[0][0])
        else tables
    )
    if len(tables) == 1:
        product = (arb_mat(tables[0]) * arb_mat([list(row) for row in rows]).transpose()).tolist()
        return [array([line[n] for line in product]) for n in range(len(rows))]
    right = arb_mat(tables[1]).transpose()
    products = (arb_mat([[t * w for t, w in zip(line, row)] for line in tables[0]]) * right for row in rows)
    return [np.array([array(line) for line in product.tolist()]) for product in products]


def _log(survival: Any) -> Any:
    """log M; where M cannot be told from zero, of what it may be at most."""
    return np.frompyfunc(lambda m: m.log() if m > 0 else arb(m.abs_upper()).log(), 1, 1)(survival)
