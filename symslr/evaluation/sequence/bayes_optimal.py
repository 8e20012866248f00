"""Bayes-optimal learning of a sequence model: overlaps and risk at N = alpha D samples, from two starts; hard phases."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symslr.evaluation.finite_sample.problem import INFORMED, UNINFORMED
from symslr.evaluation.finite_sample.randomised import RANDOMISATIONS, statistical
from symslr.evaluation.sampling.points import sub_seed
from symslr.evaluation.sampling.scatter import standard_error
from symslr.evaluation.sequence.channel import Channel, can_refine, count
from symslr.evaluation.sequence.samples import Samples
from symslr.evaluation.sequence.state_evolution import (
    TOLERANCE,
    FixedPoint,
    Memory,
    StateEvolution,
    clipped,
)
from symslr.expression.value import Value
from symslr.model.ranges import real_number
from symslr.model.sequence.model import SequenceModel

Array = Any
WORK, FEWEST, MOST = 2**21, 512, 2**13
"""Nodes times samples of a randomisation, and its fewest and most samples."""
STARTS = {UNINFORMED: 0.01, INFORMED: 0.99}
"""Overlap of every direction with its truth at the two starts."""
DIFFERENT = 0.01
"""Two fixed points are distinct where an overlap differs by more."""
FINE = 1.0
"""Nodes are doubled until the overlaps move by less than this share of their standard error, or by ``SETTLED``."""
SETTLED = 1e-4
UNFINISHED = 10.0
"""Steps of the size of the last that a fixed point which did not settle may be off."""
EXACT = 1 - 1e-6
"""Overlap from which on a label without noise has told a direction exactly."""


@dataclass(frozen=True)
class BayesOptimal:
    """The least risk of any estimator that knows the model, at alpha = N/D; errors are one standard error.

    Attributes:
        overlaps: Q_kj of the directions k <= j by their names, such as "u" and "u,v", on the branch of largest free entropy.
        risk: E |y - E[y | x]|^2 of a new label; None where the label is known up to its sign, and where a function was taken off
            a label without noise.
        branch: the start that leads there, "informed" or "uninformed".
        hard: whether the uninformed start leads to another fixed point: then no polynomial-time algorithm is known that attains
            these overlaps.
        uninformed: overlaps on the branch of the uninformed start, which message passing attains.
        free_entropy_gap: free entropy of the informed minus that of the uninformed fixed point; 0 where they coincide, None
            where one of them is exact recovery without noise, at which it is infinite.
        change: the most by which one more step moves an overlap, over all randomisations.
    """

    alpha: float
    overlaps: dict[str, Value]
    risk: Value | None
    branch: str
    hard: bool
    uninformed: dict[str, Value]
    free_entropy_gap: Value | None
    change: float
    matrix: Array = field(repr=False, compare=False)


def usual_count(channel: Channel) -> int:
    """Samples of a randomisation, a power of two, fewer where each takes many nodes."""
    split = channel.split
    nodes = max(count(split.inner, 0), 100) * len(split.signs) * max(channel.size / 4, 1)
    return int(min(max(2 ** round(math.log2(WORK / nodes)), FEWEST), MOST))


def width_of(channel: Channel) -> float:
    """Standard deviation of what is not known: so wide that what grows like a square of the fields scatters little."""
    return 1 + 0.5 / channel.size**0.5 if channel.size <= WIDE else 1.0


WIDE = 8
"""Fields up to which they are drawn wider than they are; beyond, weights would scatter more than what they mend."""


@dataclass(frozen=True)
class _Branch:
    """The fixed points of all randomisations from one start, and how far nodes and unfinished steps put them off."""

    points: list[FixedPoint]
    off: Array
    refined: int

    @property
    def mean(self) -> Array:
        return np.mean([point.Q for point in self.points], axis=0)


def bayes_optimal(
    model: SequenceModel, alpha: float, *, seed: int = 0, samples: int | None = None, start: Array | None = None
) -> BayesOptimal:
    """The Bayes-optimal overlaps and risk at N = alpha D samples.

    Args:
        samples: of each of the 8 randomisations, a power of two.
        start: overlaps (p, p) beside which the uninformed branch is sought, as found at an alpha nearby.

    Raises:
        CannotEvaluate: for a model of more than three inner fields, and for a label without a density.
        ValueError: for an alpha that is not positive.
    """
    if not 0 < real_number(alpha, "alpha") < math.inf:
        raise ValueError(f"alpha: found {alpha:g}; expected a positive number")
    began, channel = time.perf_counter(), Channel(model)
    size = samples or usual_count(channel)
    drawn = [Samples(channel, size, sub_seed(seed, n, size), width_of(channel)) for n in range(RANDOMISATIONS)]
    eye = np.eye(len(model.teachers))
    starts = {name: overlap * eye for name, overlap in STARTS.items()}
    if start is not None:
        starts[UNINFORMED] = (1 - STARTS[UNINFORMED]) * start + STARTS[UNINFORMED] * eye / 2
    few = StateEvolution(Samples(channel, FEWEST, seed, width_of(channel)))
    one, other = (few.solve(starts[name], alpha).Q for name in (UNINFORMED, INFORMED))
    apart = float(np.max(np.abs(other - one))) > DIFFERENT
    found = {UNINFORMED: _branch(drawn, starts[UNINFORMED], alpha)}
    found[INFORMED] = _branch(drawn, other, alpha) if apart else found[UNINFORMED]
    apart = float(np.max(np.abs(found[INFORMED].mean - found[UNINFORMED].mean))) > DIFFERENT
    gaps = [
        a.free_entropy - b.free_entropy for a, b in zip(found[INFORMED].points, found[UNINFORMED].points, strict=True)
    ]
    branch = INFORMED if apart and np.mean(gaps) > 0 else UNINFORMED
    best = found[branch]
    is_exact = apart and model.noise == 0 and float(np.linalg.eigvalsh(found[INFORMED].mean)[-1]) > EXACT
    method = f"state evolution, {len(drawn)} scrambled Sobol sets of {size} samples"

    def values(own: _Branch) -> dict[str, Value]:
        def value(k: int, j: int) -> Value:
            numbers = [float(point.Q[k, j]) for point in own.points]
            return statistical(numbers, _error(numbers, float(own.off[k, j])), method, time.perf_counter() - began)

        names = model.teachers
        pairs = [(k, j) for k in range(len(names)) for j in range(k, len(names))]
        return {names[k] if k == j else f"{names[k]},{names[j]}": value(k, j) for k, j in pairs}

    risk = None
    if channel.split.is_whole and channel.split.signs == (1,):
        numbers = [_risk(own, point.Q, best.refined) for own, point in zip(drawn, best.points)]
        off = abs(_risk(drawn[0], best.points[0].Q + best.off, best.refined) - numbers[0])
        risk = statistical(numbers, _error(numbers, off), method, time.perf_counter() - began)
    return BayesOptimal(
        float(alpha),
        values(best),
        risk,
        branch,
        apart and branch == INFORMED,
        values(found[UNINFORMED]),
        None if is_exact else statistical(gaps, standard_error(gaps), method, 0.0),
        max(point.change for point in best.points),
        best.mean,
    )


def _branch(drawn: Sequence[Samples], start: Array, alpha: float) -> _Branch:
    """The fixed points from a start, with as many nodes as it takes for them to be off by less than they scatter."""
    refined, memory = 0, deque[tuple[Array, Array]](maxlen=5)
    evolution = StateEvolution(drawn[0])
    first = evolution.solve(start, alpha, memory)
    left = evolution.left(first.Q, alpha)
    points = _others(drawn, first, alpha, refined, memory)
    off = np.zeros_like(first.Q)
    while can_refine(drawn[0].channel.split.inner, refined):
        finer = StateEvolution(drawn[0], refined=refined + 1).solve(points[0].Q, alpha, memory)
        off = finer.Q - points[0].Q
        scatter = np.std([point.Q for point in points], axis=0, ddof=1) / len(points) ** 0.5
        if np.all(np.abs(off) < np.maximum(FINE * scatter, SETTLED)) and _unfinished(points) < SETTLED:
            break
        refined += 1
        points = _others(drawn, finer, alpha, refined, memory)
    return _Branch(points, np.sqrt(off**2 + left**2 + _unfinished(points) ** 2 + TOLERANCE**2), refined)


def _unfinished(points: Sequence[FixedPoint]) -> float:
    """How far fixed points may be off that did not settle; 0 where all have."""
    return sum(UNFINISHED * point.change for point in points if point.change >= TOLERANCE)


def _others(
    drawn: Sequence[Samples], first: FixedPoint, alpha: float, refined: int, memory: Memory
) -> list[FixedPoint]:
    found = [first]
    for own in drawn[1:]:
        found.append(StateEvolution(own, refined=refined).solve(found[-1].Q, alpha, memory))
    return found


def _error(numbers: Sequence[float], off: float) -> float:
    return math.hypot(standard_error(numbers), off)


def _risk(samples: Samples, Q: Array, refined: int) -> float:
    """E |y - E[y | omega]|^2 on a new sample, label noise included."""
    Q = clipped(Q)
    channel = samples.channel
    drawn = samples.seen(Q, refined=refined)[0]
    predicted = channel.predicted(drawn.omega, np.eye(len(Q)) - Q, refined)
    outputs = len(drawn.clean)
    return outputs * channel.noise**2 + float(((drawn.clean - predicted) ** 2).sum(axis=0) @ drawn.weight)


def curve(
    model: SequenceModel,
    alphas: Sequence[float],
    *,
    seed: int = 0,
    samples: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[BayesOptimal]:
    """The points of a curve over rising alpha, each started beside the one before."""
    found: list[BayesOptimal] = []
    for n, alpha in enumerate(sorted(alphas)):
        start = found[-1].matrix if found and found[-1].branch == UNINFORMED else None
        found.append(bayes_optimal(model, alpha, seed=seed, samples=samples, start=start))
        if progress is not None:
            progress(n + 1, len(alphas))
    return found
