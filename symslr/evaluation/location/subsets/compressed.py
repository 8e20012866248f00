"""Several relevant tokens of independent ones, with any prior and signal: the Bayes risk by compressed laws of counts of coins.

With one token left out, and the others as coins of which q_k is the probability, given the keys, that k fall,

    E p_l (1 - p_l) = P(l stays) E[q_s F(t pi_l q_{s-1}/q_s)] / P(s fall),    F(rho) = E_0[w rho/(1 + w rho)].

The vector q of two groups of tokens is the convolution of theirs: what is averaged is a function K(a, b) of two vectors,
smooth and of degree 1 in either. Such a function has a small numerical rank, so that few points stand for the law of a group:
those whose K(., b) span that of all others, at many b (interpolative decomposition; Cheng, Gimbutas, Martinsson and Rokhlin
2005). Groups are joined two by two. What a law of few points leaves out falls with their number, and shows in the next one.
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
"""Vectors b that a law is held to, of one rule after another."""
GROWTH = 2.5
"""The work of a rule grows with this power of their number, roughly."""
SHARE = 0.75
"""Of them, so many points are kept at most."""
SINGULAR = 3e-15
"""Relative size of what is left of K below which no further point is kept."""
LEAST = 1e-20
"""Mass of a point below which it is left out."""
PIVOTS = 6
"""Points, in units of the trials, among which those that are kept are looked for."""
ENOUGH, WORST = 1e-11, 3e-2
"""Relative error at which no finer rule is tried, and beyond which there is no number."""
LAST, BEFORE = 3.0, 0.1
"""The error in units of the last difference between rules, as two may agree by chance, and of the one before: the larger one."""
MOST, KINDS, LONGEST = 16, 64, 256
"""Relevant tokens, different priors and tokens, at most."""
WIDTHS = (0.9, 1.05, 1.2)
"""Standard deviations of irrelevant keys, one in each third of the trials."""
NEAR = 1.3
"""Of relevant ones, and of those between."""
SINGLE = 48
"""Tokens of a kind that are drawn one by one; the others are from a pool, irrelevant."""


@dataclass(frozen=True)
class Law:
    """Masses (n,) at vectors q_0..q_s (n, s + 1), and how many tokens of every kind it is the law of."""

    at: Any
    mass: Any
    counts: tuple[int, ...]


def compressed_means(setting: Setting, seconds: float) -> Means | None:
    """E|r - a|^2 for s >= 2 relevant among independent tokens; None where tokens are not, or too many, or the error is large.

    Args:
        seconds: processor time that no further rule is expected to go beyond.
    """
    independent = setting.are_keys_independent and setting.are_values_independent
    if not (isinstance(setting.task.location, Subset) and independent and has_grid(setting)):
        return None
    if not 2 <= setting.size <= min(MOST, setting.length - 1) or setting.length > LONGEST:
        return None
    coins = [Coins.of(setting, rule) for rule in (FINE, COARSE)]
    if len(coins[0].kinds) > KINDS:
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
        longer = (TRIALS[min(number + 1, len(TRIALS) - 1)] / trials) ** GROWTH * (now - started)
        if error <= ENOUGH * found[-1] or (number and now - began + longer > seconds):
            break
    if not error <= WORST * found[-1]:
        return None
    method = f"laws of coins compressed to {int(SHARE * trials)} points in float64"
    return Means(np.array([[found[-1]], [found[-1] - error]]), Kind.ESTIMATED, method, 1e-14)


def _error(found: Sequence[float]) -> float:
    """What the last of several results may be off; the first two show too little."""
    if len(found) < 3:
        return np.inf
    last, before = (abs(found[k] - found[k - 1]) for k in (-1, -2))
    return float(max(LAST * last, BEFORE * before))


def _scaled(vectors: Any) -> Any:
    """With the sum 1; where more than s tokens are sure to fall nothing is left to scale."""
    return vectors / np.maximum(vectors.sum(axis=1, keepdims=True), TINY)


@dataclass
class _Groups:
    """Laws of groups of tokens, each of few points.

    Trials are draws of other tokens, spread more widely than their law: what holds at them is to hold wherever they may be.

    Attributes:
        tests: how many vectors b a law is held to; ``random`` draws them.
    """

    coins: Coins
    tests: int
    random: Any
    powers: dict[tuple[int, int], Law] = field(default_factory=dict)

    def power(self, kind: int, count: int) -> Law:
        """The law of so many tokens of a kind."""
        if (kind, count) not in self.powers:
            if count == 1:
                counts = tuple(int(other == kind) for other in self.coins.kinds)
                at = self.coins.vectors(self.coins.logs + self.coins.odds[kind])
                found = self._fewer(Law(at, self.coins.mixed(kind), counts))
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
        kept = np.abs(mass) > LEAST
        counts = tuple(one + other for one, other in zip(first.counts, second.counts))
        return self._fewer(Law(convolved(first.at[i[kept]], second.at[j[kept]]), mass[kept], counts))

    def _fewer(self, law: Law) -> Law:
        """A law at few of its points with the same means of K(., b).

        Raises:
            CannotEvaluate: where nothing of K is left in float64.
        """
        left = tuple(whole - own for whole, own in zip(self.coins.counts, law.counts))
        others, odds = self._drawn(self.tests, left)
        weight = np.sqrt(np.abs(law.mass))
        tried, most = np.flatnonzero(weight), PIVOTS * self.tests  # a mass far out is below float64
        if len(tried) > most:
            tried = self.random.choice(tried, most, replace=False, p=weight[tried] / weight.sum())
        columns = (self.coins.left(law.at[tried], others, odds) * weight[tried, None]).T
        basis, triangle, order = scipy.linalg.qr(columns, mode="economic", pivoting=True, check_finite=False)
        size = np.abs(np.diag(triangle))
        rank = min(int(np.sum(size > SINGULAR * size[0])), int(SHARE * self.tests))
        if not rank:
            raise CannotEvaluate("no token is uncertain in float64")
        wanted = basis[:, :rank].T @ self._mean(law, others, odds)
        shares = scipy.linalg.solve_triangular(triangle[:rank, :rank], wanted, check_finite=False)
        kept = tried[order[:rank]]
        return Law(law.at[kept], shares * weight[kept], law.counts)

    def _drawn(self, number: int, counts: tuple[int, ...]) -> tuple[Any, Any]:
        """Vectors of all but one of so many tokens of every kind, scaled, (number, s + 1), and log t pi of that one, (number,)."""
        left = np.array(counts)
        out = self.random.choice(len(left), number, p=left / left.sum())
        width = np.repeat(WIDTHS, number // len(WIDTHS))
        relevant = self.random.random(number) * min(1.0, (self.coins.size + 1) / left.sum())
        found = np.repeat(np.eye(1, self.coins.size + 1), number, axis=0)
        for kind in map(int, np.flatnonzero(left)):
            single = int(min(left[kind], SINGLE))
            for place in range(single):
                own = self._tokens(kind, width, relevant)
                own[(out == kind) & (place == 0)] = np.eye(1, self.coins.size + 1)
                found = _scaled(convolved(found, own))
            if left[kind] > single:
                found = _scaled(convolved(found, self._crowd(kind, int(left[kind]) - single, width)))
        return found, self.coins.odds[out]

    def _tokens(self, kind: int, width: Any, relevant: Any) -> Any:
        """Vectors of single tokens with irrelevant keys of these widths, relevant with these probabilities."""
        coins, number = self.coins, len(width)
        # on a grid of log w masses are interpolated, and may be negative next to nothing
        relevant_mass, other_mass = np.maximum(coins.relevant, 0.0), np.maximum(coins.others, 0.0)
        near = self._logs((relevant_mass + np.sqrt(relevant_mass * other_mass)) ** (1 / NEAR**2), number)
        far = np.concatenate([self._logs(other_mass ** (1 / w**2), number // len(WIDTHS)) for w in WIDTHS])
        return coins.vectors(np.where(self.random.random(number) < relevant, near, far) + coins.odds[kind])

    def _logs(self, mass: Any, number: int) -> Any:
        return self.random.choice(self.coins.logs, number, p=mass / mass.sum())

    def _crowd(self, kind: int, count: int, width: Any) -> Any:
        """Vectors of many irrelevant tokens, by doubling a pool of each width."""
        own = self._tokens(kind, width, np.zeros(len(width)))
        found = np.repeat(np.eye(1, self.coins.size + 1), len(width), axis=0)
        while count:
            if count & 1:
                found = _scaled(convolved(found, self._shuffled(own)))
            count >>= 1
            own = _scaled(convolved(own, self._shuffled(own)))
        return found

    def _shuffled(self, vectors: Any) -> Any:
        """The same vectors in another order, among those of each width."""
        return np.concatenate([self.random.permutation(part) for part in np.split(vectors, len(WIDTHS))])

    def _mean(self, law: Law, others: Any, odds: Any) -> Any:
        """E K(a, b) at every b."""
        size = max(1, 2**20 // len(others))
        parts = [slice(start, start + size) for start in range(0, len(law.mass), size)]
        return sum(law.mass[part] @ self.coins.left(law.at[part], others, odds) for part in parts)

    def risk(self) -> float:
        """sum_l C_ll E p_l (1 - p_l)/s^2."""
        coins = self.coins
        before: list[list[Law]] = [[]]
        after: list[list[Law]] = [[]]
        if len(coins.kinds) > 1:
            whole = [self.power(kind, count) for kind, count in enumerate(coins.counts)]
            before, after = self._products(whole), self._products(whole[::-1])[::-1]
        found = [self._left_out(kind, before[kind] + after[kind]) for kind in coins.kinds]
        return float(coins.variances * coins.stay @ found) / (coins.size**2 * coins.chance_of_size)

    def _products(self, laws: Sequence[Law]) -> list[list[Law]]:
        """The law of all before each, as a list of one or none."""
        found: list[list[Law]] = [[]]
        for law in laws[:-1]:
            found.append([self.product(found[-1][0], law) if found[-1] else law])
        return found

    def _left_out(self, kind: int, parts: list[Law]) -> float:
        """E K where one token of a kind is left out of it, and the parts are all other kinds."""
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
        return float(first.mass @ self.coins.left(first.at, second.at, self.coins.odds[kind]) @ second.mass)
