"""int_0^oo u^{k-1} e^{-ou} prod_j M_j(u)^{n_j} du for M_j(u) = int F_j e^{-uK} dx, enclosed: the trapezoid rule in log u.

The discretisation error is relative to the integral, as for an exponential kernel; the tails are bounded by M_j(0) on the left
and by moments of 1/K on the right: docs/proofs.md, section 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log
from typing import Any

import numpy as np
from flint import arb

from symslr.evaluation.certified.analytic.line import Array, Line, LineRule
from symslr.evaluation.certified.analytic.proof import NotProved
from symslr.evaluation.certified.exponential.inner import power
from symslr.evaluation.certified.exponential.integral import outer_error
from symslr.evaluation.certified.exponential.steps import outer_step, outer_strip

LARGEST_POWER = 4.0
"""The step in log u is the one for u^{LARGEST_POWER - 1}, so that all integrals of a formula share their nodes."""

FEW_COPIES = 4
"""Of so many factors all are bounded by a moment in the right tail; of more, half stay frozen at the last node."""

PLANNED = np.arange(-100.0, 300.0, 0.25)
"""Where the integrand is estimated in floats, in log u."""
POWERS = tuple(2.0 ** (i / 4) for i in range(-20, 53))
"""The moments that are tried in the right tail."""


@dataclass(frozen=True)
class Integrand:
    """u^{k-1} e^{-ou} prod M_j(u)^{n_j}; ``copies`` are the n_j in the order of the line's factors."""

    k: Any
    offset: Any
    copies: tuple[int, ...]


class Transform:
    """The functions M_j of one line on the nodes e^{ih}, at one precision; every integral of a formula takes them from here."""

    def __init__(self, line: Line, nats: float) -> None:
        self.line, self.nats = line, nats
        self.step = outer_step(LARGEST_POWER, nats)
        self.rule: LineRule = line.rule(nats)
        self.known: dict[int, list[Any]] = {}
        self.logs = self.rule.float_logs(PLANNED)
        self.at_zero = self.rule.at(arb(0))

    def at(self, i: int) -> list[Any]:
        """M_j(e^{ih}) for every factor."""
        if i not in self.known:
            self.known[i] = self.rule.at((i * arb(self.step)).exp())
        return self.known[i]

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
        window, tails = self.window(integrand, nats)
        step = arb(self.step)
        total = arb(0)
        value, rise = (integrand.k * (window[0] * step)).exp(), (integrand.k * step).exp()
        for i in window:
            term = value
            if not integrand.offset.is_zero():
                term = term * (-integrand.offset * (i * step).exp()).exp()
            for n, moment in zip(integrand.copies, self.at(i)):
                if n:
                    term = term * _powered(moment, n)
            total += term
            value *= rise
        total += arb(0.5, 0.5) * tails
        return step * total / (1 + arb(0, self._discretisation(integrand).upper()))

    def window(self, integrand: Integrand, nats: float) -> tuple[range, Any]:
        """The nodes outside of which less than about e^-nats of the integral lies, and a bound of the sum beyond.

        Raises:
            NotProved: where a tail is not bounded.
        """
        terms = self._log_terms(integrand)
        size = float(np.logaddexp.reduce(terms)) + log(PLANNED[1] - PLANNED[0])
        zero = sum(n * self.logs[j][0] for j, n in enumerate(integrand.copies) if n)
        low = floor(((size - nats - max(zero, 0.0)) / float(integrand.k) - 2) / self.step)
        high, frozen, powers = self._right_end(integrand, terms, size - nats)
        tails = self._left_tail(integrand, low) + self._right_tail(integrand, high, frozen, powers)
        return range(low, high + 1), tails

    def _discretisation(self, integrand: Integrand) -> Any:
        return outer_error(integrand.k, arb(self.step), outer_strip(float(integrand.k), self.step))

    def _left_tail(self, integrand: Integrand, low: int) -> Any:
        """sum_{m >= 1} G(v_low - mh) <= prod M_j(0)^n_j e^{k v} / (e^{kh} - 1)."""
        step = arb(self.step)
        bound = (integrand.k * (low * step)).exp() / (integrand.k * step).expm1()
        for n, moment in zip(integrand.copies, self.at_zero):
            bound *= _powered(moment, n) if n else arb(1)
        return bound.upper()

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

        i = 0
        while i + 1 < len(POWERS) and size(i + 1) < size(i):
            i += 1
        return POWERS[i], size(i)

    def _right_tail(self, integrand: Integrand, high: int, frozen: tuple[int, ...], powers: tuple[float, ...]) -> Any:
        """sum_{m >= 1} G(v_high + mh): frozen copies fall, of the others M(u) <= (p/(e u))^p int F K^-p dx."""
        step = arb(self.step)
        v = high * step
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


def _powered(number: Any, n: int) -> Any:
    return number**n if number > 0 else power(number, n)
