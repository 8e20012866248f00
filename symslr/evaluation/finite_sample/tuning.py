"""The ridges of least test risk, by a trust-region optimiser on common random numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from symslr.evaluation.finite_sample.acceleration import Memory
from symslr.evaluation.finite_sample.order_parameters import INFORMED, STARTS, OrderParameters
from symslr.evaluation.finite_sample.order_parameters import start as start_of
from symslr.evaluation.finite_sample.points import Array
from symslr.evaluation.finite_sample.randomised import ARRIVED, is_same, sub_seed
from symslr.evaluation.finite_sample.saddle import Problem, SaddleMap, Training
from symslr.evaluation.finite_sample.solve import FixedPoint, solve

COUNT = 2048
LOWEST, HIGHEST = 1e-3, 1e2
"""Range of both ridges; where the optimum sits at an end, the ridge hardly matters there."""
ACCURACY = 0.03
"""Final radius of the trust region in log r: at a minimum the risk is flat, and 3 per cent of a ridge moves it by 1e-4."""
MOST_ROUNDS = 3
TOLERANCE = 1e-5


def tune(
    problem: Problem,
    alpha: float,
    *,
    seed: int,
    start: tuple[float, float] = (0.5, 0.5),
    states: Sequence[OrderParameters] = (),
    count: int = COUNT,
) -> tuple[tuple[float, float], OrderParameters]:
    """((r_k, r_v), order parameters) of least test risk at this alpha, on the branch of lowest energy at every ridge.

    COBYQA in (log r_k, log r_v): with common random numbers the risk is a smooth function of the ridges while one
    branch is lowest, and each of its values continues from the last fixed points. At the end both starts look for a
    branch of lower energy than those followed; where they find one, it is followed too, and the search goes on.

    Args:
        states: branches to follow, such as those of a nearby alpha; the informed one by default.
    """
    saddle = SaddleMap(problem, count, sub_seed(seed, 10_000, count))
    followed = _Followed(saddle, alpha, list(states) or [start_of(INFORMED, alpha)])
    logs = np.log(start)
    ends = [(math.log(LOWEST), math.log(HIGHEST))] * 2
    for _ in range(MOST_ROUNDS):
        options = {"initial_tr_radius": 0.7, "final_tr_radius": ACCURACY, "maxfev": 60}
        logs = minimize(lambda at: followed.lowest(at).risk, logs, method="COBYQA", bounds=ends, options=options).x
        best = followed.lowest(logs)
        rivals = [solve(saddle, followed.training(logs), start_of(name, alpha), TOLERANCE) for name in STARTS]
        lower = [rival for rival in rivals if rival.energy < best.energy and not is_same(rival.state, best.state)]
        if not lower:
            break
        followed.add(min(lower, key=lambda rival: rival.energy).state)
    return (float(np.exp(logs[0])), float(np.exp(logs[1]))), best.state


class _Followed:
    """Branches followed from ridge to ridge, each with what is known of its map's Jacobian."""

    def __init__(self, saddle: SaddleMap, alpha: float, states: list[OrderParameters]) -> None:
        self.saddle, self.alpha = saddle, alpha
        self.branches = [(state, Memory()) for state in states]

    def training(self, logs: Array) -> Training:
        return Training(self.alpha, *map(float, np.exp(logs)))

    def add(self, state: OrderParameters) -> None:
        self.branches.append((state, Memory()))

    def lowest(self, logs: Array) -> FixedPoint:
        """The fixed point of lowest energy at these ridges; branches that have met become one."""
        kept: list[tuple[OrderParameters, Memory]] = []
        found: list[FixedPoint] = []
        for state, memory in self.branches:
            point = solve(self.saddle, self.training(logs), state, TOLERANCE, memory)
            if any(is_same(point.state, other.state) for other in found):
                continue
            found.append(point)
            kept.append((point.state if point.change < ARRIVED else state, memory))
        self.branches = kept
        return min(found, key=lambda point: point.energy)
