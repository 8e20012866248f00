"""Where a Laplace form lives: windows of the token variable and of v = log u, from logarithms in float64.

Logarithms neither overflow nor underflow, so the same layout serves float64 and a thousand digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symslr.evaluation.arithmetic import Float64
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace_coarse import Coarse, Layout
from symslr.evaluation.laplace_code import Constants, LaplaceCode
from symslr.evaluation.token_mesh import token_pieces

FLOAT = Float64()
NODES = {1: 64, 2: 32}
"""Nodes of the coarse table per outer dimension."""
MOST_ROUNDS = 24


def layout(code: LaplaceCode, constants: Constants, p: tuple[float, ...], depth: float, active: list[int]) -> Layout:
    """Find the layout, keeping everything above exp(-depth) of the largest contribution.

    Raises:
        CannotEvaluate: where a token integral or the outer integral shows no decay.
    """
    lowest = (-2.0 * depth - 20.0,) * len(code.form.logs)
    pieces = token_pieces(code, constants, p, depth, lowest)
    for _ in range(MOST_ROUNDS):
        coarse = Coarse(code, constants, p, active, pieces)
        found = _outer_windows(coarse, depth)
        if any(any(ends) for ends in coarse.early):
            pieces = coarse.wider_pieces()
        elif all(low > least for (low, _), least in zip(found.windows, lowest)) or coarse.is_complete:
            return found
        else:
            lowest = tuple(min(least, low - depth) for (low, _), least in zip(found.windows, lowest))
            pieces = token_pieces(code, constants, p, depth, lowest)
    raise CannotEvaluate("the outer integrand decays too slowly: the integral may not converge")


def _outer_windows(coarse: Coarse, depth: float) -> Layout:
    windows = coarse.first_windows()
    for _ in range(40):
        nodes = [np.linspace(low, high, NODES[len(windows)]) for low, high in windows]
        logs = coarse.logarithm(nodes)
        top = float(np.max(logs))
        if not top - depth < top < np.inf:
            raise CannotEvaluate("the outer integrand vanishes or is not a number in float64")
        found = [_relevant(logs > top - depth, nodes[n], n) for n in range(len(windows))]
        if all(_settled(old, new) for old, new in zip(windows, found)):
            return coarse.layout(found, nodes, logs, depth)
        if any(high - low > 1e6 for low, high in found):
            break
        windows = found
    raise CannotEvaluate("the outer integrand decays too slowly: the integral may not converge")


def _relevant(above: Any, nodes: Any, axis: int) -> tuple[float, float]:
    """The window that holds the relevant nodes and one step around them; longer where they reach its end."""
    line = np.any(above, axis=tuple(m for m in range(above.ndim) if m != axis))
    index = np.flatnonzero(line)
    step, span = nodes[1] - nodes[0], nodes[-1] - nodes[0]
    low = nodes[0] - span / 2 if index[0] == 0 else nodes[index[0]] - step
    high = nodes[-1] + span / 2 if index[-1] == len(nodes) - 1 else nodes[index[-1]] + step
    return float(low), float(high)


def _settled(old: tuple[float, float], new: tuple[float, float]) -> bool:
    slack = 1e-9 * (old[1] - old[0])
    return old[0] <= new[0] + slack and new[1] <= old[1] + slack and new[1] - new[0] > 0.6 * (old[1] - old[0])
