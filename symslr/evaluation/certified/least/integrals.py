"""Laplace integrals as functions of a scale: Taylor models over an interval of it.

The rules of ``analytic`` are finite sums, analytic in the scale, and their errors are bounded at every scale of an interval.
So the sums are expanded at a centre, the last coefficient is enclosed over the whole interval, and the errors are added:
docs/proofs.md, section 8.
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

from symslr.evaluation.certified.analytic.arithmetic import Series, all_enclosed, kept, series_power, terms
from symslr.evaluation.certified.analytic.line import Line, Seen, nonnegative, sizes
from symslr.evaluation.certified.analytic.transform import BLOCK, Transform, line_bits
from symslr.evaluation.certified.least.arrays import PowerSeries
from symslr.evaluation.certified.outer import Integrand, Window
from symslr.evaluation.certified.taylor import Jet
from symslr.evaluation.errors import NotProved
from symslr.evaluation.numbers.balls import exponentials
from symslr.evaluation.numbers.elementary import Between, by_squaring

FEW_BITS = 64
"""Of sums of which no more than a bound is needed."""

ROUGH_NATS = 38.0
"""Errors of about e^-38 are more than the roundings of some hundred terms to ``FEW_BITS``."""


class MovingTransform(Transform):
    """The functions M_j of one line at every scale of an interval.

    ``at`` of the base class encloses them there, so that its bounds of the tails hold throughout.

    Args:
        line: with ``scale`` in its kernel or factors.
        nats: errors of about e^-nats in the M_j.
        goal: errors of about e^-goal of an integral in its tails.
        scale: holds the interval.
        integrands: all that are asked for.
    """

    most_terms = 12
    """Every term of the Taylor series in u is a series in the scale."""

    def __init__(self, line: Line, nats: float, goal: float, scale: Between, integrands: Sequence[Integrand]) -> None:
        self.scale, self.integrands = scale, integrands
        super().__init__(line, nats, max([1.0, *(float(own.k) for own in integrands)]), goal)
        self.is_kernel_moving = line.kernels[0].has(scale)
        self.is_rough = nats <= ROUGH_NATS
        self.known_off: dict[Integrand, Any] = {}

    def model(self, integrand: Integrand, sums: Sums) -> Jet:
        """The model of int_0^oo u^{k-1} e^{-ou} prod_j M_j(u)^{n_j} du, from the sums of a part of the interval."""
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
        """At the last node alone, where copies of the M_j are frozen: a model takes no other values at single nodes."""
        super().fill(nodes[-1:])

    def sums(self, at: Any, length: int, is_sharp: bool) -> FiniteSums:
        """As series in the scale, begun at a number or a whole interval."""
        return FiniteSums(self, at, length, is_sharp)

    def value(self, j: int, sums: Sums) -> Jet:
        """The model of M_j(0)."""
        series = sums.joined(*(own.at_zero()[j] for own in (sums.thin, sums.near, sums.wide)))
        return sums.model(series, arb(0, self.rule.errors[j]))

    def missing_nats(self) -> float:
        """How much smaller the errors of the M_j have to be for the integrals to about e^-goal; 0 where they are."""
        needed = max([0.0, *(self.needed_nats([integrand], self.goal) - self.nats for integrand in self.integrands)])
        if needed > 0:
            return needed
        return max([0.0, *(self._excess(integrand) for integrand in self.integrands)])

    def _excess(self, integrand: Integrand) -> float:
        size = float(np.logaddexp.reduce(self.log_terms([integrand]))) + log(0.25 / self.step)
        return float(self._off(integrand).log()) - size + self.goal

    @cached_property
    def nodes(self) -> range:
        """Those of all windows."""
        windows = [window.nodes for window in self.windows.values()]
        return range(min(window[0] for window in windows), max(window[-1] for window in windows) + 1)

    @cached_property
    def blocks(self) -> list[Block]:
        """The nodes a few octaves at a time, where the kernel does not move or with the whole interval of K."""
        found, many = [], BLOCK * self.per_octave
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
        """For every integrand the nodes of its sum, and what lies beyond."""
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
        """sum over the window of the integrand of the finite sums, and of its polynomial before, as a series."""
        with terms(sums.length):
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
        """Bounds of |M_j| and of the finite sums that stand for them, at every scale, for every node."""
        rows = (row for block in self.blocks for row in self.rule.sums(block.rounded, block.seen))
        return [[abs(moment).upper() for moment in row] for row in rows]

    def _off(self, integrand: Integrand) -> Any:
        """A ball above the change of the outer sum by the errors of the M_j, at every scale; kept."""
        if integrand not in self.known_off:
            nodes = self.windows[integrand].nodes
            self.known_off[integrand] = sum((self._off_at(integrand, i) for i in nodes), arb(0))
        return self.known_off[integrand]

    def _off_at(self, integrand: Integrand, i: int) -> Any:
        """Of one node."""
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
    """Some nodes: the tokens that are seen there, and their e^{-uK}, a row for every node."""

    seen: Seen
    loads: Any

    @cached_property
    def rounded(self) -> Any:
        """Where no more than a bound is needed: products of few bits are faster."""
        with ctx.workprec(FEW_BITS):
            return self.loads * arb(1)


class FiniteSums:
    """The sums M_j(u) = step sum_i F_j(x_i) e^{-u K(x_i)} of one rule, as series in the scale.

    Args:
        transform: whose rule it is.
        at: where the series begin: a number, or a whole interval.
        length: terms kept.
        is_sharp: whether to more than ``FEW_BITS``.
    """

    def __init__(self, transform: MovingTransform, at: Any, length: int, is_sharp: bool) -> None:
        self.is_sharp = is_sharp
        self.bits = line_bits(transform.nats) if is_sharp else FEW_BITS
        self.transform, self.length = transform, length
        self.known: dict[tuple[Any, ...], Any] = {}
        self.series = Series(transform.scale, at)
        self.orders = range(length if transform.is_kernel_moving else 1)
        self.tokens: list[tuple[Any, list[Any]]] = []
        with terms(length):
            step = arb_series([transform.rule.step])
            self.weights = [self._token(x, step) for x in transform.rule.nodes]
        self.matrix = arb_mat(self.weights)

    def _token(self, x: Any, step: Any) -> list[Any]:
        """Of one token the coefficients of step F_j (K - K_0)^m from t^m on, for every j and m."""
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
        """In few bits, where these tell a function from its singularities."""
        at = self.transform.line.variable, arb_series([x]), self.series
        try:
            with ctx.workprec(self.bits):
                return all_enclosed(functions, *at)
        except NotProved:
            return all_enclosed(functions, *at)

    @cached_property
    def rows(self) -> list[list[Any]]:
        """Sums over the rule at every node of the outer sum: products of matrices, far faster than row by row."""
        with ctx.workprec(self.bits):
            if self.transform.is_kernel_moving:
                loads = self.transform.loads([kernel[0] for kernel, _ in self.tokens], self.transform.nodes)
                moved: list[list[Any]] = ((loads * arb(1)) * (self.matrix * arb(1))).tolist()
                return moved
            found, own = [], sizes(self.weights)
            for block in self.transform.blocks:
                found += block.seen.sums(block.loads if self.is_sharp else block.rounded, self.weights, own)
            return found

    @kept
    def at(self, i: int) -> list[Any]:
        """The series of M_j(e^{ih}) for every factor, i one of the nodes of the transform."""
        return self._series(self.rows[i - self.transform.nodes[0]], -(i * self.transform.exact_step).exp())

    def start(self, integrand: Integrand, count: int) -> list[Any]:
        """The coefficients of 1, u, ..., u^{count - 1} in e^{-ou} prod_j M_j^{n_j}, as series."""
        offset = [arb_series([(-integrand.offset) ** r / factorial(r)]) for r in range(count)]
        with terms(self.length):
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
        with terms(self.length):
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
    """The finite sums of a transform at the centre of a part of its interval, and over the whole part.

    Args:
        transform: of an interval that holds the part.
        centre, radius: of the part, exact.
        length: terms of the models.
        sharp: of these the first so many are as sharp as the transform, unless it is rough; of the others few digits do.
    """

    def __init__(self, transform: Any, centre: Any, radius: Any, length: int, sharp: int) -> None:
        self.radius, self.length = radius, length
        sharp = 0 if transform.is_rough else min(sharp, length)
        self.near = transform.sums(centre, length, sharp == length)
        self.thin = transform.sums(centre, sharp, True) if 0 < sharp < length else self.near
        self.wide = transform.sums(centre + arb(0, radius), length + 1, False)

    def joined(self, thin: Any, near: Any, wide: Any) -> list[Any]:
        """The coefficients of three series of one function: as many as there are of the sharper, the last of the widest."""
        return [
            (thin if k < self.thin.length else near if k < self.length else wide)[k] for k in range(self.length + 1)
        ]

    def model(self, coefficients: list[Any], rest: Any) -> Jet:
        return Jet(arb_poly(coefficients), rest, self.radius, self.length + 1)
