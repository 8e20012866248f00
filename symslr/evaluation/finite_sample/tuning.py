"""The ridges of least test risk, by a trust-region optimiser on common random numbers."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize

from symslr.evaluation.finite_sample.acceleration import Memory
from symslr.evaluation.finite_sample.order_parameters import INFORMED, OrderParameters
from symslr.evaluation.finite_sample.order_parameters import start as start_of
from symslr.evaluation.finite_sample.points import Array
from symslr.evaluation.finite_sample.randomised import sub_seed
from symslr.evaluation.finite_sample.saddle import Problem, SaddleMap, Training
from symslr.evaluation.finite_sample.solve import solve

COUNT = 2048
LOWEST, HIGHEST = 1e-3, 1e2
"""Range of both ridges; where the optimum sits at an end, the ridge hardly matters there."""
ACCURACY = 0.03
"""Final radius of the trust region in log r: at a minimum the risk is flat, and 3 per cent of a ridge moves it by 1e-4."""


def tune(
    problem: Problem,
    alpha: float,
    *,
    seed: int,
    start: tuple[float, float] = (0.5, 0.5),
    state: OrderParameters | None = None,
    count: int = COUNT,
) -> tuple[tuple[float, float], OrderParameters]:
    """((r_k, r_v), order parameters) of least test risk at this alpha, on the branch continued from ``state``, the
    informed one by default.

    COBYQA in (log r_k, log r_v): with common random numbers the risk is a smooth function of the ridges, and each of
    its values continues from the last fixed point.
    """
    saddle = SaddleMap(problem, count, sub_seed(seed, 10_000, count))
    last, memory = [state or start_of(INFORMED, alpha)], Memory()

    def risk(logs: Array) -> float:
        found = solve(saddle, Training(alpha, *map(float, np.exp(logs))), last[0], tolerance=1e-5, memory=memory)
        if found.change < 0.1:
            last[0] = found.state
        return found.risk

    ends = [(math.log(LOWEST), math.log(HIGHEST))] * 2
    options = {"initial_tr_radius": 0.7, "final_tr_radius": ACCURACY, "maxfev": 60}
    found = minimize(risk, np.log(start), method="COBYQA", bounds=ends, options=options)
    risk(found.x)
    return (float(np.exp(found.x[0])), float(np.exp(found.x[1]))), last[0]
