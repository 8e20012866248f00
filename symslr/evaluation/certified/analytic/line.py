"""M(u) = int F(x) e^{-u K(x)} dx for several factors F >= 0 beside one kernel K >= 0, or two: values, moments, bounds.

The trapezoid rule on the line, whose error the strip proves: docs/proofs.md, section 7.
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

from symslr.evaluation.certified.analytic.arithmetic import CELLS, PROOF_BITS, all_enclosed, kept, rectangle
from symslr.evaluation.certified.analytic.growth import Exponent, GrowthBounds
from symslr.evaluation.certified.analytic.strip import EDGES, WIDEST, Family, Strips, check_nonnegative
from symslr.evaluation.certified.outer import MOST_TERMS, Array
from symslr.evaluation.errors import NotProved, TooManyDigits

FINE = 1 / 8
"""Width of the cells on which a moment is bounded."""

REACHES = (8.0, 16.0, 32.0, 64.0, 128.0)
"""Moments are bounded by cells up to |x| = REACHES[0] and by the growth beyond; by cells further where that does not converge."""

POWERS = tuple(2.0 ** (i / 4) for i in range(-20, 53))
"""The moments that are tried in the right tail."""

NEAREST = 24
"""Rules end at this edge of a strip's cells, 3.4, or further out."""

OUTSIDE_NATS = WIDEST**2 / 2
"""What lies beyond the ends of a rule is at least so much below its error: so much larger is a Gaussian at the corners."""

STEEP = 2.0
"""Where functions grow by more than this times the nats of a rule up to the corners, like e^{s|y|}, a narrower strip has fewer
nodes: their number goes like (nats + s d)^{3/2}/d, which is least where s d is twice the nats."""

SEEN = -1e3
"""Logarithms below it are of functions far smaller than any error."""

SPARE_NATS = 5.0
"""Tokens with e^{-uK} so much below the errors of a rule are left out of its sums."""

TABLE_BYTES = 2**31
"""Of the largest table of balls, with the copy that a product of matrices makes."""

AT_ONCE = 4_000_000
"""Numbers in a table of floats, of which there are a few at a time: some ten megabytes each."""

ROUNDING = 1e-12
"""Relative; above the rounding of a float sum of the logarithms of a few thousand positive terms."""


class Line:
    """One or two kernels and the factors beside them.

    Args:
        variable: x.
        kernels: K of every variable u as ``prepared``; 0 where there is none.
        factors: F as ``prepared``, density included.

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

    @kept
    def log_moment(self, j: int, p: float, axis: int = 0) -> float:
        """log of a bound of int F_j K^-p dx, K of one axis; oo where none is found within the last of ``REACHES``."""
        for reach in REACHES:
            try:
                with ctx.workprec(PROOF_BITS):
                    tails = [(f + k.times(p)).tail(reach) for f, k in self._falls(j, axis, reach)]
                    terms = self._factor_log(j, reach) - p * self._kernel_log(axis, reach)
            except NotProved:
                continue
            top = float(terms.max())
            total = top + log(float(np.exp(terms - top).sum()) * FINE)
            for tail in tails:
                total = float(np.logaddexp(total, float(tail.log().upper())))
            return total + ROUNDING * (abs(total) + abs(top) + len(terms))
        return inf

    def best_power(self, j: int, v: float, axis: int = 0) -> tuple[float, float]:
        """(p, log of (p/(e u))^p int F_j K^-p dx) at u = e^v for the best p of ``POWERS``: the logarithm is convex in p."""

        def size(i: int) -> float:
            return POWERS[i] * (log(POWERS[i]) - 1 - v) + self.log_moment(j, POWERS[i], axis)

        i = bisect_left(range(len(POWERS) - 1), True, key=lambda i: not size(i + 1) < size(i))
        return POWERS[i], size(i)

    @kept
    def _falls(self, j: int, axis: int, reach: float) -> list[tuple[Exponent, Exponent]]:
        """Bounds of F_j and of 1/K beyond the reach, on the left and on the right."""
        sides = (self._growth(side, reach) for side in (-1, 1))
        return [(side.modulus(self.factors[j]), self.families[axis].inverse(side)) for side in sides]

    @kept
    def _growth(self, side: int, start: float) -> GrowthBounds:
        return GrowthBounds(self.variable, start, side)

    @kept
    def _factor_log(self, j: int, reach: float) -> Array:
        """log of the largest F_j on each cell.

        Raises:
            NotProved: where there is none.
        """
        tops = [values[j].abs_upper() for _, values in self._cells(reach)]
        if not all(top.is_finite() for top in tops):
            raise NotProved(f"certified: no bound was found for {self.factors[j]}")
        return np.array([_above(float(top.log().upper())) if top > 0 else -inf for top in tops])

    @kept
    def _kernel_log(self, axis: int, reach: float) -> Array:
        """log of the smallest K on each cell.

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
        """Enclosures of the members of every kernel and of all factors on the cells up to the reach."""
        count = round(reach / FINE)
        return [self._cell(i) for i in range(-count, count)]

    @kept
    def _cell(self, i: int) -> tuple[list[list[Any]], list[Any]]:
        functions = (*(k for own in self.families for k in own.members), *self.factors)
        found = iter(all_enclosed(functions, self.variable, rectangle(i * FINE, (i + 1) * FINE, 0.0, 0.0), CELLS))
        return [[next(found) for _ in own.members] for own in self.families], list(found)

    def at(self, region: Any) -> list[Any]:
        """Enclosures of the kernels and of all factors on a complex region."""
        return all_enclosed((*self.kernels, *self.factors), self.variable, region, CELLS)

    @kept
    def tails(self, side: int, at: float) -> list[Any]:
        """Bounds of what lies beyond ``at`` on one side, for each factor."""

        def beyond(start: float) -> list[Any]:
            growth = self._growth(side, start)
            with ctx.workprec(PROOF_BITS):
                return [growth.modulus(factor).tail(at) for factor in self.factors]

        try:  # bounds from nearer on serve several ends
            return beyond(EDGES[NEAREST] * 2.0 ** floor(log2(at / EDGES[NEAREST])))
        except NotProved:
            return beyond(at)

    def rule(self, nats: float, most: float = inf) -> LineRule:
        """The midpoint rule whose error is about e^-nats, of at most so many nodes."""
        return LineRule(self, nats, most)


@dataclass(frozen=True)
class Seen:
    """Tokens of a rule: their places in it, their K, and a bound of e^{-uK} for all others."""

    places: list[int]
    kernel: list[Any]
    load: Any

    def sums(self, loads: Any, rows: list[list[Any]], sizes: list[Any]) -> list[list[Any]]:
        """The sums over all tokens of e^{-uK} and each of their weights, for several u.

        Args:
            loads: e^{-uK}: a row for every u, a column for every token that is seen.
            rows: for every token of the rule its weights.
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
        kernels: the values of every kernel there; ``kernel`` are those of the first.
        errors: for each factor a ball above the distance of the rule to M(u), for every u >= 0.

    Raises:
        NotProved: where no strip is found, the factors are not seen to fall, or there are too many nodes.
    """

    def __init__(self, line: Line, nats: float, most: float) -> None:
        self.line, self.nats = line, nats
        spare, excess = OUTSIDE_NATS, 1.0
        while excess > 0:
            ends = [self._end(side, spare) for side in (-1, 1)]
            with ctx.workprec(PROOF_BITS):
                strip = line.strips.widest(*ends)
            # half way up its short sides a function such as cos(30 x) may be far larger than on the line
            excess = nats + max(float(size.log()) for size in strip.ends)
            if excess > STEEP * nats and line.strips.narrow():
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
        """The edge beyond which nothing of any factor lies to so many nats below the error of the rule, else the last."""

        def reaches(end: int) -> bool:
            try:
                return all(float(tail.log()) < -self.nats - spare for tail in self.line.tails(side, EDGES[end]))
            except NotProved:
                return False

        last = len(EDGES) - 1
        return bisect_left(range(last), True, lo=NEAREST, key=reaches)

    def load_terms(self, axis: int) -> list[list[Any]]:
        """The terms of e^{-uK} in powers of u, up to ``MOST_TERMS``: one row per power, one column per token."""
        rows = [[arb(1)] * len(self.nodes)]
        for r in range(1, MOST_TERMS + 1):
            rows.append([-before * k / r for before, k in zip(rows[-1], self.kernels[axis])])
        return rows

    @cached_property
    def taylor(self) -> list[list[Any]]:
        """For every factor the coefficients of its sum in powers of u, up to ``MOST_TERMS``."""
        return [list(column) for column in zip(*(arb_mat(self.load_terms(0)) * self.weights).tolist())]

    def float_log_moments(self, axis: int) -> Array:
        """log of the sum of F K^r, an estimate: one row per r up to ``MOST_TERMS``, one column per factor."""
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(self.float_kernels[axis], 0.0))
        rows = [self.float_log_weights + (r * logs if r else 0.0) for r in range(MOST_TERMS + 1)]
        return np.array([np.logaddexp.reduce(terms, axis=1) for terms in rows])

    def at(self, u: Any, axis: int = 0) -> list[Any]:
        """Enclosures of M(u) for every factor, any other variable being 0; u >= 0 a ball."""
        minus = -u
        return self.sums(arb_mat([[(minus * k).exp() for k in self.kernels[axis]]]))[0]

    def seen(self, u: Any) -> Seen:
        """What of the sums at u and above is not lost in their errors."""
        size = max(0.0, *np.logaddexp.reduce(self.float_log_weights, axis=1))
        own = float(u) * self.float_kernels[0] < self.nats + SPARE_NATS + size
        if own.all() or not own.any():
            return Seen(list(range(len(self.kernel))), self.kernel, arb(0))
        load = (-u * min(k.lower() for k, is_near in zip(self.kernel, own) if not is_near)).exp()
        near = np.flatnonzero(own).tolist()
        return Seen(near, [self.kernel[i] for i in near], load)

    def sums(self, loads: Any, seen: Seen | None = None) -> list[list[Any]]:
        """As ``at`` for several u, whose e^{-uK} are the rows of a matrix, one column for every token or every one ``seen``."""
        found = (loads * self.weights).tolist() if seen is None else seen.sums(loads, self.rows, self.sizes)
        return [[self.enclosure(j, value) for j, value in enumerate(row)] for row in found]

    def enclosure(self, j: int, total: Any) -> Any:
        """M of a factor from the sum of its rule."""
        value = total + arb(0, self.errors[j])
        return nonnegative(value) if self.line.has_kernel else value  # without a kernel a factor may have any sign

    def float_logs(self, v: Array) -> Array:
        """log M(e^v) in floats, an estimate: one row per factor, one column per v; of the largest term alone where that is tiny."""
        blocks = np.array_split(v, ceil(len(v) * len(self.nodes) / AT_ONCE))
        return np.concatenate([self._float_logs(block) for block in blocks], axis=1)

    def _float_logs(self, v: Array) -> Array:
        with np.errstate(over="ignore"):  # where a load is infinite nothing is left
            loads = np.outer(np.exp(np.minimum(v, 700.0)), self.float_kernels[0])
        found = []
        for logs in self.float_log_weights:
            terms = logs - loads
            own = terms.max(axis=1)
            seen = own > SEEN
            own[seen] += np.log(np.exp(terms[seen] - own[seen, None]).sum(axis=1))
            found.append(own)
        return np.array(found)


def most_balls() -> int:
    """How many balls of the current precision a table may hold."""
    return TABLE_BYTES // (160 + ctx.prec // 4)


def nonnegative(value: Any) -> Any:
    """The part >= 0 of a ball around numbers that are known to be so, as the values of the kernels of a ``Line`` are."""
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
