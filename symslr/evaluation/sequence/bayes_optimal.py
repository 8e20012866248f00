"""Bayes-optimal learning of a sequence model: overlaps and risk at N = alpha D samples, from two starts; hard phases."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symslr.budget import reached
from symslr.evaluation.numbers.anderson import AndersonMemory
from symslr.evaluation.sampling.points import sub_seed
from symslr.evaluation.sampling.scatter import RANDOMISATIONS, standard_error, statistical
from symslr.evaluation.sequence.channel import Channel, can_refine, count
from symslr.evaluation.sequence.samples import Samples
from symslr.evaluation.sequence.state_evolution import (
    INFORMED,
    LARGEST,
    TOLERANCE,
    UNINFORMED,
    FixedPoint,
    StateEvolution,
    clipped,
)
from symslr.expression.value import Value
from symslr.model.ranges import real_number
from symslr.model.sequence.model import SequenceModel

Array = Any
Mixture = Sequence[tuple[float, SequenceModel]]
"""Models of several lengths with their probabilities."""
Draws = list[tuple[float, Samples]]
"""Samples of every length with its probability."""
WORK, FEWEST, MOST = 2**21, 512, 2**13
"""Nodes times samples of a randomisation, and its fewest and most samples."""
EXACT_COUNT = 2**12
"""Samples of a randomisation at one value of the hidden variables where none takes nodes."""
STARTS = {UNINFORMED: 0.01, INFORMED: 1 - 1e-6}
"""Overlap of every direction with its truth at the two starts."""
DIFFERENT = 0.01
"""Two fixed points are distinct where an overlap differs by more."""
FINE = 1.0
"""Nodes are doubled until the overlaps move by less than this share of their standard error, or by ``SETTLED``."""
SETTLED = 1e-4
CUT = 2 * (1 - LARGEST)
"""What overlaps may be off as they are cut at ``LARGEST``."""
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
        uninformed, uninformed_risk: on the branch of the uninformed start, which message passing attains.
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
    uninformed_risk: Value | None
    free_entropy_gap: Value | None
    change: float
    matrix: Array = field(repr=False, compare=False)


def usual_count(channel: Channel) -> int:
    """Samples of a randomisation, a power of two, fewer where each takes many nodes."""
    split = channel.split
    if channel.mixture is not None:
        return EXACT_COUNT * len(split.copies)
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
    model: SequenceModel | Mixture,
    alpha: float,
    *,
    seed: int = 0,
    samples: int | None = None,
    start: Array | None = None,
) -> BayesOptimal:
    """The Bayes-optimal overlaps and risk at N = alpha D samples.

    Args:
        model: or models of several lengths, the same else, with their probabilities.
        samples: of each of the 8 randomisations at each value of the hidden variables, a power of two.
        start: overlaps (p, p) beside which the uninformed branch is sought, as found at an alpha nearby.

    Raises:
        CannotEvaluate: for a model of more than three inner fields, and for a label without a density.
        ValueError: for an alpha that is not positive.
    """
    if not 0 < real_number(alpha, "alpha") < math.inf:
        raise ValueError(f"alpha: found {alpha:g}; expected a positive number")
    began, channels = time.perf_counter(), channels_of(model)
    drawn, size = draws(channels, samples, seed, RANDOMISATIONS)
    few = StateEvolution(draws(channels, FEWEST, seed, 1)[0][0])
    uninformed, informed = starts(len(few.tied), start)
    one, other = (few.solve(own, alpha).Q for own in (uninformed, informed))
    apart = float(np.max(np.abs(other - one))) > DIFFERENT
    found = {UNINFORMED: _branch(drawn, uninformed, alpha)}
    found[INFORMED] = _branch(drawn, other, alpha) if apart else found[UNINFORMED]
    apart = float(np.max(np.abs(found[INFORMED].mean - found[UNINFORMED].mean))) > DIFFERENT
    gaps = [
        a.free_entropy - b.free_entropy for a, b in zip(found[INFORMED].points, found[UNINFORMED].points, strict=True)
    ]
    branch = INFORMED if apart and np.mean(gaps) > 0 else UNINFORMED
    best, first = found[branch], channels[0][1]
    is_exact = apart and first.noise == 0 and float(np.linalg.eigvalsh(found[INFORMED].mean)[-1]) > EXACT
    method = f"state evolution, {len(drawn)} scrambled Sobol sets of {size} samples"

    def value(numbers: Sequence[float], off: float) -> Value:
        error = math.hypot(standard_error(numbers), off)
        return statistical(numbers, error, method, time.perf_counter() - began)

    def values(own: _Branch) -> dict[str, Value]:
        names = first.model.teachers
        pairs = [(k, j) for k in range(len(names)) for j in range(k, len(names)) if few.tied[k, j]]
        return {
            names[k] if k == j else f"{names[k]},{names[j]}": value(
                [float(point.Q[k, j]) for point in own.points], float(own.off[k, j])
            )
            for k, j in pairs
        }

    def risk(own: _Branch) -> Value | None:
        if not (first.split.is_whole and first.split.signs == (1,)):
            return None
        numbers = [_risk(each, point.Q, own.refined) for each, point in zip(drawn, own.points)]
        return value(numbers, abs(_risk(drawn[0], clipped(own.points[0].Q) - own.off, own.refined) - numbers[0]))

    return BayesOptimal(
        float(alpha),
        values(best),
        risk(best),
        branch,
        apart and branch == INFORMED,
        values(found[UNINFORMED]),
        risk(found[UNINFORMED]),
        None if is_exact else statistical(gaps, standard_error(gaps), method, 0.0),
        max(point.change for point in best.points),
        best.mean,
    )


def channels_of(model: SequenceModel | Mixture) -> list[tuple[float, Channel]]:
    """The channel of every length with its probability."""
    shares = [(1.0, model)] if isinstance(model, SequenceModel) else model
    return [(probability, Channel(own, selects=True)) for probability, own in shares]


def draws(
    channels: Sequence[tuple[float, Channel]], samples: int | None, seed: int, randomisations: int
) -> tuple[list[Draws], int]:
    """The samples of every randomisation, and how many there are of each length."""
    values = max(len(channel.split.copies) for _, channel in channels)
    size = samples * values if samples else min(usual_count(channel) for _, channel in channels)
    return [
        [
            (probability, Samples(channel, size, sub_seed(seed, n, size, *([m] * (m > 0))), width_of(channel)))
            for m, (probability, channel) in enumerate(channels)
        ]
        for n in range(randomisations)
    ], size


def starts(width: int, beside: Array | None = None) -> tuple[Array, Array]:
    """The uninformed and the informed overlaps of so many directions; the first beside given ones."""
    uninformed, informed = (overlap * np.eye(width) for overlap in STARTS.values())
    if beside is not None:
        uninformed = (1 - STARTS[UNINFORMED]) * beside + uninformed / 2
    return uninformed, informed


def _branch(drawn: Sequence[Draws], start: Array, alpha: float) -> _Branch:
    """The fixed points from a start, with as many nodes as it takes for them to be off by less than they scatter."""
    refined, memory = 0, AndersonMemory()
    evolution = StateEvolution(drawn[0])
    first = evolution.solve(start, alpha, memory)
    left = evolution.left(first.Q, alpha)
    points = _others(drawn, first, alpha, refined, memory)
    off = np.zeros_like(first.Q)
    inner = max(samples.channel.split.inner for _, samples in drawn[0])
    while can_refine(inner, refined):
        finer = StateEvolution(drawn[0], refined=refined + 1).solve(points[0].Q, alpha, memory)
        off = finer.Q - points[0].Q
        scatter = np.std([point.Q for point in points], axis=0, ddof=1) / len(points) ** 0.5
        if np.all(np.abs(off) < np.maximum(FINE * scatter, SETTLED)) and _unfinished(points) < SETTLED:
            break
        refined += 1
        points = _others(drawn, finer, alpha, refined, memory)
    return _Branch(points, np.sqrt(off**2 + left**2 + _unfinished(points) ** 2 + CUT**2), refined)


def _unfinished(points: Sequence[FixedPoint]) -> float:
    """How far fixed points may be off that did not settle; 0 where all have."""
    return sum(point.change for point in points if point.change >= TOLERANCE)


def _others(
    drawn: Sequence[Draws], first: FixedPoint, alpha: float, refined: int, memory: AndersonMemory
) -> list[FixedPoint]:
    found = [first]
    for own in drawn[1:]:
        found.append(StateEvolution(own, refined=refined).solve(found[-1].Q, alpha, memory))
    return found


def _risk(drawn: Draws, Q: Array, refined: int) -> float:
    """E |y - E[y | omega]|^2 on a new sample, label noise included."""
    Q, risk = clipped(Q), 0.0
    for probability, samples in drawn:
        channel, at = samples.channel, samples.at(Q, width=1.0)
        left = float(channel.variance(at.omega, np.eye(len(Q)) - Q, refined, at.chosen) @ at.weight)
        risk += probability * (len(at.y) * channel.noise**2 + left)
    return risk


def curve(
    model: SequenceModel, alphas: Sequence[float], *, seed: int = 0, samples: int | None = None
) -> list[BayesOptimal]:
    """The points of a curve over rising alpha, each started beside the one before."""
    found: list[BayesOptimal] = []
    for n, alpha in enumerate(sorted(alphas)):
        start = found[-1].matrix if found and found[-1].branch == UNINFORMED else None
        found.append(bayes_optimal(model, alpha, seed=seed, samples=samples, start=start))
        reached(f"point {n + 1} of {len(alphas)}")
    return found
