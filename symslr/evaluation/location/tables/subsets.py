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

from symslr.evaluation.location.means import Means
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.tables.coins import Coins, convolved
from symslr.evaluation.location.tables.rules import has_grid, rules
from symslr.evaluation.location.tables.trials import Trials
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
ENOUGH, WORST = 1e-11, 1e-6
"""Relative error at which no finer rule is tried, and beyond which there is no number."""
LAST, BEFORE = 3.0, 0.1
"""The error in units of the last difference between rules, as two may agree by chance, and of the one before: the larger one."""
MOST, KINDS, LONGEST = 16, 64, 256
"""Relevant tokens, different priors and tokens, at most."""


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
    steps = [rule.key for rule in rules(setting)[:2]]
    coins = [Coins.of(setting, step) for step in steps]
    if len(coins[0].kinds) > KINDS:
        return None
    began, found = time.process_time(), []
    for number, trials in enumerate(TRIALS):
        started = time.process_time()
        found.append(_Groups(coins[number % 2], trials, np.random.default_rng(number)).risk())
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


@dataclass
class _Groups:
    """Laws of groups of tokens, each of few points.

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
        """A law at few of its points with the same means of K(., b)."""
        left = tuple(whole - own for whole, own in zip(self.coins.counts, law.counts))
        others, odds = Trials(self.coins, self.random).drawn(self.tests, left)
        weight = np.sqrt(np.abs(law.mass))
        tried, most = np.flatnonzero(weight), PIVOTS * self.tests  # a mass far out is below float64
        if len(tried) > most:
            tried = self.random.choice(tried, most, replace=False, p=weight[tried] / weight.sum())
        columns = (self.coins.left(law.at[tried], others, odds) * weight[tried, None]).T
        basis, triangle, order = scipy.linalg.qr(columns, mode="economic", pivoting=True, check_finite=False)
        size = np.abs(np.diag(triangle))
        rank = min(int(np.sum(size > SINGULAR * size[0])), int(SHARE * self.tests))
        wanted = basis[:, :rank].T @ self._mean(law, others, odds)
        shares = scipy.linalg.solve_triangular(triangle[:rank, :rank], wanted, check_finite=False)
        kept = tried[order[:rank]]
        return Law(law.at[kept], shares * weight[kept], law.counts)

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
