"""The ridges of least test risk, by a trust-region optimiser with common random numbers in a box that is widened as needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import minimize

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.finite_sample.fields import Array
from symslr.evaluation.finite_sample.fixed_point import (
    ARRIVED,
    MOST_JUMPS,
    FixedPoint,
    SaddleMap,
    attempt,
    is_new,
)
from symslr.evaluation.finite_sample.problem import FitProblem, ReplicaState, Training
from symslr.evaluation.finite_sample.problem import start as start_of
from symslr.evaluation.finite_sample.randomised import not_found
from symslr.evaluation.numbers.anderson import AndersonMemory
from symslr.evaluation.sampling.points import sub_seed
from symslr.evaluation.sequence.state_evolution import INFORMED, STARTS

USUAL_RIDGES = 0.5, 0.5
"""(r_k, r_v) from which a search starts by default."""
COUNT = 2048
"""Sample size of the first search for the best ridges."""
LARGEST_SCATTER = 0.01
"""Relative scatter of the risk between sample sets up to which the best ridges of one set are accepted."""
MOST_SAMPLES = 2**13
"""Largest sample size of a search."""
COMPARED_SAMPLES = 4
"""Number of sample sets from which that scatter is computed."""
LOWEST_RIDGE, HIGHEST_RIDGE = 1e-3, 1e2
"""First range of both ridges."""
WIDENING = math.log(100)
"""How far a side of the box at which the search ends is moved outwards, in log r."""
FARTHEST_LOG = math.log(1e30)
"""Largest |log r| that is searched."""
FLAT = 1e-4
"""The risk counts as that of the limit where it changes by less than this share while a ridge grows or shrinks a hundredfold."""
STRIDE = math.log(10)
"""Longest step of a continuation in log r."""
SETTLED = 1e-3
"""Largest change of a fixed point from which flatness of the risk is judged."""
ACCURACY = 0.03
"""Final radius of the trust region in log r: at a minimum the risk is flat, and 3 per cent of a ridge moves it by 1e-4."""
FEW_JUMPS = MOST_JUMPS / 2
"""Largest share of jumping samples of admissible ridges, half of the general limit: other samples may show more."""
EDGE_STRAIN = 0.9
"""Value of ``_strain`` from which an optimum counts as lying at the edge of the replica-symmetric region, which is at 1."""
FIRST_RADIUS, SECOND_RADIUS = 0.7, 0.3
"""First radius of the trust region in log r: on the first sample, and on a larger one, whose optimum lies near that of the
first."""
MOST_ROUNDS = 3
"""Most repetitions of a search after a branch of lower energy was found."""
TOLERANCE = 1e-5
"""Tolerance of the fixed points in a search."""
MOST_STEPS = 40
"""Most applications of the map for one pair of ridges: from a nearby pair a few suffice."""

Limits = tuple[float | None, float | None]
"""For r_k and r_v: 0 or infinity where the least risk is attained in that limit, else None."""


@dataclass(frozen=True)
class Tuned:
    """Ridges of least test risk.

    Attributes:
        r_k, r_v: the ridges at which the order parameters are found.
        limits: 0 or infinity where the risk is least in that limit of the ridge; the ridge is then so extreme that the risk equals
            that of the limit. None elsewhere.
        confined: whether the formulas have a lower risk where replica symmetry is broken, and so are not valid; the ridges are then
            the best of those where it holds.
    """

    r_k: float
    r_v: float
    limits: Limits = (None, None)
    confined: bool = False

    @property
    def ridge(self) -> tuple[float, float]:
        """(r_k, r_v)."""
        return self.r_k, self.r_v

    @property
    def approached(self) -> dict[str, float]:
        """The limits that are not None, by name, such as ``{"r_k": 0.0}``."""
        return {name: at for name, at in zip(("r_k", "r_v"), self.limits, strict=True) if at is not None}

    @property
    def remarks(self) -> list[str]:
        """Remarks to print where the ridges are a limit or confined; empty for an ordinary minimum."""
        ends = ", ".join(f"{name} -> {limit:g}" for name, limit in self.approached.items())
        said = [f"where the risk is that of {ends}"] if ends else []
        return said + ["the best at which replica symmetry holds"] * self.confined


def tune(
    problem: FitProblem,
    alpha: float,
    *,
    seed: int,
    start: tuple[float, float] = USUAL_RIDGES,
    states: Sequence[ReplicaState] = (),
    count: int = COUNT,
) -> tuple[Tuned, ReplicaState]:
    """The ridges of least test risk at this alpha, on the branch of lowest energy, and the order parameters there.

    The search runs on one sample set. If the risk there scatters too much between sample sets, a second search follows on a larger
    one, so that the result does not depend on a set that is too small. Where replica symmetry is broken at ``start``, as may happen
    at the ridges of a nearby alpha, the search starts at ``USUAL_RIDGES``.

    Args:
        start: first ridges.
        states: order parameters of the branches to follow, such as those of a nearby alpha; the informed start by default.
        count: size of the first sample set.
    """
    states = list(states) or [start_of(INFORMED, alpha)]
    sample = SaddleMap(problem, count, sub_seed(seed, 10_000, count))
    logs = np.log(start)
    followed = _BranchRisk(sample, sample, alpha, logs, states)
    if not followed.is_replica_symmetric(logs):
        usual, informed = np.log(USUAL_RIDGES), [start_of(INFORMED, alpha)]
        other = _BranchRisk(sample, sample, alpha, usual, informed)
        followed, logs = (other, usual) if other.is_replica_symmetric(usual) else (followed, logs)
    found, state = _search(followed, logs, FIRST_RADIUS)
    wanted = _samples_needed(problem, Training(alpha, *found.ridge), state, seed, count)
    if wanted == count:
        return found, state
    larger = SaddleMap(problem, wanted, sub_seed(seed, 20_000, wanted))
    logs = np.log(found.ridge)
    near, state = _search(_BranchRisk(larger, sample, alpha, logs, [state]), logs, SECOND_RADIUS)
    return replace(near, confined=near.confined or found.confined), state


def _samples_needed(problem: FitProblem, fit: Training, state: ReplicaState, seed: int, count: int) -> int:
    """Sample size at which the risk scatters by no more than ``LARGEST_SCATTER``; from ``count`` to ``MOST_SAMPLES``."""
    memory, risks = AndersonMemory(), []
    for number in range(1, COMPARED_SAMPLES + 1):
        saddle = SaddleMap(problem, count, sub_seed(seed, 10_000 + number, count))
        point = attempt(saddle, fit, state, tolerance=TOLERANCE, memory=memory)
        if point is None:
            return MOST_SAMPLES
        risks.append(point.risk)
    scatter = float(np.std(risks, ddof=1) / np.mean(risks))
    return max(count, min(MOST_SAMPLES, count * 2 ** max(0, math.ceil(2 * math.log2(scatter / LARGEST_SCATTER)))))


def _search(followed: _BranchRisk, logs: Array, radius: float) -> tuple[Tuned, ReplicaState]:
    """The ridges of least risk among those at which replica symmetry holds, and the order parameters there.

    COBYQA in (log r_k, log r_v): with common random numbers the risk is a smooth function of the ridges while one branch is lowest.
    At the end both starts are tried; if one leads to a branch of lower energy, that is followed too, and the search is repeated.
    """
    for _ in range(MOST_ROUNDS):
        # the first box, or more where the start lies near a side
        box = np.stack(
            [np.minimum(math.log(LOWEST_RIDGE), logs - WIDENING), np.maximum(math.log(HIGHEST_RIDGE), logs + WIDENING)],
            axis=1,
        )
        logs, limits = minimise_within(followed.risk, followed.risk_along, logs, box, radius)
        best, fit = followed.lowest(logs), followed.training(logs)
        rivals = [attempt(followed.saddle, fit, start_of(name, fit.alpha), tolerance=TOLERANCE) for name in STARTS]
        lower = [rival for rival in rivals if rival and rival.energy < best.energy and is_new(rival, [best])]
        if not lower:
            break
        followed.add(logs, min(lower, key=lambda rival: rival.energy).state)
    return Tuned(float(np.exp(logs[0])), float(np.exp(logs[1])), limits, followed.is_confined(logs)), best.state


def minimise_within(
    search: Callable[[Array], float],
    probe: Callable[[Array, Array], float],
    start: Array,
    box: Array,
    radius: float = FIRST_RADIUS,
) -> tuple[Array, Limits]:
    """(log ridges of least risk, their limits), by COBYQA in a box that is widened until the minimum lies inside.

    A side close to which the search ends is moved outwards, unless the risk is flat there: then the optimum is the limit of that
    ridge.

    Args:
        search: the risk at log ridges (2,).
        probe: the risk at its second argument, by continuation from the first; nan where that fails.
        start: log ridges from which the search starts.
        box: first sides of the box, shape (2, 2): a row (low, high) for each ridge.
        radius: first radius of the trust region.

    Raises:
        CannotEvaluate: where the risk still falls at ``FARTHEST_LOG``.
    """
    box, start = box.copy(), np.asarray(start, dtype=float)
    while True:
        options = {"initial_tr_radius": radius, "final_tr_radius": ACCURACY, "maxfev": 60}
        logs = minimize(search, start, method="COBYQA", bounds=box, options=options).x
        value, start = search(logs), logs.copy()
        limits: list[float | None] = [None, None]
        outside: list[tuple[int, int, float]] = []
        for i, side in ((i, side) for i in range(2) for side in range(2)):
            if abs(logs[i] - box[i, side]) > WIDENING / 2:
                continue
            further = [box[i, side] + part * (WIDENING if side else -WIDENING) for part in (0.5, 1)]
            risks = [probe(logs, np.where(np.arange(2) == i, at, logs)) for at in further]
            if all(abs(risk - value) < FLAT * value for risk in risks):
                limits[i] = math.inf if side else 0.0
            elif min(risks) < value or abs(logs[i] - box[i, side]) < ACCURACY:
                outside.append((i, side, further[1]))
                start[i] = further[risks.index(min(risks))] if min(risks) < value else start[i]
        if not outside:
            return logs, (limits[0], limits[1])
        for i, side, at in outside:
            box[i, side] = at
        if np.max(np.abs(box)) > FARTHEST_LOG:
            raise CannotEvaluate(
                f"tuned ridges: the risk still falls at r_k = {math.exp(logs[0]):.1g}, r_v = {math.exp(logs[1]):.1g};"
                " expected a least risk, so give ridges"
            )


@dataclass(frozen=True)
class _Branch:
    """A branch of fixed points.

    Attributes:
        known: (log ridges, order parameters): the first one given; those where replica symmetry held; and those where it was broken
            but the risk, with its penalty, was the lowest so far.
        memory: of Anderson acceleration.
    """

    known: list[tuple[Array, ReplicaState]]
    memory: AndersonMemory = field(default_factory=AndersonMemory)

    def nearest(self, logs: Array) -> ReplicaState:
        """The known order parameters nearest to these log ridges."""
        return min(self.known, key=lambda at: float(np.max(np.abs(at[0] - logs))))[1]


class _BranchRisk:
    """The risk as a function of the ridges, on branches of fixed points that are continued from ridge to ridge.

    Each iteration starts from the nearest known ridges, and not from those at which replica symmetry is broken: from there it ends
    on other branches, and the risk would depend on the path.

    Args:
        saddle: the sample set on which the risk is computed.
        stability_sample: the one on which the stability of replica symmetry is computed.
        start: log ridges at which the branches are known.
        states: order parameters of each branch there, or approximately.
    """

    def __init__(
        self, saddle: SaddleMap, stability_sample: SaddleMap, alpha: float, start: Array, states: Sequence[ReplicaState]
    ) -> None:
        self.saddle, self.stability_sample, self.alpha = saddle, stability_sample, alpha
        self.branches = [_Branch([(start, state)]) for state in states]
        self.found: dict[tuple[float, ...], tuple[FixedPoint, _Branch]] = {}
        self.least = self.least_beyond = math.inf

    def training(self, logs: Array) -> Training:
        return Training(self.alpha, *map(float, np.exp(logs)))

    def add(self, logs: Array, state: ReplicaState) -> None:
        """Follow another branch, known at these log ridges; cached results are dropped."""
        self.branches.append(_Branch([(logs, state)]))
        self.found.clear()
        self.least = self.least_beyond = math.inf

    def risk(self, logs: Array) -> float:
        """The penalised risk of the lowest branch at these log ridges; infinite where no iteration converges."""
        try:
            point = self.lowest(logs)
        except CannotEvaluate:
            return math.inf
        return self._penalised(logs, point, self.found[tuple(logs)][1])

    def _penalised(self, logs: Array, point: FixedPoint, branch: _Branch) -> float:
        """The risk times max(1, strain): a penalty where replica symmetry is broken. Stores the point as a start for others."""
        strain = self._strain(logs, point)
        counted = point.risk * max(1.0, strain)
        if strain > 1:
            self.least_beyond = min(self.least_beyond, point.risk)
        if strain <= 1 or counted < self.least:
            branch.known.append((logs.copy(), point.state))
        self.least = min(self.least, counted)
        return counted

    def _strain(self, logs: Array, point: FixedPoint) -> float:
        """The larger of replicon and jumps/``FEW_JUMPS``: replica symmetry is broken from 1 on."""
        return max(
            self.stability_sample.replicon(point.state, self.training(logs)),
            self.stability_sample.jumps(point.state) / FEW_JUMPS,
        )

    def is_replica_symmetric(self, logs: Array) -> bool:
        """Whether an iteration converges at these log ridges and replica symmetry holds there."""
        return (value := self.risk(logs)) < math.inf and value == self.lowest(logs).risk

    def is_confined(self, logs: Array) -> bool:
        """Whether a lower risk was found where replica symmetry is broken, and these ridges are at the edge of that region."""
        point = self.lowest(logs)
        return self.least_beyond < point.risk and self._strain(logs, point) > EDGE_STRAIN

    def risk_along(self, logs: Array, there: Array) -> float:
        """The risk at ``there`` on the branch that is lowest at ``logs``, by continuation in small steps; nan where a step
        fails."""
        point = self.lowest(logs)
        branch = self.found[tuple(logs)][1]
        count = math.ceil(np.max(np.abs(there - logs)) / STRIDE)
        for part in np.linspace(0, 1, count + 1)[1:]:
            further = self._continued(branch, logs + part * (there - logs), point.state, SETTLED)
            if further is None:
                return math.nan
            point = further
        return self._penalised(there, point, branch)

    def lowest(self, logs: Array) -> FixedPoint:
        """The fixed point of lowest energy at these log ridges; cached.

        Raises:
            CannotEvaluate: where no iteration converges.
        """
        key = tuple(logs)
        if key not in self.found:
            reached = [(self._continued(branch, logs, branch.nearest(logs)), branch) for branch in self.branches]
            points = [(point, branch) for point, branch in reached if point is not None]
            if not points:
                raise not_found(self.training(logs))
            self.found[key] = min(points, key=lambda each: each[0].energy)
        return self.found[key][0]

    def _continued(
        self, branch: _Branch, logs: Array, state: ReplicaState, arrived: float = ARRIVED
    ) -> FixedPoint | None:
        """The fixed point of a branch at these log ridges, started from a nearby state; None where it fails."""
        how = {"tolerance": TOLERANCE, "memory": branch.memory, "most_steps": MOST_STEPS}
        return attempt(self.saddle, self.training(logs), state, arrived, **how)
