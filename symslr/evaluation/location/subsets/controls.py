"""The Bayes risk for several relevant tokens among many exchangeable ones, from samples with control variates.

With one irrelevant token left out, w_l the weights of the L - 1 others, s of which are relevant, and rho = e_{s-1}(w)/e_s(w),

    E|r - a|^2 = (L - s)/s^2 E F(rho),    F(rho) = E_0[w rho/(1 + w rho)].

The controls: pi_k(t) = t^k e_k(w)/prod_l (1 + t w_l), the probability that k of independent coins with odds t w_l fall. As a sum of
products over tokens it has a known mean: the same with the mean probabilities E[t w/(1 + t w)]. So has pi_j(t) pi_k(u). A linear
combination of them is close to F(rho), and the rest scatters a hundred times less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.means import Means
from symslr.evaluation.location.samples.points import batches, dimensions, refined, sampled, strata
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.subsets.coins import Coins
from symslr.evaluation.location.subsets.counts import tilt
from symslr.evaluation.location.tables.rules import FINE, has_grid
from symslr.model.location.where import Subset

PILOT, LEAST_PILOT, SEED = 2**12, 2**10, 10**6
"""Sequences on which the combination is fitted, at most and at least, and their seed, which no replication uses."""
MOST_RELEVANT = 32
"""Most relevant tokens: the tables of pairs of counts grow with their cube."""
WORK = 2**22
"""Most tokens of all sequences of the pilot together."""
ODDS_COUNT, MARGIN, WIDEST_RANGE = 12, 0.5, 600.0
"""Number of values of log t; they cover the range of log rho in the pilot with a margin, and a range of at most the third number,
as exp(709) overflows."""
MOST_AXES = 10
"""Principal components of the controls whose products are used as controls too."""
SINGULAR = 1e-6
"""Relative singular values below this are dropped from the fit."""
SHARP = 2e-6
"""Relative standard error at which sampling stops."""


def subset_means(setting: Setting, seconds: float) -> Means | None:
    """E|r - a|^2 for s >= 2 relevant tokens among exchangeable independent ones; None for other laws and for very many tokens.

    Args:
        seconds: processor time after which sampling stops.
    """
    alike = setting.is_uniform and setting.are_keys_independent and setting.are_values_independent
    if not (isinstance(setting.task.location, Subset) and alike and has_grid(setting)) or setting.size < 2:
        return None
    if LEAST_PILOT * setting.length > WORK or setting.size > MOST_RELEVANT:
        return None
    left = ControlledRisk.of(setting)
    sample = partial(sampled, left.others, lambda keys, mass: np.array([mass @ left.risk(keys)]))
    width = dimensions(left.others)
    means = refined(sample, lambda row: float(row[0]), SHARP, seconds, width)
    return replace(means, method=f"{means.method}, with counts of coins as control variates")


@dataclass(frozen=True)
class Controls:
    """The control variates pi_k(t), for J values of t and K counts k near s, with their means and second moments.

    Attributes:
        log_odds: log t, (J,).
        counts: k, (K,).
        size: s.
        mean, second: E pi, (J K,), and E pi pi^T, (J K, J K).
    """

    log_odds: Any
    counts: Any
    size: int
    mean: Any
    second: Any

    @classmethod
    def of(cls, coins: Coins, log_odds: Any, count: int) -> Controls:
        """For ``count`` tokens, ``coins.size`` of which are relevant."""
        size = coins.size
        kept = np.arange(max(size - 2, 0), size + 2)
        falls = scipy.special.expit(coins.logs[:, None] + log_odds)
        groups = ((count - size, coins.others), (size, coins.relevant))
        moments = [(number, mass @ falls, (falls * mass[:, None]).T @ falls) for number, mass in groups]
        places = len(log_odds)
        mean, second = np.empty((places, len(kept))), np.empty((places, len(kept), places, len(kept)))
        for a in range(places):
            one, other = (scipy.stats.binom.pmf(np.arange(size + 2), number, own[a]) for number, own, _ in moments)
            mean[a] = np.convolve(one, other)[kept]
            for b in range(a, places):
                tables = [_pairs(number, own[a], own[b], both[a, b], size + 1) for number, own, both in moments]
                joint = scipy.signal.convolve2d(*tables)[np.ix_(kept, kept)]
                second[a, :, b], second[b, :, a] = joint, joint.T
        flat = places * len(kept)
        return cls(log_odds, kept, size, mean.ravel(), second.reshape(flat, flat))

    def values(self, logs: Any) -> tuple[Any, Any]:
        """log rho (n,) and the controls pi (n, J K), from log weights (n, L - 1)."""
        own = tilt(logs, self.size)
        tilted = (logs + own[:, None]).T
        log_ratios = self.log_odds[:, None] - own
        ratios, log_growth = np.exp(log_ratios), np.zeros_like(log_ratios)
        chances = np.zeros((self.size + 2, len(logs)))
        chances[0] = 1.0
        # sums of positive terms only: differences would lose their digits where a token is all but sure to fall
        for fall, stay in zip(scipy.special.expit(tilted), scipy.special.expit(-tilted)):
            chances[1:] = stay * chances[1:] + fall * chances[:-1]
            chances[0] *= stay
            log_growth += np.log(stay + fall * ratios)
        # t^k e_k/prod(1 + tw) from the same at the t of the sequence
        found = np.exp(log_ratios[:, None] * self.counts[:, None] - log_growth[:, None]) * chances[self.counts]
        log_rho = own + np.log(chances[self.size - 1]) - np.log(chances[self.size])
        return log_rho, found.reshape(len(self.log_odds) * len(self.counts), len(logs)).T


@dataclass(frozen=True)
class ControlledRisk:
    """The integrand (L - s)/s^2 F(rho) with the fitted combination of controls, of mean 0, subtracted.

    Attributes:
        others: the setting of the L - 1 other tokens.
        factor: (L - s)/s^2.
        chance: F of log rho.
        controls: the control variates.
        axes: principal components of the controls whose products are controls too, (J K, Q).
        shares: fitted coefficients of all controls and products.
    """

    others: Setting
    factor: float
    chance: Any
    controls: Controls
    axes: Any
    shares: Any

    @classmethod
    def of(cls, setting: Setting) -> ControlledRisk:
        """The combination fitted by least squares on a pilot sample.

        Raises:
            CannotEvaluate: where float64 does not hold the odds of the pilot.
        """
        others, size = replace(setting, length=setting.length - 1), setting.size
        coins = Coins.of(setting, FINE)
        laid_out = strata(others, True)
        count = min(PILOT, WORK // setting.length) // (1 if laid_out is None else len(laid_out[0]))
        drawn = list(batches(others, True, max(count, 1), SEED))
        logs = np.concatenate([others.log_weights(keys) for keys, _ in drawn])
        mass = np.concatenate([weights for _, weights in drawn])
        rough = Controls(np.zeros(0), np.array([size]), size, None, None).values(logs)[0]
        ends = rough.min() - MARGIN, rough.max() + MARGIN
        if ends[1] - ends[0] > WIDEST_RANGE:
            raise CannotEvaluate(
                f"found odds that differ by e^{ends[1] - ends[0]:.0f} between sequences; expected a weaker signal"
            )
        controls = Controls.of(coins, np.linspace(*ends, ODDS_COUNT), others.length)
        log_rho, found = controls.values(logs)
        spread, axes = np.linalg.eigh(_gram(found - controls.mean, mass))
        kept = spread[-MOST_AXES:] > SINGULAR**2 * spread[-1]
        axes = (axes / np.sqrt(np.maximum(spread, 1e-300)))[:, -MOST_AXES:][:, kept]
        made = cls(others, (setting.length - size) / size**2, coins.chance, controls, axes, None)
        seen = np.concatenate([np.ones((len(logs), 1)), made._centred(found)], axis=1)
        target = (seen * mass[:, None]).T @ made.chance(log_rho)
        return replace(made, shares=np.linalg.lstsq(_gram(seen, mass), target, rcond=SINGULAR**2)[0][1:])

    def _centred(self, found: Any) -> Any:
        """All controls and products less their means, (n, J K + Q (Q + 1)/2)."""
        away = found - self.controls.mean
        combined = away @ self.axes
        rows, columns = np.triu_indices(combined.shape[1])
        second = self.controls.second - np.outer(self.controls.mean, self.controls.mean)
        expected = (self.axes.T @ second @ self.axes)[rows, columns]
        return np.concatenate([away, combined[:, rows] * combined[:, columns] - expected], axis=1)

    def risk(self, keys: Any) -> Any:
        """(L - s)/s^2 (F(rho) - controls), (n,), for keys (n, L - 1, p)."""
        log_rho, found = self.controls.values(self.others.log_weights(keys))
        return self.factor * (self.chance(log_rho) - self._centred(found) @ self.shares)


def _gram(columns: Any, mass: Any) -> Any:
    """The Gram matrix of columns (n, k) with masses (n,)."""
    return (columns * mass[:, None]).T @ columns


def _pairs(number: int, first: float, second: float, both: float, most: int) -> Any:
    """P(j first and k second coins fall), (most + 1, most + 1), for ``number`` tokens with two correlated coins each.

    Args:
        first, second, both: probabilities that a token's first coin, its second coin, and both fall.
    """
    j, k, common = np.ogrid[: most + 1, : most + 1, : most + 1]
    parts = (common, j - common, k - common, number - j - k + common)
    chances = (both, first - both, second - both, 1 - first - second + both)
    possible = np.logical_and.reduce(np.broadcast_arrays(*(part >= 0 for part in parts)))
    logs: Any = scipy.special.gammaln(number + 1)
    for part, chance in zip(parts, chances):
        part = np.maximum(part, 0)
        logs = logs + scipy.special.xlogy(part, max(chance, 1e-300)) - scipy.special.gammaln(part + 1)
    return np.sum(np.where(possible, np.exp(logs), 0.0), axis=2)
