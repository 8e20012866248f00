"""Vectors of counts of coins to which the law of a group of tokens is held: what the other tokens may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluation.location.tables.coins import Coins, convolved

WIDTHS = (0.9, 1.05, 1.2)
"""Standard deviations of irrelevant keys, one in each third of the trials."""
NEAR = 1.3
"""Of relevant ones, and of those between."""
SINGLE = 48
"""Tokens of a kind that are drawn one by one; the others are from a pool, irrelevant."""


@dataclass(frozen=True)
class Trials:
    """Draws of other tokens, spread more widely than their law: what holds at them is to hold wherever they may be.

    Attributes:
        random: a generator.
    """

    coins: Coins
    random: Any

    def drawn(self, number: int, counts: tuple[int, ...]) -> tuple[Any, Any]:
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


def _scaled(vectors: Any) -> Any:
    return vectors / vectors.sum(axis=1, keepdims=True)
