"""Moments of any attention by a rule over all keys, or from samples; the posterior mean stands for the read-out.

And of a selection among very many tokens, from samples of its largest keys alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.attend import Attend, Place, spanning
from symslr.evaluation.location.means import Means, residual
from symslr.evaluation.location.posterior import posterior
from symslr.evaluation.location.samples.points import (
    MOST_DIMENSIONS,
    PRECISE,
    REPLICATIONS,
    Grid,
    batches,
    dimensions,
    is_griddable,
    quadrature,
    refined,
    sampled_until_sharp,
    strata,
)
from symslr.evaluation.location.tables.rules import SEARCH, Rule
from symslr.evaluation.location.tables.selection import is_plain
from symslr.evaluation.sampling.points import uniforms
from symslr.expression.value import Kind

SEARCHED, FEWEST = 2**13, 2**9
"""Points while a minimum is searched: of all hidden configurations together, and of each."""
BLOCK = 2**14
"""Keys that a search handles at once: 128 KiB."""


@dataclass(frozen=True)
class Sampled:
    """Moments of an attention over sequences.

    Attributes:
        seconds: processor time of one value.
        fixed: points of a search by seed and rule, the same for all its places.
    """

    attend: Attend
    seconds: float
    fixed: dict[tuple[int, Rule], list[tuple[Any, Any, Any]]] = field(default_factory=dict)

    @property
    def is_random(self) -> bool:
        """Whether a search has random points: a selection has kinks, which leave a grid no digits."""
        setting = self.attend.setting
        is_low = dimensions(setting) < MOST_DIMENSIONS and not self.attend.is_selection
        return not (is_low and is_griddable(setting, self._is_alike))

    def search(self, place: Place, seed: int = 0, rule: Rule = SEARCH) -> Any:
        """The row on always the same points of a seed, or of a trapezoid rule."""
        if (seed, rule) not in self.fixed:
            self.fixed[seed, rule] = self._points(seed, rule)
        return sum(self._products(*points, place) for points in self.fixed[seed, rule])

    def means(self, place: Place) -> Means:
        """Rows of the means of all products of (a, sigma_1, ...), from samples until the risk is sharp."""
        setting, left = self.attend.setting, posterior(self.attend.setting)

        def integrand(keys: Any, mass: Any) -> Any:
            return self._products(self.attend.filtered(keys), mass, left(keys)[0], place)

        means = quadrature(setting, integrand, self.seconds, self._is_alike)
        if means is not None and means.part(residual).error < PRECISE:
            return means
        return sampled_until_sharp(setting, integrand, residual, self.seconds, self._is_alike)

    def _points(self, seed: int, rule: Rule) -> list[tuple[Any, Any, Any]]:
        """Filtered keys (n, L, p), their masses and posterior means."""
        setting = self.attend.setting
        left = posterior(setting)
        if not self.is_random:
            grid = Grid.of(setting, rule, self._is_alike)
            every = [(keys, mass) for keys, mass, _ in grid.parts()]
        else:
            laid_out = strata(setting, self._is_alike)
            size = SEARCHED // (1 if laid_out is None else len(laid_out[0])) // (1 if setting.length <= 64 else 8)
            every = list(batches(setting, self._is_alike, max(size, FEWEST), seed))
        found = []
        for keys, mass in every:
            kept = mass > rule.least * np.max(mass)
            found.append((self.attend.filtered(keys[kept]), mass[kept], left(keys[kept])[0]))
        return _in_blocks(found)

    @property
    def _is_alike(self) -> bool:
        """Whether the attention does not tell positions apart."""
        return self.attend.attention.bias in (None, "free") and self.attend.attention.filter is None

    def _products(self, scores: Any, mass: Any, mean: Any, place: Place) -> Any:
        """Sums of the products of (a, sigma_1, ...) under C_v, as one row."""
        setting = self.attend.setting
        weights = spanning(self.attend.weights(scores, place), place.scales)
        every = np.concatenate([mean[..., None], weights], axis=2)
        independent = setting.are_values_independent
        other = every if independent else np.einsum("lm,nmh->nlh", setting.value_matrix, every)
        count = every.shape[2]
        return ((every * mass[:, None, None]).reshape(-1, count).T @ other.reshape(-1, count)).ravel()


def _in_blocks(parts: list[tuple[Any, Any, Any]]) -> list[tuple[Any, Any, Any]]:
    """Arrays of keys (n, L, p) and what belongs to them, put together until a block has ``BLOCK`` keys: short ones take as long."""
    blocks: list[list[tuple[Any, Any, Any]]] = [[]]
    for part in parts:
        if sum(keys.size for keys, *_ in blocks[-1]) >= BLOCK:
            blocks.append([])
        blocks[-1].append(part)
    return [(np.concatenate(k), np.concatenate(m), np.concatenate(r)) for k, m, r in (zip(*block) for block in blocks)]


LONG = 256
"""Tokens up to which all keys are drawn: posterior means then reduce the variance."""
FEWEST_KEYS, MOST_KEYS = 32, 2048
"""Largest keys that are drawn at first, and at most; where more get weight the value is refused."""
DRAWN = 2**11
"""Points while a minimum is searched, at most."""
KEPT = 2**17
"""Keys of all points of a search together, at most: 1 MiB, kept to be asked for again."""
FEW = 16
"""Sequences that show how many keys get weight."""
SETS = 7 * REPLICATIONS
"""Sets of points that are kept: of all seeds, for every number of keys."""
Points = tuple[Any, Any, float]
"""Noise of the relevant key (n, 1), the largest of the others' keys (n, keys), falling, and the mass of each of the n sequences."""


@dataclass(frozen=True)
class LargestKeys:
    """Moments of a selection among very many exchangeable tokens: only the largest keys get weight, and those are drawn exactly.

    The largest of n independent uniform numbers are U_1 = v_1^{1/n}, U_2 = U_1 v_2^{1/(n-1)}, ... with v_k uniform (Rényi 1953),
    so a sequence of any length costs no more than the keys that count. Which these are is checked on every sequence: the last
    key that was drawn must get no weight.

    Attributes:
        seconds: processor time of one value.
    """

    attend: Attend
    seconds: float
    is_random: bool = True

    @property
    def is_possible(self) -> bool:
        """Whether the tokens are exchangeable, one of them relevant, along one direction, and many."""
        return is_plain(self.attend) and self.attend.setting.length > LONG

    def search(self, place: Place, seed: int = 0, rule: Rule = SEARCH) -> Any:
        """The row on always the same points of a seed, for as many keys as get weight."""
        return self._row(place, lambda keys: _kept(self._others, keys, min(DRAWN, KEPT // keys), seed))

    def means(self, place: Place) -> Means:
        """Rows of means (1, sigma_eps, sigma_eps, sum_l sigma_l^2); four times the samples until the risk is sharp."""

        def sample(size: int) -> Means:
            points = [lambda keys, seed=seed: _drawn(self._others, keys, size, seed) for seed in range(REPLICATIONS)]
            rows = np.array([self._row(place, own) for own in points])
            return Means(rows, Kind.STATISTICAL, f"{REPLICATIONS} replications of {size} points for the largest keys")

        return refined(sample, residual, PRECISE, self.seconds)

    @property
    def _others(self) -> int:
        return self.attend.setting.length - 1

    def _row(self, place: Place, points: Callable[[int], Iterable[Points]]) -> Any:
        """(1, E sigma_eps, E sigma_eps, E sum sigma^2), from as many keys as get weight.

        Args:
            points: by the number of keys of others that are drawn.

        Raises:
            CannotEvaluate: where more than ``MOST_KEYS`` get weight.
        """
        keys = FEWEST_KEYS
        while keys <= MOST_KEYS:
            found = self._given(place, points(min(keys, self._others)))
            if found is not None:
                return found
            keys *= 2
        raise CannotEvaluate(
            f"attention {self.attend.attention.name}: at this scale more than {MOST_KEYS} of "
            f"{self.attend.setting.length} tokens get weight; expected a larger one"
        )

    def _given(self, place: Place, points: Iterable[Points]) -> Any | None:
        """The row of these points; None where the last key that was drawn gets weight."""
        unit, hit, norm = Place(np.ones((1, 1)), place.weights, place.bias, place.own), 0.0, 0.0
        for scores, mass in self._scored(float(place.scales[0, 0]), points):
            weights = self.attend.weights(scores, unit)[..., 0]
            if scores.shape[1] < self.attend.setting.length and np.any(weights[:, -1] > 0):
                return None
            hit, norm = hit + mass * np.sum(weights[:, 0]), norm + mass * np.sum(weights**2)
        return np.array([1.0, hit, hit, norm])

    def _scored(self, scale: float, points: Iterable[Points]) -> Iterator[tuple[Any, float]]:
        """Scores (n, 1 + keys, 1), that of the relevant token first and the others falling, and the mass of a sequence.

        A few sequences come first: they show whether there are enough keys.
        """
        setting = self.attend.setting
        for noise, largest, mass in points:
            for theta, share in zip(setting.values[:, 0], setting.shares):
                own = scale * (np.sqrt(setting.strength) * theta + noise)
                # the others' law is symmetric, so their largest scores are |a| times their largest keys
                scores = np.concatenate([own, abs(scale) * largest], axis=1)[..., None]
                for some in (scores[:FEW], scores[FEW:]):
                    yield some, share * mass


def _drawn(others: int, keys: int, size: int, seed: int) -> Iterator[Points]:
    """The points of a seed, the same whenever they are asked for."""
    for uniform in uniforms(1 + keys, size, seed):
        above = -np.expm1(np.cumsum(np.log(uniform[:, 1:]) / (others - np.arange(keys)), axis=1))
        yield scipy.special.ndtri(uniform[:, :1]), -scipy.special.ndtri(above), 1 / size


@lru_cache(maxsize=SETS)
def _kept(others: int, keys: int, size: int, seed: int) -> list[Points]:
    """Those of a search, which asks for the same ones at every scale."""
    return list(_drawn(others, keys, size, seed))
