"""A random subset of s relevant tokens as independent coins, conditioned on exactly s falling (a coin falls: the token is
relevant).

Token l has the prior odds t pi_l and the posterior odds t pi_l w_l; t is such that s coins fall on average. The posterior depends
on a group of tokens only through q_0..q_s, q_k the probability that k coins of the group fall, given the keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.subsets.counts import convolved, tilt
from symslr.evaluation.location.tables.rules import Rule, key_step
from symslr.evaluation.location.tables.tokens import FINEST, LogKernelLaw, nodes

SURE, TABLE_STEP, SPLINE_STEP, SPLINE_DEGREE = 45.0, 1 / 1024, 1 / 24, 9
"""The function F of log rho. |log rho + log w| beyond the first number (in nats) means an outcome that is sure: F is 0 or 1. Step
of its table; step and degree of the spline from which the table is made."""
PLACES_AT_ONCE = 512
"""Nodes of the spline computed at once: over such a short range of log rho few nodes of log w have odds near 1."""
NEGLIGIBLE = 300.0
"""Log odds below minus this are left out of F: 1e-130."""


@dataclass(frozen=True)
class Coins:
    """Tokens of G kinds, which differ by their prior, and the law of log w.

    Attributes:
        logs: values of log w, at nodes of a key or on a grid.
        others, relevant: masses of an irrelevant and of a relevant token there.
        odds: log(t pi) of each kind, (G,).
        counts: number of tokens of each kind.
        variances: sum of the variances of their values, for each kind, (G,).
        size: s.
    """

    logs: Any
    others: Any
    relevant: Any
    odds: Any
    counts: tuple[int, ...]
    variances: Any
    size: int

    @classmethod
    def of(cls, setting: Setting, rule: Rule) -> Coins:
        """Coins of independent keys, by a trapezoid rule; for several directions the law of log w is stored on a grid."""
        found, size = nodes(setting, key_step(setting, rule)), setting.size
        if setting.is_uniform:
            logs, counts = np.log([size / (setting.length - size)]), np.array([setting.length])
            variances = np.array([float(np.sum(setting.value_variances))])
        else:
            logs, inverse, counts = np.unique(setting.log_prior, return_inverse=True, return_counts=True)
            variances = np.bincount(inverse.ravel(), setting.value_variances)
            logs = logs + tilt(setting.log_prior[None], size)
        numbers = tuple(int(count) for count in counts)
        weights, others, relevant = setting.token_log_weight(found.keys), found.others, found.relevant
        if setting.directions > 1:
            law = LogKernelLaw.of(found, weights, FINEST)
            weights, (others, relevant) = law.step * (law.first + np.arange(law.masses.shape[1])), law.masses
        return cls(weights, others, relevant, logs, numbers, variances, size)

    @property
    def kinds(self) -> range:
        return range(len(self.counts))

    @property
    def stay(self) -> Any:
        """Prior probability that a coin of each kind does not fall, (G,)."""
        return scipy.special.expit(-self.odds)

    @property
    def chance_of_size(self) -> float:
        """Prior probability that exactly s coins fall."""
        found = np.eye(1, self.size + 1)
        for stay, count in zip(self.stay, self.counts):
            found = convolved(found, scipy.stats.binom.pmf(np.arange(self.size + 1), count, 1 - stay)[None])
        return float(found[0, -1])

    def vectors(self, log_odds: Any) -> Any:
        """q_0..q_s of single coins with these log odds, (n, s + 1)."""
        found = np.zeros((len(log_odds), self.size + 1))
        found[:, 0], found[:, 1] = scipy.special.expit(-log_odds), scipy.special.expit(log_odds)
        return found

    def mixed(self, kind: int) -> Any:
        """The masses on the nodes of a token of this kind that may be relevant or not."""
        return self.stay[kind] * self.others + (1 - self.stay[kind]) * self.relevant

    @cached_property
    def _cubics(self) -> tuple[float, Any]:
        """The table of F: log rho where the first cubic begins, and the coefficients of the cubic on each step, (4, n)."""
        low, high = -float(self.logs.max()) - SURE, -float(self.logs.min()) + SURE
        at, order = np.arange(low - 1, high + 1, SPLINE_STEP), np.argsort(self.logs)
        logs, mass = self.logs[order], self.others[order]
        sure, parts = np.append(np.cumsum(mass[::-1])[::-1], 0.0), []
        for some in np.array_split(
            at, len(at) // PLACES_AT_ONCE + 1
        ):  # tokens far from where an odd is even are as good as sure
            first, last = np.searchsorted(logs, [-some[-1] - NEGLIGIBLE, SURE - some[0]])
            parts.append(scipy.special.expit(some[:, None] + logs[first:last]) @ mass[first:last] + sure[last])
        spline = scipy.interpolate.make_interp_spline(at, np.concatenate(parts), SPLINE_DEGREE)
        table = spline(np.arange(low, high, TABLE_STEP))
        before, here, after, beyond = (table[k : len(table) - 3 + k] for k in range(4))
        third, second = (beyond - 3 * after + 3 * here - before) / 6, (before + after) / 2 - here
        return low + TABLE_STEP, np.array([here, after - here - second - third, second, third])

    def chance(self, log_rho: Any) -> Any:
        """F(rho) = E_0[w rho/(1 + w rho)], to about 1e-14."""
        first, (here, slope, second, third) = self._cubics
        at = np.clip((log_rho - first) / TABLE_STEP, 0.0, len(here) - 1.0)
        place = at.astype(np.int32)
        at -= place
        return ((third[place] * at + second[place]) * at + slope[place]) * at + here[place]

    def pair_kernel(self, first: Any, second: Any, odds: Any) -> Any:
        """K(a, b) = q_s F(t pi q_{s-1}/q_s), with q = a * b the convolution, (rows of first, rows of second).

        Args:
            first, second: vectors a and b, (n, s + 1) each.
            odds: log(t pi) of the token left out, a number or one for each b.
        """
        size = self.size
        one_less = first[:, :size] @ second[:, :size][:, ::-1].T
        chance = np.maximum(first @ second[:, ::-1].T, TINY)
        return chance * self.chance(np.log(np.maximum(one_less, TINY) / chance) + odds)


TINY = 1e-200
"""Replaces smaller probabilities where they are divided by."""
