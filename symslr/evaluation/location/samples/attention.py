"""Moments of any attention by a rule over all keys, or from samples; the posterior mean stands for the read-out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from symslr.evaluation.location.attend import Attend, Place
from symslr.evaluation.location.means import Means, residual
from symslr.evaluation.location.posterior import posterior
from symslr.evaluation.location.samples.points import (
    MOST_DIMENSIONS,
    PRECISE,
    Grid,
    batches,
    dimensions,
    is_griddable,
    quadrature,
    refined,
    sampled,
    strata,
)

SEARCHED, FEWEST = 2**13, 2**9
"""Points while a minimum is searched: of all hidden configurations together, and of each."""
SEARCH_GRID = 0.6
"""Step of a trapezoid rule meanwhile."""
LEAST = 1e-10
"""Relative mass of a point that is left out meanwhile."""


@dataclass(frozen=True)
class Sampled:
    """Moments of an attention over sequences.

    Attributes:
        seconds: processor time of one value.
    """

    attend: Attend
    seconds: float
    is_averaged: bool = True

    @property
    def place_error(self) -> float:
        """How far, relative to 1 + its size, the place of a least risk may be off that a search found."""
        return 1e-4 if dimensions(self.attend.setting) < MOST_DIMENSIONS and not self.attend.is_selection else 0.03

    def search(self, place: Place) -> Any:
        """The row on always the same points."""
        return sum(self._products(scores, mass, mean, place) for scores, mass, mean in self._fixed)

    def means(self, place: Place) -> Means:
        """Rows of the means of all products of (a, sigma_1, ...), from samples until the risk is sharp."""
        setting, left = self.attend.setting, posterior(self.attend.setting)

        def integrand(keys: Any, mass: Any) -> Any:
            return self._products(self.attend.filtered(keys), mass, left(keys)[0], place)

        means = quadrature(setting, integrand, self.seconds, self._is_alike)
        if means is not None and means.part(residual).error < PRECISE:
            return means
        sample = partial(sampled, setting, integrand, alike=self._is_alike)
        return refined(sample, residual, PRECISE, self.seconds, dimensions(setting) * max(setting.size, 1))

    @cached_property
    def _fixed(self) -> list[tuple[Any, Any, Any]]:
        """Filtered keys (n, L, p), their masses and posterior means: the same for all places of a search."""
        setting = self.attend.setting
        left = posterior(setting)
        if dimensions(setting) < MOST_DIMENSIONS and is_griddable(setting, self._is_alike):
            grid = Grid.of(setting, SEARCH_GRID, self._is_alike)
            every = [(keys, mass) for keys, mass, _ in grid.parts()]
        else:
            laid_out = strata(setting, self._is_alike)
            size = SEARCHED // (1 if laid_out is None else len(laid_out[0])) // (1 if setting.length <= 64 else 8)
            every = list(batches(setting, self._is_alike, max(size, FEWEST), 0))
        found = []
        for keys, mass in every:
            kept = mass > LEAST * np.max(mass)
            found.append((self.attend.filtered(keys[kept]), mass[kept], left(keys[kept])[0]))
        return found

    @property
    def _is_alike(self) -> bool:
        """Whether the attention does not tell positions apart."""
        return self.attend.attention.bias in (None, "free") and self.attend.attention.filter is None

    def _products(self, scores: Any, mass: Any, mean: Any, place: Place) -> Any:
        """Sums of the products of (a, sigma_1, ...) under C_v, as one row."""
        setting = self.attend.setting
        every = np.concatenate([mean[..., None], self.attend.weights(scores, place)], axis=2)
        independent = setting.are_values_independent
        other = every if independent else np.einsum("lm,nmh->nlh", setting.value_matrix, every)
        count = every.shape[2]
        return ((every * mass[:, None, None]).reshape(-1, count).T @ other.reshape(-1, count)).ravel()
