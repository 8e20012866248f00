"""Key and value vectors, and kernels of their own, trained by gradient descent on fresh samples: no theory inside.

Sequences X in R^{L x D} are drawn anew at every step, so the loss is the population risk with noise. A step's samples
depend on the seed and the number of the step alone: a run that was interrupted continues from its checkpoint as if it
had not been. torch loads when a function is called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from symslr.extras import need
from symslr.model.attention import Attention
from symslr.model.task import Task
from symslr.simulate.log_domain import Array
from symslr.simulate.recipe import Recipe, Trained
from symslr.simulate.sequences import LengthSampler
from symslr.simulate.training_run import Run
from symslr.simulate.values import Values, fixed

__all__ = ["Progress", "Recipe", "Trained", "Training", "train", "trained"]

Progress = Callable[[int, int], None]
"""(steps done, steps in all)."""


@dataclass(frozen=True)
class Training:
    """One run as a value, so that many can be spread over processes and each be kept; the fields are those of ``train``."""

    task: Task
    attention: Attention
    values: Values
    recipe: Recipe
    seed: int
    vectors: tuple[tuple[float, ...], tuple[float, ...]] | None = None


def trained(run: Training) -> Trained:
    """``train`` with these arguments."""
    vectors = None if run.vectors is None else (np.array(run.vectors[0]), np.array(run.vectors[1]))
    return train(run.task, run.attention, run.values, run.recipe, run.seed, vectors=vectors)


def train(
    task: Task,
    attention: Attention | None,
    values: Values,
    recipe: Recipe,
    seed: int,
    *,
    vectors: tuple[Array, Array] | None = None,
    checkpoint: Path | None = None,
    test: int = 0,
    progress: Progress = lambda done, total: None,
) -> Trained:
    """Train k and v, and log kappa as a small network where ``attention`` is None.

    Args:
        task, values: what the sequences are drawn from; a length that is random is drawn for each. A parameter of the
            kernel that has no value, such as the shift c of erf attention, is trained too.
        vectors: coordinates of k and of v at the start along k*, v* and two directions outside, ``(4,)`` each, in place
            of a random start.
        test: number of fresh sequences on which the predictor is tested at its end, at least two; 0 for none.
        checkpoint: where the run is kept every ``recipe.every`` steps; continued where the file exists.

    Raises:
        MissingExtra: when torch is not installed.
        ValueError: for a missing value, or a checkpoint of another run.
    """
    torch = need("torch", "training")

    torch.set_num_threads(1)
    noise = float(fixed(task.noise, values))
    sampler = LengthSampler.of(task, values, recipe.dimension, np.random.default_rng(seed))
    run = Run(attention, values, recipe, seed, sampler, vectors, _model(task, attention, values, vectors))
    first = run.restored(checkpoint) if checkpoint is not None and checkpoint.exists() else 0
    for step in range(first, recipe.steps):
        batch = sampler.draw(recipe.batch, np.random.default_rng([seed, step + 1]))
        run.record(step)
        run.descend(batch, noise, step)
        if (step + 1) % recipe.every == 0:
            progress(step + 1, recipe.steps)
            if checkpoint is not None:
                run.keep(checkpoint, step + 1)
    run.record(recipe.steps, last=True)
    return run.trained(noise, test)


def _model(task: Task, attention: Attention | None, values: Values, vectors: tuple[Array, Array] | None) -> str:
    """What is trained, in words that two different runs do not share."""
    learner = (
        "a learned kernel"
        if attention is None
        else f"{attention.kernel} over {attention.normaliser} + {attention.offset}"
    )
    at = ", ".join(f"{name}={value}" for name, value in sorted((str(name), value) for name, value in values.items()))
    start = "random" if vectors is None else np.array(vectors).tolist()
    return f"weight {task.law.weight} on {task.law.base}, noise {task.noise}, {learner}, at {at}, start {start}"
