"""Risks of two tokens from the definition, however steep: Gauss panels over half their difference, trapezoids over their mean.

A selection L e^{nu chi}/sum e^{nu chi} is steep in the difference alone, near 0. Nothing is imported from the library.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any

import numpy as np

from .by_hand import Array, NoJudgement, Question
from .sequences import weights

REACH = 6.3
"""Of both variables, whose variance is 1/2: e^{-REACH^2} is left out."""
NODES, PANEL, STEP = 16, 3.0, 0.6
"""Of a panel, and the first lengths of panels and steps, over how fast the logarithms change."""
MOST = 4e7
"""Nodes of the product: some seconds."""
AT_ONCE = 300_000
ROUNDED = 4e-15
"""Of a risk, which is what is left of 1."""


def refined(question: Question, steep: float) -> Iterator[tuple[float, float]]:
    """(the risk, what it may be off) on ever finer meshes, from the third on: the larger of the last two changes.

    Args:
        steep: how fast the logarithm of the attention's weight changes with a token.

    Raises:
        NoJudgement: where the third mesh is too large.
    """
    if question.length != 2 or question.density is not None:
        raise NoJudgement("no pair of normal tokens")
    finer, found, changes = 1.0, on_a_mesh(question, steep, 1.0), []
    while True:
        finer *= 1.6
        before, found = found, on_a_mesh(question, steep, finer)
        changes.append(abs(found - before))
        if len(changes) > 1:
            yield found, max(changes[-2:]) + ROUNDED


def on_a_mesh(question: Question, steep: float, finer: float) -> float:
    """1 - (E w_eps)^2 / E sum w^2 with panels and steps that are so many times shorter than the first ones."""
    centre = sqrt(question.signal or 0) / 2
    steep, rate = max(steep, 1.0), float(question.rate)
    if question.exponential is not None and not question.offset:  # the weights depend on the difference alone
        steep, rate = 1.0, max(steep, rate)
    half, areas = _differences(centre, steep, rate, finer)
    mean = np.arange(-REACH, REACH, min(STEP / steep / finer, 0.3))
    if len(half) * len(mean) > MOST:
        raise NoJudgement(f"a mesh of {len(half)} x {len(mean)} nodes")
    mass = np.exp(-mean * mean)
    hit = norm = whole = 0.0
    for d, area in zip(*(np.array_split(own, len(half) * len(mean) // AT_ONCE + 1) for own in (half, areas))):
        density = area[:, None] * mass
        one, other = (centre + mean + sign * d[:, None] for sign in (1.0, -1.0))
        keys = np.stack([one.ravel(), other.ravel()], axis=1)
        seen = np.asarray(weights(question.kernel, question.is_normalised, question.offset, keys), dtype=float)
        own = _selected(question, d)[:, None]
        first, second = (seen[:, n].reshape(density.shape) for n in (0, 1))
        hit += float(np.sum(density * (own * first + (1.0 - own) * second)))
        norm += float(np.sum(density * (first**2 + second**2)))
        whole += float(np.sum(density))
    return 1.0 - hit**2 / (norm * whole)


def _selected(question: Question, d: Array) -> Array:
    """The probability that the first token is the relevant one."""
    if question.signal is not None:
        return np.ones_like(d)
    return np.exp(-np.logaddexp(0.0, -2.0 * float(question.rate) * d))


def _differences(centre: float, steep: float, rate: float, finer: float) -> tuple[Any, Any]:
    """Nodes of half the difference, and weights with its density, on panels that are shorter near 0 where that is steep."""
    longest, ends = PANEL / finer / steep, [0.0]
    shortest = min(longest, PANEL / finer / max(rate, 1.0))
    while ends[-1] < abs(centre) + REACH:
        ends.append(ends[-1] + min(longest, max(shortest, ends[-1] / 3.0)))
    edges = np.array([*(-end for end in reversed(ends[1:])), *ends])
    edges = edges[edges > centre - REACH - np.max(np.diff(edges))]
    nodes, own = np.polynomial.legendre.leggauss(NODES)
    middles, halves = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    half = (middles[:, None] + halves[:, None] * nodes).ravel()
    return half, (halves[:, None] * own).ravel() * np.exp(-((half - centre) ** 2))
