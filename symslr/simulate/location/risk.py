"""Risks E (y - sum_l a_l(chi) z_l)^2 by Monte Carlo: of any attention given as a function of the keys, and of Bayes' rule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from symslr.model.task import Task
from symslr.simulate.estimate import Estimate, RunningMean
from symslr.simulate.location.posterior import Posterior
from symslr.simulate.location.sampler import LocationSampler
from symslr.simulate.log_domain import Array
from symslr.simulate.values import Values

AttentionFunction = Callable[[Array], Array]
"""Keys of shape (n, L, p) to weights of shape (n, L)."""


def location_monte_carlo(
    task: Task,
    attention: AttentionFunction,
    values: Values,
    *,
    size: int,
    seed: int,
    value_norm: float | None = 1.0,
    name: str = "attention",
) -> Estimate:
    """E (y - c sum_l a_l(chi) z_l)^2 of an attention.

    Args:
        task, values: what is sampled: symbol or name -> number for every parameter.
        attention: keys (n, L, p) -> weights (n, L).
        size, seed: number of sequences, and seed of ``numpy.random.default_rng``.
        value_norm: c; None for the best one, fitted on a sample of the same size drawn before, so that the risk is tested
            on sequences that the fit has not seen.

    Raises:
        ValueError: for a missing value, or a result that is not finite.
    """
    sampler, rng = LocationSampler.of(task, values), np.random.default_rng(seed)
    scale = _fitted(sampler, attention, size, rng) if value_norm is None else value_norm
    total = RunningMean()
    for sample in sampler.stream(size, rng):
        loss = (sample.y - scale * np.sum(attention(sample.chi) * sample.z, axis=1)) ** 2
        total.add(loss, np.ones(len(loss)))
    return total.estimate(seed, f"risk of {name} on {task.name}: configurations, keys and values, c = {scale:.6g}")


def bayes_location_monte_carlo(task: Task, values: Values, *, size: int, seed: int) -> Estimate:
    """E (y - E[y|X])^2, the posterior by writing out every configuration.

    Raises:
        ValueError: as ``location_monte_carlo``, and where there are too many configurations.
    """
    sampler = LocationSampler.of(task, values)
    optimal = Posterior.of(sampler)
    return location_monte_carlo(
        task, optimal.attention, values, size=size, seed=seed, name="Bayes' rule by enumeration"
    )


def _fitted(sampler: LocationSampler, attention: AttentionFunction, size: int, rng: np.random.Generator) -> float:
    """c = E[y f] / E[f^2]."""
    above = below = 0.0
    for sample in sampler.stream(size, rng):
        prediction = np.sum(attention(sample.chi) * sample.z, axis=1)
        above += float(prediction @ sample.y)
        below += float(prediction @ prediction)
    return above / below
