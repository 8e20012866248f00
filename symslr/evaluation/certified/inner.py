"""psi_p(t) = E f_p(t + s z), z ~ N(0, 1), with f_p(t) = exp(p (t - log p) + p - e^t) <= 1, enclosed at equidistant t.

The inner trapezoid rule: with z-step eta/s and t-step r*eta every sample of f_p is used for many t, so the rule is a discrete
convolution, computed as one product of polynomials. p = 0 gives phi_s(e^t); a tilt p > 0 keeps the relative accuracy where phi_s is
tiny, through
phi_s(e^{t + p s^2}) = (p/e)^p e^{-p t - p^2 s^2/2} psi_p(t). The errors are the lemmas of docs/proofs.md, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import ceil, cos, floor, log, pi, sqrt, tan
from typing import Any

from flint import arb, fmpz_poly

from symslr.evaluation.certified.outer import largest_step

INSIDE = 1 - 1e-12
"""Factor that keeps the half-width of a strip strictly below its limit."""

DIRECT_COST = 0.5
"""Cost of one exponential of the direct sum in units of one sample of the convolution (measured, roughly)."""


@dataclass(frozen=True)
class InnerRule:
    """Trapezoid rule in z with step eta/s and 2*reach + 1 nodes.

    Attributes:
        s: slope of the kernel, a positive ball.
        eta: step in t = s z, a positive ball.
        tilt: p >= 0, a binary fraction.
        nats: f_p is replaced by its limit, 0 or 1, where it differs from that by less than about e^-nats.
        reach: the largest node is reach * eta / s.
    """

    s: Any
    eta: Any
    tilt: float
    nats: float
    reach: int

    @classmethod
    def for_nats(cls, s: Any, eta: Any, tilt: float, nats: float) -> InnerRule:
        """The rule whose Gaussian truncation is below e^-nats."""
        return cls(s, eta, tilt, nats, ceil(sqrt(2 * nats) * float(s.mid()) / float(eta.mid())) + 1)

    def at(self, start: Any, stride: int, count: int) -> list[Any]:
        """Enclosures in [0, 1] of psi_p(t) at t = start + i * stride * eta, i = 0..count-1."""
        first, last = -self.reach, (count - 1) * stride + self.reach
        left, right = self._window(float(start.mid()))
        if count * (2 * self.reach + 1) * DIRECT_COST < min(last, right) - max(first, left):
            sums, saturation = self._direct(start, stride, count), arb(0)
        else:
            saturation = self._saturation(start, max(first, left), min(last, right), (first, last))
            sums = self._convolution(start, stride, count, max(first, left), min(last, right))
        error = arb(0, (self.strip_error() + self._gaussian_tail() + saturation).upper())
        return [clip(total + error) for total in sums]

    def strip_error(self) -> Any:
        """Lemma (inner strip): 2 e^{d^2/2} cos(s d)^-p / (e^{2 pi d/delta} - 1) for a half-width d < pi/(2s)."""
        delta = self.eta / self.s
        d = arb(inner_strip(float(self.s.mid()), float(delta.mid()), self.tilt))
        angle = d * self.s
        if not 2 * angle < arb.pi():
            raise ArithmeticError("inner strip: half-width beyond pi/(2s)")
        return 2 * (d**2 / 2).exp() * angle.cos() ** (-arb(self.tilt)) / (2 * arb.pi() * d / delta).expm1()

    def _gaussian_tail(self) -> Any:
        """Lemma (Gaussian tail): the nodes beyond +-Z hold at most e^{-Z^2/2}."""
        return (-((self.reach * self.eta / self.s) ** 2) / 2).exp()

    def _window(self, start: float) -> tuple[int, int]:
        """First and last index of the samples where f_p differs from its limits; estimates, whose error ``_saturation`` bounds."""
        p, eta = self.tilt, float(self.eta.mid())
        left, right = -self.nats, log(self.nats + 1)
        if p:
            left = log(p) - 1 - self.nats / p
            right = log(self.nats + p)
            for _ in range(60):
                right = log(self.nats + p * (1 + right - log(p)))
        return floor((left - start) / eta), ceil((right - start) / eta)

    def _saturation(self, start: Any, first: int, last: int, needed: tuple[int, int]) -> Any:
        """Lemma (saturation): a bound of the error of taking the limits of f_p, whose only maximum is at log p, beyond the
        samples."""
        left, right = start + (first - 1) * self.eta, start + (last + 1) * self.eta
        is_cut_left, is_cut_right = first > needed[0], last < needed[1]
        if self.tilt:
            peak = arb(self.tilt).log()
            if (is_cut_left and not left < peak) or (is_cut_right and not right > peak):
                raise ArithmeticError("saturation: the samples do not cover the maximum of f_p")
        error = arb(0)
        if is_cut_left:
            error += self._sample(left) if self.tilt else left.exp()
        if is_cut_right:
            error += self._sample(right)
        return (1 + self.eta / self.s) * error

    def _sample(self, t: Any) -> Any:
        return (self._tilted(t) - t.exp()).exp()

    def _tilted(self, t: Any) -> Any:
        """p (t - log p) + p."""
        p = self.tilt
        return p * (t - arb(p).log()) + p if p else arb(0)

    def _weights(self) -> list[Any]:
        """w_j = delta rho(j delta), j = 0..reach, by the recurrence of a Gaussian on a lattice."""
        delta = self.eta / self.s
        ratio, square = (-(delta**2) / 2).exp(), (-(delta**2)).exp()
        weight = delta / (2 * arb.pi()).sqrt()
        weights = [weight]
        for _ in range(self.reach):
            weight *= ratio
            ratio *= square
            weights.append(weight)
        return weights

    def _direct(self, start: Any, stride: int, count: int) -> list[Any]:
        half, p = self._weights(), self.tilt
        lattice = [(half[abs(j)], j * self.eta) for j in range(-self.reach, self.reach + 1)]
        pairs = [(weight * (p * t).exp(), t.exp()) for weight, t in lattice]
        sums = []
        for i in range(count):
            t = start + i * stride * self.eta
            u = t.exp()
            sums.append(self._tilted(t).exp() * sum((weight * (-(u * token)).exp() for weight, token in pairs), arb(0)))
        return sums

    def _convolution(self, start: Any, stride: int, count: int, first: int, last: int) -> list[Any]:
        """sum_j w_j f(start + (i stride + j) eta), i < count; f is sampled at first..last and replaced by its limits elsewhere."""
        half = self._weights()
        weights = half[:0:-1] + half
        # on the left f_0 is 1, so partial sums of the weights appear; f_p with p > 0 is 0 there
        below = [arb(0)] * (len(weights) + 1) if self.tilt else [arb(0), *accumulate(weights)]
        samples, power, growth = [], (start + first * self.eta).exp(), self.eta.exp()
        tilted, rise = self._tilted(start + first * self.eta), self.tilt * self.eta
        for _ in range(first, last + 1):
            samples.append((tilted - power).exp())
            power *= growth
            tilted += rise
        product, unit, error = fixed_point_product(weights, samples, ceil(self.nats / log(2)))
        sums = []
        for i in range(count):
            saturated = min(max(first + self.reach - i * stride, 0), len(below) - 1)
            place = i * stride + self.reach - first
            sums.append(below[saturated] + (arb((product[place], unit)) if 0 <= place < len(product) else 0) + error)
        return sums


def clip(enclosure: Any) -> Any:
    """The intersection of a ball with [0, 1]; the caller knows that the number lies there."""
    return enclosure if 0 < enclosure < 1 else enclosure.intersection(arb(0.5, 0.5))


def inner_strip(s: float, delta: float, p: float) -> float:
    """The half-width d < pi/(2s) that minimises e^{d^2/2 - 2 pi d/delta} cos(s d)^-p."""
    largest = pi / (2 * s) * INSIDE
    left, right = 0.0, min(2 * pi / delta, largest)
    if p == 0:
        return right
    while right - left > 1e-6 * right:
        d = (left + right) / 2
        left, right = (d, right) if 2 * pi / delta - d - p * s * tan(s * d) > 0 else (left, d)
    return left


def inner_step(s: float, nats: float, p: float) -> float:
    """About the largest step delta in z for which the inner strip bound is below e^-nats."""

    def gain(delta: float) -> float:
        d = inner_strip(s, delta, p)
        return 2 * pi * d / delta - d**2 / 2 - log(2) + (p * log(cos(s * d)) if p else 0.0)

    return largest_step(gain, nats, 1e-9)


GUARD_BITS = 20
"""Extra bits of the fixed-point integers, below the error asked for."""


def fixed_point_product(weights: list[Any], samples: list[Any], bits: int) -> tuple[list[Any], int, Any]:
    """The coefficients of the product of two polynomials, by integer arithmetic; samples lie in [0, 1].

    Returns:
        Integers, their common binary exponent, and a ball around 0 that holds the error of each: about 2^-bits for weights of sum
            1.

    Lemma (fixed point): the error is at most sum |w - w'| + (sum |w'|) max |f - f'|.
    """
    scale = bits + GUARD_BITS
    left, left_error = _rounded(weights, scale)
    right, right_error = _rounded(samples, scale)
    total = arb((sum(abs(w) for w in left), -scale))
    error = sum(left_error, arb(0)) + total * max(right_error, default=arb(0))
    return (fmpz_poly(left) * fmpz_poly(right)).coeffs(), -2 * scale, arb(0, error.upper())


def _rounded(balls: list[Any], bits: int) -> tuple[list[Any], list[Any]]:
    """Integers near 2^bits times the balls, and upper bounds of the absolute error of each."""
    scale, unit = arb((1, bits)), arb((1, -bits))
    return [(ball.mid() * scale).floor().unique_fmpz() for ball in balls], [ball.rad() + unit for ball in balls]
