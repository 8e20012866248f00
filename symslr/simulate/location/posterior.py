"""E[r(h) | chi] by writing out every configuration: the optimal attention from the definition, for short sequences."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from symslr.model.location import Independent, OnePosition
from symslr.simulate.location.sampler import Flags, LocationSampler
from symslr.simulate.log_domain import Array

MOST_CONFIGURATIONS = 5000
NUMBERS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Posterior:
    """Every configuration h of a law with its prior and the means of its keys.

    Attributes:
        log_prior: log P(h), shape (H,).
        means: sqrt(nu) theta_l for the relevant tokens, shape (H, L, p).
        read_out: r(h), shape (H, L).
        precision: the inverse of the keys' covariance, shape (L, L).
    """

    log_prior: Array
    means: Array
    read_out: Array
    precision: Array

    @classmethod
    def of(cls, sampler: LocationSampler) -> Posterior:
        """Every set of positions, and for each every choice of the signals of its members.

        Raises:
            ValueError: where there are more than 5000 configurations.
        """
        sets = _sets(sampler)
        kinds, directions = sampler.support.shape
        number = sum(kinds ** len(chosen) for chosen in sets)
        if number > MOST_CONFIGURATIONS:
            raise ValueError(
                f"length: found {number} configurations; expected at most {MOST_CONFIGURATIONS} to write out"
            )
        log_prior, means, read_out = [], [], []
        for chosen in sets:
            relevant = np.isin(np.arange(sampler.length), chosen)
            located = _log_probability(sampler, relevant)
            for signals in itertools.product(range(kinds), repeat=len(chosen)):
                mean = np.zeros((sampler.length, directions))
                mean[list(chosen)] = sampler.strength * sampler.support[list(signals)]
                log_prior.append(located + np.sum(np.log(sampler.shares[list(signals)])))
                means.append(mean)
                read_out.append(sampler.read_out(relevant))
        inverse: Array = np.asarray(np.linalg.inv(sampler.keys), dtype=np.float64)
        return cls(np.array(log_prior), np.array(means), np.array(read_out), inverse)

    def attention(self, chi: Array) -> Array:
        """E[r_l(h) | chi] for keys of shape (n, L, p), an array of shape (n, L).

        P(h | chi) is P(h) times the Gaussian density exp(-(chi - mu_h)^T C^-1 (chi - mu_h)/2), normalised.
        """
        size = max(1, NUMBERS_AT_ONCE // self.means.size)
        parts = [self._of_batch(chi[start : start + size]) for start in range(0, len(chi), size)]
        return np.concatenate(parts)

    def _of_batch(self, chi: Array) -> Array:
        away = chi[:, None] - self.means[None]
        squares = np.einsum("nhld,lm,nhmd->nh", away, self.precision, away, optimize=True)
        scores = self.log_prior - squares / 2
        mass = np.exp(scores - scores.max(axis=1, keepdims=True))
        return (mass @ self.read_out) / mass.sum(axis=1, keepdims=True)


def _sets(sampler: LocationSampler) -> list[tuple[int, ...]]:
    located, places = sampler.task.location, range(sampler.length)
    if isinstance(located, Independent):
        if 2**sampler.length > MOST_CONFIGURATIONS:
            raise ValueError(
                f"length: found {sampler.length}; expected one at which all sets of positions can be written out"
            )
        return [chosen for count in range(sampler.length + 1) for chosen in itertools.combinations(places, count)]
    count = 1 if isinstance(located, OnePosition) else int(located.size)
    return list(itertools.combinations(places, count))


def _log_probability(sampler: LocationSampler, relevant: Flags) -> float:
    """log P(S), up to a constant that all sets share."""
    weights = sampler.weights
    if isinstance(sampler.task.location, Independent):
        return float(np.sum(np.log(np.where(relevant, weights, 1 - weights))))
    return float(np.sum(np.log(weights[relevant])))
