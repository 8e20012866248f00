"""Where the mesh goes: double-precision estimates of one Laplace integrand in v = log u.

No proof rests on this file. A poor plan makes an enclosure wide, never wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from math import ceil, isfinite, log, pi, sqrt
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate

Array = np.ndarray[Any, np.dtype[np.float64]]

LARGEST_RANGE = 2e5
UNTILTED_EXCESS = 1.3
TILTS_PER_UNIT = 4
FEW_COPIES = 4
STEPS_PER_UNIT = 10
"""Of the rule for a normal variable, good for the digits of float64."""
REACH = 9
"""It ends where less than 1e-18 is left, and further out for so many copies that what is left counts."""


NEWTON_STEPS = 5
"""From the start below three steps give four digits and five all of them, for any argument."""


def wright_omega(z: Array) -> Array:
    """The y > 0 with y + log y = z, by Newton's method on log y; 0 where y underflows.

    SciPy's is not used: loading scipy.special would take a fifth of the time of ``symslr bayes``.
    """
    log_y = np.where(z > 1, np.log(np.maximum(z, 1.0)), np.maximum(z, -700.0))
    for _ in range(NEWTON_STEPS):
        y = np.exp(log_y)
        log_y = log_y - (y + log_y - z) / (1 + y)
    return np.exp(log_y)


@dataclass(frozen=True)
class Shape:
    """Floats of one monomial: G(v) = e^{kv - o e^v} prod phi_s(e^{v+c})^n, ``tokens`` holds (s, c, n)."""

    k: float
    offset: float
    tokens: tuple[tuple[float, float, int], ...]

    def chernoff(self, v: Array, copies: tuple[int, ...]) -> tuple[Array, Array]:
        """Log of the moment bound on that many copies of each token and on the offset, and its decay rate P."""
        bound, rate = -self.offset * np.exp(np.minimum(v, 700)), self.offset * np.exp(np.minimum(v, 700))
        for (s, c, _), n in zip(self.tokens, copies):
            omega = wright_omega(v + c + 2 * log(s))
            bound = bound - n * (omega**2 + 2 * omega) / (2 * s**2)
            rate = rate + n * omega / s**2
        return bound, rate

    @staticmethod
    def chernoff_power(s: float, c: float, v: float) -> float:
        """The p > 0 that makes (p/e)^p u^-p e^{s^2 p^2/2} smallest at u = e^{v+c}."""
        return float(wright_omega(np.asarray(v + c + 2 * log(s)))) / s**2


def moment_copies(shape: Shape) -> tuple[int, ...]:
    """How many of the n copies of each token the moment bound replaces in the right tail; the rest stay frozen."""
    # Few copies all go under the bound, whose decay must beat e^{kv}; of many, half are sharper frozen.
    return tuple(n if n <= FEW_COPIES else n - n // 2 for _, _, n in shape.tokens)


@dataclass(frozen=True)
class Plan:
    """Window [low, high] in v, a tilt p per token, and the nats asked of every psi_p (absolute) on that window."""

    low: float
    high: float
    tilts: tuple[float, ...]
    token_nats: float


@cache
def _normal(reach: int) -> tuple[Array, Array]:
    """Nodes and weights."""
    z = np.linspace(-REACH, reach, (REACH + reach) * STEPS_PER_UNIT + 1)
    return z, np.exp(-(z**2) / 2) / (STEPS_PER_UNIT * sqrt(2 * pi))


def log_phi(s: float, t: Array, copies: int) -> Array:
    """log E exp(-e^{t + s z}), to be multiplied by ``copies``: quadrature where it is near 1, else Laplace's method."""
    z, weight = _normal(max(REACH, ceil(sqrt(REACH**2 + 2 * log(copies))) if copies > FEW_COPIES else 0))
    exceedance = -np.expm1(-np.exp(np.minimum(t[:, None] + s * z, 700))) @ weight
    omega = wright_omega(t + 2 * log(s))
    saddle = -(omega**2 + 2 * omega) / (2 * s**2) - np.log1p(omega) / 2
    return np.where(exceedance < 0.999, np.log1p(-np.minimum(exceedance, 0.999)), saddle)


def log_terms(shape: Shape, v: Array, phis: list[Array]) -> Array:
    """log G(v)."""
    decay = -shape.offset * np.exp(np.minimum(v, 700))
    return shape.k * v + decay + sum((n * phi for (_, _, n), phi in zip(shape.tokens, phis)), np.zeros_like(v))


def make_plan(shape: Shape, nats: float) -> Plan:
    """A window outside which less than e^-nats of the integral lies, in the sense of the proved tail bounds.

    Raises:
        CannotEvaluate: when the window is beyond ``LARGEST_RANGE``.
    """
    whole = tuple(n for _, _, n in shape.tokens)
    peak = _bisect(lambda v: bool(shape.chernoff(np.array([v]), whole)[1][0] > shape.k), 0.0)
    low, size = peak - 50, -np.inf
    while True:
        high = _bisect(partial(_tail_below, shape, max(size, shape.k * low) - nats), peak)
        if not low < high <= low + LARGEST_RANGE:
            raise CannotEvaluate("certified: the window of the Laplace integral is too wide: extreme parameters")
        v = np.linspace(low, high, 900)
        if not v[0] < v[1]:
            raise CannotEvaluate("certified: the Laplace integral lies where float64 has no digits: extreme parameters")
        phis = [log_phi(s, v + c, n) for s, c, n in shape.tokens]
        terms = log_terms(shape, v, phis)
        if np.argmax(terms) == 0:  # 10^100 tokens end the integral far to the left of their moment bound
            low -= high - low
            continue
        size = _log_sum(terms) + log(v[1] - v[0])
        needed = (size - nats) / shape.k - 1
        if low <= needed + 1:
            break
        low = needed
    accepted = _accepted_end(shape, v, phis, size - nats)
    inside = v <= accepted
    return _tilted_plan(shape, (needed, accepted), v[inside], [phi[inside] for phi in phis], nats)


def _tilted_plan(shape: Shape, ends: tuple[float, float], v: Array, phis: list[Array], nats: float) -> Plan:
    """No tilt where it gains little, so that tokens share their samples; else the saddle point of each token."""
    none = tuple(0.0 for _ in shape.tokens)
    nats_needed = _token_nats(shape, v, phis, nats)
    if nats_needed < UNTILTED_EXCESS * nats:
        return Plan(*ends, none, nats_needed)
    peak = float(v[np.argmax(log_terms(shape, v, phis))])
    tilts, tilted = [], []
    for (s, c, _), phi in zip(shape.tokens, phis):
        p = round(TILTS_PER_UNIT * shape.chernoff_power(s, c, peak)) / TILTS_PER_UNIT
        tilts.append(p)
        # log psi_p at the same place; the factor between phi and psi is explicit and costs no accuracy.
        tilted.append(phi + p * (v + c) - (p * s) ** 2 / 2 - (p * log(p) - p if p else 0.0))
    return Plan(*ends, tuple(tilts), _token_nats(shape, v, tilted, nats, exact=log_terms(shape, v, phis)))


def _bisect(holds: Callable[[float], bool], start: float) -> float:
    """The smallest v, roughly, from which on ``holds(v)``, which is false far left and true far right."""
    step = 1.0
    left = right = start
    while holds(left) and step < 2 * LARGEST_RANGE:
        left, step = left - step, 2 * step
    step = 1.0
    while not holds(right) and step < 2 * LARGEST_RANGE:
        right, step = right + step, 2 * step
    while right - left > 0.05:
        middle = (left + right) / 2
        left, right = (left, middle) if holds(middle) else (middle, right)
    return right


def _tail_below(shape: Shape, goal: float, v: float) -> bool:
    """Whether the moment bound on all copies at v is below e^goal, and its decay beats e^{kv}."""
    point = np.array([v])
    bound, _ = shape.chernoff(point, tuple(n for _, _, n in shape.tokens))
    _, rate = shape.chernoff(point, moment_copies(shape))
    return bool(shape.k * v + bound[0] + 1 < goal and rate[0] > shape.k + 0.3)


def _accepted_end(shape: Shape, v: Array, phis: list[Array], goal: float) -> float:
    """First grid point where half the copies frozen and half under the moment bound meet the goal."""
    copies = moment_copies(shape)
    bound, rate = shape.chernoff(v, copies)
    frozen = sum(((n - m) * phi for (_, _, n), m, phi in zip(shape.tokens, copies, phis)), np.zeros_like(v))
    good = (shape.k * v + bound + frozen + 1 < goal) & (rate > shape.k + 0.3)
    good[-1] = True
    return float(v[np.argmax(good)])


def _token_nats(shape: Shape, v: Array, psis: list[Array], nats: float, exact: Array | None = None) -> float:
    """Nats such that an absolute error e^-nats in every psi keeps the relative error of the integral below e^-nats.

    The least ones to within one.

    Raises:
        CannotEvaluate: where none do.
    """
    terms = log_terms(shape, v, psis) if exact is None else exact
    goal = _log_sum(terms) - nats

    def suffice(token_nats: float) -> bool:
        blurs = [log(n) + _log_log1p_exp(-token_nats - psi) for (_, _, n), psi in zip(shape.tokens, psis)]
        grown = np.where(terms > -np.inf, terms + _log_expm1_exp(np.logaddexp.reduce(blurs, axis=0)), -np.inf)
        return bool(np.max(grown) < np.inf) and _log_sum(grown) < goal

    few = enough = nats
    step = 1.0
    while shape.tokens and not suffice(enough):
        if step > LARGEST_RANGE:
            raise CannotEvaluate(
                "certified: the Laplace integral takes too many digits of its tokens: extreme parameters"
            )
        few, enough, step = enough, enough + step, 2 * step
    while enough - few > 1.0:
        middle = (few + enough) / 2
        few, enough = (few, middle) if suffice(middle) else (middle, enough)
    return enough


def _log_log1p_exp(x: Array) -> Array:
    """log log(1 + e^x), also where e^x underflows."""
    return np.where(x < -36, x, np.log(np.logaddexp(0, np.maximum(x, -36))))


def _log_expm1_exp(x: Array) -> Array:
    """log(e^(e^x) - 1), also where e^x underflows."""
    growth = np.exp(np.maximum(x, -36))
    return np.where(x < -36, x, growth + np.log(-np.expm1(-growth)))


def _log_sum(terms: Array) -> float:
    top = float(terms.max())
    if not isfinite(top):
        raise CannotEvaluate("certified: the Laplace integral vanishes or overflows: extreme parameters")
    return top + log(float(np.exp(terms - top).sum()))
