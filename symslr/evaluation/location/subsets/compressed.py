"""The Bayes risk for several relevant tokens, independent, with any prior and signal: low-rank laws of counts of coins.

With one token left out, and q_k the probability, given the keys, that k of the other coins (see ``coins``) fall,

    E p_l (1 - p_l) = P(l stays) E[q_s F(t pi_l q_{s-1}/q_s)] / P(s fall),    F(rho) = E_0[w rho/(1 + w rho)].

The vector q of two groups of tokens is the convolution of those of each group, a and b. So the integrand is a function K(a, b),
smooth and homogeneous of degree 1 in each vector. It has a small numerical rank: a law of few points represents a group, namely
points whose K(., b) span all others, at many b (interpolative decomposition; Cheng, Gimbutas, Martinsson and Rokhlin 2005).
Groups are merged in pairs. The error falls with the number of points, and is read from successive numbers.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.means import Means
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.subsets.coins import TINY, Coins
from symslr.evaluation.location.subsets.counts import convolved
from symslr.evaluation.location.tables.rules import COARSE, FINE, has_grid
from symslr.expression.value import Kind
from symslr.model.location.where import Subset

TRIALS = (48, 96, 192, 288, 432)
"""Number of test vectors b of successive refinements."""
WORK_EXPONENT = 2.5
"""The work grows roughly with this power of the number of test vectors."""
POINT_SHARE = 0.75
"""Most points of a compressed law, as a share of the number of test vectors."""
SINGULAR = 3e-15
"""Relative tolerance of the pivoted QR decomposition that determines the rank."""
LEAST_MASS = 1e-20
"""Points of smaller mass are left out."""
CANDIDATES = 6
"""Most candidate points of a compressed law, in units of the number of test vectors."""
ENOUGH, WORST = 1e-11, 3e-2
"""Relative errors: small enough to stop, and too large to return a number."""
LAST_FACTOR, BEFORE_FACTOR = 3.0, 0.1
"""The error is the larger of these factors times the last and the last but one difference: two results may agree by chance."""
MOST_RELEVANT, MOST_KINDS, MOST_TOKENS = 16, 64, 256
"""Most relevant tokens, different priors, and tokens."""
WIDTHS = (0.9, 1.05, 1.2)
"""Standard deviations of the irrelevant keys from which test vectors are drawn, each for a third of them."""
RELEVANT_WIDTH = 1.3
"""Standard deviation of the relevant keys from which test vectors are drawn."""
MOST_SINGLE = 48
"""Most tokens of a kind that are drawn one by one for a test vector; further ones, irrelevant, come from a pool."""


@dataclass(frozen=True)
class Law:
    """A discrete law of q for a group of tokens.

    Attributes:
        at: vectors q_0..q_s, (n, s + 1).
        mass: their masses, (n,), of either sign.
        counts: how many tokens of each kind are in the group.
    """

    at: Any
    mass: Any
    counts: tuple[int, ...]


def compressed_means(setting: Setting, seconds: float) -> Means | None:
    """E|r - a|^2 for s >= 2 relevant among independent tokens; None for correlated or too many tokens, and where the error is
    large.

    Args:
        seconds: processor time; a refinement that is expected to exceed it is not started.
    """
    independent = setting.are_keys_independent and setting.are_values_independent
    if not (isinstance(setting.task.location, Subset) and independent and has_grid(setting)):
        return None
    if not 2 <= setting.size <= min(MOST_RELEVANT, setting.length - 1) or setting.length > MOST_TOKENS:
        return None
    coins = [Coins.of(setting, rule) for rule in (FINE, COARSE)]
    if len(coins[0].kinds) > MOST_KINDS:
        return None
    began, found = time.process_time(), []
    for number, trials in enumerate(TRIALS):
        started = time.process_time()
        try:
            found.append(_Groups(coins[number % 2], trials, np.random.default_rng(number)).risk())
        except CannotEvaluate:
            return None
        now = time.process_time()
        error = _error(found)
        longer = (TRIALS[min(number + 1, len(TRIALS) - 1)] / trials) ** WORK_EXPONENT * (now - started)
        if error <= ENOUGH * found[-1] or (number and now - began + longer > seconds):
            break
    if not error <= WORST * found[-1]:
        return None
    method = f"laws of coins compressed to {int(POINT_SHARE * trials)} points in float64"
    return Means(np.array([[found[-1]], [found[-1] - error]]), Kind.ESTIMATED, method, 1e-14)


def _error(found: Sequence[float]) -> float:
    """Error of the last of several results; infinite for fewer than three."""
    if len(found) < 3:
        return np.inf
    last, before = (abs(found[k] - found[k - 1]) for k in (-1, -2))
    return float(max(LAST_FACTOR * last, BEFORE_FACTOR * before))


def _scaled(vectors: Any) -> Any:
    """Vectors divided by their sums; 0 stays 0, as where more than s tokens are sure to fall."""
    return vectors / np.maximum(vectors.sum(axis=1, keepdims=True), TINY)


@dataclass
class _Groups:
    """Compressed laws of groups of tokens.

    Test vectors b are random draws of the tokens outside a group, from a wider law than their own, so that a compressed law is
    accurate wherever they may lie.

    Attributes:
        coins: the tokens.
        tests: number of test vectors.
        random: their generator.
        powers: laws of groups of one kind, by (kind, number of tokens).
    """

    coins: Coins
    tests: int
    random: Any
    powers: dict[tuple[int, int], Law] = field(default_factory=dict)

    def power(self, kind: int, count: int) -> Law:
        """The law of ``count`` tokens of one kind, by repeated halving."""
        if (kind, count) not in self.powers:
            if count == 1:
                counts = tuple(int(other == kind) for other in self.coins.kinds)
                at = self.coins.vectors(self.coins.logs + self.coins.odds[kind])
                found = self._compressed(Law(at, self.coins.mixed(kind), counts))
            else:
                found = self.product(self.power(kind, count // 2), self.power(kind, count - count // 2))
            self.powers[kind, count] = found
        return self.powers[kind, count]

    def product(self, first: Law, second: Law) -> Law:
        """The law of two groups together."""
        if first is second:
            i, j = np.triu_indices(len(first.mass))
            mass = first.mass[i] * first.mass[j] * np.where(i == j, 1, 2)
        else:
            i, j = (places.ravel() for places in np.indices((len(first.mass), len(second.mass))))
            mass = first.mass[i] * second.mass[j]
        kept = np.abs(mass) > LEAST_MASS
        counts = tuple(one + other for one, other in zip(first.counts, second.counts))
        return self._compressed(Law(convolved(first.at[i[kept]], second.at[j[kept]]), mass[kept], counts))

    def _compressed(self, law: Law) -> Law:
        """A law on few of the points, with the same mean of K(., b) at the test vectors b.

        Raises:
            CannotEvaluate: where K is 0 in float64: every token is sure.
        """
        left = tuple(whole - own for whole, own in zip(self.coins.counts, law.counts))
        others, odds = self._random_others(self.tests, left)
        weight = np.sqrt(np.abs(law.mass))
        tried, most = np.flatnonzero(weight), CANDIDATES * self.tests  # a mass far out is below float64
        if len(tried) > most:
            tried = self.random.choice(tried, most, replace=False, p=weight[tried] / weight.sum())
        columns = (self.coins.pair_kernel(law.at[tried], others, odds) * weight[tried, None]).T
        basis, triangle, order = scipy.linalg.qr(columns, mode="economic", pivoting=True, check_finite=False)
        size = np.abs(np.diag(triangle))
        rank = min(int(np.sum(size > SINGULAR * size[0])), int(POINT_SHARE * self.tests))
        if not rank:
            raise CannotEvaluate("no token is uncertain in float64")
        wanted = basis[:, :rank].T @ self._mean(law, others, odds)
        shares = scipy.linalg.solve_triangular(triangle[:rank, :rank], wanted, check_finite=False)
        kept = tried[order[:rank]]
        return Law(law.at[kept], shares * weight[kept], law.counts)

    def _random_others(self, number: int, counts: tuple[int, ...]) -> tuple[Any, Any]:
        """Test vectors of a group with one token left out, normalised, (number, s + 1), and log(t pi) of that token, (number,)."""
        left = np.array(counts)
        out = self.random.choice(len(left), number, p=left / left.sum())
        width = np.repeat(WIDTHS, number // len(WIDTHS))
        relevant = self.random.random(number) * min(1.0, (self.coins.size + 1) / left.sum())
        found = np.repeat(np.eye(1, self.coins.size + 1), number, axis=0)
        for kind in map(int, np.flatnonzero(left)):
            single = int(min(left[kind], MOST_SINGLE))
            for place in range(single):
                own = self._tokens(kind, width, relevant)
                own[(out == kind) & (place == 0)] = np.eye(1, self.coins.size + 1)
                found = _scaled(convolved(found, own))
            if left[kind] > single:
                found = _scaled(convolved(found, self._pooled_tokens(kind, int(left[kind]) - single, width)))
        return found, self.coins.odds[out]

    def _tokens(self, kind: int, width: Any, relevant: Any) -> Any:
        """Vectors q of single random tokens: with probability ``relevant`` a relevant key, else one of deviation ``width``."""
        coins, number = self.coins, len(width)
        # on a grid of log w masses are interpolated: tiny ones may be negative
        relevant_mass, other_mass = np.maximum(coins.relevant, 0.0), np.maximum(coins.others, 0.0)
        near = self._logs((relevant_mass + np.sqrt(relevant_mass * other_mass)) ** (1 / RELEVANT_WIDTH**2), number)
        far = np.concatenate([self._logs(other_mass ** (1 / w**2), number // len(WIDTHS)) for w in WIDTHS])
        return coins.vectors(np.where(self.random.random(number) < relevant, near, far) + coins.odds[kind])

    def _logs(self, mass: Any, number: int) -> Any:
        return self.random.choice(self.coins.logs, number, p=mass / mass.sum())

    def _pooled_tokens(self, kind: int, count: int, width: Any) -> Any:
        """Vectors q of ``count`` random irrelevant tokens together, by repeated doubling of a shuffled pool."""
        own = self._tokens(kind, width, np.zeros(len(width)))
        found = np.repeat(np.eye(1, self.coins.size + 1), len(width), axis=0)
        while count:
            if count & 1:
                found = _scaled(convolved(found, self._shuffled(own)))
            count >>= 1
            own = _scaled(convolved(own, self._shuffled(own)))
        return found

    def _shuffled(self, vectors: Any) -> Any:
        """The vectors permuted at random within each width."""
        return np.concatenate([self.random.permutation(part) for part in np.split(vectors, len(WIDTHS))])

    def _mean(self, law: Law, others: Any, odds: Any) -> Any:
        """E K(a, b) at every b."""
        size = max(1, 2**20 // len(others))
        parts = [slice(start, start + size) for start in range(0, len(law.mass), size)]
        return sum(law.mass[part] @ self.coins.pair_kernel(law.at[part], others, odds) for part in parts)

    def risk(self) -> float:
        """sum_l C_ll E p_l (1 - p_l)/s^2."""
        coins = self.coins
        before: list[list[Law]] = [[]]
        after: list[list[Law]] = [[]]
        if len(coins.kinds) > 1:
            whole = [self.power(kind, count) for kind, count in enumerate(coins.counts)]
            before, after = self._products(whole), self._products(whole[::-1])[::-1]
        found = [self._mean_left_out(kind, before[kind] + after[kind]) for kind in coins.kinds]
        return float(coins.variances * coins.stay @ found) / (coins.size**2 * coins.chance_of_size)

    def _products(self, laws: Sequence[Law]) -> list[list[Law]]:
        """For each law, the product of all laws before it, as a list of one law or none."""
        found: list[list[Law]] = [[]]
        for law in laws[:-1]:
            found.append([self.product(found[-1][0], law) if found[-1] else law])
        return found

    def _mean_left_out(self, kind: int, parts: list[Law]) -> float:
        """E K(a, b) with one token of this kind left out; ``parts`` are the laws of all other kinds."""
        alike = self.coins.counts[kind] - 1
        if alike > 1 and len(parts) < 2:
            parts = [*parts, self.power(kind, alike // 2), self.power(kind, alike - alike // 2)]
        elif alike:
            parts = [*parts, self.power(kind, alike)]
        parts = sorted(parts, key=lambda law: len(law.mass))
        while len(parts) > 2:
            parts = sorted([self.product(parts[0], parts[1]), *parts[2:]], key=lambda law: len(law.mass))
        nothing = Law(np.eye(1, self.coins.size + 1), np.ones(1), ())
        first, second = [*parts, nothing][:2]
        return float(first.mass @ self.coins.pair_kernel(first.at, second.at, self.coins.odds[kind]) @ second.mass)
