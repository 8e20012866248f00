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
"""log of the probability that all other keys are below the largest one, below which that is left out."""
FIRST, NOTHING = 1e-8, 1e-16
"""c times the mean of T where the integral begins; parts below this share of it are left out."""
HEAVIEST = 2000.0
"""cu beyond which e^{-cu} is 0 whatever the power of cu before it."""
LOAD, ORDER = 0.285, 24
"""Step of log c, and terms of the sum over k."""
ROUNDING = 5e-15
"""Finer rules scatter so far, for theta = 1/2 or 3/2, L = 5 and nu = 0.6."""


@dataclass(frozen=True)
class Token:
    """The law of one irrelevant token with log w(x) convex, which is least at ``bottom``.

    Attributes:
        even: whether w is; keys above the bottom then stand for both.
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

    def below(self, y: Any, end: float) -> Any:
        """The key on the side of ``end`` of the bottom with the weight of y; ``end`` where none has as much."""
        from scipy.optimize.elementwise import find_root

        level = self.log_weight(y)

        def over(x: Any, level: Any) -> Any:
            return self.log_weight(x) - level

        found = find_root(over, (np.full_like(y, end), self.bottom), args=(level,)).x
        return np.where(self.log_weight(np.full_like(y, end)) > level, found, end)


def pairs_means(setting: Setting) -> Means | None:
    """E|r - a|^2 for two relevant tokens at equal odds; None where tokens are not alike.

    Raises:
        CannotEvaluate: where the integral does not end.
    """
    alike = setting.is_uniform and setting.are_keys_independent and setting.are_values_independent
    if setting.size != 2 or not alike or setting.directions > 1 or setting.length == 2:
        return None
    if setting.strength == 0 or not np.any(setting.values):
        return None
    method = "Laplace integral and series below the largest weight in float64"
    return by_two_rules(partial(_risk, Token.of(setting), setting.length - 1), method, ROUNDING)


def _risk(token: Token, others: int, rule: Rule) -> float:
    """The risk by one rule, for the largest key on either side of the bottom."""
    ends = [(token.low, token.high)] if token.even else [(token.low, token.high), (token.high, token.low)]
    return sum(_on_one_side(token, others, rule, *side) for side in ends) * (2 if token.even else 1) / (2 * others)


def _gauss(low: Any, high: Any, count: int) -> tuple[Any, Any]:
    """Nodes and weights between ends of any shape, with one axis more."""
    at, mass = np.polynomial.legendre.leggauss(count)
    half = (np.asarray(high) - low)[..., None] / 2
    return np.asarray(low)[..., None] + half * (1 + at), half * mass


def _on_one_side(token: Token, others: int, rule: Rule, across: float, end: float) -> float:
    candidates = np.linspace(token.bottom, end, 400)
    inside = np.abs(scipy.special.ndtr(candidates) - scipy.special.ndtr(token.below(candidates, across)))
    with np.errstate(divide="ignore"):
        likely = others * np.log(inside) > LEAST_LIKELY
    if not np.any(likely):
        return 0.0
    first = candidates[max(int(np.argmax(likely)) - 1, 0)]
    y, mass = _gauss(first, end, int((55 + 5 * token.slope) / rule.key))
    other = token.below(y, across)
    x, weights = _gauss(
        np.minimum(other, y), np.maximum(other, y), int((27 + 17 * token.slope + 2 * token.slope**2) / rule.key)
    )
    top = token.log_weight(y)
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * weights
    beyond = scipy.special.ndtr(np.minimum(other, y)) + scipy.special.ndtr(-np.maximum(other, y))
    below = _below(np.exp(token.log_weight(x) - top[:, None]), density, beyond, others, rule)
    return float(np.sum(np.abs(mass) * np.exp(2 * top - y**2 / 2) / np.sqrt(2 * np.pi) * below))


def _below(u: Any, mass: Any, beyond: Any, count: int, rule: Rule) -> Any:
    """int dc sum_k B_k(c) E[S e^{-cT} R^k/k!], S the numerator, for every largest weight.

    Args:
        u, mass: the weights of so many tokens below the largest, in its units, and their masses, (largest, nodes).
        beyond: the mass that is left out.
    """
    mean = count * np.sum(mass * u, axis=1)  # E T

    def integrand(logs: Any) -> tuple[Any, Any]:
        c = np.exp(logs - np.log1p(mean)[:, None])
        parts = np.sum(_terms(u, mass, beyond, count, c, int(ORDER / rule.key)), axis=1)
        return parts, step * parts

    step = LOAD * rule.load
    return over_log_u(integrand, step, float(np.log(FIRST)), NOTHING)


def _terms(u: Any, mass: Any, beyond: Any, count: int, c: Any, order: int) -> Any:
    """c sum_k B_k(c) E[S e^{-cT} R^k/k!], (largest, c)."""
    n, load = float(count), c[..., None] * u[:, None]
    decay = np.exp(-load)
    gone = -np.expm1(-load) @ mass[..., None]
    gone = gone[..., 0] + beyond[:, None]
    # powers of the middle c times u, which float64 holds, and then of c itself
    middle = c[:, c.shape[1] // 2, None]
    seen = np.where(middle * u < HEAVIEST, middle * u, 0.0)
    powers = np.concatenate([mass[None], np.broadcast_to(seen, (2 * order, *seen.shape))]).cumprod(axis=0)
    moments = np.moveaxis(decay @ np.moveaxis(powers, 0, 2), 2, 0)
    moments = moments * (c / middle) ** np.arange(2 * order + 1)[:, None, None]
    left = moments[0] > 1e-200
    base = np.where(left, moments[0], 1.0)
    log_left = np.where(gone < 0.5, np.log1p(-np.minimum(gone, 0.5)), np.log(base))
    factorials = scipy.special.factorial(np.arange(order))[:, None, None]
    # coefficients of (d/c^2)^k of E[(cu)^j e^{-cu + du^2}] / E[e^{-cu}]
    none, one, two = (moments[j : j + 2 * order : 2][:order] / factorials / base for j in range(3))
    pair = _times(one, one)
    four = _power(none, count - 4)
    sums = n * (n - 1) * (n - 2) * (n - 3) / 2 / c**2 * _times(_times(pair, pair), four) if n > 3 else 0.0
    three = _times(four, none) if n > 3 else _power(none, count - 3)
    if n > 2:
        sums += n * (n - 1) * (n - 2) * _times(pair, _times(two / c**2 + 2 * one / c, three))
    last = _times(three, none) if n > 2 else _power(none, count - 2)
    sums += n * (n - 1) * _times(one, _times(2 * two / c + one, last))
    with np.errstate(under="ignore"):
        found = np.sum(sums * _bessel(c, order), axis=0) / c * np.exp(n * log_left)
    return np.where(left, found, 0.0)


def _bessel(c: Any, order: int) -> Any:
    """B_k(c)/c^{2k}, (order, ...), downwards in k; times (2c)^k on the way where c > 1/2."""
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


def _times(first: Any, second: Any) -> Any:
    """The product of two power series, (order, ...)."""
    found = first[0] * second
    for power in range(1, len(first)):
        found[power:] += first[power] * second[: len(first) - power]
    return found


def _power(series: Any, exponent: int) -> Any:
    """A power of a series that begins with 1: by Euler's recurrence where its terms are positive, by squares elsewhere."""
    found = np.zeros_like(series)
    found[0] = 1.0
    if exponent >= len(series):
        for m in range(1, len(series)):
            for k in range(1, m + 1):
                found[m] += (k * (exponent + 1) / m - 1) * series[k] * found[m - k]
        return found
    for bit in bin(max(exponent, 0))[2:]:
        found = _times(found, found)
        found = _times(found, series) if bit == "1" else found
    return found
