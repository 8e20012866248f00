"""The Bayes-optimal risk at finite alpha by state evolution from two starts; the free entropy chooses between their fixed points.

Also the hard phase: the interval of alpha in which the two starts lead to different fixed points.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sympy import Symbol

from symslr.evaluation.finite_sample.fields import Array
from symslr.evaluation.finite_sample.posterior_channel import PositionPosterior, position_channel
from symslr.evaluation.finite_sample.problem import INFORMED, UNINFORMED, FitProblem, LengthComponent, numeric_problem
from symslr.evaluation.finite_sample.randomised import RANDOMISATIONS, statistical
from symslr.evaluation.numbers.compiled import compile_float
from symslr.evaluation.sampling.points import normal_points, sub_seed
from symslr.evaluation.sampling.scatter import standard_error
from symslr.expression.value import Value
from symslr.model.catalogue import softmax
from symslr.model.ranges import real_number
from symslr.model.task import Task
from symslr.theory.finite_sample_energy import ALPHA, KEY, VALUE
from symslr.theory.sequence import OVERLAP, force_chain, prior_at_stationary_point, squared_force

COUNT = 4096
"""Samples in a randomisation unless asked otherwise."""
TOLERANCE = 1e-6
"""A fixed point is reached where no log q/(1-q) moves by more in one step."""
MOST_STEPS = 1000
"""Most steps of state evolution, which is slow close to a spinodal."""
LEAST_NOISE = 1e-4
"""Smaller Delta are replaced by this: at Delta = 0 exactly q_v = 1 has infinite free entropy. The change of a number when this
noise variance is doubled is then added to its error."""
MOST = 700.0
"""Largest |log q/(1-q)|: beyond it exp leaves the range of float64, and q is 0 or 1."""


@dataclass(frozen=True)
class Overlaps:
    """A fixed point of state evolution on one randomisation of the samples.

    Attributes:
        logits: log q/(1-q) of q_k and q_v: accurate also where q_v is close to 1.
        q_k, q_v: overlaps of the posterior mean with the truth, in [0, 1].
        risk: E (y - f)^2 of the Bayes predictor on a new sample.
        free_entropy: per dimension, up to a constant common to all fixed points.
        change: how far one more step moves log q/(1-q).
    """

    logits: Array
    q_k: float
    q_v: float
    risk: float
    free_entropy: float
    change: float


@dataclass(frozen=True)
class BayesOptimal:
    """The least risk of any estimator that knows the model, at alpha = N/D; errors are one standard error.

    Attributes:
        risk, q_k, q_v: at the branch of largest free entropy.
        branch: the start that leads there, "informed" or "uninformed".
        hard: whether the uninformed start leads to another fixed point: then no polynomial-time algorithm is known that attains
            ``risk``.
        uninformed_risk: the risk on the branch of the uninformed start, which message passing attains.
        free_entropy_gap: free entropy of the informed minus that of the uninformed fixed point; 0 where they coincide.
        change: largest change of log q/(1-q) under one more step, over all randomisations.
    """

    risk: Value
    q_k: Value
    q_v: Value
    branch: str
    hard: bool
    uninformed_risk: Value
    free_entropy_gap: Value
    change: float


@cache
def _equations() -> tuple[Any, Any]:
    """(alpha, E sum f^2) -> qhat, and (q_k, q_v) -> prior part of the free entropy, compiled from the derived formulas."""
    mean = Symbol("f2", real=True)
    qhat = force_chain().result.xreplace({squared_force(): mean})
    prior = prior_at_stationary_point().subs(OVERLAP, KEY.q) + prior_at_stationary_point().subs(OVERLAP, VALUE.q)
    return compile_float([ALPHA, mean], [qhat]), compile_float([KEY.q, VALUE.q], [prior])


class _Sequences:
    """Random samples of one length, and their posteriors at given overlaps."""

    def __init__(self, share: LengthComponent, noise: float, count: int, seed: int) -> None:
        keys = share.length
        normals = normal_points(count, 2 * keys + 1, seed)
        self.noise, self.probability = noise, share.probability
        self.channel = position_channel(share.law, normals[:keys])
        self.values, self.label = normals[keys:-1], normals[-1]

    def posteriors(self, seen: PositionPosterior, logit: float) -> Iterator[tuple[Array, Array, Array, Array]]:
        """The posterior of the position given keys and label, for each true position in turn.

        Yields:
            P(true position) (n,), P(eps = l | keys, label) (L, n), (y - omega_z,l)/V (L, n) and log Z (n,).
        """
        hidden = 1 / (1 + math.exp(logit))
        omega = math.sqrt(1 - hidden) * self.values
        variance = hidden + self.noise**2
        for true, weight in enumerate(seen.positions):
            error = omega[true] + math.sqrt(variance) * self.label - omega
            score = seen.log_weight - error**2 / (2 * variance)
            top = score.max(axis=0)
            mass = np.exp(score - top)
            total = mass.sum(axis=0)
            yield weight, mass / total, error / variance, top + np.log(total) - math.log(2 * math.pi * variance) / 2

    def position_posterior(self, logit: float) -> PositionPosterior:
        """The posterior of the position given the fields of the keys, at the overlap q_k = 1/(1 + e^-logit)."""
        return self.channel(1 / (1 + math.exp(-logit)))

    def squares(self, logits: Array) -> Array:
        """E sum_l f_l^2 for keys and for values, shape (2,)."""
        seen, squares = self.position_posterior(logits[0]), np.zeros(2)
        for weight, p, push, _ in self.posteriors(seen, logits[1]):
            squares += [np.mean((force**2).sum(axis=0) * weight) for force in (seen.force(p), p * push)]
        return squares

    def agreement_and_log_z(self, logits: Array) -> Array:
        """E sum_l p_l^2 on a new sample, given its keys only, and E log Z, shape (2,)."""
        seen = self.position_posterior(logits[0])
        log_z = sum(np.mean(found * weight) for weight, _, _, found in self.posteriors(seen, float(logits[1])))
        mass = np.exp(seen.log_weight - seen.log_weight.max(axis=0))
        return np.array([np.mean((mass**2).sum(axis=0) / mass.sum(axis=0) ** 2), log_z])


class StateEvolution:
    """The map (q_k, q_v) -> (q_k, q_v) on one randomisation, in the coordinates log q/(1-q) = log qhat."""

    def __init__(self, problem: FitProblem, count: int, seed: int, least_noise: float = LEAST_NOISE) -> None:
        self.noise = max(problem.noise, least_noise)
        self.sets = [_Sequences(share, self.noise, count, own) for share, own in problem.with_seeds(seed)]

    def step(self, logits: Array, alpha: float) -> Array:
        """One step of state evolution."""
        squares = sum((each.probability * each.squares(logits) for each in self.sets), np.zeros(2))
        with np.errstate(divide="ignore"):
            found = np.log([float(_equations()[0](alpha, square)[0]) for square in squares])
        return np.clip(found, -MOST, MOST)  # at nu = 0 keys carry no information: q_k = 0

    def solve(self, start: Array, alpha: float) -> Overlaps:
        """The first fixed point on the way from ``start``: the map is monotone, so plain steps cannot pass one.

        Where steps shrink geometrically they are extrapolated, by at most ``STRETCH`` times.
        """
        point, before = start, np.zeros(2)
        for _ in range(MOST_STEPS):
            change = self.step(point, alpha) - point
            if np.max(np.abs(change)) < TOLERANCE:
                break
            size, size_before = float(np.linalg.norm(change)), float(np.linalg.norm(before))
            rate = size / max(size_before, 1e-300)
            aligned = float(change @ before) > ALIGNED * size * size_before
            stretch = min(STRETCH, CAREFUL / max(1 - rate, 1e-9)) if aligned and rate < 1 else 1.0
            stretch = max(1.0, min(stretch, FARTHEST / float(np.max(np.abs(change)))))
            point = np.clip(point + stretch * change, -MOST, MOST)
            before = change if stretch <= 1 else np.zeros(2)
        return self.overlaps(point, alpha)

    def overlaps(self, logits: Array, alpha: float) -> Overlaps:
        """Risk and free entropy at given overlaps, as log q/(1-q)."""
        q_k, q_v = np.where(logits > -MOST, 1 / (1 + np.exp(-logits)), 0.0).tolist()
        prior = float(_equations()[1](q_k, min(q_v, 1 - 1e-15))[0])
        # Nishimori: E p_eps = E sum_l p_l^2.
        both = sum((each.probability * each.agreement_and_log_z(logits) for each in self.sets), np.zeros(2))
        agreement, log_z = both.tolist()
        risk = self.noise**2 + 1 - q_v * agreement
        change = float(np.max(np.abs(self.step(logits, alpha) - logits)))
        return Overlaps(logits, q_k, q_v, risk, prior + alpha * log_z, change)


def _evolutions(
    problem: FitProblem, count: int, seed: int, randomisations: int, least_noise: float = LEAST_NOISE
) -> list[StateEvolution]:
    """The state evolution map of every randomisation."""
    return [StateEvolution(problem, count, sub_seed(seed, n, count), least_noise) for n in range(randomisations)]


STRETCH, FARTHEST = 100.0, 0.5
"""A step is extrapolated by at most the first factor, and moves no coordinate by more than the second number."""
ALIGNED, CAREFUL = 0.9, 0.7
"""Least cosine between successive steps for which they count as geometric, and the share of the remaining way that is then
taken."""
DIFFERENT = 0.01
"""Two fixed points are distinct where their overlaps differ by more; results for one fixed point differ by TOLERANCE/(1 - rate)."""
STARTS = {INFORMED: np.array([6.0, 20.0]), UNINFORMED: np.array([-5.0, -5.0])}
"""log q/(1-q) of keys and values at the two starts."""


def bayes_optimal(
    task: Task, values: Mapping[object, object], *, alpha: float, seed: int = 0, count: int = COUNT
) -> BayesOptimal:
    """The Bayes-optimal risk at N = alpha D samples, for spiked-SLR and max-SLR.

    Args:
        values: nu, Delta, L or P_L if the task has none.
        count: samples of each of the 8 randomisations, a power of two.

    Raises:
        ValueError: in one line, for a missing or inadmissible value or a task without a channel.

    Source: arXiv 2509.21936, section 5 and Figure 3.
    """
    if not 0 < real_number(alpha, "alpha") < math.inf:
        raise ValueError(f"alpha: found {alpha:g}; expected a positive number")
    began = time.perf_counter()
    problem = numeric_problem(task, softmax, values)
    maps = _evolutions(problem, count, seed, RANDOMISATIONS)
    # each randomisation from the start itself, so that none inherits another's branch
    found = {name: [item.solve(start, alpha) for item in maps] for name, start in STARTS.items()}
    gaps = [a.free_entropy - b.free_entropy for a, b in zip(found[INFORMED], found[UNINFORMED], strict=True)]
    apart = any(differ(a, b) for a, b in zip(found[INFORMED], found[UNINFORMED], strict=True))
    branch = INFORMED if apart and np.mean(gaps) > 0 else UNINFORMED
    best = found[branch]
    method = f"state evolution, {len(maps)} scrambled Sobol sets of {count} samples"

    @cache
    def noisier(branch: str) -> list[Overlaps]:
        """The fixed points of the same branch at twice the least noise variance."""
        own = _evolutions(problem, count, seed, RANDOMISATIONS, math.sqrt(2) * LEAST_NOISE)
        return [item.solve(point.logits, alpha) for item, point in zip(own, found[branch], strict=True)]

    def value(read: Callable[[Overlaps], float], branch: str = branch) -> Value:
        numbers = [read(point) for point in found[branch]]
        error = standard_error(numbers)
        if problem.noise < LEAST_NOISE:
            error += abs(float(np.mean([read(point) for point in noisier(branch)])) - float(np.mean(numbers)))
        return statistical(numbers, error, method, time.perf_counter() - began)

    return BayesOptimal(
        value(lambda p: p.risk),
        value(lambda p: p.q_k),
        value(lambda p: p.q_v),
        branch,
        apart and branch == INFORMED,
        value(lambda p: p.risk, UNINFORMED),
        statistical(gaps, standard_error(gaps), method, 0.0),
        max(point.change for point in best),
    )


def differ(one: Overlaps, two: Overlaps) -> bool:
    """Whether two fixed points are distinct."""
    return abs(one.q_k - two.q_k) + abs(one.q_v - two.q_v) > DIFFERENT


@dataclass(frozen=True)
class HardPhase:
    """The range of alpha in which an informed and an uninformed fixed point coexist.

    Attributes:
        appears: alpha at which the informed fixed point appears (spinodal).
        overtakes: alpha at which its free entropy becomes the larger one: the Bayes-optimal risk jumps down here.
        reached: alpha at which the uninformed fixed point disappears (spinodal): message passing attains the optimum from here on.
            Between ``overtakes`` and ``reached`` the problem is hard.
    """

    appears: Value
    overtakes: Value
    reached: Value


def hard_phase(
    task: Task,
    values: Mapping[object, object],
    *,
    low: float = 0.3,
    high: float = 4.0,
    seed: int = 0,
    count: int = 2048,
    randomisations: int = 4,
    scan: int = 25,
    halvings: int = 9,
) -> HardPhase | None:
    """The hard phase between two values of alpha; None where both starts agree on a scan with the first randomisation.

    Every edge is found by bisection, separately on each randomisation.

    Args:
        scan: number of values of alpha, in geometric progression, at which the starts are compared first.
        halvings: number of bisection steps between two of them.

    Raises:
        ValueError: as ``bayes_optimal``, where not 0 < low < high, and where an edge lies outside the range.
    """
    if not 0 < low < high:
        raise ValueError(f"low, high: found {low:g}, {high:g}; expected 0 < low < high")
    problem = numeric_problem(task, softmax, values)
    grid = np.geomspace(low, high, scan)
    maps = _evolutions(problem, count, seed, randomisations)
    apart = [_gap(maps[0], alpha) is not None for alpha in grid]
    if not any(apart):
        return None
    for end, edge, mend in ((apart[0], low, "lower low"), (apart[-1], high, "raise high")):
        if end:
            raise ValueError(
                f"low, high: found two fixed points at {edge:g} already; expected one at each end, so {mend}"
            )
    first, last = apart.index(True), len(apart) - 1 - apart[::-1].index(True)

    def bisect(evolution: StateEvolution, holds: Callable[[float | None], bool], low: float, high: float) -> float:
        """The alpha in (low, high] from which on ``holds`` of the free entropy gap is true."""
        for _ in range(halvings):
            middle = (low + high) / 2
            low, high = (low, middle) if holds(_gap(evolution, middle)) else (middle, high)
        return (low + high) / 2

    edges = []
    for evolution in maps:
        appears = bisect(evolution, lambda gap: gap is not None, float(grid[first - 1]), float(grid[first]))
        reached = bisect(evolution, lambda gap: gap is None, float(grid[last]), float(grid[last + 1]))
        overtakes = bisect(evolution, lambda gap: gap is None or gap > 0, appears, reached)
        edges.append((appears, overtakes, reached))
    method = f"bisection on {randomisations} scrambled Sobol sets of {count} samples"

    def value(column: int) -> Value:
        numbers = [edge[column] for edge in edges]
        # Bisection of a bracket no wider than two steps of the scan leaves half its last interval in doubt.
        resolution = float(grid[1] / grid[0] - 1) * max(numbers) / 2**halvings
        return statistical(numbers, max(standard_error(numbers), resolution), method, 0.0)

    return HardPhase(value(0), value(1), value(2))


def _gap(evolution: StateEvolution, alpha: float) -> float | None:
    """Informed minus uninformed free entropy; None where both starts lead to one fixed point."""
    one, two = (evolution.solve(STARTS[name], alpha) for name in (INFORMED, UNINFORMED))
    return one.free_entropy - two.free_entropy if differ(one, two) else None
