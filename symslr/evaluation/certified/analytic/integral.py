"""int_0^oo u^{k-1} e^{-ou} prod_j M_j(u)^{n_j} du for M_j(u) = int F_j e^{-uK} dx, enclosed: the trapezoid rule in log u.

The discretisation error is relative to the integral, as for an exponential kernel; the tails are bounded by M_j(0) on the left
and by moments of 1/K on the right: docs/proofs.md, section 7.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from math import ceil, factorial, floor, lgamma, log
from typing import Any

import numpy as np
from flint import arb, arb_mat, arb_poly

from symslr.evaluation.certified.analytic.line import MOST_TERMS, Array, Line, LineRule
from symslr.evaluation.certified.analytic.proof import NotProved
from symslr.evaluation.certified.exponential.inner import power
from symslr.evaluation.certified.exponential.integral import outer_error
from symslr.evaluation.certified.exponential.steps import outer_step, outer_strip
from symslr.evaluation.certified.taylor import Taylor
from symslr.evaluation.numbers.balls import exponentials

BLOCK = 8
"""Octaves of u whose sums are over the same tokens."""

LARGEST_POWER = 4.0
"""The step in log u is the one for u^{LARGEST_POWER - 1}, so that all integrals of a formula share their nodes."""

FEW_COPIES = 4
"""Of so many factors all are bounded by a moment in the right tail; of more, half stay frozen at the last node."""

PLANNED = np.arange(-100.0, 300.0, 0.25)
"""Where the integrand is estimated in floats, in log u."""
SPARE = 0.5
"""The first node lies so much before the place where the terms that are left out should do."""
POWERS = tuple(2.0 ** (i / 4) for i in range(-20, 53))
"""The moments that are tried in the right tail."""


@dataclass(frozen=True)
class Integrand:
    """u^{k-1} e^{-ou} prod M_j(u)^{n_j}; ``copies`` are the n_j in the order of the line's factors."""

    k: Any
    offset: Any
    copies: tuple[int, ...]


@dataclass(frozen=True)
class Window:
    """Where an integral has its nodes.

    Attributes:
        nodes: i of the nodes e^{ih}.
        start: the product of the M_j and e^{-ou} on 0 <= u <= the first node, in powers of u.
        beyond: a ball with the sum over the nodes outside, but for that of the polynomial of ``start`` before the first.
    """

    nodes: range
    start: Taylor
    beyond: Any


class Transform:
    """The functions M_j of one line on the nodes e^{ih}, at one precision; every integral of a formula takes them from here."""

    most_terms = MOST_TERMS

    def __init__(self, line: Line, nats: float) -> None:
        self.line, self.nats = line, nats
        self.per_octave = ceil(log(2) / outer_step(LARGEST_POWER, nats))
        self.step = log(2) / self.per_octave
        self.rule: LineRule = line.rule(nats)
        self.known: dict[int, list[Any]] = {}
        self.logs = self.rule.float_logs(PLANNED)
        self.at_zero = self.rule.at(arb(0))

    @property
    def exact_step(self) -> Any:
        """h = log(2)/m as a ball, for whole m: loads an octave apart are squares."""
        return arb.const_log2() / self.per_octave

    def at(self, i: int) -> list[Any]:
        """M_j(e^{ih}) for every factor, i one of the nodes of ``fill``."""
        return self.known[i]

    def fill(self, nodes: range) -> None:
        """Find the M_j at nodes where they are not known."""
        while missing := [i for i in nodes if i not in self.known]:
            run = [i for count, i in enumerate(missing[: BLOCK * self.per_octave]) if i == missing[0] + count]
            seen = self.rule.seen((run[0] * self.exact_step).exp())
            loads = arb_mat(exponentials(seen.kernel, run[0], self.per_octave, len(run)))
            self.known |= zip(run, self.rule.sums(loads, seen))

    def needed_nats(self, integrand: Integrand, nats: float) -> float:
        """Nats such that errors e^-nats in every M_j keep the integral to e^-nats of the argument."""
        terms = self._log_terms(integrand)
        inside = terms > np.max(terms) - nats - 5
        spoiled = [(terms + log(n) - self.logs[j])[inside] for j, n in enumerate(integrand.copies) if n]
        excess = np.logaddexp.reduce(np.concatenate(spoiled)) - np.logaddexp.reduce(terms)
        return nats + max(0.0, float(excess))

    def _log_terms(self, integrand: Integrand) -> Array:
        terms = float(integrand.k) * PLANNED - float(integrand.offset) * np.exp(PLANNED)
        for j, n in enumerate(integrand.copies):
            if n:
                terms = terms + n * self.logs[j]
        return np.asarray(terms)

    def integral(self, integrand: Integrand, nats: float) -> Any:
        """The enclosure.

        Raises:
            NotProved: where a tail is not bounded.
        """
        window = self.window(integrand, nats)
        self.fill(window.nodes)
        step = self.exact_step
        total = window.beyond + sum(
            self.before(integrand.k + r, window.nodes[0]) * p for r, p in enumerate(window.start.polynomial.coeffs())
        )
        value, rise = (integrand.k * (window.nodes[0] * step)).exp(), (integrand.k * step).exp()
        for i in window.nodes:
            term = value
            if not integrand.offset.is_zero():
                term = term * (-integrand.offset * (i * step).exp()).exp()
            for n, moment in zip(integrand.copies, self.at(i)):
                if n:
                    term = term * _powered(moment, n)
            total += term
            value *= rise
        return step * total / (1 + arb(0, self._discretisation(integrand).upper()))

    def window(self, integrand: Integrand, nats: float) -> Window:
        """Where an integral to about e^-nats has its nodes, and what lies beyond them.

        Raises:
            NotProved: where the right tail is not bounded.
        """
        terms = self._log_terms(integrand)
        goal = float(np.logaddexp.reduce(terms)) + log(PLANNED[1] - PLANNED[0]) - nats
        low, count = self._left_end(integrand, goal)
        high, frozen, powers = self._right_end(integrand, terms, goal)
        start = self._start(integrand, low, count)
        tail = self._right_tail(integrand, high, frozen, powers)
        return Window(range(low, high + 1), start, start.rest * self.before(integrand.k, low) + arb(0.5, 0.5) * tail)

    def _discretisation(self, integrand: Integrand) -> Any:
        return outer_error(integrand.k, self.exact_step, outer_strip(float(integrand.k), self.step))

    def before(self, power: Any, low: int) -> Any:
        """sum_{m >= 1} e^{power (low - m) h}."""
        step = self.exact_step
        return (power * (low * step)).exp() / (power * step).expm1()

    def _left_end(self, integrand: Integrand, goal: float) -> tuple[int, int]:
        """The first node and how many Taylor terms the product of the M_j has before it, those with which it comes last.

        With R terms about (u rho)^R/R! is left out, rho^R = E F K^R/E F for one factor, summed over all of them.
        """
        zero = sum(n * self.logs[j][0] for j, n in enumerate(integrand.copies) if n)
        rates = [float(integrand.offset)] if integrand.offset > 0 else []

        def end(count: int) -> float:
            moments = self.rule.float_log_moments[count] - self.rule.float_log_moments[0]
            logs = [log(n) + moments[j] / count for j, n in enumerate(integrand.copies) if n]
            left_out = count * float(np.logaddexp.reduce([*logs, *map(log, rates)])) - lgamma(count + 1)
            return float((goal - max(zero, 0.0) - left_out) / (float(integrand.k) + count))

        count = max(range(1, self.most_terms + 1), key=end)
        return floor((end(count) - SPARE) / self.step), count

    def _start(self, integrand: Integrand, low: int, count: int) -> Taylor:
        """e^{-ou} prod M_j(u)^n_j on 0 <= u <= e^{low h}."""
        radius = (low * self.exact_step).exp().upper()
        offset = [(-integrand.offset) ** r / factorial(r) for r in range(count + 1)]
        product = _model(offset, arb(0), radius)
        for j, n in enumerate(integrand.copies):
            if n:
                product = product * _model(self.rule.taylor[j][: count + 1], self.rule.errors[j], radius).power(n)
        return product

    def _right_end(
        self, integrand: Integrand, terms: Array, goal: float
    ) -> tuple[int, tuple[int, ...], tuple[float, ...]]:
        """The last node, how many copies are frozen there, and the power of 1/K that bounds each of the others."""
        copies = integrand.copies
        frozen = tuple(0 if n <= FEW_COPIES else n // 2 for n in copies)
        first, last = int(np.argmax(terms)), len(PLANNED) - 1

        def bound(index: int) -> tuple[float, tuple[float, ...]]:
            v = float(PLANNED[index])
            rate = float(integrand.offset) * float(np.exp(v))
            total = float(integrand.k) * v - rate
            chosen = []
            for j, n in enumerate(copies):
                if not n:
                    chosen.append(0.0)
                    continue
                power, size = self._best_power(j, v)
                chosen.append(power)
                total += frozen[j] * self.logs[j][index] + (n - frozen[j]) * size
                rate += (n - frozen[j]) * power
            excess = rate - float(integrand.k)
            return (total if excess > 0.3 else np.inf), tuple(chosen)

        if not bound(last)[0] < goal:
            raise NotProved("certified: the right tail of the Laplace integral is not bounded: extreme parameters")
        while last - first > 1:
            middle = (first + last) // 2
            first, last = (first, middle) if bound(middle)[0] < goal else (middle, last)
        return ceil(float(PLANNED[last]) / self.step), frozen, bound(last)[1]

    def _best_power(self, j: int, v: float) -> tuple[float, float]:
        """(p, log of (p/(e u))^p int F_j K^-p dx) at u = e^v for the best p of ``POWERS``: the logarithm is convex in p."""

        def size(i: int) -> float:
            return POWERS[i] * (log(POWERS[i]) - 1 - v) + self.line.log_moment(j, POWERS[i])

        i = bisect_left(range(len(POWERS) - 1), True, key=lambda i: not size(i + 1) < size(i))
        return POWERS[i], size(i)

    def _right_tail(self, integrand: Integrand, high: int, frozen: tuple[int, ...], powers: tuple[float, ...]) -> Any:
        """sum_{m >= 1} G(v_high + mh): frozen copies fall, of the others M(u) <= (p/(e u))^p int F K^-p dx."""
        step = self.exact_step
        v = high * step
        if any(frozen):
            self.fill(range(high, high + 1))
        rate = integrand.offset * v.exp()
        bound = (integrand.k * v - rate).exp()
        for j, n in enumerate(integrand.copies):
            if not n:
                continue
            m, p = n - frozen[j], arb(powers[j])
            moment = p * p.log() - p - p * v + arb(self.line.log_moment(j, powers[j]))
            bound *= (m * moment).exp() * (_powered(self.at(high)[j], frozen[j]) if frozen[j] else 1)
            rate += m * p
        if not rate > integrand.k:
            raise NotProved("certified: the right tail of the Laplace integral could not be bounded")
        return (bound / ((rate - integrand.k) * step).expm1()).upper()


def _model(coefficients: list[Any], error: Any, radius: Any) -> Taylor:
    """sum_i w_i e^{-u k_i} +- error, w_i, k_i >= 0: off its alternating series by less than the first term left out."""
    count = len(coefficients) - 1
    rest = arb(0, (abs(coefficients[count]) * radius**count + error).upper())
    return Taylor(arb_poly(coefficients[:count]), rest, radius, count)


def _powered(number: Any, n: int) -> Any:
    return number**n if number > 0 else power(number, n)
