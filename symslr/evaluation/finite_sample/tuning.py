"""The ridges of least test risk, by a trust-region optimiser on common random numbers in a box that widens as needed."""

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
    Memory,
    SaddleMap,
    attempt,
    is_new,
)
from symslr.evaluation.finite_sample.problem import INFORMED, STARTS, FitProblem, ReplicaState, Training
from symslr.evaluation.finite_sample.problem import start as start_of
from symslr.evaluation.finite_sample.randomised import not_found
from symslr.evaluation.sampling.points import sub_seed

USUAL = 0.5, 0.5
"""Ridges at which a search begins where nothing is known."""
COUNT = 2048
"""Samples on which a search of the best ridges begins."""
COARSE_ENOUGH = 0.01
"""Relative scatter of the risk between samples up to which the ridges that are best on one of them are taken for the best."""
LARGEST = 2**13
"""Points of the largest sample on which ridges are searched."""
COMPARED = 4
"""Samples between which that scatter is found."""
LOWEST, HIGHEST = 1e-3, 1e2
"""Range of both ridges at first."""
WIDER = math.log(100)
"""By how much a side at which the search ends is moved outwards, in log r."""
FARTHEST = math.log(1e30)
"""Beyond it a ridge is not looked for."""
FLAT = 1e-4
"""Where the risk changes by less than this part while a ridge goes a hundred times further, it is that of the limit."""
STRIDE = math.log(10)
"""Longest step in log r on the way to a place that is looked at."""
SETTLED = 1e-3
"""Largest change of a fixed point whose risk decides whether it is flat."""
ACCURACY = 0.03
"""Final radius of the trust region in log r: at a minimum the risk is flat, and 3 per cent of a ridge moves it by 1e-4."""
FEW_JUMPS = MOST_JUMPS / 2
"""Share of samples that jump up to which ridges are confined: other samples find more."""
AT_THE_EDGE = 0.9
"""Strain from which an optimum lies at the edge of where replica symmetry holds."""
FIRST_RADIUS, SECOND_RADIUS = 0.7, 0.3
"""Trust region at first, in log r, and on a larger sample, whose optimum lies near that of the smaller one."""
MOST_ROUNDS = 3
"""Searches in which another start may turn out to have less energy."""
TOLERANCE = 1e-5
"""Of the fixed points in a search."""
MOST_STEPS = 40
"""Passes over the samples for one pair of ridges: from the last pair a few are enough."""

Limits = tuple[float | None, float | None]
"""Of r_k and r_v: 0 or infinity where the least risk is that of a limit, else None."""


@dataclass(frozen=True)
class Tuned:
    """Ridges of least test risk.

    Attributes:
        r_k, r_v: the ridges at which the order parameters are found.
        limits: where one is 0 or infinity the risk is least, or as low as anywhere, in that limit, and the ridge is so
            far out that the risk is that of the limit.
        confined: whether the least risk of the formulas lies where replica symmetry is broken and says nothing: then
            the ridges are the best of those where it holds.
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
        """The limits that there are, by name: ``{"r_k": 0.0}``."""
        return {name: at for name, at in zip(("r_k", "r_v"), self.limits, strict=True) if at is not None}

    @property
    def remarks(self) -> list[str]:
        """What is to be said of the ridges where they are no ordinary minimum."""
        ends = ", ".join(f"{name} -> {limit:g}" for name, limit in self.approached.items())
        said = [f"where the risk is that of {ends}"] if ends else []
        return said + ["the best at which replica symmetry holds"] * self.confined


def tune(
    problem: FitProblem,
    alpha: float,
    *,
    seed: int,
    start: tuple[float, float] = USUAL,
    states: Sequence[ReplicaState] = (),
    count: int = COUNT,
) -> tuple[Tuned, ReplicaState]:
    """The ridges of least test risk at this alpha, on the branch of lowest energy at every ridge, and what is there.

    They are searched on one sample of points. Where other samples find another risk there, the search goes on from
    there on a new and larger sample, so that no answer follows the points of one that is too small. Where replica
    symmetry is broken at the start, as at the ridges of a nearby alpha it may be, the search begins at ``USUAL``.

    Args:
        states: branches to follow, such as those of a nearby alpha; the informed one by default.
    """
    states = list(states) or [start_of(INFORMED, alpha)]
    sample = SaddleMap(problem, count, sub_seed(seed, 10_000, count))
    logs = np.log(start)
    followed = _Followed(sample, sample, alpha, logs, states)
    if not followed.holds(logs):
        usual, informed = np.log(USUAL), [start_of(INFORMED, alpha)]
        other = _Followed(sample, sample, alpha, usual, informed)
        followed, logs = (other, usual) if other.holds(usual) else (followed, logs)
    found, state = _search(followed, logs, FIRST_RADIUS)
    wanted = _wanted(problem, Training(alpha, *found.ridge), state, seed, count)
    if wanted == count:
        return found, state
    larger = SaddleMap(problem, wanted, sub_seed(seed, 20_000, wanted))
    logs = np.log(found.ridge)
    near, state = _search(_Followed(larger, sample, alpha, logs, [state]), logs, SECOND_RADIUS)
    return replace(near, confined=near.confined or found.confined), state


def _wanted(problem: FitProblem, fit: Training, state: ReplicaState, seed: int, count: int) -> int:
    """How many samples it takes for the risk to scatter by no more than ``COARSE_ENOUGH``; no fewer than ``count``."""
    memory, risks = Memory(), []
    for number in range(1, COMPARED + 1):
        saddle = SaddleMap(problem, count, sub_seed(seed, 10_000 + number, count))
        point = attempt(saddle, fit, state, tolerance=TOLERANCE, memory=memory)
        if point is None:
            return LARGEST
        risks.append(point.risk)
    scatter = float(np.std(risks, ddof=1) / np.mean(risks))
    return max(count, min(LARGEST, count * 2 ** max(0, math.ceil(2 * math.log2(scatter / COARSE_ENOUGH)))))


def _search(followed: _Followed, logs: Array, radius: float) -> tuple[Tuned, ReplicaState]:
    """The ridges of least risk among those at which replica symmetry holds, and what is there.

    COBYQA in (log r_k, log r_v): with common random numbers the risk is a smooth function of the ridges while one
    branch is lowest. At the end both starts look for a branch of lower energy than those followed; where they find one,
    it is followed too, and the search goes on.
    """
    for _ in range(MOST_ROUNDS):
        # the first box, or more where the start lies near a side
        box = np.stack(
            [np.minimum(math.log(LOWEST), logs - WIDER), np.maximum(math.log(HIGHEST), logs + WIDER)], axis=1
        )
        logs, limits = minimise_within(followed.risk, followed.aside, logs, box, radius)
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
    """(the place of the least risk, its limits), in log ridges; the box is widened until the place is inside of it.

    A side near which the search ends is moved outwards, unless the risk is flat there: then the optimum is the limit of
    that ridge.

    Args:
        search: the risk at log ridges.
        probe: the risk at a second place, where it is known, seen from the first.
        start: where the search begins.
        box: its sides at first.
        radius: of the trust region at first.

    Raises:
        CannotEvaluate: where the risk still falls at the farthest ridge.
    """
    box, start = box.copy(), np.asarray(start, dtype=float)
    while True:
        options = {"initial_tr_radius": radius, "final_tr_radius": ACCURACY, "maxfev": 60}
        logs = minimize(search, start, method="COBYQA", bounds=box, options=options).x
        value, start = search(logs), logs.copy()
        limits: list[float | None] = [None, None]
        outside: list[tuple[int, int, float]] = []
        for i, side in ((i, side) for i in range(2) for side in range(2)):
            if abs(logs[i] - box[i, side]) > WIDER / 2:
                continue
            further = [box[i, side] + part * (WIDER if side else -WIDER) for part in (0.5, 1)]
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
        if np.max(np.abs(box)) > FARTHEST:
            raise CannotEvaluate(
                f"tuned ridges: the risk still falls at r_k = {math.exp(logs[0]):.1g}, r_v = {math.exp(logs[1]):.1g};"
                " expected a least risk, so give ridges"
            )


@dataclass(frozen=True)
class _Branch:
    """What is known of a branch: order parameters at some log ridges, and of its map's Jacobian.

    Attributes:
        known: where it was given, and where replica symmetry was found to hold; also where it was broken, as long as
            nothing lower was known.
    """

    known: list[tuple[Array, ReplicaState]]
    memory: Memory = field(default_factory=Memory)

    def nearest(self, logs: Array) -> ReplicaState:
        """Where it is known nearest to these ridges."""
        return min(self.known, key=lambda at: float(np.max(np.abs(at[0] - logs))))[1]


class _Followed:
    """The risk as a function of the ridges, on branches that are followed from ridge to ridge.

    A risk is reached from the nearest ridges that are known, never from ridges at which replica symmetry is broken:
    from there the iteration ends on other branches and does not find back, and the risk would depend on the path.

    Args:
        saddle: the sample on which the risk is found.
        judge: the one on which it is found whether replica symmetry holds.
        start: log ridges at which the branches are known.
        states: order parameters of each branch there, or near.
    """

    def __init__(
        self, saddle: SaddleMap, judge: SaddleMap, alpha: float, start: Array, states: Sequence[ReplicaState]
    ) -> None:
        self.saddle, self.judge, self.alpha = saddle, judge, alpha
        self.branches = [_Branch([(start, state)]) for state in states]
        self.found: dict[tuple[float, ...], tuple[FixedPoint, _Branch]] = {}
        self.least = self.least_beyond = math.inf

    def training(self, logs: Array) -> Training:
        return Training(self.alpha, *map(float, np.exp(logs)))

    def add(self, logs: Array, state: ReplicaState) -> None:
        """Follow another branch, known at these ridges; what the others gave is forgotten."""
        self.branches.append(_Branch([(logs, state)]))
        self.found.clear()
        self.least = self.least_beyond = math.inf

    def risk(self, logs: Array) -> float:
        """Of the lowest branch at these ridges; infinite where no iteration arrives, so that a search turns back."""
        try:
            point = self.lowest(logs)
        except CannotEvaluate:
            return math.inf
        return self._counted(logs, point, self.found[tuple(logs)][1])

    def _counted(self, logs: Array, point: FixedPoint, branch: _Branch) -> float:
        """The risk, more where replica symmetry is broken, or nearly so, the more the further; else it is remembered."""
        strain = self._strain(logs, point)
        counted = point.risk * max(1.0, strain)
        if strain > 1:
            self.least_beyond = min(self.least_beyond, point.risk)
        if strain <= 1 or counted < self.least:
            branch.known.append((logs.copy(), point.state))
        self.least = min(self.least, counted)
        return counted

    def _strain(self, logs: Array, point: FixedPoint) -> float:
        """How much of what replica symmetry bears is there: at 1 it breaks, by the replicon or by samples that jump."""
        return max(self.judge.replicon(point.state, self.training(logs)), self.judge.jumps(point.state) / FEW_JUMPS)

    def holds(self, logs: Array) -> bool:
        """Whether an iteration arrives at these ridges, and replica symmetry holds there."""
        return (value := self.risk(logs)) < math.inf and value == self.lowest(logs).risk

    def is_confined(self, logs: Array) -> bool:
        """Whether the formulas have a lower risk where replica symmetry is broken, and these ridges are at the edge."""
        point = self.lowest(logs)
        return self.least_beyond < point.risk and self._strain(logs, point) > AT_THE_EDGE

    def aside(self, logs: Array, there: Array) -> float:
        """The risk ``there``, reached from ``logs`` in small steps on the branch that is lowest at ``logs``.

        Not a number where a step on the way does not settle: the risk there is not known.
        """
        point = self.lowest(logs)
        branch = self.found[tuple(logs)][1]
        count = math.ceil(np.max(np.abs(there - logs)) / STRIDE)
        for part in np.linspace(0, 1, count + 1)[1:]:
            further = self._reached(branch, logs + part * (there - logs), point.state, SETTLED)
            if further is None:
                return math.nan
            point = further
        return self._counted(there, point, branch)

    def lowest(self, logs: Array) -> FixedPoint:
        """The fixed point of lowest energy at these ridges, each time the same.

        Raises:
            CannotEvaluate: where no iteration arrives.
        """
        key = tuple(logs)
        if key not in self.found:
            reached = [(self._reached(branch, logs, branch.nearest(logs)), branch) for branch in self.branches]
            points = [(point, branch) for point, branch in reached if point is not None]
            if not points:
                raise not_found(self.training(logs))
            self.found[key] = min(points, key=lambda each: each[0].energy)
        return self.found[key][0]

    def _reached(
        self, branch: _Branch, logs: Array, state: ReplicaState, arrived: float = ARRIVED
    ) -> FixedPoint | None:
        """A branch at these ridges, from a state nearby."""
        how = {"tolerance": TOLERANCE, "memory": branch.memory, "most_steps": MOST_STEPS}
        return attempt(self.saddle, self.training(logs), state, arrived, **how)
