"""Laplace integrals of Gaussian tokens under exponential kernels, int u^power e^{-ou} prod_j phi_j(u)^{n_j} du, enclosed.

phi(u) = E exp(-u e^{c + s z}), z ~ N(0, 1), is a function of log u + c alone. On a lattice of log u the trapezoid rule in z uses
every sample of exp(-e^y) for many nodes: the table is one product of polynomials. The integral over log u is the rule of
``axis``. Steps, tilts and ends are chosen in float64; no proof rests on them (docs/proofs.md, sections 3 to 6).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, repeat
from math import ceil, floor, frexp, log, pi, sqrt
from operator import mul
from typing import Any

import numpy as np
from flint import arb, ctx, fmpz_poly

from symslr.evaluation.errors import CannotEvaluate, NotProved, OutOfDigits
from symslr.evaluation.numbers.compiled import wright_omega
from symslr.evaluation.numbers.elementary import ball, nearest_float, sign, whole_power
from symslr.evaluation.panels import axis
from symslr.evaluation.panels.on_lattices import Monomial
from symslr.evaluation.panels.tokens import SLACK

Array = np.ndarray[Any, np.dtype[np.float64]]

SPARE = 8.0
"""Nats by which every error is aimed lower than asked for."""
GUARD = 40
"""Bits beyond those of the tables: sums of a million terms lose 20."""
LARGEST_LOG_U = 2e5
"""Largest |log u|, and largest number of extra nats of precision, that is planned for."""
ZOOMS, ZOOM_POINTS = 5, 61
"""The maximum of the integrand is searched on a grid, several times, each time between the neighbours of the highest point."""
WINDOW_POINTS = 400
"""Points of the grid on which the integrand is estimated."""
MOST_SAMPLES = 1 << 20
"""Of one table: some four seconds."""


def laplace_integral(term: Monomial, bits: int) -> Any:
    """An enclosure of the integral of a monomial over u > 0, of relative width about 2^-bits. Its coefficient is left out.

    Raises:
        CannotEvaluate: when the integral diverges, or its parameters are out of reach.
    """
    k, o = term.power + 1, term.offset
    if sign(o) < 0 or (sign(o) == 0 and not any(term.tokens.values())):
        raise CannotEvaluate(f"certified: the Laplace integral diverges, found exp({-o}*u) as u -> oo")
    if sign(k) <= 0:
        raise CannotEvaluate(f"certified: found u^({term.power}); expected a power above -1")
    if not any(term.tokens.values()):
        with ctx.workprec(bits + GUARD):
            return ball(k).gamma() / ball(o) ** ball(k)
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return Plan(term, bits * log(2) + SPARE).integral()
    except OverflowError:
        raise CannotEvaluate("certified: the window of the Laplace integral overflows: extreme parameters") from None


class Plan:
    """Where the nodes of one integral lie, and to how many nats every table is computed.

    Attributes:
        nats: the relative error aimed at is e^-nats; ``token_nats`` those of the tables.
        tilts: m of each token: psi_m is computed instead of phi.
        peak, low, high: log u at the maximum of the integrand, and between which it is above e^-nats of that.
    """

    def __init__(self, term: Monomial, nats: float) -> None:
        self.term, self.nats = term, nats
        self.tokens = [(s, c, n) for (s, c), n in term.tokens.items() if n]
        self.k, self.offset = nearest_float(term.power + 1), nearest_float(term.offset)
        self.floats = [(nearest_float(s), nearest_float(c), float(n)) for s, c, n in self.tokens]
        low, high = -LARGEST_LOG_U, LARGEST_LOG_U
        for _ in range(ZOOMS):
            grid = np.linspace(low, high, ZOOM_POINTS)
            best = int(np.argmax(self._logs(grid)))
            low, self.peak, high = (float(grid[min(max(n, 0), ZOOM_POINTS - 1)]) for n in (best - 1, best, best + 1))
        top = float(self._logs(np.array([self.peak]))[0])
        if not (abs(self.peak) < LARGEST_LOG_U / 2 and np.isfinite(top)):
            raise CannotEvaluate("certified: the window of the Laplace integral is too wide: extreme parameters")
        steepest = max(1.0, *(s for s, *_ in self.floats))
        unit = steepest + nats / 100  # to which the ends are found
        self.low, self.high = (
            self.peak + unit * axis.first_below(lambda y: self._above(top, y * unit), -nats, rises)
            for rises in (True, False)
        )
        finest = 0.5 ** frexp(steepest)[1]  # rounding a tilt by less than 1/s loses less than a nat
        self.tilts = [floor(float(_saddle(s, self.peak + c)) / s**2 / finest) * finest for s, c, _ in self.floats]
        self.token_nats = nats + self._excess(np.linspace(self.low, self.high, WINDOW_POINTS))
        if not self.token_nats < nats + LARGEST_LOG_U:
            raise OutOfDigits("certified: the Laplace integral takes too many digits of its tokens: extreme parameters")

    def _logs(self, v: Array) -> Array:
        """An estimate of log of the integrand in v."""
        total = self.k * v - self.offset * np.exp(np.minimum(v, 700.0))
        return sum((n * log_phi(s, v + c) for s, c, n in self.floats), total)

    def _above(self, top: float, y: float) -> float:
        return float(self._logs(np.array([self.peak + y]))[0]) - top

    def _excess(self, v: Array) -> float:
        """Nats by which errors of the tables are enlarged in the integral."""
        logs = self._logs(v)
        spoiled = []
        for (s, c, n), m in zip(self.floats, self.tilts):
            psi = log_phi(s, v + c) + m * (v + c) - (m * s) ** 2 / 2 - (m * log(m) - m if m else 0.0)
            spoiled.append(logs + log(n) - psi)
        return max(0.0, float(np.logaddexp.reduce(np.concatenate(spoiled)) - np.logaddexp.reduce(logs)))

    def integral(self) -> Any:
        """The enclosure.

        Raises:
            NotProved: where the tails are not seen to fall.
            OutOfDigits: for more than ``MOST_SAMPLES`` samples.
        """
        inner = [axis.step_for(self.token_nats, m, s) for (s, *_), m in zip(self.floats, self.tilts)]
        largest = axis.step_for(self.nats, self.k)
        h = min((step * floor(largest / step) for step in inner if step <= largest), default=largest)
        count = ceil((self.high - self.low) / h) + 1
        with ctx.workprec(ceil(self.token_nats / log(2)) + GUARD):
            step, first = arb(h), arb(self.low)
            power, scale, tables = ball(self.term.power + 1), arb(1), []
            for (s, c, n), m, eta in zip(self.tokens, self.tilts, inner):
                s, c, m = ball(s), ball(c), arb(m)
                stride = ceil(h / eta - 1e-9)
                own = table(s, first + c - m * s**2, step, stride, count, m, self.token_nats)
                tables.append((n, own))
                if m > 0:  # phi = (m/e)^m e^{-m (v + c) + m^2 s^2/2} psi
                    power -= n * m
                    scale *= (n * (m * m.log() - m - m * c + (m * s) ** 2 / 2)).exp()
            offset, terms = ball(self.term.offset), []
            for i, (value, u) in enumerate(
                zip(_geometric(power * first, power * step, count), _geometric(first, step, count))
            ):
                total = value if offset.is_zero() else value * (-offset * u).exp()
                for n, own in tables:
                    total *= whole_power(own[i], n)
                terms.append(total)
            peak = round((self.peak - self.low) / h)
            whole = sum(terms, arb(0)) + beyond(terms[: peak + 1]) + beyond(terms[peak:][::-1])
            error = bound(axis.log_relative_error(h, self.k))
            return scale * step * whole / (1 + arb(0, error))


def beyond(terms: list[Any]) -> Any:
    """The sum over the nodes before the first of these, of a function whose logarithm is concave, as a ball.

    Raises:
        NotProved: where the function is not seen to rise from the first to the last of them.
    """
    first, last = terms[0].upper(), terms[-1]
    if not first > 0:
        return arb(0)
    ratio = ((first / last).log() / (len(terms) - 1)).exp() if len(terms) > 1 and last > 0 else arb(1)
    if not ratio < 1:
        raise NotProved("certified: the tails of the Laplace integral are not seen to fall: extreme parameters")
    return arb(0.5, 0.5) * (first * ratio / (1 - ratio)).upper()


def table(s: Any, start: Any, step: Any, stride: int, count: int, m: Any, nats: float) -> list[Any]:
    """Enclosures in [0, 1] of psi_m(t) = E f_m(t + s z) at t = start + i step, f_m(y) = exp(m (y - log m) + m - e^y).

    By the trapezoid rule in s z of step/stride, whose nodes beyond sqrt(2 nats) standard deviations are left out.
    """
    eta = step / stride
    reach = ceil(sqrt(2 * nats) * float((s / eta).mid()))
    width = min(stride, 2 * reach + 1)  # no sample between those of two nodes is needed
    total = (count - 1) * width + 2 * reach + 1
    if total > MOST_SAMPLES:
        raise OutOfDigits(f"certified: the Laplace integral takes {total:.1g} samples of a token: extreme parameters")
    low = start - reach * eta
    tilt = m * (low - m.log()) + m if m > 0 else arb(0)
    rows = zip(_geometric(low, step, total // width + 1), (tilt + m * i * step for i in range(total // width + 1)))
    columns = list(zip(_geometric(arb(0), eta, width), (m * j * eta for j in range(width))))
    samples = [(b + d - a * c).exp() for a, b in rows for c, d in columns][:total]
    half = [(eta / s) / (2 * arb.pi()).sqrt() * (-((j * eta / s) ** 2) / 2).exp() for j in range(reach + 1)]
    left, unit, left_errors = _rounded(half[:0:-1] + half, nats)
    right, _, right_errors = _rounded(samples, nats)
    error = sum(left_errors, arb(0)) + arb((sum(left), unit)) * max(right_errors)  # of fixed point
    error += (
        bound(axis.log_relative_error(float(eta.mid()), float(m), float(s.lower())))
        + (-((reach * eta / s) ** 2) / 2).exp()
    )
    product, ball_of_error = (fmpz_poly(left) * fmpz_poly(right)).coeffs(), arb(0, error.upper())
    places = range(2 * reach, 2 * reach + (count - 1) * width + 1, width)
    found = ((arb((product[n], 2 * unit)) if n < len(product) else arb(0)) + ball_of_error for n in places)
    return [own if 0 < own < 1 else own.intersection(arb(0.5, 0.5)) for own in found]


def _geometric(first: Any, step: Any, count: int) -> Iterator[Any]:
    """e^{first + i step}, i < count."""
    return accumulate(repeat(step.exp(), count - 1), mul, initial=first.exp())


def _rounded(balls: list[Any], nats: float) -> tuple[list[Any], int, list[Any]]:
    """Integers near 2^-unit times the balls, which are >= 0, with ``unit`` and upper bounds of the absolute errors."""
    unit = -ceil(nats / log(2)) - GUARD // 2
    scale, one = arb((1, -unit)), arb((1, unit))
    return [(own.mid() * scale).floor().unique_fmpz() for own in balls], unit, [own.rad() + one for own in balls]


def bound(log_error: float) -> Any:
    """An upper bound of e^log_error, of a number in float64."""
    return arb(log_error + SLACK).exp().upper()


def log_phi(s: float, t: Array) -> Array:
    """An estimate of log E exp(-e^{t + s z}): by quadrature where the mean is not tiny, else by Laplace's method."""
    z = np.linspace(-9, 9, 181)
    gone = -np.expm1(-np.exp(np.minimum(t[:, None] + s * z, 700.0))) @ np.exp(-(z**2) / 2) / (10 * sqrt(2 * pi))
    omega = _saddle(s, t)
    saddle = -(omega**2 + 2 * omega) / (2 * s**2) - np.log1p(omega) / 2
    return np.where(gone < 0.999, np.log1p(-np.minimum(gone, 0.999)), saddle)


def _saddle(s: float, t: Any) -> Any:
    """omega with omega e^omega = s^2 e^t: the tilt by which u^m phi is largest is omega/s^2."""
    return wright_omega(np.asarray(t + 2 * log(s)))
