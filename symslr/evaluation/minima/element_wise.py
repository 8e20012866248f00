"""Where the risk of a kernel that nothing normalises has its valleys along the scale of the key: seen from one token at a time."""

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

DEPTH = 30.0
"""Nats below the peak of a token's density up to which it is scanned."""
INNERMOST, GRID = 1e-3, 4000
"""Part of the smallest scale of a scan down to which bumps are sought, and scales on either side of 0 at which they are: a
hundredth of a bump that is a tenth of its place wide."""
NEAREST, FEW = 1e-15, 600
"""Scales further in, where a kernel is the first terms of its series: 1.3 x + 10^-13 has its best scale there."""
LEVEL = 5.0
"""Of the mesh of tokens: some 160 nodes for a Gaussian."""
SEEN, SURE = 1e-10, 4.0
"""A move of the logarithm of the height that is no rounding, and how many times what every second node changes a valley is deep."""
BESIDE = 0.5
"""Rise of that logarithm, or half of the valley's where that is less, at the places on both sides of a bottom."""
MOST = 6
"""Valleys that are looked at, the lowest first."""


def log_density(law: ScalarLaw) -> Callable[[Any], Any]:
    """The logarithm of a token's density, as a function of arrays; -oo or NaN where float64 cannot name it."""
    density = FLOAT.compile((x,), [expand_log(log(law.density), force=True)])

    def logarithm(place: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(density(place)[0], dtype=float), np.shape(place))

    return logarithm


def window_of(law: ScalarLaw) -> Window | None:
    """Where a token's density counts; None where it is not seen."""
    try:
        return scan(log_density(law), float(law.lower), float(law.upper), DEPTH)
    except CannotEvaluate:
        return None


def valleys(kernel: Expr, base: ScalarLaw, relevant: ScalarLaw | None, length: float, reach: Any) -> list[float]:
    """The scales at the bottoms of the lowest valleys, and beside each on both sides, in increasing order.

    The height at a scale a is (Var k(a y) + (L - 1) E[k(a z)^2])/E[k(a y)]^2, with y the relevant token and z another one: the risk
    is 1 - 1/(1 + height) where they are independent. A scan passes over a valley that is a few hundredths of its scale wide,
    as where only the tail of the relevant token meets a bump of the kernel.

    Args:
        kernel: in ``x``, without parameters.
        base, relevant: laws of z and of y without parameters; None where y is the token that is selected: then heights are those of
            any token, and of the largest one.
        length: the number of tokens.
        reach: the smallest and the largest |scale| of a scan.
    """
    others = _nodes(base)
    own = [_nodes(relevant)] if relevant is not None else [others, _largest(others, length)]
    # sums that cancel would be put again in balls, a million times
    function, inner = compile_float((x,), [kernel], keeps_digits=False), INNERMOST * reach[0]
    sizes = np.concatenate([np.geomspace(NEAREST, inner, FEW)[:-1], np.geomspace(inner, reach[1], GRID)])
    found: list[float] = []
    for nodes in own:
        lowest: list[tuple[float, list[float]]] = []
        for scales in (-sizes, sizes):
            with np.errstate(all="ignore"):
                heights, doubts = _heights(function, nodes, others, length - 1.0, scales)
            lowest += [(float(heights[i]), scales[at].tolist()) for i, at in _bottoms(heights, doubts)]
        found += [place for _, places in sorted(lowest)[:MOST] for place in places]
    return sorted(found)


def _nodes(law: ScalarLaw) -> tuple[Any, Any]:
    """Tokens and their probabilities, every second one of which is a rule of its own.

    Raises:
        CannotEvaluate: where the density is not seen.
    """
    window, (low, high) = window_of(law), (float(end) for end in law.support)
    if window is None:
        raise CannotEvaluate("the density of a token is not seen")
    mesh = joined(cover([window], low, high, []), FLOAT, LEVEL)
    logs = log_density(law)(mesh.nodes)
    masses = np.nan_to_num(np.exp(logs - np.nanmax(logs)), nan=0.0) * mesh.weights
    return mesh.nodes, masses / masses.sum()


def _largest(nodes: tuple[Any, Any], length: float) -> tuple[Any, Any]:
    """The law of the largest of so many tokens."""
    tokens, masses = nodes
    below = np.concatenate([[0.0], np.cumsum(masses)])
    return tokens, np.diff(below**length)


def _heights(
    kernel: Callable[..., list[Any]], own: tuple[Any, Any], others: tuple[Any, Any], count: float, scales: Any
) -> tuple[Any, Any]:
    """The logarithm of the height at every scale, and what it changes where every second token is left out; oo for no number."""
    (tokens, masses), (beside, weights) = own, others
    near, far = (np.asarray(kernel(scales[:, None] * x)[0], dtype=float) for x in (tokens, beside))

    def height(step: int) -> Any:
        mean = (near[:, ::step] @ masses[::step]) / masses[::step].sum()
        variance = (near[:, ::step] - mean[:, None]) ** 2 @ masses[::step] / masses[::step].sum()
        noise = far[:, ::step] ** 2 @ weights[::step] / weights[::step].sum()
        return np.log((variance + count * noise) / mean**2)

    heights = height(1)
    doubts = np.abs(height(2) - heights)
    known = np.isfinite(heights) & np.isfinite(doubts)
    return np.where(known, heights, np.inf), np.where(known, doubts, 0.0)


def _bottoms(heights: Any, doubts: Any) -> Iterator[tuple[int, list[int]]]:
    """Indices of the bottom of every valley, and of a place before it, itself and a place after it."""
    with np.errstate(invalid="ignore"):
        moves = np.nan_to_num(np.diff(heights), nan=0.0)
    seen = np.flatnonzero(np.abs(moves) > SEEN)
    turns = np.flatnonzero(np.diff(np.sign(moves[seen])))
    tops = [0, *(seen[turns] + 1).tolist(), len(heights) - 1]  # tops and bottoms in turn
    for n, turn in enumerate(turns.tolist()):
        if moves[seen[turn]] > 0:
            continue
        first, last = tops[n], tops[n + 2]
        i = int(seen[turn] + 1 + np.argmin(heights[seen[turn] + 1 : seen[turn + 1] + 1]))
        rise = float(min(heights[first], heights[last]) - heights[i])
        level = heights[i] + min(rise / 2.0, BESIDE)
        before, after = (np.flatnonzero(heights[part] >= level) for part in (slice(first, i), slice(i, last + 1)))
        sides = first + int(before[-1]), i + int(after[0])
        if rise > SURE * np.max(doubts[sides[0] : sides[1] + 1]):
            yield i, [sides[0], i, sides[1]]
