"""Risks by Monte Carlo from their definition E (y - f(X))^2: of an attention, and of Bayes' rule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from symslr.model.attention import Attention
from symslr.model.symbols import L
from symslr.model.task import Task
from symslr.simulate.activation import activation
from symslr.simulate.estimate import Estimate, RunningMean
from symslr.simulate.log_domain import Array
from symslr.simulate.overlaps import Overlaps
from symslr.simulate.sequences import Sequences
from symslr.simulate.stream import Sample, stream
from symslr.simulate.values import Values, fixed
from symslr.simulate.weight import LogWeight, log_weight

Prediction = Callable[[int, Sample], Array]


def risk_monte_carlo(
    task: Task,
    attention: Attention,
    values: Values,
    *,
    size: int,
    seed: int,
    scale: float = 1.0,
    value_norm: float = 1.0,
    overlaps: Overlaps | None = None,
    path: str = "projections",
    dimension: int | None = None,
    reweighted: bool = False,
) -> Estimate:
    """E (y - sum_l sigma_l(X k/sqrt(D)) (X v)_l/sqrt(D))^2, the population risk of an attention.

    Args:
        task, attention: what is simulated; a random length is sampled with multinomial counts.
        values: symbol or name -> number: nu, Delta, parameters of the kernel, L or P_L if the task has none.
        size, seed: number of sequences, and seed of ``numpy.random.default_rng``.
        scale, value_norm: k = scale k*, v = value_norm v*.
        overlaps: all seven order parameters, in place of ``scale`` and ``value_norm``.
        path: "projections" draws (chi, z); "sequences" draws the tokens and builds the vectors k and v.
        dimension: D of the path "sequences".
        reweighted: sample by importance weights straight from the definition.

    Raises:
        ValueError: for a missing value, an unknown path, a missing dimension or a result that is not finite.
    """
    overlaps = Overlaps.aligned(scale, value_norm) if overlaps is None else overlaps
    sigma = activation(attention, values)
    rng = np.random.default_rng(seed)

    def prediction(length: int, sample: Sample) -> Array:
        chi, z = _seen(sample, overlaps, rng)
        return np.sum(sigma(chi) * z, axis=1)

    return _mean_loss(
        prediction,
        task,
        values,
        rng,
        size=size,
        seed=seed,
        path=path,
        dimension=dimension,
        reweighted=reweighted,
        name=f"risk of {attention.name}",
    )


def bayes_monte_carlo(
    task: Task,
    values: Values,
    *,
    size: int,
    seed: int,
    path: str = "projections",
    dimension: int | None = None,
    reweighted: bool = False,
) -> Estimate:
    """E (y - sum_l p_l z_l)^2 with p_l = g(l, chi)/sum_m g(m, chi): the risk of Bayes' rule.

    Arguments and errors as for ``risk_monte_carlo``.
    """
    weights: dict[int, LogWeight] = {}

    def prediction(length: int, sample: Sample) -> Array:
        if length not in weights:
            weights[length] = log_weight(task.law.subs(L, length), values)
        scores = weights[length](sample.chi)
        mass = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.sum(mass * sample.z, axis=1) / mass.sum(axis=1)

    rng = np.random.default_rng(seed)
    return _mean_loss(
        prediction,
        task,
        values,
        rng,
        size=size,
        seed=seed,
        path=path,
        dimension=dimension,
        reweighted=reweighted,
        name="risk of Bayes' rule",
    )


def _seen(sample: Sample, overlaps: Overlaps, rng: np.random.Generator) -> tuple[Array, Array]:
    """The projections of the tokens on k and v."""
    if isinstance(sample, Sequences):
        k, v = overlaps.vectors(sample.k_star, sample.v_star, rng)
        return sample.project(k), sample.project(v)
    return overlaps.project(sample.chi, sample.z, rng)


def _mean_loss(
    prediction: Prediction,
    task: Task,
    values: Values,
    rng: np.random.Generator,
    *,
    size: int,
    seed: int,
    path: str,
    dimension: int | None,
    reweighted: bool,
    name: str,
) -> Estimate:
    """Mean of (y - prediction)^2 over the stream, with a record of how the samples were made."""
    noise = float(fixed(task.noise, values))
    total, methods = RunningMean(), dict[str, None]()
    batches = stream(task, values, size, rng, path=path, dimension=dimension, reweighted=reweighted)
    for length, sample in batches:
        total.add((sample.label(noise) - prediction(length, sample)) ** 2, sample.weights)
        methods[sample.method] = None
    where = path if dimension is None else f"{path} in dimension {dimension}"
    return total.estimate(seed, f"{name}: {where}, {' and '.join(methods)}")
