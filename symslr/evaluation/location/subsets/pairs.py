"""Two relevant tokens of L, any L: the Bayes risk as an integral over the largest weight and a Laplace variable.

With w_l the likelihood ratios of L independent tokens and e_2 their second elementary symmetric polynomial,

    E sum_l p_l (1 - p_l) = E_0[(sum w_a w_b^2 w_c + (1/2) sum w_a w_b w_c w_d) / e_2] / C(L, 2),

sums over distinct ordered tokens. In units of the largest weight, T and R being the sums of the other weights u <= 1 and of
their squares, e_2 = A - R/2 with A = T (T + 2)/2, and R/2 <= A/3, so that

    1/e_2 = sum_k (R/2)^k / A^{k+1},    k! (R/2)^k / A^{k+1} = R^k int dc e^{-cT} B_k(c),
    B_k(c) = 2 sqrt(pi) e^{-c} (c/2)^{k+1/2} I_{k+1/2}(c).

The mean of e^{-cT} R^k/k! over independent tokens is a coefficient of E[e^{-cu + du^2}]^{L-1} in powers of d: every term of
the sum is positive, and falls like 3^-k.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import factorial
from typing import Any

import numpy as np
import scipy

from symslr.evaluation.location.means import Means, by_two_rules
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.tables.rules import Rule, over_log_u

REACH = 8.8
"""Standard deviations beyond which a normal density is left out."""
LEAST_LIKELY = -40.0
"""Largest keys are left out where the log of the probability that all others have less weight is below this."""
FIRST_LOAD, LEAST_SHARE = 1e-8, 1e-16
"""c (1 + E T) where the integral over log c begins, and the share of the integral at which it ends."""
LARGEST_LOAD = 2000.0
"""Where c u is larger, e^{-cu} times any power of c u is 0."""
LOG_STEP, TERMS = 0.285, 24
"""Step of log c, and terms of the sum over k."""
ROUNDING = 5e-15
"""Measured rounding error: the scatter of finer rules, for theta = 1/2 or 3/2, L = 5 and nu = 0.6."""


@dataclass(frozen=True)
class Token:
    """The likelihood ratio w(x) of one token as a function of its key; log w is convex.

    Attributes:
        log_weight: log w.
        bottom: the key at which it is least.
        low, high: range of keys outside which densities are left out.
        slope: largest slope of log w.
        even: whether w is even; keys above the bottom then stand for both sides.
    """

    log_weight: Callable[[Any], Any]
    bottom: float
    low: float
    high: float
    slope: float
    even: bool

    @classmethod
    def of(cls, setting: Setting) -> Token:
        """For independent keys along one direction."""
        theta, root = setting.values[:, 0], np.sqrt(setting.strength)

        def log_weight(x: Any) -> Any:
            return setting.token_log_weight(np.asarray(x)[..., None])

        low, high = root * min(0.0, float(theta.min())) - REACH, root * max(0.0, float(theta.max())) + REACH
        bottom = float(scipy.optimize.minimize_scalar(log_weight, bounds=(low, high), method="bounded").x)
        tried = np.array([0.5, 1.0, 3.0])
        even = bool(np.allclose(log_weight(tried), log_weight(-tried), rtol=1e-12))
        return cls(log_weight, 0.0 if even else bottom, low, high, root * float(np.max(np.abs(theta))), even)

    def key_across(self, y: Any, end: float) -> Any:
        """The key on the side of ``end`` with the same weight as y; ``end`` where no key there has so much."""
        from scipy.optimize.elementwise import find_root

        level = self.log_weight(y)

        def over(x: Any, level: Any) -> Any:
            return self.log_weight(x) - level

        found = find_root(over, (np.full_like(y, end), self.bottom), args=(level,)).x
        return np.where(self.log_weight(np.full_like(y, end)) > level, found, end)


def pairs_means(setting: Setting) -> Means | None:
    """E|r - a|^2 for two relevant tokens with uniform prior among independent ones, L > 2; None where no mesh has the nodes.

    Raises:
        CannotEvaluate: where the integral does not converge.
    """
    method = "Laplace integral and series below the largest weight in float64"
    return by_two_rules(partial(_risk, Token.of(setting), setting.length - 1), method, ROUNDING)


def _risk(token: Token, others: int, rule: Rule) -> float:
    """The risk by one rule: a sum over the two sides of the bottom on which the token of largest weight may lie."""
    ends = [(token.low, token.high)] if token.even else [(token.low, token.high), (token.high, token.low)]
    return sum(_on_one_side(token, others, rule, *side) for side in ends) * (2 if token.even else 1) / (2 * others)


def _gauss(low: Any, high: Any, count: int) -> tuple[Any, Any]:
    """Gauss-Legendre nodes and weights on intervals of any shape (...): (..., count)."""
    at, mass = np.polynomial.legendre.leggauss(count)
    half = (np.asarray(high) - low)[..., None] / 2
    return np.asarray(low)[..., None] + half * (1 + at), half * mass


def _on_one_side(token: Token, others: int, rule: Rule, across: float, end: float) -> float:
    candidates = np.linspace(token.bottom, end, 400)
    inside = np.abs(scipy.special.ndtr(candidates) - scipy.special.ndtr(token.key_across(candidates, across)))
    with np.errstate(divide="ignore"):
        likely = others * np.log(inside) > LEAST_LIKELY
    if not np.any(likely):
        return 0.0
    first = candidates[max(int(np.argmax(likely)) - 1, 0)]
    y, mass = _gauss(first, end, int((55 + 5 * token.slope) / rule.key))
    other = token.key_across(y, across)
    x, weights = _gauss(
        np.minimum(other, y), np.maximum(other, y), int((27 + 17 * token.slope + 2 * token.slope**2) / rule.key)
    )
    top = token.log_weight(y)
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * weights
    beyond = scipy.special.ndtr(np.minimum(other, y)) + scipy.special.ndtr(-np.maximum(other, y))
    below = _integral_below(np.exp(token.log_weight(x) - top[:, None]), density, beyond, others, rule)
    return float(np.sum(np.abs(mass) * np.exp(2 * top - y**2 / 2) / np.sqrt(2 * np.pi) * below))


def _integral_below(u: Any, mass: Any, beyond: Any, count: int, rule: Rule) -> Any:
    """int dc sum_k B_k(c) E[S e^{-cT} R^k/k!], S the numerator, for every largest weight.

    Args:
        u: weights of another token in units of the largest, (largest, nodes).
        mass: their masses, of the same shape.
        beyond: mass of keys outside the range, (largest,).
        count: number of other tokens.
    """
    mean = count * np.sum(mass * u, axis=1)  # E T

    def integrand(logs: Any) -> tuple[Any, Any]:
        c = np.exp(logs - np.log1p(mean)[:, None])
        parts = np.sum(_terms(u, mass, beyond, count, c, int(TERMS / rule.key)), axis=1)
        return parts, step * parts

    step = LOG_STEP * rule.load
    return over_log_u(integrand, step, float(np.log(FIRST_LOAD)), LEAST_SHARE)


def _terms(u: Any, mass: Any, beyond: Any, count: int, c: Any, order: int) -> Any:
    """c sum_k B_k(c) E[S e^{-cT} R^k/k!], (largest, c)."""
    n, load = float(count), c[..., None] * u[:, None]
    decay = np.exp(-load)
    gone = -np.expm1(-load) @ mass[..., None]
    gone = gone[..., 0] + beyond[:, None]
    # powers of c u for the middle c, which do not overflow, rescaled to every c
    middle = c[:, c.shape[1] // 2, None]
    seen = np.where(middle * u < LARGEST_LOAD, middle * u, 0.0)
    powers = np.concatenate([mass[None], np.broadcast_to(seen, (2 * order, *seen.shape))]).cumprod(axis=0)
    moments = np.moveaxis(decay @ np.moveaxis(powers, 0, 2), 2, 0)
    moments = moments * (c / middle) ** np.arange(2 * order + 1)[:, None, None]
    left = moments[0] > 1e-200
    base = np.where(left, moments[0], 1.0)
    log_left = np.where(gone < 0.5, np.log1p(-np.minimum(gone, 0.5)), np.log(base))
    factorials = scipy.special.factorial(np.arange(order))[:, None, None]
    # coefficients of (d/c^2)^k of E[(cu)^j e^{-cu + du^2}] / E[e^{-cu}]
    none, one, two = (moments[j : j + 2 * order : 2][:order] / factorials / base for j in range(3))
    pair = _series_product(one, one)
    four = _series_power(none, count - 4)
    sums = (
        n * (n - 1) * (n - 2) * (n - 3) / 2 / c**2 * _series_product(_series_product(pair, pair), four)
        if n > 3
        else 0.0
    )
    three = _series_product(four, none) if n > 3 else _series_power(none, count - 3)
    if n > 2:
        sums += n * (n - 1) * (n - 2) * _series_product(pair, _series_product(two / c**2 + 2 * one / c, three))
    last = _series_product(three, none) if n > 2 else _series_power(none, count - 2)
    sums += n * (n - 1) * _series_product(one, _series_product(2 * two / c + one, last))
    with np.errstate(under="ignore"):
        found = np.sum(sums * _bessel(c, order), axis=0) / c * np.exp(n * log_left)
    return np.where(left, found, 0.0)


def _bessel(c: Any, order: int) -> Any:
    """B_k(c)/c^{2k}, (order, ...), by downward recurrence in k, scaled by (2c)^k on the way where c > 1/2."""
    small, large, scale = np.minimum(c, 1.0), np.clip(c, 1.0, 1e3), np.maximum(2 * c, 1.0)
    above, upper = np.ones_like(c), 1 - 1 / np.maximum(c, 1e3)
    for k in range(1, order - 1):
        above, upper = upper, above - (2 * k + 1) / np.maximum(c, 1e3) * upper
    found = np.empty((order, *c.shape))
    for k, far in ((order - 1, upper), (order - 2, above)):
        terms = [(small / 2) ** (2 * j) / (scipy.special.gamma(k + 1.5 + j) * factorial(j)) for j in range(9)]
        near = np.exp(-small) * (small / 2) * (np.minimum(scale, 2.0) / 4) ** k * sum(terms)
        middle = np.sqrt(large / 2) * scipy.special.ive(k + 0.5, large)
        found[k] = np.where(c < 1e3, 2 * np.sqrt(np.pi) * np.where(c < 1, near, middle), far)
    for k in range(order - 2, 0, -1):
        found[k - 1] = (2 * c / scale) ** 2 * found[k + 1] + 2 * (2 * k + 1) / scale * found[k]
    with np.errstate(over="ignore"):
        return found / scale ** np.arange(order).reshape(-1, *[1] * c.ndim)


def _series_product(first: Any, second: Any) -> Any:
    """The product of two power series, (order, ...)."""
    found = first[0] * second
    for power in range(1, len(first)):
        found[power:] += first[power] * second[: len(first) - power]
    return found


def _series_power(series: Any, exponent: int) -> Any:
    """A power of a series with constant term 1: by Euler's recurrence where its terms are positive, else by repeated squaring."""
    found = np.zeros_like(series)
    found[0] = 1.0
    if exponent >= len(series):
        for m in range(1, len(series)):
            for k in range(1, m + 1):
                found[m] += (k * (exponent + 1) / m - 1) * series[k] * found[m - k]
        return found
    for bit in bin(max(exponent, 0))[2:]:
        found = _series_product(found, found)
        found = _series_product(found, series) if bit == "1" else found
    return found
