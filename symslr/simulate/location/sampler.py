"""Draws of a law of location, line by line as it is defined: configuration, keys, values, label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sympy import Expr, Integer

from symslr.model.exact import check_is
from symslr.model.location import Covariance, Independent, OnePosition, Subset
from symslr.model.symbols import L, l
from symslr.model.task import Task
from symslr.simulate.log_domain import Array
from symslr.simulate.values import Values, checked_length, substitution

Flags = NDArray[np.bool_]

NUMBERS_PER_BATCH = 2_000_000
"""Keys drawn at once."""


@dataclass(frozen=True)
class LocationSample:
    """``n`` sequences of length L.

    Attributes:
        relevant: which positions are relevant, shape (n, L).
        signal: theta of every position, shape (n, L, p); 0 where it is not relevant.
        chi: keys, shape (n, L, p).
        z: values, shape (n, L).
        read_out: r(h), shape (n, L): the share of every value in the label.
        y: labels, shape (n,).
    """

    relevant: Flags
    signal: Array
    chi: Array
    z: Array
    read_out: Array
    y: Array


@dataclass(frozen=True)
class LocationSampler:
    """A law of location with a number for every parameter.

    Attributes:
        task: the law; every parameter has its value, the length among them.
        length: L.
        strength: sqrt(nu).
        noise: Delta.
        weights: of the positions: the prior's, or each position's probability where coins are independent; shape (L,).
        support: values of theta, shape (k, p).
        shares: their probabilities, shape (k,).
        keys, values: covariances over positions, shape (L, L).
    """

    task: Task
    length: int
    strength: float
    noise: float
    weights: Array
    support: Array
    shares: Array
    keys: Array
    values: Array

    @classmethod
    def of(cls, task: Task, values: Values) -> LocationSampler:
        """The sampler of a task at values of its parameters.

        Raises:
            ValueError: when a value is missing, or the values make it no task.
        """
        task = task.at(substitution(set(task.free_symbols), values))
        if not isinstance(task.length, Integer):
            raise ValueError(f"length: found {task.length}; expected a fixed length, such as 3")
        length = checked_length(task.length)
        return cls(
            task,
            length,
            float(task.nu) ** 0.5,
            float(task.noise),
            _weights(task, length),
            np.array([[float(entry) for entry in value] for value, _ in task.signal]),
            np.array([float(share) for _, share in task.signal]),
            _matrix(task.key_covariance, length),
            _matrix(task.value_covariance, length),
        )

    @cached_property
    def _key_root(self) -> Array | None:
        """A root of the keys' covariance; None where they are independent."""
        return None if self.task.key_covariance is None else np.linalg.cholesky(self.keys).astype(float)

    @cached_property
    def _value_root(self) -> Array | None:
        return None if self.task.value_covariance is None else np.linalg.cholesky(self.values).astype(float)

    def draw(self, size: int, rng: np.random.Generator) -> LocationSample:
        """``size`` independent sequences.

        Raises:
            TypeError: for what is no generator, such as a seed.
        """
        check_is(rng, np.random.Generator, "rng", "numpy.random.default_rng(0)")
        relevant = self._positions(size, rng)
        drawn = rng.choice(len(self.shares), size=relevant.shape, p=self.shares / self.shares.sum())
        signal = self.support[drawn] * relevant[:, :, None]
        directions = self.support.shape[1]
        noise = rng.standard_normal((size, directions, self.length))
        noise = noise if self._key_root is None else noise @ self._key_root.T
        chi = self.strength * signal + noise.transpose(0, 2, 1)
        z = rng.standard_normal((size, self.length))
        z = z if self._value_root is None else z @ self._value_root.T
        read_out = self.read_out(relevant)
        y = np.sum(read_out * z, axis=1) + self.noise * rng.standard_normal(size)
        return LocationSample(relevant, signal, chi, z, read_out, y)

    def stream(self, size: int, rng: np.random.Generator) -> Iterator[LocationSample]:
        """The same in batches that fit the memory."""
        batch = max(1, NUMBERS_PER_BATCH // (self.length * self.support.shape[1]))
        for start in range(0, size, batch):
            yield self.draw(min(batch, size - start), rng)

    def read_out(self, relevant: Flags) -> Array:
        """What the label takes of every value: the sum of the relevant ones, of a subset their mean."""
        located = self.task.location
        return relevant / (float(located.size) if isinstance(located, Subset) else 1.0)

    def _positions(self, size: int, rng: np.random.Generator) -> Flags:
        located = self.task.location
        if isinstance(located, Independent):
            return rng.random((size, self.length)) < self.weights
        if isinstance(located, OnePosition):
            chosen = rng.choice(self.length, size=size, p=self.weights / self.weights.sum())
            return np.arange(self.length) == chosen[:, None]
        return self._subsets(size, int(located.size), rng)

    def _subsets(self, size: int, count: int, rng: np.random.Generator) -> Flags:
        """Subsets with P(S) proportional to the product of their weights, position by position from the last.

        Position l is taken with probability w_l e_{s-1}(w_1..w_{l-1}) / e_s(w_1..w_l), s being how many are still wanted.
        """
        sums = np.zeros((self.length + 1, count + 1))
        sums[:, 0] = 1.0
        scaled = self.weights / self.weights.max()
        for position in range(1, self.length + 1):
            sums[position, 1:] = sums[position - 1, 1:] + scaled[position - 1] * sums[position - 1, :-1]
        taken = np.zeros((size, self.length), dtype=bool)
        wanted = np.full(size, count)
        for position in range(self.length, 0, -1):
            before = sums[position - 1, np.maximum(wanted - 1, 0)]
            share = np.where(wanted > 0, scaled[position - 1] * before / sums[position, wanted], 0.0)
            taken[:, position - 1] = rng.random(size) < share
            wanted = wanted - taken[:, position - 1]
        return taken


def _weights(task: Task, length: int) -> Array:
    located = task.location
    if isinstance(located, Independent):
        places = range(1, length + 1)
        return np.array([float(_at(located.probability, place, length)) for place in places])
    return np.array([float(_at(task.prior_weight(place), place, length)) for place in range(1, length + 1)])


def _at(expr: Expr, place: int, length: int) -> Expr:
    return expr.subs({l: place, L: length})


def _matrix(covariance: Covariance | None, length: int) -> Array:
    return np.eye(length) if covariance is None else covariance.numbers(length)
