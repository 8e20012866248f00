"""Trapezoid rules on the line: nodes and weights chosen from the scale of the integrand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from symslr.evaluation.landscape.kernel import Array

REACH = 8.4
"""Standard deviations beyond which a normal has mass 4e-17."""

LOOK = 0.35
"""Step, in standard deviations, of the grid on which the size of an integrand is looked at."""

FARTHEST = 53.0
"""Standard deviations out to which the size of an integrand is looked at: the root of a weight, exp(-53^2/4) = 1e-305, underflows
there.
"""

LEAST = -745.0
"""log of the least number of float64: what is smaller, density included, counts for nothing."""

OVERFLOW = 1e6
"""Size that stands for the logarithm of infinity, above all others."""

MOST = 20_000
"""Nodes on one side of a mesh."""

LOG_STEP = 0.36
"""Step in log u and, times the scale of the scores, in the scores: exp(-pi^2/0.36) = 1e-12 by the strip |Im| < pi/2."""

GENTLE = LOG_STEP / 0.5
"""Scale of the scores below which no wider step is taken."""

LEFT = 27.0
"""The integrand falls as e^v where u = e^v is small: e^-27 = 2e-12."""

FURTHER = 8.0
"""By how much a mesh reaches further for each time it is finer: what is cut off shows, too, in what a finer mesh moves."""

FEW = 10
"""(0.2/(pi/2))^20 10! is 5e-12: the error at the largest scale at which so few nodes are used."""

RIGHT = 4.5
"""exp(-e^4.5) is 1e-39."""


Window = tuple[float, float]
USUAL: Window = (-REACH, REACH)
"""Of functions that are bounded."""


def windows(log_sizes: Callable[..., list[Array]], axes: int) -> list[Window]:
    """Where functions of independent N(0, 1) have their mean squares, on each of ``axes``: ``USUAL`` and more.

    A function that grows, such as exp(2 x)^2, has them far from where N(0, 1) has its mass.

    Args:
        log_sizes: logarithms of the functions' sizes on a grid, from one array per axis that are broadcast.

    Raises:
        ValueError: where the functions grow as fast as N(0, 1) falls, or out of float64 before it has fallen.
    """
    for end in (2 * REACH, 4 * REACH, FARTHEST):
        line, grid, rare = _looked_at(end, axes)
        near = np.zeros([len(line)] * axes, dtype=bool)
        for log_size in log_sizes(*grid):
            log = np.nan_to_num(log_size, nan=np.inf, posinf=np.inf, neginf=-np.inf) - rare
            near |= log > max(min(float(log.max()), OVERFLOW) - REACH**2 / 2, LEAST)
        seen = [line[np.any(near, axis=tuple(other for other in range(axes) if other != own))] for own in range(axes)]
        if all(-end < one.min(initial=0.0) and one.max(initial=0.0) < end for one in seen):
            return [(one.min(initial=LOOK - REACH) - LOOK, one.max(initial=REACH - LOOK) + LOOK) for one in seen]
    raise ValueError(
        "landscape: found a kernel that leaves float64, or grows as fast as N(0, 1) falls, where tokens still matter; "
        "expected a smaller m_kk, q_kk or nu"
    )


@cache
def _looked_at(end: float, axes: int) -> tuple[Array, tuple[Array, ...], Array]:
    """A grid of independent N(0, 1) out to ``end``: one axis, all of them for broadcasting, and minus the log density."""
    line = np.arange(-end, end + LOOK, LOOK)
    grid = np.meshgrid(*[line] * axes, indexing="ij", sparse=True)
    return line, grid, np.add.reduce(np.broadcast_arrays(*(axis**2 / 2 for axis in grid)))


def normal_nodes(scale: float, refined: float = 1.0, wider: float = 1.0, window: Window = USUAL) -> tuple[Array, Array]:
    """Nodes x and the roots of N(0, 1)'s weights, for a function of scale * x that varies on the scale of exp(-e^y).

    Roots, as a weight underflows at 38 deviations where the square of a kernel may be largest.

    ``wider`` multiplies the step where what it leaves out oscillates in a variable that is summed over afterwards.

    Raises:
        ValueError: where that takes too many nodes.
    """
    step = wider * LOG_STEP / max(scale, GENTLE) / refined
    low, high = window
    if not step * MOST > max(-low, high):
        raise ValueError(
            f"landscape: found scores that vary by {scale:.3g} per key; expected a smaller m_kk, q_kk or nu"
        )
    nodes: Array = np.arange(np.floor(low / step), np.ceil(high / step) + 1, dtype=np.float64) * step
    roots = np.exp(-(nodes**2) / 4)
    return nodes, np.asarray(roots / np.linalg.norm(roots), dtype=float)


@cache
def few_normal_nodes(count: int) -> tuple[Array, Array]:
    """Gauss-Hermite nodes and the roots of their weights, for a function that is nearly a polynomial of low degree."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return nodes, np.sqrt(weights / weights.sum())


def laplace_nodes(low: float, high: float, refined: float = 1.0, wider: float = 1.0) -> tuple[Array, Array]:
    """Nodes u and weights of du for kernels between e^low and e^high where it matters: u in (e^(-high), e^(-low)).

    ``wider`` multiplies the step where the integrand is known to vary slowly.
    """
    step = wider * LOG_STEP / refined
    v = np.arange(-high - LEFT - FURTHER * (refined - 1), -low + RIGHT + step, step)
    u = np.exp(v)
    return u, step * u


def kernel_range(kappa: Array, mass: Array, tokens: int, offset: float) -> tuple[float, float]:
    """log of the sizes between which the normaliser matters: E[min(1, u S)] and P(S < 1/u) are below 1e-12 outside.

    Args:
        kappa, mass: values of the kernel over one token and their probabilities, any shape.
        tokens: how many iid ones the normaliser has at least.

    Raises:
        ValueError: where float64 does not hold these sizes.
    """
    flat, weights = kappa.ravel(), mass.ravel()
    order = np.argsort(flat)
    below = np.cumsum(weights[order])
    first = int(np.searchsorted(below, 1e-13 ** (1 / tokens) * below[-1]))
    least, mean = float(flat[order[first]]), float(flat @ weights)
    if not (least > 0 or np.any(flat > 0)) or not np.isfinite(mean):
        raise ValueError(
            "landscape: found scores at which the kernel is 0 or infinite in float64; expected a smaller m_kk, q_kk or nu"
        )
    if least <= 0:
        least = float(flat[flat > 0].min())
    low, high = float(np.log(least)), float(np.log(mean))
    return (max(low, np.log(offset)), max(high, np.log(offset))) if offset > 0 else (low, high)
