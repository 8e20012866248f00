"""int_0^oo u^{k-1} e^{-ou} prod_j M_j(u)^{n_j} du, enclosed: the trapezoid rule in v = log u.

M_j(u) = E_j e^{-uK} for positive measures and K > 0. The discretisation error is relative to the integral itself. The part below
the first node is a Taylor series in u; the part above the last is bounded by moments of 1/K: docs/proofs.md, sections 3 and 5.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import atan, ceil, cos, factorial, floor, inf, lgamma, log, pi, sqrt
from typing import Any

import numpy as np
from flint import arb, arb_poly

from symslr.evaluation.certified.normal_form import Monomial
from symslr.evaluation.certified.taylor import TaylorModel
from symslr.evaluation.errors import NotProved, OutOfDigits
from symslr.evaluation.numbers.elementary import ball, sign, whole_power

Array = np.ndarray[Any, np.dtype[np.float64]]

MOST_TERMS = 24
"""Most terms of the Taylor series in u below the first node: they replace all but a few octaves of the nodes below the peak."""

FEW_COPIES = 4
"""In the right tail up to this many copies of a function are all bounded by a moment; of more copies, half are bounded by their
value at the last node ("frozen")."""

FIRST_NODE_MARGIN = 0.5
"""How far, in log u, the first node is put before the estimated end of validity of the Taylor series."""

MOST_NODES = 1 << 21
"""Most nodes of one integral: each takes a few hundred bytes, and a hundred thousand at least a second."""

LEAST_DECAY_RATE = 0.3
"""The bound of the right tail falls at least like e^{-LEAST_DECAY_RATE v}."""


@dataclass(frozen=True)
class Integrand:
    """u^{k-1} e^{-ou} prod M_j(u)^{n_j}.

    Attributes:
        k, offset: balls of k and o.
        copies: n_j, in the order of the functions of the rule.
    """

    k: Any
    offset: Any
    copies: tuple[int, ...]

    @classmethod
    def of(cls, term: Monomial, copies: tuple[int, ...], axis: int = 0) -> Integrand:
        """The integrand of a monomial without its coefficient, along one of its variables, at the current precision.

        Raises:
            NotProved: where the integral diverges, or the power of u is not a rational number above -1.
        """
        power, offset = term.powers[axis], term.offsets[axis]
        if sign(offset) < 0:
            raise NotProved(f"certified: the Laplace integral diverges, found exp({-offset}*u)")
        if not power.is_Rational or power <= -1:
            raise NotProved(f"certified: found u^({power}); expected a rational power above -1")
        return cls(ball(power + 1), ball(offset), copies)


@dataclass(frozen=True)
class Window:
    """The nodes of an integral and bounds of the rest of the sum.

    Attributes:
        nodes: the indices i of the nodes u = e^{ih}.
        start: a Taylor model of e^{-ou} prod M_j(u)^{n_j} on 0 <= u <= the first node.
        beyond: a ball that holds the sum over all other nodes, without the polynomial of ``start`` below the first.
    """

    nodes: range
    start: TaylorModel
    beyond: Any


class LogNodes:
    """The nodes v = ih of log u, and float estimates of the functions M_j by which they are chosen.

    Attributes:
        step: h as a float.
        grid: values of log u at which the M_j are estimated; it extends to where the right tails of all integrals are small.
        logs: log M_j on the grid (on the product grid for several variables), one array for every function.
        known_logs: the same for the functions that are computed to an absolute error (M_j, or its tilted form).
    """

    step: float
    grid: Array
    logs: Sequence[Array]
    known_logs: Sequence[Array]

    @property
    def exact_step(self) -> Any:
        """h as a ball."""
        return arb(self.step)

    def discretisation(self, integrand: Integrand) -> Any:
        """Theorem (outer strip): a bound of |sum over all nodes - integral| / integral."""
        return outer_error(integrand.k, self.exact_step, outer_strip(float(integrand.k), self.step))

    def before(self, power: Any, low: int) -> Any:
        """The geometric series sum_{m >= 1} e^{power (low - m) h}: the sum of u^power over the nodes before ``low``."""
        step = self.exact_step
        return (power * (low * step)).exp() / (power * step).expm1()

    def log_terms(self, along: Sequence[Integrand]) -> Array:
        """An estimate of the logarithm of an integrand on the product of the grids; ``along`` has one part per variable."""
        parts = (float(own.k) * self.grid - float(own.offset) * np.exp(np.minimum(self.grid, 700.0)) for own in along)
        terms = reduce(np.add.outer, parts)
        for n, logs in zip(along[0].copies, self.logs):
            if n:
                terms = terms + n * logs
        return np.asarray(terms)

    def needed_nats(self, along: Sequence[Integrand], nats: float) -> float:
        """The nats m such that errors of e^-m in every M_j change the integral by a relative e^-nats."""
        terms = self.log_terms(along)
        inside = terms > np.max(terms) - nats - 5
        spoiled = [(terms + log(n) - own)[inside] for n, own in zip(along[0].copies, self.known_logs) if n]
        excess = np.logaddexp.reduce(np.concatenate(spoiled)) - np.logaddexp.reduce(terms, axis=None)
        return nats + max(0.0, float(excess))


class OuterRule(LogNodes, ABC):
    """Abstract: functions M_j on the nodes e^{ih}, and the integrals of their products.

    Attributes:
        log_moments: estimates of log E_j K^r: a row for every r up to ``most_terms``, a column for every function.
        errors: for every function an upper bound of the error of ``taylor``.
        known: the values M_j at the nodes where they have been computed.
    """

    log_moments: Array
    errors: Sequence[Any]
    known: dict[int, list[Any]]
    most_terms = MOST_TERMS

    @property
    @abstractmethod
    def taylor(self) -> Sequence[Sequence[Any]]:
        """Taylor coefficients in u of every function, up to ``most_terms``."""

    @abstractmethod
    def fill(self, nodes: range) -> None:
        """Compute the M_j at consecutive nodes where they are not ``known``."""

    @abstractmethod
    def log_moment(self, j: int, p: float) -> Any:
        """log of an upper bound of E_j K^-p."""

    @abstractmethod
    def best_power(self, j: int, v: float) -> tuple[float, float]:
        """(p, log of (p/(e u))^p E_j K^-p) at u = e^v, for a p >= 0 that nearly minimises this bound of M_j(u)."""

    def integral(self, integrand: Integrand, nats: float) -> Any:
        """An enclosure of the integral, of relative width about e^-nats.

        Raises:
            NotProved: where a tail is not bounded.
        """
        window = self.window(integrand, nats)
        step = self.exact_step
        total = window.beyond + sum(
            self.before(integrand.k + r, window.nodes[0]) * p for r, p in enumerate(window.start.polynomial.coeffs())
        )
        value, rise = (integrand.k * (window.nodes[0] * step)).exp(), (integrand.k * step).exp()
        for i in window.nodes:
            term = value
            if not integrand.offset.is_zero():
                term = term * (-integrand.offset * (i * step).exp()).exp()
            for n, moment in zip(integrand.copies, self.known[i]):
                if n:
                    term = term * whole_power(moment, n)
            total += term
            value *= rise
        return step * total / (1 + arb(0, self.discretisation(integrand).upper()))

    def window(self, integrand: Integrand, nats: float) -> Window:
        """The nodes of an integral to about e^-nats, at which the M_j are computed, and bounds of the rest.

        Raises:
            NotProved: where the right tail is not bounded.
            OutOfDigits: for more than ``MOST_NODES`` nodes.
        """
        terms = self.log_terms([integrand])
        goal = float(np.logaddexp.reduce(terms)) + log(self.grid[1] - self.grid[0]) - nats
        zero = sum(n * self.log_moments[0][j] for j, n in enumerate(integrand.copies) if n)
        end, count = left_end(integrand, self.log_moments[: self.most_terms + 1], goal - max(zero, 0.0))
        low = floor(end / self.step)
        high, frozen, powers = self._right_end(integrand, terms, goal)
        nodes = range(low, high + 1)
        if len(nodes) > MOST_NODES:
            raise OutOfDigits(
                f"certified: the Laplace integral takes {len(nodes):.1g} nodes, more than {MOST_NODES:.1g}: extreme parameters"
            )
        self.fill(nodes)
        start, tail = self._start(integrand, low, count), self._right_tail(integrand, high, frozen, powers)
        return Window(nodes, start, start.rest * self.before(integrand.k, low) + arb(0.5, 0.5) * tail)

    def _start(self, integrand: Integrand, low: int, count: int) -> TaylorModel:
        """A Taylor model of e^{-ou} prod M_j(u)^n_j on 0 <= u <= e^{low h}, with ``count`` terms."""
        radius = (low * self.exact_step).exp().upper()
        return taylor_at_zero(integrand, [row[: count + 1] for row in self.taylor], self.errors, radius)

    def _right_end(
        self, integrand: Integrand, terms: Array, goal: float
    ) -> tuple[int, tuple[int, ...], tuple[float, ...]]:
        """The last node, the number of frozen copies of every function, and the powers of 1/K that bound the other copies."""
        frozen = tuple(0 if n <= FEW_COPIES else n // 2 for n in integrand.copies)

        def falls(index: int) -> bool:
            kept = sum(n * self.logs[j][index] for j, n in enumerate(frozen) if n)
            return self._moment_bound(integrand, frozen, float(self.grid[index]))[0] + kept < goal

        last = len(self.grid) - 1
        if not falls(last):
            raise NotProved("certified: the right tail of the Laplace integral is not bounded: extreme parameters")
        last = bisect_left(range(last), True, lo=int(np.argmax(terms)) + 1, key=falls)
        return (
            ceil(self.grid[last] / self.step),
            frozen,
            self._moment_bound(integrand, frozen, float(self.grid[last]))[1],
        )

    def _moment_bound(self, integrand: Integrand, frozen: Sequence[int], v: float) -> tuple[float, tuple[float, ...]]:
        """(log of the bound of the right tail at e^v without frozen copies, the powers of 1/K); inf where it does not decay."""
        k, rate = float(integrand.k), float(integrand.offset) * float(np.exp(min(v, 700.0)))
        total, powers = k * v - rate, []
        for j, n in enumerate(integrand.copies):
            power, size = self.best_power(j, v) if n else (0.0, 0.0)
            powers.append(power)
            total += (n - frozen[j]) * size
            rate += (n - frozen[j]) * power
        return (total if rate > k + LEAST_DECAY_RATE else inf), tuple(powers)

    def _right_tail(self, integrand: Integrand, high: int, frozen: tuple[int, ...], powers: tuple[float, ...]) -> Any:
        """A bound of the sum over nodes beyond ``high``: frozen copies decrease, the others are M(u) <= (p/(e u))^p E K^-p."""
        step = self.exact_step
        v = high * step
        rate = integrand.offset * v.exp()
        bound = (integrand.k * v - rate).exp()
        for j, n in enumerate(integrand.copies):
            m, p = n - frozen[j], arb(powers[j])
            if frozen[j]:
                bound *= whole_power(self.known[high][j], frozen[j])
            if p > 0:
                bound *= (m * (p * p.log() - p - p * v + self.log_moment(j, powers[j]))).exp()
                rate += m * p
        if not rate > integrand.k:
            raise NotProved("certified: the right tail of the Laplace integral could not be bounded")
        return (bound / ((rate - integrand.k) * step).expm1()).upper()


def left_end(integrand: Integrand, log_moments: Array, room: float) -> tuple[float, int]:
    """(largest log u for the first node, number R of Taylor terms below it).

    R terms leave an error of about (u rho)^R/R!, rho^R = E K^R/E 1 for one factor, summed over all factors. Without terms the
    product is bounded by its value at 0.

    Args:
        log_moments: log E_j K^r, a row for every r.
        room: log of the error allowed, relative to the product at u = 0.
    """
    rates = [log(float(integrand.offset))] if integrand.offset > 0 else []

    def end(count: int) -> float:
        if not count:
            return float(room / float(integrand.k))
        moments = log_moments[count] - log_moments[0]
        logs = [log(n) + moments[j] / count for j, n in enumerate(integrand.copies) if n]
        left_out = count * float(np.logaddexp.reduce([*logs, *rates])) - lgamma(count + 1)
        return float(min((room - left_out) / (float(integrand.k) + count), -left_out / count))

    count = max(range(len(log_moments)), key=end)
    return end(count) - FIRST_NODE_MARGIN, count


def taylor_at_zero(
    integrand: Integrand, taylor: Sequence[Sequence[Any]], errors: Sequence[Any], radius: Any
) -> TaylorModel:
    """A Taylor model of e^{-ou} prod M_j(u)^n_j on 0 <= u <= radius, from the coefficients of every M_j, the last for the
    remainder."""
    count = len(taylor[0]) - 1
    if not count:
        top = arb(1)
        for own, error, n in zip(taylor, errors, integrand.copies):
            top *= (abs(own[0]) + error) ** n
        return TaylorModel(arb_poly([]), arb(0, top.upper()), radius, 0)
    product = _model([(-integrand.offset) ** r / factorial(r) for r in range(count + 1)], arb(0), radius)
    for own, error, n in zip(taylor, errors, integrand.copies):
        if n:
            product = product * _model(own, error, radius).power(n)
    return product


def _model(coefficients: Sequence[Any], error: Any, radius: Any) -> TaylorModel:
    """A Taylor model of E e^{-uK} +- error, K >= 0: the remainder of its alternating series is below the first omitted term."""
    count = len(coefficients) - 1
    rest = arb(0, (abs(coefficients[count]) * radius**count + error).upper())
    return TaylorModel(arb_poly(coefficients[:count]), rest, radius, count)


def outer_step(k: float, nats: float) -> float:
    """An estimate of the largest step h for which the outer strip bound 2 cos(d)^-k / (e^{2 pi d/h} - 1) is below e^-nats."""

    def gain(h: float) -> float:
        d = outer_strip(k, h)
        return 2 * pi * d / h + k * log(cos(d)) - log(2)

    return largest_step(gain, nats, 1e-6)


def largest_step(gain: Callable[[float], float], nats: float, least: float) -> float:
    """The largest step between ``least`` and 10 with gain(step) > nats, for a decreasing gain; by bisection to 1 part in 1000."""
    left, right = least, 10.0
    while right / left > 1.001:
        step = sqrt(left * right)
        left, right = (step, right) if gain(step) > nats else (left, step)
    return left


def outer_strip(k: float, h: float) -> float:
    """The half-width d < pi/2 that minimises cos(d)^-k e^{-2 pi d/h}."""
    return atan(2 * pi / (h * k))


def outer_error(k: Any, step: Any, strip: float) -> Any:
    """eps = 2 cos(d)^-k / (e^{2 pi d/h} - 1) for the half-width d = ``strip`` < pi/2 of the strip in v."""
    d = arb(strip)
    if not 2 * d < arb.pi():
        raise ArithmeticError("outer strip: half-width beyond pi/2")
    return 2 * d.cos() ** (-k) / (2 * arb.pi() * d / step).expm1()
