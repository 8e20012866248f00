"""Trapezoid rules on the line: nodes and weights chosen from the scale of the integrand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from symslr.evaluation.landscape.kernel import Array

REACH = 8.4
"""Standard deviations beyond which a normal has mass 4e-17."""

PROBE_STEP = 0.35
"""Step, in standard deviations, of the grid on which the size of an integrand is determined."""

PROBE_RANGE = 53.0
"""Largest range of that grid, in standard deviations: the root of a weight, exp(-53^2/4) = 1e-305, underflows there."""

LEAST_LOG = -745.0
"""log of the smallest positive float64: an integrand below it, density included, counts as 0."""

LOG_INFINITY = 1e6
"""Replaces the logarithm of infinity."""

MOST_NODES = 20_000
"""Most nodes on one side of a mesh."""

LOG_STEP = 0.36
"""Step in log u, and in the scores: the error is exp(-pi^2/0.36) = 1e-12, by analyticity in the strip |Im| < pi/2."""

LEAST_SCALE = LOG_STEP / 0.5
"""Scales of the scores below this use the step for this scale, 0.5 standard deviations."""

LEFT_NATS = 27.0
"""Lower end of log u, in nats below -log(largest kernel): the integrand falls like u = e^v there, and e^-27 = 2e-12."""

NATS_PER_REFINEMENT = 8.0
"""A mesh that is finer by the factor 1 + f extends f times this number of nats further, so that the error of the cut-off shows too
when meshes are compared."""

HERMITE_NODES = 10
"""Gauss-Hermite nodes at small scales of the scores: the error is (0.2/(pi/2))^20 10! = 5e-12 at the largest of these, 0.2."""

RIGHT_LOG = 4.5
"""Upper end of log u above -log(smallest kernel): exp(-e^4.5) = 1e-39."""


Window = tuple[float, float]
BOUNDED_WINDOW: Window = (-REACH, REACH)
"""The window for bounded functions, in standard deviations."""


def windows(log_sizes: Callable[..., list[Array]], axes: int) -> list[Window]:
    """The window on each of ``axes`` that holds the mean squares of functions of independent N(0, 1), at least ``BOUNDED_WINDOW``.

    The mean square of a function that grows, such as exp(2 x), comes from far outside the bulk of N(0, 1).

    Args:
        log_sizes: from one array per axis (broadcast) to the logarithms of the functions that are averaged.

    Raises:
        ValueError: where the functions grow as fast as N(0, 1) falls, or overflow before it has fallen.
    """
    for end in (2 * REACH, 4 * REACH, PROBE_RANGE):
        line, grid, rare = _probe_grid(end, axes)
        near = np.zeros([len(line)] * axes, dtype=bool)
        for log_size in log_sizes(*grid):
            log = np.nan_to_num(log_size, nan=np.inf, posinf=np.inf, neginf=-np.inf) - rare
            near |= log > max(min(float(log.max()), LOG_INFINITY) - REACH**2 / 2, LEAST_LOG)
        seen = [line[np.any(near, axis=tuple(other for other in range(axes) if other != own))] for own in range(axes)]
        if all(-end < one.min(initial=0.0) and one.max(initial=0.0) < end for one in seen):
            return [
                (one.min(initial=PROBE_STEP - REACH) - PROBE_STEP, one.max(initial=REACH - PROBE_STEP) + PROBE_STEP)
                for one in seen
            ]
    raise ValueError(
        "landscape: found a kernel that leaves float64, or grows as fast as N(0, 1) falls, where tokens still matter; "
        "expected a smaller m_kk, q_kk or nu"
    )


@cache
def _probe_grid(end: float, axes: int) -> tuple[Array, tuple[Array, ...], Array]:
    """A grid out to ``end``: one axis, all axes for broadcasting, and minus the log density of independent N(0, 1)."""
    line = np.arange(-end, end + PROBE_STEP, PROBE_STEP)
    grid = np.meshgrid(*[line] * axes, indexing="ij", sparse=True)
    return line, grid, np.add.reduce(np.broadcast_arrays(*(axis**2 / 2 for axis in grid)))


def normal_nodes(
    scale: float, refined: float = 1.0, step_factor: float = 1.0, window: Window = BOUNDED_WINDOW
) -> tuple[Array, Array]:
    """Trapezoid nodes x and square roots of the weights of N(0, 1), for a function of y = scale * x that varies like exp(-e^y).

    Square roots, as a weight underflows at 38 deviations, where the square of a kernel may be largest.

    Args:
        scale: of the scores.
        refined: number of nodes relative to the usual one.
        step_factor: multiplies the step, where its error oscillates in a variable that is summed over afterwards.
        window: range of x.

    Raises:
        ValueError: for more than ``MOST_NODES`` nodes on one side.
    """
    step = step_factor * LOG_STEP / max(scale, LEAST_SCALE) / refined
    low, high = window
    if not step * MOST_NODES > max(-low, high):
        raise ValueError(
            f"landscape: found scores that vary by {scale:.3g} per key; expected a smaller m_kk, q_kk or nu"
        )
    nodes: Array = np.arange(np.floor(low / step), np.ceil(high / step) + 1, dtype=np.float64) * step
    roots = np.exp(-(nodes**2) / 4)
    return nodes, np.asarray(roots / np.linalg.norm(roots), dtype=float)


@cache
def gauss_hermite_nodes(count: int) -> tuple[Array, Array]:
    """Gauss-Hermite nodes and square roots of their weights, for a function close to a polynomial of low degree."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return nodes, np.sqrt(weights / weights.sum())


def laplace_nodes(low: float, high: float, refined: float = 1.0, step_factor: float = 1.0) -> tuple[Array, Array]:
    """Nodes u and weights du of a trapezoid rule in log u, for kernel values between e^low and e^high.

    ``step_factor`` multiplies the step where the integrand is known to vary slowly.
    """
    step = step_factor * LOG_STEP / refined
    v = np.arange(-high - LEFT_NATS - NATS_PER_REFINEMENT * (refined - 1), -low + RIGHT_LOG + step, step)
    u = np.exp(v)
    return u, step * u


def kernel_range(kappa: Array, mass: Array, tokens: int, offset: float) -> tuple[float, float]:
    """(log low, log high) of the normaliser S: E[min(1, u S)] and P(S < 1/u) are below 1e-12 for u outside (1/high, 1/low).

    Args:
        kappa, mass: values of the kernel at one token and their probabilities, any shape.
        tokens: least number of iid tokens in the normaliser.
        offset: of the normaliser.

    Raises:
        ValueError: where the kernel is 0 or infinite in float64.
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
