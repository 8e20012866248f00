"""Where the Bayes-optimal curve jumps: the interval of alpha in which two fixed points of state evolution coexist."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from symslr.evaluation.finite_sample.bayes_optimal import INFORMED, STARTS, UNINFORMED, StateEvolution, differ
from symslr.evaluation.finite_sample.problem import numeric_problem
from symslr.evaluation.finite_sample.randomised import statistical, sub_seed
from symslr.evaluation.finite_sample.samples.scatter import standard_error
from symslr.expression.value import Value
from symslr.model.catalogue import softmax
from symslr.model.task import Task


@dataclass(frozen=True)
class HardPhase:
    """The coexistence of an informed and an uninformed fixed point.

    Attributes:
        appears: alpha at which the informed fixed point appears.
        overtakes: alpha at which its free entropy overtakes: the Bayes-optimal risk jumps down here.
        reached: alpha at which the uninformed one ends: message passing reaches the optimum from here on. Between
            ``overtakes`` and ``reached`` the problem is hard.
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
    """The hard phase between two values of alpha; None where both starts agree on a scan
    with the first randomisation.

    Every edge is found by bisection on each randomisation by itself.

    Args:
        scan: values of alpha at which the starts are compared first.
        halvings: of a bracket between two of them.

    Raises:
        ValueError: as ``bayes_optimal``, where not 0 < low < high, and where an edge lies outside the range.
    """
    if not 0 < low < high:
        raise ValueError(f"low, high: found {low:g}, {high:g}; expected 0 < low < high")
    problem = numeric_problem(task, softmax, values)
    grid = np.geomspace(low, high, scan)
    maps = [StateEvolution(problem, count, sub_seed(seed, number, count)) for number in range(randomisations)]
    apart = [_gap(maps[0], alpha) is not None for alpha in grid]
    if not any(apart):
        return None
    for end, edge, mend in ((apart[0], low, "lower low"), (apart[-1], high, "raise high")):
        if end:
            raise ValueError(
                f"low, high: found two fixed points at {edge:g} already; expected one at each end, so {mend}"
            )
    first, last = apart.index(True), len(apart) - 1 - apart[::-1].index(True)
    edges = []
    for evolution in maps:
        middle = float(grid[first])
        appears = _bisect(partial(_coexist, evolution), float(grid[first - 1]), middle, halvings)
        far, beyond = float(grid[last]), float(grid[last + 1])
        reached = _bisect(partial(_meet, evolution), far, beyond, halvings)
        overtakes = _bisect(partial(_informed_wins, evolution), appears, reached, halvings)
        edges.append((appears, overtakes, reached))
    method = f"bisection on {randomisations} scrambled Sobol sets of {count} samples"

    def value(column: int) -> Value:
        numbers = [edge[column] for edge in edges]
        # Bisection of a bracket no wider than two steps of the scan leaves half its last interval in doubt.
        resolution = float(grid[1] / grid[0] - 1) * max(numbers) / 2**halvings
        return statistical(float(np.mean(numbers)), max(standard_error(numbers), resolution), method, 0.0)

    return HardPhase(value(0), value(1), value(2))


def _gap(evolution: StateEvolution, alpha: float) -> float | None:
    """Informed minus uninformed free entropy; None where both starts meet."""
    one, two = (evolution.solve(STARTS[name], alpha) for name in (INFORMED, UNINFORMED))
    return one.free_entropy - two.free_entropy if differ(one, two) else None


def _coexist(evolution: StateEvolution, alpha: float) -> bool:
    return _gap(evolution, alpha) is not None


def _meet(evolution: StateEvolution, alpha: float) -> bool:
    return _gap(evolution, alpha) is None


def _informed_wins(evolution: StateEvolution, alpha: float) -> bool:
    gap = _gap(evolution, alpha)
    return gap is None or gap > 0


def _bisect(holds: Callable[[float], bool], low: float, high: float, halvings: int) -> float:
    """The place in (low, high] from which on ``holds``."""
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return (low + high) / 2
