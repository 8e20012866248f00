"""int int u^{k-1} t^{l-1} e^{-ou-pt} prod_j M_j(u, t)^{n_j} du dt for M_j = int F_j e^{-uK-tW} dx, enclosed by a product of rules.

So it is where weight and attention each have a normaliser. Along each variable the discretisation error is relative to the
integral, and the sums begin with Taylor series; what lies beyond their ends is bounded by Hoelder's inequality: docs/proofs.md,
section 9.
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
    LEAST_FALL,
    MOST_TERMS,
    Array,
    Integrand,
    Octaves,
    beginning,
    left_end,
)
from symslr.evaluation.certified.taylor import Taylor
from symslr.evaluation.errors import NotProved, TooManyDigits
from symslr.evaluation.numbers.balls import exponentials, to_one_unit
from symslr.evaluation.numbers.elementary import whole_power

PLANNED = np.arange(-100.0, 300.0)
"""Where the integrand is estimated in floats, in log u and log t."""

SHARES = (0.5, 0.75, 0.875)
"""Parts of every factor that may bound what lies beyond an end along one variable; the rest is for the sum over the other."""

MOST_TOKENS = 8_000
"""Of the rule over a token: some seconds for a block."""

MOST_NODES = 1_000_000
"""Of the product of both rules: a minute."""

ENOUGH = 1e5
"""Nats, and a rate of decay, beyond which a bound of what lies behind an end need not be smaller."""

BLOCK = 200
"""Nodes of one variable that are taken at once: products of large matrices are fast, of small ones more tokens are left out."""

TINY = 1e-300
"""In the place of 0 in a logarithm."""

Pair = tuple[Integrand, Integrand]
"""k, offset and copies along u, and along t; the copies are the same."""


@dataclass(frozen=True)
class End:
    """Where the nodes of one variable begin, after how many Taylor terms, and where they end; ``further`` is where those begin at
    which the other variable's Taylor series is summed: before it nothing is left."""

    first: int
    terms: int
    last: int
    further: int = 0


@dataclass(frozen=True)
class Block:
    """Some nodes of one variable: the first, e^{-uK} there (a row for every node, a column for every token), and u^k e^{-ou}."""

    first: int
    loads: list[list[Any]]
    weights: list[Any]


@dataclass(frozen=True)
class Piece:
    """A part of the sum that is not only bounded.

    Attributes:
        blocks: of the first and of the second variable; one only where the other variable's Taylor series is summed.
        axis: that of the variable with a Taylor series; None where all is summed node by node.
        tokens: for every factor those that count there, and a bound of what the others hold.
    """

    blocks: tuple[Block, ...]
    axis: int | None
    tokens: list[tuple[list[int], Any]]


@dataclass(frozen=True)
class Layout:
    """How a sum is taken: where the nodes of both variables begin and end, the pieces, and a ball with all else."""

    ends: tuple[End, End]
    pieces: list[Piece]
    beyond: Any


class PlaneTransform(Octaves):
    """The functions M_j of one line with two kernels on the product of the nodes e^{ih}, at one precision; as ``Transform``."""

    grid, most_terms = PLANNED, MOST_TERMS

    def __init__(self, line: Line, nats: float, power: float, goal: float) -> None:
        super().__init__(power, goal)
        self.line, self.nats = line, nats
        self.rule: LineRule = line.rule(nats, MOST_TOKENS)
        self.columns = list(zip(*self.rule.rows))
        self.logs = self.known_logs = self._float_logs()

    def _float_logs(self) -> list[Array]:
        """log M_j(e^v, e^s) on ``PLANNED`` in floats, an estimate."""
        with np.errstate(over="ignore", divide="ignore"):
            loads = [np.exp(np.minimum(PLANNED[:, None] + np.log(own), 700.0)) for own in self.rule.float_kernels]
            first, second = (np.exp(-own) for own in loads)
        weights = np.exp(self.rule.float_log_weights)
        return [np.log(np.maximum((first * own) @ second.T, TINY)) for own in weights]

    def integral(self, pair: Pair, nats: float) -> Any:
        """The enclosure.

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
        """What an integral is of its sum over all nodes: a ball around the area that belongs to a node."""
        return prod(self.exact_step / (1 + arb(0, self.discretisation(own).upper())) for own in pair)

    def layout(self, pair: Pair, nats: float) -> Layout:
        """That of the sum for an integral to about e^-nats.

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
                near_by = [self._near(j, corner) if n else ([0], arb(0)) for j, n in enumerate(pair[0].copies)]
                pieces.append(Piece(blocks, axis, near_by))
        return Layout(ends, pieces, beyond)

    def _blocks(self, axis: int, integrand: Integrand, end: End) -> list[Block]:
        """The nodes of one variable, some at a time, from ``end.further`` on; a block begins at ``end.first``."""
        found: list[Block] = []
        starts = sorted({*range(end.first, end.further, -BLOCK), *range(end.first, end.last + 1, BLOCK), end.further})
        for low, high in pairwise([*starts, end.last + 1]):
            loads = exponentials(self.rule.kernels[axis], low, self.per_octave, high - low)
            places = [i * self.exact_step for i in range(low, high)]
            weights = [(integrand.k * v - integrand.offset * v.exp()).exp() for v in places]
            found.append(Block(low, loads, weights))
        return found

    def _block(self, copies: tuple[int, ...], piece: Piece) -> Any:
        """Over the product of the nodes of two blocks."""
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

    def _near(self, j: int, loads: list[Any]) -> tuple[list[int], Any]:
        """The tokens that count for a factor where e^{-uK-tW} is at most ``loads``, and a ball with what the others hold."""
        least, near, left_out = float(np.exp(-self.nats - SPARE_NATS)), [], arb(0)
        for i, (load, weight) in enumerate(zip(loads, self.columns[j])):
            part = load * weight
            if float(part) > least:
                near.append(i)
            else:
                left_out += abs(part)
        return near or [0], arb(0, left_out.upper())

    def powers_before(self, pair: Pair, layout: Layout, axis: int) -> list[Any]:
        """The sums of u^{k + r} over the nodes before the first of a variable, for every Taylor term and the one left out."""
        end = layout.ends[axis]
        return [self.before(pair[axis].k + r, end.first) for r in range(end.terms + 1)]

    def starts(self, pair: Pair, layout: Layout, piece: Piece) -> Iterator[tuple[Taylor, Any]]:
        """At every node of a piece with a Taylor series: that of the product of the M_j, and the weight of the node."""
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
            yield beginning(pair[axis], own, errors, radius), weight

    @cached_property
    def load_terms(self) -> list[list[list[Any]]]:
        """For every variable the terms of e^{-uK} in its powers."""
        return [self.rule.load_terms(axis) for axis in range(2)]

    def _ends(self, pair: Pair, nats: float) -> tuple[tuple[End, End], Any, float]:
        """Where the rules have their nodes for an integral to about e^-nats; a ball with all that lies beyond; log of its aim.

        Raises:
            NotProved: where a tail is not bounded.
        """
        terms = self.log_terms(pair)
        goal = float(np.logaddexp.reduce(terms, axis=None)) - nats
        found, beyond = [], arb(0)
        for axis, own in enumerate(pair):
            across = terms.take(0, axis=axis) - float(own.k) * PLANNED[0]
            left, count = left_end(
                own, self.rule.float_log_moments(axis)[: self.most_terms + 1], goal - float(np.logaddexp.reduce(across))
            )
            last, tail = self._right_end(pair, axis, int(np.argmax(terms.max(axis=1 - axis))), goal)
            beyond += arb(0.5, 0.5) * tail
            found.append(End(floor(left / self.step), count, last))
        at_zero = [(m, n) for m, n in zip(self.rule.at(arb(0)), pair[0].copies) if n]
        size = sum(n * float(m.log()) for m, n in at_zero)
        u, t = found
        # before it, and before the first u, so little is left that all factors may be as at u = t = 0
        further = floor((goal - size - float(pair[0].k) * u.first * self.step) / float(pair[1].k) / self.step)
        further = min(further, t.first)
        corner = self.before(pair[0].k, u.first) * self.before(pair[1].k, further)
        for m, n in at_zero:
            corner *= whole_power(m, n)
        ends = replace(u, further=u.first), replace(t, further=further)
        return ends, beyond + arb(0.5, 0.5) * corner.upper(), goal

    def _right_end(self, pair: Pair, axis: int, peak: int, goal: float) -> tuple[int, Any]:
        """The last node of one variable, and a bound of the sum over all that lies beyond along it, whatever the other is.

        Raises:
            NotProved: where no bound is small.
        """
        found = [self._end_by(pair, axis, share, peak, goal) for share in SHARES]
        ends = [end for end in found if end is not None]
        if not ends:
            raise NotProved("certified: the right tail of the Laplace integral is not bounded: extreme parameters")
        return min(ends, key=itemgetter(0))

    def _end_by(self, pair: Pair, axis: int, share: float, peak: int, goal: float) -> tuple[int, Any] | None:
        """As ``_right_end`` by one share of every factor; None where its bound is not small."""
        other = self._everywhere(pair[1 - axis], 1 - axis, 1 - share)

        def bound(index: int) -> Any:
            own = self._beyond(pair[axis], axis, share, float(PLANNED[index]))
            return arb(np.inf) if own is None else (own * other).upper()

        last, most = len(PLANNED) - 1, arb(goal).exp()
        if not bound(last) < most:
            return None
        last = bisect_left(range(last), True, lo=peak + 1, key=lambda index: bool(bound(index) < most))
        return ceil(float(PLANNED[last]) / self.step), bound(last)

    def _beyond(self, integrand: Integrand, axis: int, share: float, v: float) -> Any:
        """A bound of the sum over the nodes beyond v of u^k e^{-ou} prod M_j(u)^{share n_j}, the other variable being 0.

        Of M(u/share), which Hoelder's inequality leaves; None where it is not seen to fall.
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
        if not (rate > integrand.k + LEAST_FALL and log_bound.is_finite()):
            return None
        log_bound, rate = (
            log_bound.max(arb(-ENOUGH)),
            rate.min(arb(ENOUGH)),
        )  # e^{-ou} leaves nothing that Arb could name
        return log_bound.exp() / ((rate - integrand.k) * self.exact_step).expm1()

    def _everywhere(self, integrand: Integrand, axis: int, share: float) -> Any:
        """A bound of the sum over all nodes of u^k e^{-ou} prod M_j(u)^{share n_j}, the other variable being 0; or oo."""
        at_zero, least = self.rule.at(arb(0)), arb(np.inf)
        size = sum((share * n * m.upper().log() for m, n in zip(at_zero, integrand.copies) if n), arb(0))
        for v in PLANNED[::8].tolist():
            beyond = self._beyond(integrand, axis, share, v)
            if beyond is not None:
                k, step = integrand.k, self.exact_step
                # the nodes before v + h, as v is none; those from there on lie beyond v + mh
                whole = ((k * (v + step) + size).exp() / (1 - (-k * step).exp()) + beyond).upper()
                least = whole if whole < least else least
        return least
