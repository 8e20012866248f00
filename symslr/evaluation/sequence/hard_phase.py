"""The hard phase: the interval of alpha in which an informed and an uninformed start lead to different fixed points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from symslr.evaluation.sampling.scatter import standard_error, statistical
from symslr.evaluation.sequence.bayes_optimal import DIFFERENT, Mixture, channels_of, draws, starts
from symslr.evaluation.sequence.state_evolution import StateEvolution
from symslr.expression.value import Value
from symslr.model.sequence.model import SequenceModel


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
    model: SequenceModel | Mixture,
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
    maps = [StateEvolution(drawn) for drawn in draws(channels_of(model), count, seed, randomisations)[0]]
    grid = np.geomspace(low, high, scan)
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
    uninformed, informed = (evolution.solve(start, alpha) for start in starts(len(evolution.tied)))
    apart = np.max(np.abs(informed.Q - uninformed.Q)) > DIFFERENT
    return informed.free_entropy - uninformed.free_entropy if apart else None
