"""Samples of a task, batch by batch: the random length by multinomial counts, the memory bounded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from symslr.model.symbols import L
from symslr.model.task import Task
from symslr.simulate.projections import Projections, ProjectionSampler
from symslr.simulate.sequences import Sequences, SequenceSampler
from symslr.simulate.values import Values, lengths

NUMBERS_PER_BATCH = 4_000_000
"""Projections (tokens times D on the slow path) drawn at once: a batch and its temporaries take < 0.5 GB."""

Sample = Projections | Sequences


def length_counts(task: Task, values: Values, size: int, rng: np.random.Generator) -> dict[int, int]:
    """How many of ``size`` sequences have each length: multinomial, so that the pooled samples are iid.

    Raises:
        ValueError: when size < 1, or the length is neither in the task nor in ``values``.
    """
    if size < 1:
        raise ValueError(f"size: found {size}; expected a positive number of samples")
    pairs = lengths(task, values)
    counts = rng.multinomial(size, [probability for _, probability in pairs])
    return {length: int(count) for (length, _), count in zip(pairs, counts) if count}


def sample_by_length(task: Task, values: Values, size: int, rng: np.random.Generator) -> dict[int, Projections]:
    """``size`` sequences of a task, grouped by length; pool the groups for a mean over the law of L.

    Raises:
        ValueError: as ``length_counts`` and ``sample_projections``.
    """
    counts = length_counts(task, values, size, rng)
    return {n: ProjectionSampler.of(task.law.subs(L, n), values).draw(count, rng) for n, count in counts.items()}


def stream(
    task: Task,
    values: Values,
    size: int,
    rng: np.random.Generator,
    *,
    path: str = "projections",
    dimension: int | None = None,
    reweighted: bool = False,
) -> Iterator[tuple[int, Sample]]:
    """(length, batch) pairs that hold ``size`` sequences in all.

    Args:
        path: "projections" (fast) or "sequences" (the tokens themselves, in dimension D).

    Raises:
        ValueError: for an unknown path or a missing dimension, and as ``length_counts``.
    """
    if path not in ("projections", "sequences"):
        raise ValueError(f"path: found {path!r}; expected 'projections' or 'sequences'")
    if (dimension is None) != (path == "projections"):
        raise ValueError(
            f"dimension: found {dimension} with path {path!r}; expected D with 'sequences', and only there"
        )
    for length, count in length_counts(task, values, size, rng).items():
        law = task.law.subs(L, length)
        sampler: ProjectionSampler | SequenceSampler
        if dimension is None:
            sampler = ProjectionSampler.of(law, values, reweighted=reweighted)
        else:
            sampler = SequenceSampler.of(law, values, dimension, rng, reweighted=reweighted)
        batch = max(1, NUMBERS_PER_BATCH // (length * (dimension or 1)))
        for start in range(0, count, batch):
            yield length, sampler.draw(min(batch, count - start), rng)
