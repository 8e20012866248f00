"""M(u) = int F(x) e^{-u K(x)} dx for several factors F >= 0 and one kernel K >= 0, or two: values, moments, bounds.

By the midpoint rule on the line, whose error is bounded by analyticity in a strip: docs/proofs.md, section 7.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, inf, log, log2
from typing import Any

import numpy as np
from flint import acb, arb, arb_mat, ctx
from sympy import Expr, Symbol

from symslr.evaluation.certified.analytic.arithmetic import (
    PROOF_BITS,
    RECTANGLES,
    all_enclosed,
    cached_with_refusals,
    rectangle,
)
from symslr.evaluation.certified.analytic.growth import GrowthBounds, QuadraticBound
from symslr.evaluation.certified.analytic.strip import EDGES, WIDEST, Family, Strips, check_nonnegative
from symslr.evaluation.certified.outer import MOST_TERMS, Array
from symslr.evaluation.errors import NotProved, TooManyDigits

CELL_WIDTH = 1 / 8
"""Width of the cells on which factors and kernels are enclosed to bound moments."""

MOMENT_REACHES = (8.0, 16.0, 32.0, 64.0, 128.0)
"""Moments are bounded by cells up to the first of these |x|, and by growth bounds beyond; up to the next where that fails."""

MOMENT_POWERS = tuple(2.0 ** (i / 4) for i in range(-20, 53))
"""Powers p of 1/K that are tried for the right tail."""

FIRST_END = 24
"""Index of the first edge of the cells of a strip, x = 3.4, at which a rule may end."""

OUTSIDE_NATS = WIDEST**2 / 2
"""The tails beyond the ends of a rule are at least this many nats below its error: a Gaussian grows by this much up to the corners
of the widest strip."""

STEEPEST_GROWTH = 2.0
"""If functions grow by more than this times the nats of a rule up to the corners of a strip, like e^{s|y|}, a narrower strip needs
fewer nodes: their number goes like (nats + s d)^{3/2}/d, least where s d is twice the nats."""

NEGLIGIBLE_LOG = -1e3
"""Functions whose logarithm is below this are estimated by their largest term alone."""

SPARE_NATS = 5.0
"""Tokens whose e^{-uK} is this many nats below the error of a rule are left out of its sums."""

TABLE_BYTES = 2**31
"""Of the largest table of balls, with the copy that a product of matrices makes."""

AT_ONCE = 4_000_000
"""Numbers in a table of floats, of which there are a few at a time: some ten megabytes each."""

ROUNDING = 1e-12
"""Relative bound of the rounding of a float sum of a few thousand positive terms, given by logarithms."""


class Line:
    """The integrals int F e^{-uK} dx of one kernel (or two, K and W) and several factors F: strips, moments, tails.

    Args:
        variable: x.
        kernels: K for every variable u, as ``prepared`` returns it; 0 where there is none.
        factors: F as ``prepared`` returns it, density included.

    Raises:
        NotProved: where K or a factor is not seen to be >= 0.
    """

    def __init__(self, variable: Symbol, kernels: tuple[Expr, ...], factors: Sequence[Expr]) -> None:
        self.variable, self.kernels, self.factors = variable, kernels, tuple(factors)
        self.has_kernel = any(kernel != 0 for kernel in kernels)
        with ctx.workprec(PROOF_BITS):
            self.families = [Family(variable, kernel) for kernel in kernels]
            for function in (*kernels, *self.factors) if self.has_kernel else ():
                check_nonnegative(variable, function)
        self.strips = Strips(variable, tuple(k for own in self.families for k in own.members), self.factors)
        self.known: dict[tuple[Any, ...], Any] = {}

    @cached_with_refusals
    def log_moment(self, j: int, p: float, axis: int = 0) -> float:
        """log of an upper bound of int F_j K^-p dx, K of one axis; inf where none is found within ``MOMENT_REACHES``."""
        for reach in MOMENT_REACHES:
            try:
                with ctx.workprec(PROOF_BITS):
                    tails = [(f + k.times(p)).tail(reach) for f, k in self._falls(j, axis, reach)]
                    terms = self._factor_log(j, reach) - p * self._kernel_log(axis, reach)
            except NotProved:
                continue
            top = float(terms.max())
            total = top + log(float(np.exp(terms - top).sum()) * CELL_WIDTH)
            for tail in tails:
                total = float(np.logaddexp(total, float(tail.log().upper())))
            return total + ROUNDING * (abs(total) + abs(top) + len(terms))
        return inf

    def best_power(self, j: int, v: float, axis: int = 0) -> tuple[float, float]:
        """(p, log of (p/(e u))^p int F_j K^-p dx) at u = e^v for the best p of ``MOMENT_POWERS``; the logarithm is convex in p."""

        def size(i: int) -> float:
            return MOMENT_POWERS[i] * (log(MOMENT_POWERS[i]) - 1 - v) + self.log_moment(j, MOMENT_POWERS[i], axis)

        i = bisect_left(range(len(MOMENT_POWERS) - 1), True, key=lambda i: not size(i + 1) < size(i))
        return MOMENT_POWERS[i], size(i)

    @cached_with_refusals
    def _falls(self, j: int, axis: int, reach: float) -> list[tuple[QuadraticBound, QuadraticBound]]:
        """Growth bounds of F_j and of 1/K beyond |x| = reach, on the left and on the right."""
        sides = (self._growth(side, reach) for side in (-1, 1))
        return [(side.modulus(self.factors[j]), self.families[axis].inverse(side)) for side in sides]

    @cached_with_refusals
    def _growth(self, side: int, start: float) -> GrowthBounds:
        return GrowthBounds(self.variable, start, side)

    @cached_with_refusals
    def _factor_log(self, j: int, reach: float) -> Array:
        """log of an upper bound of F_j on each cell.

        Raises:
            NotProved: where F_j is not seen to be bounded.
        """
        tops = [values[j].abs_upper() for _, values in self._cells(reach)]
        if not all(top.is_finite() for top in tops):
            raise NotProved(f"certified: no bound was found for {self.factors[j]}")
        return np.array([_above(float(top.log().upper())) if top > 0 else -inf for top in tops])

    @cached_with_refusals
    def _kernel_log(self, axis: int, reach: float) -> Array:
        """log of a lower bound of K on each cell.

        Raises:
            NotProved: where the kernel is not seen to be positive.
        """
        cells = self._cells(reach)
        lowest = [
            [values[axis][i].real.lower() for values, _ in cells] for i in range(len(self.families[axis].members))
        ]
        if not all(low > 0 for own in lowest for low in own):
            raise NotProved(f"certified: the kernel {self.kernels[axis]} is not seen to be positive")
        logs = np.array([[_below(float(low.log().lower())) for low in own] for own in lowest])
        return self.families[axis].lowest(logs)

    def _cells(self, reach: float) -> list[Any]:
        """Enclosures of the members of every kernel family and of all factors on the cells up to |x| = reach."""
        count = round(reach / CELL_WIDTH)
        return [self._cell(i) for i in range(-count, count)]

    @cached_with_refusals
    def _cell(self, i: int) -> tuple[list[list[Any]], list[Any]]:
        functions = (*(k for own in self.families for k in own.members), *self.factors)
        found = iter(
            all_enclosed(
                functions, self.variable, rectangle(i * CELL_WIDTH, (i + 1) * CELL_WIDTH, 0.0, 0.0), RECTANGLES
            )
        )
        return [[next(found) for _ in own.members] for own in self.families], list(found)

    def at(self, region: Any) -> list[Any]:
        """Enclosures of the kernels and of all factors on a complex region."""
        return all_enclosed((*self.kernels, *self.factors), self.variable, region, RECTANGLES)

    @cached_with_refusals
    def tails(self, side: int, at: float) -> list[Any]:
        """Upper bounds of the integral of each factor beyond |x| = ``at`` on one side."""

        def beyond(start: float) -> list[Any]:
            growth = self._growth(side, start)
            with ctx.workprec(PROOF_BITS):
                return [growth.modulus(factor).tail(at) for factor in self.factors]

        try:  # growth bounds from a nearer start can be reused for several ends
            return beyond(EDGES[FIRST_END] * 2.0 ** floor(log2(at / EDGES[FIRST_END])))
        except NotProved:
            return beyond(at)

    def rule(self, nats: float, most: float = inf) -> LineRule:
        """The midpoint rule with an error of about e^-nats and at most ``most`` nodes."""
        return LineRule(self, nats, most)


@dataclass(frozen=True)
class ActiveTokens:
    """The nodes of a rule (tokens) that count at some u.

    Attributes:
        places: their indices in the rule.
        kernel: K there.
        load: an upper bound of e^{-uK} at all other nodes.
    """

    places: list[int]
    kernel: list[Any]
    load: Any

    def sums(self, loads: Any, rows: list[list[Any]], sizes: list[Any]) -> list[list[Any]]:
        """Enclosures of sum_i e^{-u K(x_i)} w_i over all nodes, for several u and several weights w.

        Args:
            loads: e^{-uK}, a row for every u, a column for every node in ``places``.
            rows: the weights of every node of the rule.
            sizes: for every weight the sum of its absolute values.
        """
        found: list[list[Any]] = (loads * arb_mat([rows[i] for i in self.places])).tolist()
        if len(self.places) == len(rows):
            return found
        left_out = [arb(0, (self.load * size).upper()) for size in sizes]
        return [[value + off for value, off in zip(row, left_out)] for row in found]


class LineRule:
    """The midpoint rule between two ends, at the precision of the current context.

    Attributes:
        nodes: the x_i, ``step`` apart.
        kernels: the values of every kernel there; ``kernel`` are those of the first one.
        errors: for each factor an upper bound of |rule - M(u)|, for every u >= 0.

    Raises:
        NotProved: where no strip of analyticity is found, the factors are not seen to decay, or there are too many nodes.
    """

    def __init__(self, line: Line, nats: float, most: float) -> None:
        self.line, self.nats = line, nats
        spare, excess = OUTSIDE_NATS, 1.0
        while excess > 0:
            ends = [self._end(side, spare) for side in (-1, 1)]
            with ctx.workprec(PROOF_BITS):
                strip = line.strips.widest(*ends)
            # on the short sides of the strip a function such as cos(30 x) may be far larger than on the real line
            excess = nats + max(float(size.log()) for size in strip.ends)
            if excess > STEEPEST_GROWTH * nats and line.strips.narrow():
                continue
            spare += excess
            if min(ends) == len(EDGES) - 1:
                break
        tails = [line.tails(side, EDGES[end]) for side, end in zip((-1, 1), ends)]
        mass = max(float(mass.log()) for mass in strip.masses)
        count = ceil((strip.high - strip.low) * (nats + max(mass, 0.0) + log(2) + 1) / (2 * np.pi * strip.half_width))
        if count > most or (line.has_kernel and count * MOST_TERMS > most_balls()):
            raise TooManyDigits(
                "certified: the integrals over a token take too many nodes, as a weight or a kernel is steep; ask for fewer "
                "digits, or for a smaller scale or signal"
            )
        self.step = (arb(strip.high) - strip.low) / count
        self.nodes = [strip.low + (2 * i + 1) * self.step / 2 for i in range(count)]
        rows = [[value.real for value in line.at(acb(x))] for x in self.nodes]
        count = len(line.kernels)
        self.kernels = [[nonnegative(row[axis]) for row in rows] for axis in range(count)]
        self.kernel = self.kernels[0]
        self.rows = [[value * self.step for value in row[count:]] for row in rows]
        self.weights = arb_mat(self.rows)
        self.sizes = sizes(self.rows)
        columns = zip(*self.rows)
        self.errors = [(inside + left + right).upper() for inside, left, right in zip(strip.errors(self.step), *tails)]
        self.float_kernels = np.array([[float(k) for k in own] for own in self.kernels])
        with np.errstate(divide="ignore"):
            self.float_log_weights = np.array([[_float_log(w) for w in column] for column in columns])

    def _end(self, side: int, spare: float) -> int:
        """The first edge beyond which the integral of every factor is ``spare`` nats below the error of the rule, else the last
        edge."""

        def reaches(end: int) -> bool:
            try:
                return all(float(tail.log()) < -self.nats - spare for tail in self.line.tails(side, EDGES[end]))
            except NotProved:
                return False

        last = len(EDGES) - 1
        return bisect_left(range(last), True, lo=FIRST_END, key=reaches)

    def load_terms(self, axis: int) -> list[list[Any]]:
        """Taylor coefficients of e^{-uK} in u, up to ``MOST_TERMS``: one row per power, one column per node."""
        rows = [[arb(1)] * len(self.nodes)]
        for r in range(1, MOST_TERMS + 1):
            rows.append([-before * k / r for before, k in zip(rows[-1], self.kernels[axis])])
        return rows

    @cached_property
    def taylor(self) -> list[list[Any]]:
        """For every factor the Taylor coefficients of the sum in u, up to ``MOST_TERMS``."""
        return [list(column) for column in zip(*(arb_mat(self.load_terms(0)) * self.weights).tolist())]

    def float_log_moments(self, axis: int) -> Array:
        """Estimates of log sum F K^r: one row per r up to ``MOST_TERMS``, one column per factor."""
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(self.float_kernels[axis], 0.0))
        rows = [self.float_log_weights + (r * logs if r else 0.0) for r in range(MOST_TERMS + 1)]
        return np.array([np.logaddexp.reduce(terms, axis=1) for terms in rows])

    def at(self, u: Any, axis: int = 0) -> list[Any]:
        """Enclosures of M(u) for every factor, with 0 for the other variable; u >= 0 is a ball."""
        minus = -u
        return self.sums(arb_mat([[(minus * k).exp() for k in self.kernels[axis]]]))[0]

    def seen(self, u: Any) -> ActiveTokens:
        """The nodes that count in the sums at u and above; the others are below the errors."""
        size = max(0.0, *np.logaddexp.reduce(self.float_log_weights, axis=1))
        own = float(u) * self.float_kernels[0] < self.nats + SPARE_NATS + size
        if own.all() or not own.any():
            return ActiveTokens(list(range(len(self.kernel))), self.kernel, arb(0))
        load = (-u * min(k.lower() for k, is_near in zip(self.kernel, own) if not is_near)).exp()
        near = np.flatnonzero(own).tolist()
        return ActiveTokens(near, [self.kernel[i] for i in near], load)

    def sums(self, loads: Any, seen: ActiveTokens | None = None) -> list[list[Any]]:
        """Enclosures of M for several u, from a matrix of e^{-uK}: a row for every u, a column for every node, or those
        ``seen``."""
        found = (loads * self.weights).tolist() if seen is None else seen.sums(loads, self.rows, self.sizes)
        return [[self.enclosure(j, value) for j, value in enumerate(row)] for row in found]

    def enclosure(self, j: int, total: Any) -> Any:
        """An enclosure of M for factor j from the sum of the rule."""
        value = total + arb(0, self.errors[j])
        return nonnegative(value) if self.line.has_kernel else value  # without a kernel a factor may have any sign

    def float_logs(self, v: Array) -> Array:
        """Estimates of log M(e^v): one row per factor, one column per v; the largest term alone where M is tiny."""
        blocks = np.array_split(v, ceil(len(v) * len(self.nodes) / AT_ONCE))
        return np.concatenate([self._float_logs(block) for block in blocks], axis=1)

    def _float_logs(self, v: Array) -> Array:
        with np.errstate(over="ignore"):  # where a load is infinite nothing is left
            loads = np.outer(np.exp(np.minimum(v, 700.0)), self.float_kernels[0])
        found = []
        for logs in self.float_log_weights:
            terms = logs - loads
            own = terms.max(axis=1)
            seen = own > NEGLIGIBLE_LOG
            own[seen] += np.log(np.exp(terms[seen] - own[seen, None]).sum(axis=1))
            found.append(own)
        return np.array(found)


def most_balls() -> int:
    """How many balls of the current precision a table may hold."""
    return TABLE_BYTES // (160 + ctx.prec // 4)


def nonnegative(value: Any) -> Any:
    """The part >= 0 of a ball that encloses a number known to be >= 0."""
    return value if value >= 0 else value.intersection(arb(0).union(abs(value).upper()))


def sizes(rows: list[list[Any]]) -> list[Any]:
    """The sum of the absolute values in every column."""
    return [sum(map(abs, column), arb(0)) for column in zip(*rows)]


def _float_log(ball: Any) -> float:
    return float(ball.mid().log()) if ball.mid() > 0 else -np.inf


def _above(number: float) -> float:
    return number + 1e-13 * (1 + abs(number))


def _below(number: float) -> float:
    return number - 1e-13 * (1 + abs(number))
