"""Moments of any attention by quadrature over all keys or from samples, with the posterior mean in place of the read-out r.

For a selection among very many tokens: from samples of the largest keys only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.attention_function import AttentionFunction, ParameterValues, divided_differences
from symslr.evaluation.location.means import Means, least_squares_residual
from symslr.evaluation.location.posterior import posterior
from symslr.evaluation.location.samples.points import (
    MOST_DIMENSIONS,
    RELATIVE_ERROR,
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

SEARCH_POINTS, FEWEST_POINTS = 2**13, 2**9
"""Sample size during a search for a minimum: of all strata together, and at least of each."""
KEYS_PER_BLOCK = 2**14
"""Keys in one block of the points of a search: 128 KiB, which stays in a processor's cache."""


@dataclass(frozen=True)
class SampledMoments:
    """Moments of an attention by quadrature over all keys where these are few, else from samples.

    Attributes:
        attend: the attention.
        seconds: processor time of one value.
        fixed: the points of a search, by seed and rule, reused for all parameters.
    """

    attend: AttentionFunction
    seconds: float
    fixed: dict[tuple[int, Rule], list[tuple[Any, Any, Any]]] = field(default_factory=dict)

    @property
    def is_random(self) -> bool:
        """Whether a search draws random points: in many dimensions, and for a selection, whose kinks spoil a grid."""
        setting = self.attend.setting
        is_low = dimensions(setting) < MOST_DIMENSIONS and not self.attend.is_selection
        return not (is_low and is_griddable(setting, self._is_alike))

    def search(self, place: ParameterValues, seed: int = 0, rule: Rule = SEARCH) -> Any:
        """The row of moments on the points of a seed, or on those of a trapezoid rule; the same points in every call."""
        if (seed, rule) not in self.fixed:
            self.fixed[seed, rule] = self._points(seed, rule)
        return sum(self._products(*points, place) for points in self.fixed[seed, rule])

    def means(self, place: ParameterValues) -> Means:
        """The Gram matrix of (a, sigma_1, ...) as rows: two quadrature rules, or replications until the risk is precise."""
        setting, left = self.attend.setting, posterior(self.attend.setting)

        def integrand(keys: Any, mass: Any) -> Any:
            return self._products(self.attend.filtered(keys), mass, left(keys)[0], place)

        means = quadrature(setting, integrand, self.seconds, self._is_alike)
        if means is not None and means.estimate(least_squares_residual).error < RELATIVE_ERROR:
            return means
        return sampled_until_sharp(setting, integrand, least_squares_residual, self.seconds, self._is_alike)

    def _points(self, seed: int, rule: Rule) -> list[tuple[Any, Any, Any]]:
        """Blocks of filtered keys (n, L, p), their masses (n,) and posterior means (n, L)."""
        setting = self.attend.setting
        left = posterior(setting)
        if not self.is_random:
            grid = Grid.of(setting, rule, self._is_alike)
            every = [(keys, mass) for keys, mass, _ in grid.parts()]
        else:
            laid_out = strata(setting, self._is_alike)
            size = SEARCH_POINTS // (1 if laid_out is None else len(laid_out[0])) // (1 if setting.length <= 64 else 8)
            every = list(batches(setting, self._is_alike, max(size, FEWEST_POINTS), seed))
        found = []
        for keys, mass in every:
            kept = mass > rule.least * np.max(mass)
            found.append((self.attend.filtered(keys[kept]), mass[kept], left(keys[kept])[0]))
        return _in_blocks(found)

    @property
    def _is_alike(self) -> bool:
        """Whether the attention treats all positions alike."""
        return self.attend.attention.bias in (None, "free") and self.attend.attention.filter is None

    def _products(self, scores: Any, mass: Any, mean: Any, place: ParameterValues) -> Any:
        """The Gram matrix of (a, sigma_1, ...) under C_v, summed with the masses, as one row."""
        setting = self.attend.setting
        weights = divided_differences(self.attend.weights(scores, place), place.scales)
        every = np.concatenate([mean[..., None], weights], axis=2)
        independent = setting.are_values_independent
        other = every if independent else np.einsum("lm,nmh->nlh", setting.value_matrix, every)
        count = every.shape[2]
        return ((every * mass[:, None, None]).reshape(-1, count).T @ other.reshape(-1, count)).ravel()


def _in_blocks(parts: list[tuple[Any, Any, Any]]) -> list[tuple[Any, Any, Any]]:
    """Batches concatenated until a block has ``KEYS_PER_BLOCK`` keys: short arrays cost as much time as long ones."""
    blocks: list[list[tuple[Any, Any, Any]]] = [[]]
    for part in parts:
        if sum(keys.size for keys, *_ in blocks[-1]) >= KEYS_PER_BLOCK:
            blocks.append([])
        blocks[-1].append(part)
    return [(np.concatenate(k), np.concatenate(m), np.concatenate(r)) for k, m, r in (zip(*block) for block in blocks)]


DRAWN_IN_FULL = 256
"""Up to this length all keys are drawn, so that the posterior mean can reduce the variance."""
FEWEST_KEYS, MOST_KEYS = 32, 2048
"""How many of the largest keys are drawn at first, and at most; where more get weight, the value is refused."""
MOST_SEARCH_POINTS = 2**11
"""Largest sample size during a search for a minimum."""
MOST_SEARCH_KEYS = 2**17
"""Most keys of all points of a search together: 1 MiB for each cached set."""
FIRST_SEQUENCES = 16
"""Sequences that are tried first: they usually show when more keys are needed."""
CACHED_SETS = 7 * REPLICATIONS
"""Cached sets of points: all seeds, for each of the seven numbers of keys 32, 64, ..., 2048."""
Points = tuple[Any, Any, float]
"""(noise of the relevant key (n, 1), largest other keys (n, keys) in descending order, mass of one sequence)."""


@dataclass(frozen=True)
class LargestKeys:
    """Moments of a selection among very many exchangeable tokens, from their largest keys: only these get weight.

    The largest of n independent uniform numbers are U_1 = v_1^{1/n}, U_2 = U_1 v_2^{1/(n-1)}, ... with v_k uniform (Rényi 1953), so
    the cost does not depend on the length. That enough keys were drawn is checked on every sequence: the smallest one must get
    weight 0.

    Attributes:
        attend: the selection.
        seconds: processor time of one value.
        is_random: whether a search draws random points; True here.
    """

    attend: AttentionFunction
    seconds: float
    is_random: bool = True

    @property
    def is_possible(self) -> bool:
        """Whether the tokens are exchangeable, one of them relevant, along one direction, and many."""
        return is_plain(self.attend) and self.attend.setting.length > DRAWN_IN_FULL

    def search(self, place: ParameterValues, seed: int = 0, rule: Rule = SEARCH) -> Any:
        """The row of moments on the points of a seed, the same in every call, for as many keys as get weight."""
        return self._row(
            place,
            lambda keys: _cached_points(self._others, keys, min(MOST_SEARCH_POINTS, MOST_SEARCH_KEYS // keys), seed),
        )

    def means(self, place: ParameterValues) -> Means:
        """Rows (1, E sigma_eps, E sigma_eps, E sum_l sigma_l^2); samples are quadrupled until the risk is precise."""

        def sample(size: int) -> Means:
            points = [
                lambda keys, seed=seed: _largest_keys(self._others, keys, size, seed) for seed in range(REPLICATIONS)
            ]
            rows = np.array([self._row(place, own) for own in points])
            return Means(rows, Kind.STATISTICAL, f"{REPLICATIONS} replications of {size} points for the largest keys")

        return refined(sample, least_squares_residual, RELATIVE_ERROR, self.seconds)

    @property
    def _others(self) -> int:
        return self.attend.setting.length - 1

    def _row(self, place: ParameterValues, points: Callable[[int], Iterable[Points]]) -> Any:
        """(1, E sigma_eps, E sigma_eps, E sum sigma^2), from as many keys as get weight.

        Args:
            points: from the number of other keys to draw, to batches of points.

        Raises:
            CannotEvaluate: where more than ``MOST_KEYS`` get weight.
        """
        keys = FEWEST_KEYS
        while keys <= MOST_KEYS:
            found = self._row_of_points(place, points(min(keys, self._others)))
            if found is not None:
                return found
            keys *= 2
        raise CannotEvaluate(
            f"attention {self.attend.attention.title}: at this scale more than {MOST_KEYS} of "
            f"{self.attend.setting.length} tokens get weight; expected a larger one"
        )

    def _row_of_points(self, place: ParameterValues, points: Iterable[Points]) -> Any | None:
        """The row of these points; None where the last key that was drawn gets weight."""
        unit, hit, norm = ParameterValues(np.ones((1, 1)), place.weights, place.bias, place.own), 0.0, 0.0
        for scores, mass in self._scored(float(place.scales[0, 0]), points):
            weights = self.attend.weights(scores, unit)[..., 0]
            if scores.shape[1] < self.attend.setting.length and np.any(weights[:, -1] > 0):
                return None
            hit, norm = hit + mass * np.sum(weights[:, 0]), norm + mass * np.sum(weights**2)
        return np.array([1.0, hit, hit, norm])

    def _scored(self, scale: float, points: Iterable[Points]) -> Iterator[tuple[Any, float]]:
        """Scores (n, 1 + keys, 1), the relevant token first and the others in descending order, and the mass of one sequence.

        A few sequences come first: they show whether there are enough keys.
        """
        setting = self.attend.setting
        for noise, largest, mass in points:
            for theta, share in zip(setting.values[:, 0], setting.shares):
                own = scale * (np.sqrt(setting.strength) * theta + noise)
                # the others' law is symmetric, so their largest scores are |a| times their largest keys
                scores = np.concatenate([own, abs(scale) * largest], axis=1)[..., None]
                for some in (scores[:FIRST_SEQUENCES], scores[FIRST_SEQUENCES:]):
                    yield some, share * mass


def _largest_keys(others: int, keys: int, size: int, seed: int) -> Iterator[Points]:
    """Batches of points of a seed, always the same ones."""
    for uniform in uniforms(1 + keys, size, seed):
        above = -np.expm1(np.cumsum(np.log(uniform[:, 1:]) / (others - np.arange(keys)), axis=1))
        yield scipy.special.ndtri(uniform[:, :1]), -scipy.special.ndtri(above), 1 / size


@lru_cache(maxsize=CACHED_SETS)
def _cached_points(others: int, keys: int, size: int, seed: int) -> list[Points]:
    """``_largest_keys`` with a cache, for a search, which needs the same points at every scale."""
    return list(_largest_keys(others, keys, size, seed))
