"""The outer rule for the functions phi_s(u e^c) = E exp(-u e^{c + s z}), z ~ N(0, 1): docs/proofs.md, sections 3 to 6.

Nodes and working precision are planned in float64. No proof depends on the plan: a poor one gives a wide enclosure, never a wrong
one.
"""

from __future__ import annotations

from functools import cache, cached_property
from math import ceil, factorial, isfinite, log, log2, pi, sqrt
from typing import Any

import numpy as np
from flint import arb, ctx
from sympy import Expr

from symslr.evaluation.certified.inner import InnerRule, clip, inner_step
from symslr.evaluation.certified.normal_form import Monomial
from symslr.evaluation.certified.outer import FEW_COPIES, MOST_TERMS, Array, Integrand, OuterRule, outer_step
from symslr.evaluation.errors import CannotEvaluate, OutOfDigits
from symslr.evaluation.numbers.compiled import wright_omega
from symslr.evaluation.numbers.elementary import ball, nearest_float, sign

GUARD_NATS = 3.0
GUARD_BITS = 40
PLANNING_BITS = 80
"""Safety margins; the plan, which proves nothing, needs few bits."""

LARGEST_LOG_U = 2e5
"""Largest |log u|, and largest number of extra nats of precision, that is planned for."""
ZOOMS, ZOOM_POINTS = 5, 61
"""The maximum of the integrand is searched on a grid of ZOOM_POINTS, ZOOMS times, each time between the neighbours of the highest
point: to 1e-2 in log u."""
GRID_POINTS = 900
"""Points of the grid on which the integrand is estimated."""

UNTILTED_EXCESS = 1.3
"""Functions are tilted where they would need more than this multiple of the nats of the integral."""
TILTS_PER_UNIT = 4
"""Tilts p are multiples of 1/4, exact in binary."""
LARGEST_SHRINK = 1.6
"""The outer step is divided by at most this where it can then equal the step of the inner rule, which saves a second set of
samples."""


def laplace_integral(term: Monomial, bits: int) -> Any:
    """An enclosure of the integral of u^{power} e^{-offset u} prod phi^n over (0, oo), of relative width about 2^-bits.

    The coefficient of ``term`` is left out.

    Raises:
        CannotEvaluate: when the integral diverges, or its parameters are out of reach.
    """
    tokens = {token: n for token, n in term.tokens.items() if n}
    copies = tuple(tokens.values())
    if not tokens:
        with ctx.workprec(bits + GUARD_BITS):
            plain = Integrand.of(term, copies)
            if sign(term.offset) == 0:
                raise CannotEvaluate("certified: the Laplace integral diverges, nothing decays as u -> oo")
            return plain.k.gamma() / plain.offset**plain.k
    nats = bits * log(2) + GUARD_NATS
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            with ctx.workprec(PLANNING_BITS):
                rule = PhiRule(list(tokens), Integrand.of(term, copies), nats)
            with ctx.workprec(rule.bits):
                return rule.integral(Integrand.of(term, copies), nats)
    except OverflowError:
        raise CannotEvaluate("certified: the window of the Laplace integral overflows: extreme parameters") from None


class PhiRule(OuterRule):
    """The outer rule for the functions phi of one integral.

    Args:
        tokens: (s, c) of each, exact.
        integrand: the integrand, to float precision.
        nats: the relative error aimed at is e^-nats.

    Attributes:
        tilts: p of each function; ``inner.InnerRule`` computes psi_p instead of phi.
        nats: the error of every psi_p is e^-nats.

    Raises:
        CannotEvaluate: where the integral lies outside the range of log u, or needs too high a precision.
    """

    def __init__(self, tokens: list[tuple[Expr, Expr]], integrand: Integrand, nats: float) -> None:
        self.exact_tokens = tokens
        self.slopes, self.shifts = ([nearest_float(token[i]) for token in tokens] for i in (0, 1))
        self.copies = integrand.copies
        self.known = {}
        self.errors = [arb(0)] * len(tokens)
        orders = np.arange(MOST_TERMS + 1)[:, None]
        self.log_moments = orders * np.array(self.shifts) + (orders * np.array(self.slopes)) ** 2 / 2
        peak = self._plan(integrand, nats)
        self.tilts = [0.0] * len(tokens)
        self.nats = self.needed_nats([integrand], nats)
        if self.nats > UNTILTED_EXCESS * nats:
            self._tilt(peak)
            self.nats = self.needed_nats([integrand], nats)
        if self.nats > nats + LARGEST_LOG_U:
            raise OutOfDigits("certified: the Laplace integral takes too many digits of its tokens: extreme parameters")
        self.nats += GUARD_NATS
        largest = outer_step(float(integrand.k), nats)
        inner = [s * inner_step(s, self.nats, p) for s, p in zip(self.slopes, self.tilts)]
        self.step = min((step for step in inner if largest / LARGEST_SHRINK < step < largest), default=largest)

    @property
    def bits(self) -> int:
        """The working precision."""
        size = log2(sum(self.copies) + 1) + log2(self.grid[-1] - self.grid[0] + 2)
        return int(self.nats / log(2) + size) + GUARD_BITS

    def _plan(self, integrand: Integrand, nats: float) -> float:
        """Set the grid, and return log u at the maximum of the integrand, whose logarithm is concave in log u."""
        low, high = -LARGEST_LOG_U, LARGEST_LOG_U
        for _ in range(ZOOMS):
            terms = self._estimate(integrand, np.linspace(low, high, ZOOM_POINTS))
            best = int(np.argmax(terms))
            low, high = float(self.grid[max(best - 1, 0)]), float(self.grid[min(best + 1, ZOOM_POINTS - 1)])
        peak, top = float(self.grid[best]), float(terms[best])
        if not (abs(peak) < LARGEST_LOG_U / 2 and isfinite(top)):
            raise CannotEvaluate("certified: the window of the Laplace integral is too wide: extreme parameters")
        low, reach = (top - nats) / float(integrand.k) - 1, 1.0
        while not self._moment_bound(integrand, [0] * len(self.copies), peak + reach)[0] < top - nats - 2:
            reach *= 2
            if reach > LARGEST_LOG_U:
                raise CannotEvaluate("certified: the window of the Laplace integral is too wide: extreme parameters")
        if not low < peak < peak + reach:
            raise CannotEvaluate("certified: the Laplace integral lies where float64 has no digits: extreme parameters")
        self._estimate(integrand, np.linspace(low, peak + reach, GRID_POINTS))
        return peak

    def _estimate(self, integrand: Integrand, grid: Array) -> Array:
        """Set the grid; returns the logarithm of the integrand on it."""
        self.grid = grid
        self.logs = self.known_logs = [
            log_phi(s, grid + c, n) for s, c, n in zip(self.slopes, self.shifts, self.copies)
        ]
        return self.log_terms([integrand])

    def _tilt(self, peak: float) -> None:
        """Choose the tilt of each function by its saddle point at the peak; the factor between phi and psi is explicit."""
        places = zip(self.slopes, self.shifts)
        self.tilts = [
            round(TILTS_PER_UNIT * self.best_power(j, peak)[0]) / TILTS_PER_UNIT for j in range(len(self.slopes))
        ]
        self.known_logs = [
            phi + p * (self.grid + c) - (p * s) ** 2 / 2 - (p * log(p) - p if p else 0.0)
            for phi, p, (s, c) in zip(self.logs, self.tilts, places)
        ]

    @cached_property
    def tokens(self) -> list[tuple[Any, Any]]:
        """(s, c) of each as balls, at the working precision."""
        return [(ball(s), ball(c)) for s, c in self.exact_tokens]

    @cached_property
    def taylor(self) -> list[list[Any]]:
        """Taylor coefficients E e^{r(c + sz)} (-1)^r/r! of each function in u."""
        return [
            [(r * c + (r * s) ** 2 / 2).exp() * (-1) ** r / factorial(r) for r in range(MOST_TERMS + 1)]
            for s, c in self.tokens
        ]

    def fill(self, nodes: range) -> None:
        if not self.known.keys() >= set(nodes):
            columns = [self._column(j, nodes) for j in range(len(self.tokens))]
            self.known |= zip(nodes, map(list, zip(*columns)))

    def _column(self, j: int, nodes: range) -> list[Any]:
        """One function phi at the nodes v, from phi = e^{factor - p v} psi_p(v + c - p s^2)."""
        (s, c), p, step = self.tokens[j], self.tilts[j], self.exact_step
        stride = max(1, ceil(self.step / (self.slopes[j] * inner_step(self.slopes[j], self.nats, p)) * (1 - 1e-3)))
        rule = InnerRule.for_nats(s, step / stride, p, self.nats)
        psis = rule.at(nodes[0] * step + c - p * s**2, stride, len(nodes))
        if p == 0:
            return psis
        tilt = arb(p)
        factor = (tilt * tilt.log() - tilt - tilt * (c + nodes[0] * step) + (tilt * s) ** 2 / 2).exp()
        fall, phis = (-tilt * step).exp(), []
        for psi in psis:
            phis.append(clip(psi * factor))
            factor *= fall
        return phis

    def log_moment(self, j: int, p: float) -> Any:
        s, c = self.tokens[j]
        return (p * s) ** 2 / 2 - p * c

    def best_power(self, j: int, v: float) -> tuple[float, float]:
        """The saddle point, which is known in closed form."""
        s = self.slopes[j]
        omega = float(wright_omega(np.asarray(v + self.shifts[j] + 2 * log(s))))
        return omega / s**2, -(omega**2 + 2 * omega) / (2 * s**2)


STEPS_PER_UNIT = 10
"""Nodes per standard deviation of the trapezoid rule for a normal variable: accurate to float64."""
REACH = 9
"""Range in standard deviations: beyond lies less than 1e-18; it is wider for many copies, which multiply that."""


@cache
def _normal(reach: int) -> tuple[Array, Array]:
    """Nodes from -REACH to ``reach`` and weights of that rule."""
    z = np.linspace(-REACH, reach, (REACH + reach) * STEPS_PER_UNIT + 1)
    return z, np.exp(-(z**2) / 2) / (STEPS_PER_UNIT * sqrt(2 * pi))


def log_phi(s: float, t: Array, copies: int) -> Array:
    """An estimate of log E exp(-e^{t + s z}): by quadrature where the mean is not tiny, else by Laplace's method.

    ``copies`` is the factor by which its error will be multiplied.
    """
    z, weight = _normal(max(REACH, ceil(sqrt(REACH**2 + 2 * log(copies))) if copies > FEW_COPIES else 0))
    exceedance = -np.expm1(-np.exp(np.minimum(t[:, None] + s * z, 700))) @ weight
    omega = wright_omega(t + 2 * log(s))
    with np.errstate(divide="ignore", invalid="ignore"):  # where s^2 is 0 in float64 nothing is proved
        saddle = -(omega**2 + 2 * omega) / (2 * s**2) - np.log1p(omega) / 2
    return np.where(exceedance < 0.999, np.log1p(-np.minimum(exceedance, 0.999)), saddle)
