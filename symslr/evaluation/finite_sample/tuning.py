"""The ridges of least test risk, by a trust-region optimiser on common random numbers in a box that widens as needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.finite_sample.fixed_point.acceleration import Memory
from symslr.evaluation.finite_sample.fixed_point.saddle import MOST_JUMPS, Problem, SaddleMap, Training
from symslr.evaluation.finite_sample.fixed_point.solve import FixedPoint, solve
from symslr.evaluation.finite_sample.order_parameters import INFORMED, STARTS, OrderParameters
from symslr.evaluation.finite_sample.order_parameters import start as start_of
from symslr.evaluation.finite_sample.randomised import ARRIVED, is_same, sub_seed
from symslr.evaluation.finite_sample.samples.points import Array

COUNT = 2048
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
MOST_ROUNDS = 3
TOLERANCE = 1e-5
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
    problem: Problem,
    alpha: float,
    *,
    seed: int,
    start: tuple[float, float] = (0.5, 0.5),
    states: Sequence[OrderParameters] = (),
    count: int = COUNT,
) -> tuple[Tuned, OrderParameters]:
    """The ridges of least test risk at this alpha, on the branch of lowest energy at every ridge, and what is there.

    They are searched on one sample of points. Where other samples find another risk there, the search goes on from
    there on a new and larger sample, so that no answer follows the points of one that is too small.

    Args:
        states: branches to follow, such as those of a nearby alpha; the informed one by default.
    """
    states = list(states) or [start_of(INFORMED, alpha)]
    found, state = _search(SaddleMap(problem, count, sub_seed(seed, 10_000, count)), alpha, start, states)
    wanted = _wanted(problem, Training(alpha, *found.ridge), state, seed, count)
    if wanted == count:
        return found, state
    return _search(SaddleMap(problem, wanted, sub_seed(seed, 20_000, wanted)), alpha, found.ridge, [state])


def _wanted(problem: Problem, fit: Training, state: OrderParameters, seed: int, count: int) -> int:
    """How many samples it takes for the risk to scatter by no more than ``COARSE_ENOUGH``; no fewer than ``count``."""
    memory, risks = Memory(), []
    for number in range(1, COMPARED + 1):
        saddle = SaddleMap(problem, count, sub_seed(seed, 10_000 + number, count))
        try:
            point = solve(saddle, fit, state, TOLERANCE, memory)
        except CannotEvaluate:
            return LARGEST
        if point.change >= ARRIVED:
            return LARGEST
        risks.append(point.risk)
    scatter = float(np.std(risks, ddof=1) / np.mean(risks))
    return max(count, min(LARGEST, count * 2 ** max(0, math.ceil(2 * math.log2(scatter / COARSE_ENOUGH)))))


def _search(
    saddle: SaddleMap, alpha: float, start: tuple[float, float], states: Sequence[OrderParameters]
) -> tuple[Tuned, OrderParameters]:
    """On one sample: among all ridges, and where replica symmetry is broken at the best once more where it holds."""
    logs, limits, best = _descend(_Followed(saddle, alpha, states), np.log(start))
    confined = saddle.strain(best.state, Training(alpha, *map(float, np.exp(logs)))) > 1
    if confined:
        logs, limits, best = _descend(_Followed(saddle, alpha, states, confined=True), np.log(start))
    return Tuned(float(np.exp(logs[0])), float(np.exp(logs[1])), limits, confined), best.state


def _descend(followed: _Followed, logs: Array) -> tuple[Array, Limits, FixedPoint]:
    """COBYQA in (log r_k, log r_v): with common random numbers the risk is a smooth function of the ridges while one
    branch is lowest, and each of its values continues from the last fixed points. At the end both starts look for a
    branch of lower energy than those followed; where they find one, it is followed too, and the search goes on.
    """
    for _ in range(MOST_ROUNDS):
        logs, limits = minimise_within(followed.risk, followed.aside, logs, _box_around(logs))
        best, fit = followed.lowest(logs), followed.training(logs)
        rivals = [solve(followed.saddle, fit, start_of(name, fit.alpha), TOLERANCE) for name in STARTS]
        lower = [rival for rival in rivals if rival.energy < best.energy and not is_same(rival.state, best.state)]
        if not lower:
            break
        followed.add(min(lower, key=lambda rival: rival.energy).state)
    return logs, limits, best


def _box_around(logs: Array) -> Array:
    """The first box, or more where the start lies outside: [[low, high], [low, high]] of the log ridges."""
    low, high = math.log(LOWEST), math.log(HIGHEST)
    return np.array([[min(low, at), max(high, at)] for at in logs])


def minimise_within(
    search: Callable[[Array], float], probe: Callable[[Array, Array], float], start: Array, box: Array
) -> tuple[Array, Limits]:
    """(the place of the least risk, its limits), in log ridges; the box is widened until the place is inside of it.

    A side near which the search ends is moved outwards, unless the risk is flat there: then the optimum is the limit of
    that ridge.

    Args:
        search: the risk at log ridges, called along a path.
        probe: the risk at a second place, where it is known, seen from the first.
        start: where the search begins.
        box: its sides at first.

    Raises:
        CannotEvaluate: where the risk still falls at the farthest ridge.
    """
    box, start = box.copy(), np.asarray(start, dtype=float)
    while True:
        options = {"initial_tr_radius": 0.7, "final_tr_radius": ACCURACY, "maxfev": 60}
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


class _Followed:
    """Branches followed from ridge to ridge, each with what is known of its map's Jacobian.

    Args:
        confined: whether a risk counts for more where replica symmetry is broken, or nearly so, the more the further.
    """

    def __init__(
        self, saddle: SaddleMap, alpha: float, states: Sequence[OrderParameters], *, confined: bool = False
    ) -> None:
        self.saddle, self.alpha, self.confined = saddle, alpha, confined
        self.branches = [(state, Memory()) for state in states]

    def training(self, logs: Array) -> Training:
        return Training(self.alpha, *map(float, np.exp(logs)))

    def add(self, state: OrderParameters) -> None:
        self.branches.append((state, Memory()))

    def risk(self, logs: Array) -> float:
        """Of the lowest branch at these ridges; infinite where no iteration arrives, so that a search turns back."""
        try:
            point = self.lowest(logs)
        except CannotEvaluate:
            return math.inf
        return self._counted(point, logs) if point.change < ARRIVED else math.inf

    def _counted(self, point: FixedPoint, logs: Array) -> float:
        if not self.confined:
            return point.risk
        return point.risk * max(1.0, self.saddle.strain(point.state, self.training(logs), FEW_JUMPS))

    def aside(self, logs: Array, there: Array) -> float:
        """The risk ``there``, reached from ``logs`` in small steps; the branches stay those at ``logs``.

        Not a number where a step on the way does not settle: the risk there is not known.
        """
        self.lowest(logs)
        before = deepcopy(self.branches)
        count = math.ceil(np.max(np.abs(there - logs)) / STRIDE)
        try:
            for part in np.linspace(0, 1, count + 1)[1:]:
                point = self.lowest(logs + part * (there - logs))
                if point.change >= SETTLED:
                    return math.nan
        except CannotEvaluate:
            return math.nan
        finally:
            self.branches = before
        return self._counted(point, there)

    def lowest(self, logs: Array) -> FixedPoint:
        """The fixed point of lowest energy at these ridges; branches that have met become one."""
        kept: list[tuple[OrderParameters, Memory]] = []
        found: list[FixedPoint] = []
        for state, memory in self.branches:
            point = solve(self.saddle, self.training(logs), state, TOLERANCE, memory, MOST_STEPS)
            if any(is_same(point.state, other.state) for other in found):
                continue
            found.append(point)
            kept.append((point.state if point.change < ARRIVED else state, memory))
        self.branches = kept
        return min(found, key=lambda point: point.energy)
