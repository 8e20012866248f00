"""Local minima of the risk along the scale, for a kernel without a normaliser: found from the moments of single tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sympy import Expr, expand_log, log

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.numbers.compiled import compile_float
from symslr.evaluation.quadrature.mesh import joined
from symslr.evaluation.quadrature.scan import Window, scan
from symslr.evaluation.quadrature.token_mesh import cover
from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import x

DENSITY_DEPTH = 30.0
"""A token's density is scanned down to e^-30 of its peak, below which it adds nothing in float64."""
INNERMOST_PART = 1e-3
"""Minima are sought down to this part of the smallest scale of the search."""
SCALES_PER_SIDE = 4000
"""Scales on either side of 0, in a geometric sequence: a bump whose width is a tenth of its place has about a hundred."""
SMALLEST_SCALE = 1e-15
"""A coarser sequence goes down to here, where a kernel is the first terms of its series: 1.3 x + 10^-13 has its best scale
there."""
INNER_SCALES = 600
"""Scales of that coarser sequence, on either side of 0."""
MESH_LEVEL = 5.0
"""Level of the quadrature mesh of a token: about 160 nodes for a Gaussian."""
ROUNDING = 1e-10
"""Changes of log R from one scale to the next up to this size are taken for rounding."""
DEPTH_IN_ERRORS = 4.0
"""A minimum counts where it is deeper than this many quadrature errors, seen by leaving out every second node."""
SIDE_RISE = 0.5
"""The places on both sides of a minimum are those where log R has risen by this, or by half the depth where that is less."""
MOST_MINIMA = 6
"""The lowest so many local minima are returned."""


def log_density(law: ScalarLaw) -> Callable[[Any], Any]:
    """A function from an array of tokens to the logarithm of their density; -oo or NaN where it leaves the range of float64."""
    density = FLOAT.compile((x,), [expand_log(log(law.density), force=True)])

    def logarithm(place: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(density(place)[0], dtype=float), np.shape(place))

    return logarithm


def density_window(law: ScalarLaw) -> Window | None:
    """The interval on which a token's density counts; None where no scan finds it."""
    try:
        return scan(log_density(law), float(law.lower), float(law.upper), DENSITY_DEPTH)
    except CannotEvaluate:
        return None


def points_around_minima(
    kernel: Expr, base: ScalarLaw, relevant: ScalarLaw | None, length: float, reach: Any
) -> list[float]:
    """Scales at the lowest local minima of the risk, with one on both sides of each, in increasing order.

    For independent tokens the risk at scale a is 1 - 1/(1 + R), with R = (Var k(a y) + (L - 1) E[k(a z)^2])/E[k(a y)]^2, y the
    relevant token and z another one. A coarse scan misses a minimum whose width is a few hundredths of its scale, as where only
    the tail of the relevant token reaches a bump of the kernel.

    Args:
        kernel: k, in ``x``, without parameters.
        base, relevant: laws of z and of y, without parameters. ``relevant`` is None where the law selects y among the tokens: R
            is then computed with the law of any token and with that of the largest token, and the minima of both are returned.
        length: L.
        reach: (smallest, largest) |scale| of the search.

    Raises:
        CannotEvaluate: where no scan finds the density of a token.
    """
    others = _nodes(base)
    own = [_nodes(relevant)] if relevant is not None else [others, _law_of_largest(others, length)]
    # sums that cancel would be put again in balls, a million times
    function, inner = compile_float((x,), [kernel], keeps_digits=False), INNERMOST_PART * reach[0]
    sizes = np.concatenate(
        [np.geomspace(SMALLEST_SCALE, inner, INNER_SCALES)[:-1], np.geomspace(inner, reach[1], SCALES_PER_SIDE)]
    )
    found: list[float] = []
    for nodes in own:
        lowest: list[tuple[float, list[float]]] = []
        for scales in (-sizes, sizes):
            with np.errstate(all="ignore"):
                log_ratios, errors = _noise_to_signal(function, nodes, others, length - 1.0, scales)
            lowest += [(float(log_ratios[i]), scales[at].tolist()) for i, at in _local_minima(log_ratios, errors)]
        found += [place for _, places in sorted(lowest)[:MOST_MINIMA] for place in places]
    return sorted(found)


def _nodes(law: ScalarLaw) -> tuple[Any, Any]:
    """(tokens, probabilities) of a quadrature rule for a token's law; every second node is again such a rule.

    Raises:
        CannotEvaluate: where no scan finds the density.
    """
    window, (low, high) = density_window(law), (float(end) for end in law.support)
    if window is None:
        raise CannotEvaluate("the density of a token is not seen")
    mesh = joined(cover([window], low, high, []), FLOAT, MESH_LEVEL)
    logs = log_density(law)(mesh.nodes)
    masses = np.nan_to_num(np.exp(logs - np.nanmax(logs)), nan=0.0) * mesh.weights
    return mesh.nodes, masses / masses.sum()


def _law_of_largest(nodes: tuple[Any, Any], length: float) -> tuple[Any, Any]:
    """(tokens, probabilities) of the largest of ``length`` tokens, P(max <= x) being P(token <= x)^length."""
    tokens, masses = nodes
    below = np.concatenate([[0.0], np.cumsum(masses)])
    return tokens, np.diff(below**length)


def _noise_to_signal(
    kernel: Callable[..., list[Any]], own: tuple[Any, Any], others: tuple[Any, Any], count: float, scales: Any
) -> tuple[Any, Any]:
    """log R of ``points_around_minima`` at every scale, and its quadrature error; (oo, 0) where it is no number.

    The error is what leaving out every second node changes.
    """
    (tokens, masses), (beside, weights) = own, others
    near, far = (np.asarray(kernel(scales[:, None] * x)[0], dtype=float) for x in (tokens, beside))

    def log_ratio(step: int) -> Any:
        mean = (near[:, ::step] @ masses[::step]) / masses[::step].sum()
        variance = (near[:, ::step] - mean[:, None]) ** 2 @ masses[::step] / masses[::step].sum()
        noise = far[:, ::step] ** 2 @ weights[::step] / weights[::step].sum()
        return np.log((variance + count * noise) / mean**2)

    log_ratios = log_ratio(1)
    errors = np.abs(log_ratio(2) - log_ratios)
    known = np.isfinite(log_ratios) & np.isfinite(errors)
    return np.where(known, log_ratios, np.inf), np.where(known, errors, 0.0)


def _local_minima(log_ratios: Any, errors: Any) -> Iterator[tuple[int, list[int]]]:
    """For every local minimum of log R its index, and the indices (before, itself, after) of the points around it."""
    with np.errstate(invalid="ignore"):
        moves = np.nan_to_num(np.diff(log_ratios), nan=0.0)
    moving = np.flatnonzero(np.abs(moves) > ROUNDING)
    turns = np.flatnonzero(np.diff(np.sign(moves[moving])))
    tops = [0, *(moving[turns] + 1).tolist(), len(log_ratios) - 1]  # tops and bottoms in turn
    for n, turn in enumerate(turns.tolist()):
        if moves[moving[turn]] > 0:
            continue
        first, last = tops[n], tops[n + 2]
        i = int(moving[turn] + 1 + np.argmin(log_ratios[moving[turn] + 1 : moving[turn + 1] + 1]))
        rise = float(min(log_ratios[first], log_ratios[last]) - log_ratios[i])
        level = log_ratios[i] + min(rise / 2.0, SIDE_RISE)
        before, after = (np.flatnonzero(log_ratios[part] >= level) for part in (slice(first, i), slice(i, last + 1)))
        sides = first + int(before[-1]), i + int(after[0])
        if rise > DEPTH_IN_ERRORS * np.max(errors[sides[0] : sides[1] + 1]):
            yield i, [sides[0], i, sides[1]]
