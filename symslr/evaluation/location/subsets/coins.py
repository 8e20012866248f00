"""The tokens of a law of subsets as coins: s of them fall on average, and S is the set of those that did, given that s did.

Token l has the odds t pi_l before its key is seen, and t pi_l w_l after. The probabilities q_0..q_s that so many of a group of
coins fall, given the keys, are what the posterior sees of the group.
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
from symslr.evaluation.location.tables.tokens import FINEST, Spectrum, nodes

SPREAD, STEP, COARSE, DEGREE = 45.0, 1 / 1024, 1 / 24, 9
"""Nats of log rho beyond -log w at which F is 0 or 1; steps of its table and of the spline that makes it, and its degree."""
PART = 512
"""Places of the spline that are computed at once: over so few nats few tokens have odds that are near even."""
GONE = 300.0
"""Nats below even odds at which a token is left out of F, by less than 1e-130."""


@dataclass(frozen=True)
class Coins:
    """Tokens of several kinds, which differ by their prior.

    Attributes:
        logs: log w on nodes of a key, or on a grid.
        others, relevant: the masses there of an irrelevant and of a relevant token.
        odds: log t pi of every kind, (G,).
        counts: how many tokens are of it.
        variances: the sum of the variances of their values, (G,).
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
        """For independent keys, by a trapezoid rule; of several directions log w alone is kept, on a grid."""
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
            law = Spectrum.of(found, weights, FINEST)
            weights, (others, relevant) = law.step * (law.first + np.arange(law.masses.shape[1])), law.masses
        return cls(weights, others, relevant, logs, numbers, variances, size)

    @property
    def kinds(self) -> range:
        return range(len(self.counts))

    @property
    def stay(self) -> Any:
        """The probability of every kind to be irrelevant before anything is seen, as independent coins, (G,)."""
        return scipy.special.expit(-self.odds)

    @property
    def chance_of_size(self) -> float:
        """P(s fall) before any key is seen."""
        found = np.eye(1, self.size + 1)
        for stay, count in zip(self.stay, self.counts):
            found = convolved(found, scipy.stats.binom.pmf(np.arange(self.size + 1), count, 1 - stay)[None])
        return float(found[0, -1])

    def vectors(self, log_odds: Any) -> Any:
        """q_0..q_s of single tokens that fall with these odds, (n, s + 1)."""
        found = np.zeros((len(log_odds), self.size + 1))
        found[:, 0], found[:, 1] = scipy.special.expit(-log_odds), scipy.special.expit(log_odds)
        return found

    def mixed(self, kind: int) -> Any:
        """The masses of a token of a kind on the nodes."""
        return self.stay[kind] * self.others + (1 - self.stay[kind]) * self.relevant

    @cached_property
    def _cubics(self) -> tuple[float, Any]:
        """log rho at the first of a row of cubics, and the coefficients of F in each, (4, n)."""
        low, high = -float(self.logs.max()) - SPREAD, -float(self.logs.min()) + SPREAD
        at, order = np.arange(low - 1, high + 1, COARSE), np.argsort(self.logs)
        logs, mass = self.logs[order], self.others[order]
        sure, parts = np.append(np.cumsum(mass[::-1])[::-1], 0.0), []
        for some in np.array_split(at, len(at) // PART + 1):  # tokens far from where an odd is even are as good as sure
            first, last = np.searchsorted(logs, [-some[-1] - GONE, SPREAD - some[0]])
            parts.append(scipy.special.expit(some[:, None] + logs[first:last]) @ mass[first:last] + sure[last])
        spline = scipy.interpolate.make_interp_spline(at, np.concatenate(parts), DEGREE)
        table = spline(np.arange(low, high, STEP))
        before, here, after, beyond = (table[k : len(table) - 3 + k] for k in range(4))
        third, second = (beyond - 3 * after + 3 * here - before) / 6, (before + after) / 2 - here
        return low + STEP, np.array([here, after - here - second - third, second, third])

    def chance(self, log_rho: Any) -> Any:
        """F(rho) = E_0[w rho/(1 + w rho)], to about 1e-14."""
        first, (here, slope, second, third) = self._cubics
        at = np.clip((log_rho - first) / STEP, 0.0, len(here) - 1.0)
        place = at.astype(np.int32)
        at -= place
        return ((third[place] * at + second[place]) * at + slope[place]) * at + here[place]

    def left(self, first: Any, second: Any, odds: Any) -> Any:
        """K(a, b) = q_s F(t pi q_{s-1}/q_s) of q = a * b, for a in rows and b, with log t pi of the token left out, in columns."""
        size = self.size
        one_less = first[:, :size] @ second[:, :size][:, ::-1].T
        chance = np.maximum(first @ second[:, ::-1].T, TINY)
        return chance * self.chance(np.log(np.maximum(one_less, TINY) / chance) + odds)


TINY = 1e-200
"""Probabilities below are as good as none."""
