"""Two relevant tokens of L, any L: the Bayes risk as an integral over the largest weight, a Laplace and a Gaussian variable.

With w_l the likelihood ratios of L independent tokens and e_2 their second elementary symmetric polynomial,

    E sum_l p_l (1 - p_l) = E_0[(sum w_a w_b^2 w_c + (1/2) sum w_a w_b w_c w_d) / e_2] / C(L, 2),

sums over distinct ordered tokens, and 1/e_2 = int dt e^{-t e_2}. In units of the largest weight, T and R being the sums of
the other weights u <= 1 and of their squares, e_2 = T + (T^2 - R)/2 and

    e^{-t e_2} = E_g prod_l e^{-(t - i sqrt(t) g) u_l + t u_l^2/2},    g ~ N(0, 1),

a product over tokens, whose factors are bounded as u <= 1. The path of g leads through the saddle point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.posterior import log_mean
from symslr.evaluation.location.setting import Setting

REACH = 8.8
"""Standard deviations beyond which a normal density is left out, and of g."""
NOTHING = 1e-16
"""Parts of an integral below this share of it are left out."""
LEAST_LIKELY = -38.0
"""log of the probability that all other keys are below the largest one, below which that is left out."""
SADDLE_STEPS = 40
BLOCK = 16
"""Values of t at once."""


@dataclass(frozen=True)
class Rule:
    """Steps of the four integrals.

    Attributes:
        largest, others: width of a panel of the largest key and of the others, in units of the steepness of log w.
        nodes: of Gauss and Legendre in a panel.
        load, field: steps of log t and of the Gaussian variable.
    """

    largest: float
    others: float
    nodes: int
    load: float
    field: float


FINE, COARSE = Rule(3.0, 1.6, 10, 0.2, 0.18), Rule(3.4, 1.8, 10, 0.225, 0.2)


@dataclass(frozen=True)
class Token:
    """The law of one irrelevant token: log w(x), increasing in x >= ``low``, which has ``factor`` times a normal density."""

    log_weight: Callable[[Any], Any]
    low: float
    factor: float
    slope: float

    def density(self, x: Any) -> Any:
        return self.factor * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)

    def beyond(self, x: float) -> float:
        return self.factor * float(scipy.special.ndtr(-x))


def token_of(setting: Setting) -> Token | None:
    """The law of a token in which its weight increases; None for a signal of either sign that is not even."""
    if setting.directions > 1 or not setting.are_keys_independent:
        return None
    theta, root = setting.values[:, 0], np.sqrt(setting.strength)
    even = all(
        any(np.isclose(a, -b) and np.isclose(p, q) for b, q in zip(theta, setting.shares))
        for a, p in zip(theta, setting.shares)
    )
    one_sign = bool(np.all(theta >= 0) or np.all(theta <= 0))
    if not (one_sign or even) or not np.any(theta):
        return None
    slopes = np.abs(theta) if one_sign else theta

    def log_weight(x: Any) -> Any:
        logs = root * np.multiply.outer(np.asarray(x), slopes) - slopes**2 * setting.strength / 2
        return log_mean(logs, setting.shares)

    return Token(log_weight, -np.inf if one_sign else 0.0, 1.0 if one_sign else 2.0, root * float(np.max(slopes)))


def pairs_risk(setting: Setting) -> tuple[float, float] | None:
    """E|r - a|^2 for two relevant tokens at equal odds, and the difference of two rules; None where tokens are not alike.

    Raises:
        CannotEvaluate: where the integral does not end.
    """
    token = token_of(setting)
    if setting.size != 2 or not setting.is_uniform or not setting.are_values_independent or token is None:
        return None
    if setting.length == 2 or setting.strength == 0:
        return None
    fine, coarse = (_risk(token, setting, rule) for rule in (FINE, COARSE))
    return fine, abs(fine - coarse) + 1e-13 * fine


def _risk(token: Token, setting: Setting, rule: Rule) -> float:
    """The risk by one rule, panel by panel of the largest key from where it is likely."""
    low = max(token.low, -REACH)
    high = token.slope + REACH
    count = int(np.ceil((high - low) * max(2.0, token.slope) / rule.largest))
    edges = np.linspace(low, high, count + 1)
    length, total = setting.length, 0.0
    for panel in pairwise(edges):
        points, weights = _panels(np.array(panel), rule.nodes)
        if _likely(token, points[-1], length) < LEAST_LIKELY:
            continue
        part = sum(w * _given(token, float(y), setting, rule) for y, w in zip(points, weights))
        total += part
        if part < NOTHING * total:
            break
    return float(total) / (2 * (length - 1))


def _likely(token: Token, y: Any, length: int) -> Any:
    """A bound on the logarithm of the density of the largest key, by the others' alone."""
    beyond = np.minimum(token.factor * scipy.special.ndtr(-np.asarray(y)), 1 - 1e-16)
    return (length - 1) * np.log1p(-beyond)


def _panels(edges: Any, nodes: int) -> tuple[Any, Any]:
    at, mass = np.polynomial.legendre.leggauss(nodes)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + at)).ravel(), (half * mass).ravel()


def _given(token: Token, y: float, setting: Setting, rule: Rule) -> float:
    """The integrand of the largest key: over t and g, for the other tokens below it."""
    low = max(token.low, -REACH)
    if y <= low:
        return 0.0
    width = rule.others / max(1.0, token.slope)
    edges = np.linspace(low, y, int(np.ceil((y - low) / width)) + 1)
    x, mass = _panels(edges, rule.nodes)
    mass = mass * token.density(x)
    top = float(token.log_weight(y))
    job = _Others(np.exp(token.log_weight(x) - top), mass, token.beyond(y), setting.length - 1)
    return float(token.density(y)) * np.exp(2 * top) * job.integral(rule)


@dataclass(frozen=True)
class _Others:
    """The tokens below the largest one: their weights u in its units with their masses, the mass beyond, their number."""

    u: Any
    mass: Any
    beyond: float
    count: int

    def integral(self, rule: Rule) -> float:
        """int dt E_g S(t, g), t = t_0 e^{q - e^{-q}}: the lower end falls off at once."""
        mean = self.count * float(self.mass @ self.u) / float(np.sum(self.mass))
        start = -np.log(mean + mean**2 / 2)
        number, total = int(np.floor(-3.7 / rule.load)), 0.0
        while True:
            q = rule.load * np.arange(number, number + BLOCK)
            t = np.exp(start + q - np.exp(-q))
            parts = rule.load * t * (1 + np.exp(-q)) * self._over_field(t, rule)
            total += float(np.sum(parts))
            if q[0] > 0 and np.max(np.abs(parts)) <= NOTHING * abs(total):
                return total
            if q[-1] > 2000:
                raise CannotEvaluate("two relevant tokens: the integral over the Laplace variable does not end")
            number += BLOCK

    @cached_property
    def _powers(self) -> Any:
        """Masses of 1, u and u^2, (nodes, 3)."""
        return self.mass[:, None] * self.u[:, None] ** np.arange(3)

    def _moments(self, decay: Any, phase: Any, t: Any) -> tuple[Any, Any, Any]:
        """log m_0, m_1/m_0 and m_2/m_0 of u^k e^{-c u + t u^2/2}, c = decay - i phase; the first from its distance to 1 where near.

        Args:
            decay, t: (loads,).
            phase: (loads, fields).
        """
        less = np.expm1(-decay[:, None] * self.u + t[:, None] * self.u**2 / 2)
        half = phase[..., None] * self.u / 2
        sine = np.sin(half)
        turned = (less + 1)[:, None] * sine
        moved = -2 * ((turned * sine) @ self._powers) + 2j * ((turned * np.cos(half)) @ self._powers)
        gone = (less @ self.mass - self.beyond)[:, None] + moved[..., 0]
        left, first, second = np.moveaxis(((less + 1) @ self._powers)[:, None] + moved, -1, 0)
        lost = np.abs(left) < 1e-290
        left = np.where(lost, 1.0, left)
        near = np.abs(gone) < 0.5
        logs = np.where(lost, -700.0, np.where(near, np.log1p(np.where(near, gone, 0)), np.log(left)))
        return logs, np.where(lost, 0.0, first / left), np.where(lost, 0.0, second / left)

    def _still(self, decay: Any, t: Any) -> tuple[Any, Any]:
        """m_1/m_0 and m_2/m_0 without a phase."""
        left, first, second = (np.exp(-decay[:, None] * self.u + t[:, None] * self.u**2 / 2) @ self._powers).T
        left = np.maximum(left, 1e-290)
        return first / left, second / left

    def _saddle(self, t: Any) -> tuple[Any, Any]:
        """gamma = sqrt(t) N m_1/m_0 at c = t + sqrt(t) gamma, and the width of the integrand there."""
        root = np.sqrt(t)
        low, high = np.zeros_like(t), root * self.count * self._still(t, t)[0]
        for _ in range(SADDLE_STEPS):
            middle = (low + high) / 2
            over = middle > root * self.count * self._still(t + root * middle, t)[0]
            low, high = np.where(over, low, middle), np.where(over, middle, high)
            if np.all(high - low < 1e-3 * (1 + low)):
                break
        first, second = self._still(t + root * high, t)
        return high, 1 / np.sqrt(1 + t * self.count * np.maximum(second - first**2, 0.0))

    def _over_field(self, t: Any, rule: Rule) -> Any:
        """E_g S(t, g) at every t, on g = i gamma + width sinh(eta)."""
        gamma, width = self._saddle(t)
        eta = rule.field * np.arange(int(np.ceil(np.arcsinh(REACH / float(width.min())) / rule.field)) + 1)
        h = width[:, None] * np.sinh(eta)
        weight = width[:, None] * np.cosh(eta) * np.where(eta == 0, 1.0, 2.0) * rule.field / np.sqrt(2 * np.pi)
        root = np.sqrt(t)
        log_left, first, second = self._moments(t + root * gamma, root[:, None] * h, t)
        n = float(self.count)
        exponent = gamma[:, None] ** 2 / 2 - 1j * gamma[:, None] * h - h**2 / 2 + n * log_left
        three, four = n * (n - 1) * (n - 2), n * (n - 1) * (n - 2) * (n - 3)
        sums = three * first**2 * second + 2 * n * (n - 1) * first * second + n * (n - 1) * first**2
        sums = sums + four * first**4 / 2 + 2 * three * first**3
        return np.sum(weight * (np.exp(exponent) * sums).real, axis=1)
