"""Points over which a mean over standard normal fields is taken: a product of trapezoidal rules, or draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, qmc

from symslr.simulate.log_domain import Array

LEAST, FARTHEST = 12, 6.0
"""Nodes in each dimension that a trapezoidal rule needs for ten digits of a normal integral, and where the last ones lie."""

WORTH = 32
"""Draws that those of a sample have to be worth: below, a score is as much noise as signal."""


@dataclass(frozen=True)
class Nodes:
    """Points, shape (count, tokens, directions), and the logarithms of their weights.

    Attributes:
        least: how many of them those of a sample have to be worth.
    """

    points: Array
    logs: Array
    least: int


def nodes(most: int, length: int, count: int, rng: np.random.Generator) -> Iterator[Nodes]:
    """Nodes again and again: one product rule of at most so many where that is fine enough, else new draws each time."""
    dimensions = length * count
    per_dimension = int(most ** (1 / dimensions) + 1e-9) if dimensions else 1
    if per_dimension >= LEAST or dimensions == 0:
        fixed = _product(per_dimension, length, count)
        while True:
            yield fixed
    while True:
        points = qmc.Sobol(dimensions, rng=rng).random(most)
        drawn = norm.ppf(np.clip(points, 1e-12, 1 - 1e-12)).reshape(-1, length, count)
        yield Nodes(drawn, np.zeros(len(drawn)), WORTH)


def _product(number: int, length: int, count: int) -> Nodes:
    dimensions = length * count
    points = np.linspace(-FARTHEST, FARTHEST, max(number, 1))
    grid = np.stack(np.meshgrid(*[points] * dimensions, indexing="ij"), axis=-1) if dimensions else np.zeros((1, 0))
    return Nodes(
        grid.reshape(max(number, 1) ** dimensions, length, count), -(grid**2).sum(axis=-1).ravel() / 2, 2**dimensions
    )
