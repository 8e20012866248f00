"""Laplace integrals as functions of a scale: Taylor models over an interval of it.

The rules of ``analytic`` are finite sums, analytic in the scale, with errors bounded at every scale of an interval. So the sums are
expanded in Taylor series at a centre, the last coefficient is enclosed over the whole interval (Lagrange remainder), and the errors
are added: docs/proofs.md, section 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import factorial, log
from typing import Any

import numpy as np
from flint import arb, arb_mat, arb_poly, arb_series, ctx
from sympy import Expr

from symslr.evaluation.certified.analytic.arithmetic import (
    Series,
    all_enclosed,
    cached_with_refusals,
    series_length,
    series_power,
)
from symslr.evaluation.certified.analytic.line import ActiveTokens, Line, nonnegative, sizes
from symslr.evaluation.certified.analytic.transform import OCTAVES_PER_BLOCK, Transform, line_bits
from symslr.evaluation.certified.least.arrays import PowerSeries
from symslr.evaluation.certified.outer import Integrand, Window
from symslr.evaluation.certified.taylor import Jet
from symslr.evaluation.errors import NotProved
from symslr.evaluation.numbers.balls import exponentials
from symslr.evaluation.numbers.elementary import Between, by_squaring

FEW_BITS = 64
"""Working precision of sums of which only a bound is needed."""

ROUGH_NATS = 38.0
"""For errors of e^-38 and more ``FEW_BITS`` suffice: the rounding of some hundred terms is smaller."""


class TransformInScale(Transform):
    """The functions M_j of one ``Line`` as functions of the scale, on an interval of it.

    The base class works with a ball for the scale, so that its bounds hold on the whole interval.

    Args:
        line: with ``scale`` in its kernel or factors.
        nats: the errors of the M_j are about e^-nats.
        goal: the relative errors of an integral from its tails are about e^-goal.
        scale: the scale, with a ball that contains the interval.
        integrands: all integrands that will be needed.
    """

    most_terms = 12
    """Fewer than for numbers, as every term of the Taylor series in u is a series in the scale."""

    def __init__(self, line: Line, nats: float, goal: float, scale: Between, integrands: Sequence[Integrand]) -> None:
        self.scale, self.integrands = scale, integrands
        super().__init__(line, nats, max([1.0, *(float(own.k) for own in integrands)]), goal)
        self.is_kernel_moving = line.kernels[0].has(scale)
        self.is_rough = nats <= ROUGH_NATS
        self.known_off: dict[Integrand, Any] = {}

    def model(self, integrand: Integrand, sums: Sums) -> Jet:
        """A Taylor model of int_0^oo u^{k-1} e^{-ou} prod_j M_j(u)^{n_j} du in the scale, from the sums of a part of the
        interval."""
        window = self.windows[integrand]
        off = self._off(integrand)
        step = self.exact_step
        thin, near, wide = (self._sum(own, integrand, window) for own in (sums.thin, sums.near, sums.wide))
        rest = step * (arb(0, off.upper()) + window.beyond)
        error = self.discretisation(integrand)
        around = abs(step * (wide[0] + arb(0, off.upper()) + window.beyond)) * error / (1 - error)
        rest += arb(0, around.upper())
        return sums.model([step * own for own in sums.joined(thin, near, wide)], rest)

    def fill(self, nodes: range) -> None:
        """Compute the M_j at the last node only, for the right tail: a Taylor model does not need values at other nodes."""
        super().fill(nodes[-1:])

    def sums(self, at: Any, length: int, is_sharp: bool) -> FiniteSums:
        """The finite sums as series in the scale, expanded at a number or over a whole interval."""
        return FiniteSums(self, at, length, is_sharp)

    def value(self, j: int, sums: Sums) -> Jet:
        """A Taylor model of M_j(0) in the scale."""
        series = sums.joined(*(own.at_zero()[j] for own in (sums.thin, sums.near, sums.wide)))
        return sums.model(series, arb(0, self.rule.errors[j]))

    def missing_nats(self) -> float:
        """Nats by which the errors of the M_j have to shrink for relative errors e^-goal of the integrals; 0 where they suffice."""
        needed = max([0.0, *(self.needed_nats([integrand], self.goal) - self.nats for integrand in self.integrands)])
        if needed > 0:
            return needed
        return max([0.0, *(self._excess(integrand) for integrand in self.integrands)])

    def _excess(self, integrand: Integrand) -> float:
        size = float(np.logaddexp.reduce(self.log_terms([integrand]))) + log(0.25 / self.step)
        return float(self._off(integrand).log()) - size + self.goal

    @cached_property
    def nodes(self) -> range:
        """The nodes from the first to the last of all windows."""
        windows = [window.nodes for window in self.windows.values()]
        return range(min(window[0] for window in windows), max(window[-1] for window in windows) + 1)

    @cached_property
    def blocks(self) -> list[Block]:
        """The nodes in blocks of a few octaves, with e^{-uK} for the ball of K over the whole interval of the scale."""
        found, many = [], OCTAVES_PER_BLOCK * self.per_octave
        for low in range(0, len(self.nodes), many):
            run = self.nodes[low : low + many]
            seen = self.rule.seen((run[0] * self.exact_step).exp())
            with ctx.workprec(line_bits(self.nats)):
                found.append(Block(seen, self.loads(seen.kernel, run)))
        return found

    def loads(self, kernel: list[Any], nodes: range) -> Any:
        """e^{-uK}: a row for every node, a column for every K."""
        return arb_mat(exponentials(kernel, nodes[0], self.per_octave, len(nodes)))

    @cached_property
    def windows(self) -> dict[Integrand, Window]:
        """For every integrand the nodes of its sum and bounds of the rest."""
        return {integrand: self.window(integrand, self.goal) for integrand in self.integrands}

    @cached_property
    def weights(self) -> dict[Integrand, list[Any]]:
        """For every integrand u^k e^{-ou} at the nodes of its window."""
        return {own: [self._weight(own, i) for i in window.nodes] for own, window in self.windows.items()}

    def _weight(self, integrand: Integrand, i: int) -> Any:
        v = i * self.exact_step
        exponent = integrand.k * v
        if not integrand.offset.is_zero():
            exponent -= integrand.offset * v.exp()
        return exponent.exp()

    def _sum(self, sums: FiniteSums, integrand: Integrand, window: Window) -> Any:
        """The outer sum of the integrand over the window, and of the Taylor polynomial below it, as a series in the scale."""
        with series_length(sums.length):
            total = arb_series([0])
            for r, coefficient in enumerate(sums.start(integrand, window.start.length)):
                total = total + coefficient * self.before(integrand.k + r, window.nodes[0])
            for i, weight in zip(window.nodes, self.weights[integrand]):
                product = arb_series([weight])
                for n, moment in zip(integrand.copies, sums.at(i)):
                    if n:
                        product = product * series_power(moment, n)
                total = total + product
            return total

    @cached_property
    def above(self) -> list[list[Any]]:
        """For every node upper bounds of |M_j| and of the finite sums that approximate them, at every scale."""
        rows = (row for block in self.blocks for row in self.rule.sums(block.rounded, block.seen))
        return [[abs(moment).upper() for moment in row] for row in rows]

    def _off(self, integrand: Integrand) -> Any:
        """An upper bound of the change of the outer sum by the errors of the M_j, at every scale; cached."""
        if integrand not in self.known_off:
            nodes = self.windows[integrand].nodes
            self.known_off[integrand] = sum((self._off_at(integrand, i) for i in nodes), arb(0))
        return self.known_off[integrand]

    def _off_at(self, integrand: Integrand, i: int) -> Any:
        """The contribution of one node to that bound."""
        above, total = self.above[i - self.nodes[0]], arb(0)
        for j, n in enumerate(integrand.copies):
            if n:
                change = n * self.rule.errors[j] * above[j] ** (n - 1)
                for other, copies in enumerate(integrand.copies):
                    if copies and other != j:
                        change *= above[other] ** copies
                total += change
        return total * self._weight(integrand, i)


@dataclass(frozen=True)
class Block:
    """Consecutive nodes: the tokens that count there, and their e^{-uK}, a row for every node."""

    seen: ActiveTokens
    loads: Any

    @cached_property
    def rounded(self) -> Any:
        """``loads`` rounded to ``FEW_BITS``, for bounds: products are then faster."""
        with ctx.workprec(FEW_BITS):
            return self.loads * arb(1)


class FiniteSums:
    """The sums M_j(u) = step sum_i F_j(x_i) e^{-u K(x_i)} of one rule, as series in the scale.

    Args:
        transform: whose rule is used.
        at: the point of expansion: a number, or a whole interval.
        length: number of terms.
        is_sharp: whether to compute in more than ``FEW_BITS``.
    """

    def __init__(self, transform: TransformInScale, at: Any, length: int, is_sharp: bool) -> None:
        self.is_sharp = is_sharp
        self.bits = line_bits(transform.nats) if is_sharp else FEW_BITS
        self.transform, self.length = transform, length
        self.known: dict[tuple[Any, ...], Any] = {}
        self.series = Series(transform.scale, at)
        self.orders = range(length if transform.is_kernel_moving else 1)
        self.tokens: list[tuple[Any, list[Any]]] = []
        with series_length(length):
            step = arb_series([transform.rule.step])
            self.weights = [self._token(x, step) for x in transform.rule.nodes]
        self.matrix = arb_mat(self.weights)

    def _token(self, x: Any, step: Any) -> list[Any]:
        """For one token the coefficients of step F_j (K - K_0)^m from t^m on, for every j and m, K_0 the constant term of K."""
        line = self.transform.line
        if not self.transform.is_kernel_moving:
            weighted = [factor * step for factor in self._values(line.factors, x)]
            return [factor[k] for factor in weighted for k in range(self.length)]
        kernel, *factors = all_enclosed((*line.kernels, *line.factors), line.variable, arb_series([x]), self.series)
        kernel = arb_series([nonnegative(kernel[0]), *kernel.coeffs()[1:]])
        factors = [factor * step for factor in factors]
        self.tokens.append((kernel, factors))
        change, powers = kernel - arb_series([kernel[0]]), [arb_series([1])]
        for _ in self.orders[1:]:
            powers.append(powers[-1] * change)
        products = ((m, factor * power) for factor in factors for m, power in enumerate(powers))
        return [product[k] for m, product in products for k in range(m, self.length)]

    def _values(self, functions: tuple[Expr, ...], x: Any) -> list[Any]:
        """Values of functions at x, in few bits unless these cannot exclude a singularity."""
        at = self.transform.line.variable, arb_series([x]), self.series
        try:
            with ctx.workprec(self.bits):
                return all_enclosed(functions, *at)
        except NotProved:
            return all_enclosed(functions, *at)

    @cached_property
    def rows(self) -> list[list[Any]]:
        """The sums over tokens at every node of the outer sum, by products of matrices, which are far faster than row by row."""
        with ctx.workprec(self.bits):
            if self.transform.is_kernel_moving:
                loads = self.transform.loads([kernel[0] for kernel, _ in self.tokens], self.transform.nodes)
                moved: list[list[Any]] = ((loads * arb(1)) * (self.matrix * arb(1))).tolist()
                return moved
            found, own = [], sizes(self.weights)
            for block in self.transform.blocks:
                found += block.seen.sums(block.loads if self.is_sharp else block.rounded, self.weights, own)
            return found

    @cached_with_refusals
    def at(self, i: int) -> list[Any]:
        """The series of M_j(e^{ih}) in the scale for every factor, i one of the nodes of the transform."""
        return self._series(self.rows[i - self.transform.nodes[0]], -(i * self.transform.exact_step).exp())

    def start(self, integrand: Integrand, count: int) -> list[Any]:
        """The coefficients of 1, u, ..., u^{count - 1} in e^{-ou} prod_j M_j^{n_j}, as series."""
        offset = [arb_series([(-integrand.offset) ** r / factorial(r)]) for r in range(count)]
        with series_length(self.length):
            product = PowerSeries(offset, count)
            for j, n in enumerate(integrand.copies):
                if n:
                    product = product * by_squaring(PowerSeries(self.taylor[j][:count], count), n)
        return product.coefficients

    @cached_property
    def taylor(self) -> list[list[Any]]:
        """The coefficients of u^r in M_j for every j and r < ``most_terms``, as series."""
        rule, most = self.transform.rule, self.transform.most_terms
        if not self.transform.is_kernel_moving:
            with ctx.workprec(self.bits):
                table = ((arb_mat(rule.load_terms(0)[:most]) * arb(1)) * self.matrix).tolist()
            return [list(column) for column in zip(*(self._series(row, arb(0)) for row in table))]
        with series_length(self.length):
            found = [[arb_series([0])] * most for _ in rule.errors]
            for kernel, factors in self.tokens:
                load = arb_series([1])
                for r in range(most):
                    for j, factor in enumerate(factors):
                        found[j][r] = found[j][r] + factor * load
                    load = load * kernel * (arb(-1) / (r + 1))
            return found

    def at_zero(self) -> list[Any]:
        """The series of M_j(0)."""
        return self._series((arb_mat([[1] * len(self.weights)]) * self.matrix).entries(), arb(0))

    def _series(self, row: list[Any], minus: Any) -> list[Any]:
        if not self.transform.is_kernel_moving:
            return [arb_series(row[k : k + self.length], self.length) for k in range(0, len(row), self.length)]
        powers = [arb(1)]
        for m in self.orders[1:]:
            powers.append(powers[-1] * minus / m)
        found, place = [], 0
        for _ in self.transform.line.factors:
            coefficients = [arb(0)] * self.length
            for m in self.orders:
                for k in range(m, self.length):
                    coefficients[k] += powers[m] * row[place]
                    place += 1
            found.append(arb_series(coefficients, self.length))
        return found


class Sums:
    """The finite sums from which a Taylor model is made, on a part of the interval of a transform.

    ``near`` are the series at the centre; ``thin`` the same in full precision for the first terms; ``wide`` the series over the
    whole part, whose last coefficient encloses the remainder.

    Args:
        transform: of an interval that contains the part.
        centre, radius: of the part, exact.
        length: number of terms of the models.
        sharp: how many of the first terms are computed in full precision, unless the transform is rough.
    """

    def __init__(self, transform: Any, centre: Any, radius: Any, length: int, sharp: int) -> None:
        self.radius, self.length = radius, length
        sharp = 0 if transform.is_rough else min(sharp, length)
        self.near = transform.sums(centre, length, sharp == length)
        self.thin = transform.sums(centre, sharp, True) if 0 < sharp < length else self.near
        self.wide = transform.sums(centre + arb(0, radius), length + 1, False)

    def joined(self, thin: Any, near: Any, wide: Any) -> list[Any]:
        """Coefficients from three series of one function: first those of ``thin``, then of ``near``, the last one of ``wide``."""
        return [
            (thin if k < self.thin.length else near if k < self.length else wide)[k] for k in range(self.length + 1)
        ]

    def model(self, coefficients: list[Any], rest: Any) -> Jet:
        return Jet(arb_poly(coefficients), rest, self.radius, self.length + 1)
