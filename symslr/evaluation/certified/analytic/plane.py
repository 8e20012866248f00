"""int int u^{k-1} t^{l-1} e^{-ou-pt} prod_j M_j(u, t)^{n_j} du dt for M_j = int F_j e^{-uK-tW} dx, enclosed by a product rule.

Such integrals occur where weight and attention each have a normaliser. Along each variable the discretisation error is relative to
the integral, and the sums begin with Taylor series; the tails are bounded by Hoelder's inequality: docs/proofs.md, section 9.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise, product
from math import ceil, floor, log, prod
from operator import itemgetter, mul
from typing import Any

import numpy as np
from flint import arb, arb_mat

from symslr.evaluation.certified.analytic.line import SPARE_NATS, Line, LineRule
from symslr.evaluation.certified.outer import (
    FEW_COPIES,
    LEAST_DECAY_RATE,
    MOST_TERMS,
    Array,
    Integrand,
    OctaveNodes,
    left_end,
    taylor_at_zero,
)
from symslr.evaluation.certified.taylor import TaylorModel
from symslr.evaluation.errors import NotProved, TooManyDigits
from symslr.evaluation.numbers.balls import exponentials, to_one_unit
from symslr.evaluation.numbers.elementary import whole_power

PLANNING_GRID = np.arange(-100.0, 300.0)
"""Grid of log u and log t on which the integrand is estimated in floats."""

HOELDER_SHARES = (0.5, 0.75, 0.875)
"""Exponents theta tried in Hoelder's inequality: M^theta bounds the tail along one variable, M^(1 - theta) the sum over the
other."""

MOST_TOKENS = 8_000
"""Most nodes of the rule over a token: some seconds for a block."""

MOST_NODES = 1_000_000
"""Most nodes of the product of the two outer rules: a minute."""

BOUND_CAP = 1e5
"""Caps of minus the logarithm of a tail bound, in nats, and of its rate of decay: beyond, Arb's exponents would overflow."""

BLOCK = 200
"""Nodes of one variable in a block: products of large matrices are faster, but in small blocks more tokens can be left out."""

TINY = 1e-300
"""Replaces 0 in a logarithm."""

Pair = tuple[Integrand, Integrand]
"""The integrand along u and along t; the copies are the same."""


@dataclass(frozen=True)
class NodeRange:
    """The nodes of one variable.

    Attributes:
        first: the first node; below it the integrand is a Taylor series in this variable.
        terms: number of terms of that series.
        last: the last node.
        further: the first node, at or before ``first``, at which the Taylor series in the other variable is summed.
    """

    first: int
    terms: int
    last: int
    further: int = 0


@dataclass(frozen=True)
class Block:
    """Consecutive nodes of one variable.

    Attributes:
        first: index of the first node.
        loads: e^{-uK}, a row for every node, a column for every token.
        weights: u^k e^{-ou} at every node.
    """

    first: int
    loads: list[list[Any]]
    weights: list[Any]


@dataclass(frozen=True)
class Piece:
    """A part of the double sum that is computed, not only bounded.

    Attributes:
        blocks: one block of each variable; a single one where the Taylor series of the other variable is summed.
        axis: the variable with a Taylor series; None where all is summed node by node.
        tokens: for every factor the tokens that count there, and a ball that holds the rest.
    """

    blocks: tuple[Block, ...]
    axis: int | None
    tokens: list[tuple[list[int], Any]]


@dataclass(frozen=True)
class Layout:
    """The plan of a double sum.

    Attributes:
        ends: the nodes of both variables.
        pieces: the parts to compute.
        beyond: a ball that holds everything else.
    """

    ends: tuple[NodeRange, NodeRange]
    pieces: list[Piece]
    beyond: Any


class PlaneTransform(OctaveNodes):
    """The functions M_j(u, t) of one ``Line`` with two kernels, on the product of the nodes e^{ih}, at one precision."""

    grid, most_terms = PLANNING_GRID, MOST_TERMS

    def __init__(self, line: Line, nats: float, power: float, goal: float) -> None:
        super().__init__(power, goal)
        self.line, self.nats = line, nats
        self.rule: LineRule = line.rule(nats, MOST_TOKENS)
        self.columns = list(zip(*self.rule.rows))
        self.logs = self.known_logs = self._float_logs()

    def _float_logs(self) -> list[Array]:
        """Estimates of log M_j(e^v, e^s) on the planning grid."""
        with np.errstate(over="ignore", divide="ignore"):
            loads = [np.exp(np.minimum(PLANNING_GRID[:, None] + np.log(own), 700.0)) for own in self.rule.float_kernels]
            first, second = (np.exp(-own) for own in loads)
        weights = np.exp(self.rule.float_log_weights)
        return [np.log(np.maximum((first * own) @ second.T, TINY)) for own in weights]

    def integral(self, pair: Pair, nats: float) -> Any:
        """An enclosure of the integral, of relative width about e^-nats.

        Raises:
            NotProved: where a tail is not bounded, or there are too many nodes.
        """
        layout = self.layout(pair, nats)
        total = layout.beyond
        for piece in layout.pieces:
            if piece.axis is None:
                total += self._block(pair[0].copies, piece)
            else:
                sums = self.powers_before(pair, layout, piece.axis)
                for start, weight in self.starts(pair, layout, piece):
                    total += weight * sum(
                        (p * s for p, s in zip(start.polynomial.coeffs(), sums)), start.rest * sums[0]
                    )
        return total * self.spacing(pair)

    def spacing(self, pair: Pair) -> Any:
        """A ball that contains the ratio of the integral to its sum over all nodes: about the square of the step."""
        return prod(self.exact_step / (1 + arb(0, self.discretisation(own).upper())) for own in pair)

    def layout(self, pair: Pair, nats: float) -> Layout:
        """The plan of the sum for an integral to about e^-nats.

        Raises:
            NotProved: where a tail is not bounded, or there are too many nodes.
        """
        ends, beyond, goal = self._ends(pair, nats)
        if prod(end.last - end.further for end in ends) > MOST_NODES:
            raise TooManyDigits(
                "certified: the Laplace integral over two variables takes too many nodes; ask for fewer digits, or for a smaller "
                "scale or signal"
            )
        u, t = (self._blocks(axis, own, end) for axis, (own, end) in enumerate(zip(pair, ends)))
        inner = [block for block in u if block.first >= ends[0].first]
        near = inner, [block for block in t if block.first >= ends[1].first]
        parts = [((block,), 0) for block in t] + [((block,), 1) for block in inner]
        small, pieces = arb(goal - log(len(u) * len(t))).exp(), []
        for blocks, axis in [*parts, *((both, None) for both in product(*near))]:
            corner = [reduce(mul, own) for own in zip(*(block.loads[0] for block in blocks))]
            most = prod((sum(block.weights, arb(0)) for block in blocks), start=arb(1))
            if axis is not None:
                most *= self.before(pair[axis].k, ends[axis].first)
            for moment, n in zip(self.rule.sums(arb_mat([corner]))[0], pair[0].copies):
                most *= whole_power(moment, n) if n else 1
            if most.upper() < small:  # all M_j fall along both variables
                beyond += arb(0.5, 0.5) * most.upper()
            else:
                near_by = [self._active_tokens(j, corner) if n else ([0], arb(0)) for j, n in enumerate(pair[0].copies)]
                pieces.append(Piece(blocks, axis, near_by))
        return Layout(ends, pieces, beyond)

    def _blocks(self, axis: int, integrand: Integrand, end: NodeRange) -> list[Block]:
        """The nodes of one variable from ``end.further`` on, in blocks, one of which begins at ``end.first``."""
        found: list[Block] = []
        starts = sorted({*range(end.first, end.further, -BLOCK), *range(end.first, end.last + 1, BLOCK), end.further})
        for low, high in pairwise([*starts, end.last + 1]):
            loads = exponentials(self.rule.kernels[axis], low, self.per_octave, high - low)
            places = [i * self.exact_step for i in range(low, high)]
            weights = [(integrand.k * v - integrand.offset * v.exp()).exp() for v in places]
            found.append(Block(low, loads, weights))
        return found

    def _block(self, copies: tuple[int, ...], piece: Piece) -> Any:
        """The sum over the product of the nodes of two blocks."""
        one, other = piece.blocks
        tables = []
        for j, (n, (near, left_out)) in enumerate(zip(copies, piece.tokens)):
            if n:
                column = self.columns[j]
                left = arb_mat([[to_one_unit(row[i] * column[i]) for i in near] for row in one.loads])
                right = arb_mat([[to_one_unit(row[i]) for i in near] for row in other.loads]).transpose()
                rows = (left * right).tolist()
                tables.append([[whole_power(self.rule.enclosure(j, m + left_out), n) for m in row] for row in rows])
        terms = (sum(map(mul, other.weights, map(prod, zip(*rows))), arb(0)) for rows in zip(*tables))
        return sum(map(mul, one.weights, terms), arb(0))

    def _active_tokens(self, j: int, loads: list[Any]) -> tuple[list[int], Any]:
        """The tokens that count for factor j where e^{-uK-tW} is at most ``loads``, and a ball that holds the rest."""
        least, near, left_out = float(np.exp(-self.nats - SPARE_NATS)), [], arb(0)
        for i, (load, weight) in enumerate(zip(loads, self.columns[j])):
            part = load * weight
            if float(part) > least:
                near.append(i)
            else:
                left_out += abs(part)
        return near or [0], arb(0, left_out.upper())

    def powers_before(self, pair: Pair, layout: Layout, axis: int) -> list[Any]:
        """Sums of u^{k + r} over the nodes before the first of a variable, for every Taylor term r and the remainder."""
        end = layout.ends[axis]
        return [self.before(pair[axis].k + r, end.first) for r in range(end.terms + 1)]

    def starts(self, pair: Pair, layout: Layout, piece: Piece) -> Iterator[tuple[TaylorModel, Any]]:
        """For every node of a piece with a Taylor series: the Taylor model of the product of the M_j, and the weight of the
        node."""
        axis, block, end = piece.axis or 0, piece.blocks[0], layout.ends[piece.axis or 0]
        radius = (end.first * self.exact_step).exp().upper()
        every, errors = [], []
        for j, (near, left_out) in enumerate(piece.tokens):
            terms = arb_mat(
                [[self.columns[j][i] * self.load_terms[axis][r][i] for r in range(end.terms + 1)] for i in near]
            )
            every.append((arb_mat([[row[i] for i in near] for row in block.loads]) * terms).tolist())
            errors.append(self.rule.errors[j] + left_out.abs_upper())
        for *own, weight in zip(*every, block.weights):
            yield taylor_at_zero(pair[axis], own, errors, radius), weight

    @cached_property
    def load_terms(self) -> list[list[list[Any]]]:
        """For every variable the Taylor coefficients of e^{-uK} at every token."""
        return [self.rule.load_terms(axis) for axis in range(2)]

    def _ends(self, pair: Pair, nats: float) -> tuple[tuple[NodeRange, NodeRange], Any, float]:
        """(nodes of both variables, a ball that holds the tails, log of the absolute error aimed at) for a relative error e^-nats.

        Raises:
            NotProved: where a tail is not bounded.
        """
        terms = self.log_terms(pair)
        goal = float(np.logaddexp.reduce(terms, axis=None)) - nats
        found, beyond = [], arb(0)
        for axis, own in enumerate(pair):
            across = terms.take(0, axis=axis) - float(own.k) * PLANNING_GRID[0]
            left, count = left_end(
                own, self.rule.float_log_moments(axis)[: self.most_terms + 1], goal - float(np.logaddexp.reduce(across))
            )
            last, tail = self._right_end(pair, axis, int(np.argmax(terms.max(axis=1 - axis))), goal)
            beyond += arb(0.5, 0.5) * tail
            found.append(NodeRange(floor(left / self.step), count, last))
        at_zero = [(m, n) for m, n in zip(self.rule.at(arb(0)), pair[0].copies) if n]
        size = sum(n * float(m.log()) for m, n in at_zero)
        u, t = found
        # below this t and below the first u the factors may be bounded by their values at u = t = 0
        further = floor((goal - size - float(pair[0].k) * u.first * self.step) / float(pair[1].k) / self.step)
        further = min(further, t.first)
        corner = self.before(pair[0].k, u.first) * self.before(pair[1].k, further)
        for m, n in at_zero:
            corner *= whole_power(m, n)
        ends = replace(u, further=u.first), replace(t, further=further)
        return ends, beyond + arb(0.5, 0.5) * corner.upper(), goal

    def _right_end(self, pair: Pair, axis: int, peak: int, goal: float) -> tuple[int, Any]:
        """(last node of one variable, bound of the sum over all nodes beyond it and all nodes of the other variable).

        Raises:
            NotProved: where no bound is small.
        """
        found = [self._end_by(pair, axis, share, peak, goal) for share in HOELDER_SHARES]
        ends = [end for end in found if end is not None]
        if not ends:
            raise NotProved("certified: the right tail of the Laplace integral is not bounded: extreme parameters")
        return min(ends, key=itemgetter(0))

    def _end_by(self, pair: Pair, axis: int, share: float, peak: int, goal: float) -> tuple[int, Any] | None:
        """As ``_right_end`` with one Hoelder exponent; None where its bound is not small enough."""
        other = self._total_bound(pair[1 - axis], 1 - axis, 1 - share)

        def bound(index: int) -> Any:
            own = self._tail_bound(pair[axis], axis, share, float(PLANNING_GRID[index]))
            return arb(np.inf) if own is None else (own * other).upper()

        last, most = len(PLANNING_GRID) - 1, arb(goal).exp()
        if not bound(last) < most:
            return None
        last = bisect_left(range(last), True, lo=peak + 1, key=lambda index: bool(bound(index) < most))
        return ceil(float(PLANNING_GRID[last]) / self.step), bound(last)

    def _tail_bound(self, integrand: Integrand, axis: int, share: float, v: float) -> Any:
        """A bound of the sum over the nodes beyond v of u^k e^{-ou} prod M_j(u/share)^{share n_j}, with 0 for the other variable.

        None where the terms are not seen to decay.
        """
        u, part = arb(v).exp(), arb(share)
        rate = integrand.offset * u
        log_bound = integrand.k * v - rate
        for j, n in enumerate(integrand.copies):
            if not n:
                continue
            frozen = 0 if n <= FEW_COPIES else n // 2
            power = self.line.best_power(j, v - log(share), axis)[0]
            p, m = arb(power), part * (n - frozen)
            log_bound += m * (p * p.log() - p - p * (v - part.log()) + arb(self.line.log_moment(j, power, axis)))
            if frozen:
                log_bound += part * frozen * self.rule.at(u / part, axis)[j].upper().log()
            rate += m * p
        if not (rate > integrand.k + LEAST_DECAY_RATE and log_bound.is_finite()):
            return None
        log_bound, rate = (
            log_bound.max(arb(-BOUND_CAP)),
            rate.min(arb(BOUND_CAP)),
        )  # e^{-ou} leaves nothing that Arb could name
        return log_bound.exp() / ((rate - integrand.k) * self.exact_step).expm1()

    def _total_bound(self, integrand: Integrand, axis: int, share: float) -> Any:
        """A bound of the same sum over all nodes, or infinity."""
        at_zero, least = self.rule.at(arb(0)), arb(np.inf)
        size = sum((share * n * m.upper().log() for m, n in zip(at_zero, integrand.copies) if n), arb(0))
        for v in PLANNING_GRID[::8].tolist():
            beyond = self._tail_bound(integrand, axis, share, v)
            if beyond is not None:
                k, step = integrand.k, self.exact_step
                # the nodes before v + h, as v is none; those from there on lie beyond v + mh
                whole = ((k * (v + step) + size).exp() / (1 - (-k * step).exp()) + beyond).upper()
                least = whole if whole < least else least
        return least
