"""Laplace integrals over two variables as functions of a scale: Taylor models over an interval of it.

All errors of ``analytic.plane`` are bounded at every scale of an interval. At any fixed scale they are constants, so they are
added to the constant term of the series in the scale; the expansion of the finite sums is exact: docs/proofs.md, section 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import zip_longest
from math import factorial
from operator import add
from typing import Any

import numpy as np
from flint import arb, arb_series, ctx

from symslr.evaluation.certified.analytic.arithmetic import Series, all_enclosed, cached_with_refusals, series_length
from symslr.evaluation.certified.analytic.line import Line
from symslr.evaluation.certified.analytic.plane import PLANNING_GRID, Layout, Pair, Piece, PlaneTransform
from symslr.evaluation.certified.analytic.transform import line_bits
from symslr.evaluation.certified.least.arrays import ArbBalls, FloatBalls, PowerSeries
from symslr.evaluation.certified.least.integrals import Sums
from symslr.evaluation.certified.taylor import Jet
from symslr.evaluation.errors import NotProved
from symslr.evaluation.numbers.elementary import Between, by_squaring

MOST_TERMS = 6
"""Terms of the Taylor series in u below the first node, each a series in the scale. In floats none: more nodes cost less."""

MOST_FLOAT_NATS = 28.0
"""Integrals to e^-28 or less accurate are summed in floats, whose rounding is about 1e-13 relative to every M_j."""

LARGEST = 700.0
"""Largest exponent of a float exponential: exp(710) overflows."""


class PlaneTransformInScale(PlaneTransform):
    """The functions M_j of one ``Line`` with two kernels as functions of the scale, on an interval of it.

    Args:
        line: with ``scale`` in its kernels or factors.
        nats: the errors of the M_j are about e^-nats.
        goal: the relative errors of an integral from its tails are about e^-goal.
        scale: the scale, with a ball that contains the interval.
        integrands: all integrands that will be needed.
    """

    def __init__(self, line: Line, nats: float, goal: float, scale: Between, integrands: Sequence[Pair]) -> None:
        super().__init__(line, nats, max(float(own.k) for pair in integrands for own in pair), goal)
        self.is_rough = goal <= MOST_FLOAT_NATS
        self.most_terms = 0 if self.is_rough else MOST_TERMS
        self.scale, self.integrands = scale, integrands
        self.known: dict[tuple[Any, ...], Any] = {}

    def missing_nats(self) -> float:
        """Nats by which the errors of the M_j have to shrink for relative errors e^-goal of the integrals; 0 where they suffice."""
        return max([0.0, *(self._excess(pair) for pair in self.integrands)])

    def _excess(self, pair: Pair) -> float:
        """Log of the relative error of an integral due to the errors of the M_j, plus ``goal``, from estimates of the M_j."""
        ends, series_length = self._ends(pair, self.goal)[0], self.log_terms(pair)
        inside = np.ix_(*(own.last * self.step >= PLANNING_GRID for own in ends))
        growth = sum(
            n * np.log1p(np.exp(np.minimum(float(error.log()) - logs[inside], LARGEST)))
            for n, error, logs in zip(pair[0].copies, self.rule.errors, self.logs)
            if n
        )
        off = np.logaddexp.reduce(series_length[inside] + growth + np.log(-np.expm1(-growth)), axis=None)
        return float(off - np.logaddexp.reduce(series_length, axis=None)) + self.goal

    @cached_with_refusals
    def prepared(self, pair: Pair) -> tuple[Layout, Any]:
        """The plan of a sum, and a ball that holds all of it but the finite sums."""
        layout = self.layout(pair, self.goal)
        beyond = layout.beyond
        for piece in layout.pieces:
            if piece.axis is not None:
                whole = self.powers_before(pair, layout, piece.axis)[0]
                beyond += whole * sum((start.rest * own for start, own in self.starts(pair, layout, piece)), arb(0))
        return layout, beyond

    def model(self, pair: Pair, sums: Sums) -> Jet:
        """A Taylor model of an integral in the scale, from the sums of a part of the interval.

        Raises:
            NotProved: where floats overflow.
        """
        found = sums.joined(*(own.integral(pair) for own in (sums.thin, sums.near, sums.wide)))
        if not all(own.is_finite() for own in found):
            raise NotProved("certified: the sums over two variables are beyond the range of floats")
        return sums.model(found, arb(0))

    def sums(self, at: Any, length: int, is_sharp: bool) -> PlaneSums:
        """The finite sums as series in the scale, expanded at a number or over a whole interval."""
        return PlaneSums(self, at, length, is_sharp)


class PlaneSums:
    """The integrals by one rule, as series in the scale.

    Args:
        transform: whose rule is used.
        at: the point of expansion: a number, or a whole interval.
        length: number of terms.
        is_sharp: whether to compute in Arb (else in floats).
    """

    def __init__(self, transform: PlaneTransformInScale, at: Any, length: int, is_sharp: bool) -> None:
        self.transform, self.length = transform, length
        self.arrays = ArbBalls if is_sharp else FloatBalls
        line, series, rule = transform.line, Series(transform.scale, at), transform.rule
        with series_length(length):
            step, values = arb_series([rule.step]), (*line.kernels, *line.factors)
            rows = [all_enclosed(values, line.variable, arb_series([x]), series) for x in rule.nodes]
            self.kernels = [
                self._series([row[axis] for row in rows], length if kernel.has(transform.scale) else 1)
                for axis, kernel in enumerate(line.kernels)
            ]
            self.firsts = [[row[axis][0] for row in rows] for axis in range(2)]
            self.weights = [self._series([row[2 + j] * step for row in rows], length) for j in range(len(line.factors))]
        self.known: dict[tuple[Any, ...], Any] = {}

    def _series(self, tokens: list[Any], count: int) -> PowerSeries:
        """A series whose coefficients are rows with one entry per token."""
        return PowerSeries([self.arrays.of([[own[k] for own in tokens]]) for k in range(count)], self.length)

    @cached_with_refusals
    def integral(self, pair: Pair) -> list[Any]:
        """Enclosures of the coefficients of the integral in the scale, errors included."""
        transform = self.transform
        layout, beyond = transform.prepared(pair)
        with ctx.workprec(line_bits(transform.nats)):
            total = [beyond, *[arb(0)] * (self.length - 1)]
            for piece in layout.pieces:
                part = self._block(pair, piece) if piece.axis is None else self._before(pair, layout, piece)
                total = [sum(both, arb(0)) for both in zip_longest(total, part.coefficients, fillvalue=arb(0))]
            return [own * transform.spacing(pair) for own in total]

    @cached_with_refusals
    def _loads(self, axis: int, first: int, count: int) -> PowerSeries:
        """e^{-uK} at the nodes of a block: a row for every node, a column for every token."""
        nodes = [[-(i * self.transform.exact_step).exp()] for i in range(first, first + count)]
        exponents = PowerSeries([self.arrays.of(nodes)], self.length) * self.kernels[axis]
        return exponents.exponential(self.arrays.loads(self.firsts[axis], first, self.transform.per_octave, count))

    def _block(self, pair: Pair, piece: Piece) -> PowerSeries:
        """The sum over the product of the nodes of two blocks."""
        one, other = (self._loads(axis, own.first, len(own.weights)) for axis, own in enumerate(piece.blocks))
        product: Any = None
        for j, (n, (near, left_out)) in enumerate(zip(pair[0].copies, piece.tokens)):
            if n:
                weights, left, right = (_columns(own, near) for own in (self.weights[j], one, other))
                error = self.transform.rule.errors[j] + left_out.abs_upper()
                moments = (left * weights).to_one_unit() @ right.to_one_unit().transposed()
                moments = by_squaring(moments.widened(error), n)
                product = moments if product is None else product * moments
        before, after = (
            self.arrays.of([piece.blocks[0].weights]),
            self.arrays.of([[w] for w in piece.blocks[1].weights]),
        )
        return product.of_each(lambda own: (before @ own @ after).single())

    def _before(self, pair: Pair, layout: Layout, piece: Piece) -> PowerSeries:
        """The sum of the Taylor polynomials below the first node of one variable, over the nodes of the other."""
        axis, block = piece.axis or 0, piece.blocks[0]
        count, loads = layout.ends[axis].terms, self._loads(1 - axis, block.first, len(block.weights))
        if not count:
            return PowerSeries([arb(0)], self.length)
        unit = max(
            0, -layout.ends[axis].first // self.transform.per_octave
        )  # in powers of 2^unit u all are about as large
        offsets = [
            [[(-pair[axis].offset) ** r / factorial(r) / 2 ** (unit * r)]] * len(block.weights) for r in range(count)
        ]
        product = PowerSeries([PowerSeries([self.arrays.of(own)], self.length) for own in offsets], count)
        for j, (n, (near, _)) in enumerate(zip(pair[0].copies, piece.tokens)):
            if n:
                powers = self._load_powers(axis, j, near, count, unit)
                moments = _columns(loads, near).to_one_unit() @ powers.to_one_unit()
                own = PowerSeries([_columns(moments, [r]) for r in range(count)], count)
                product = product * by_squaring(own, n)
        weights, sums = self.arrays.of([block.weights]), self.transform.powers_before(pair, layout, axis)
        sums = [own * 2 ** (unit * r) for r, own in enumerate(sums)]
        parts = [own.of_each(lambda at, s=s: (weights @ at).single() * s) for own, s in zip(product.coefficients, sums)]
        return reduce(add, parts)

    def _load_powers(self, axis: int, j: int, near: list[int], count: int, unit: int) -> PowerSeries:
        """The weights of some tokens times the Taylor coefficients of e^{-uK} in powers of 2^unit u, a column for each power."""
        slopes, *found = (_columns(own, near).transposed() for own in (self.kernels[axis], self.weights[j]))
        for r in range(1, count):
            found.append((found[-1] * slopes).scaled(-1, r * 2**unit))
        columns = zip(*(own.coefficients for own in found))
        return PowerSeries([self.arrays.beside(own) for own in columns], self.length)


def _columns(series: PowerSeries, places: list[int]) -> PowerSeries:
    return series.of_each(lambda own: own.columns(places))
