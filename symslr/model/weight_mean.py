"""Quadrature in float64: the mass of a token law, the mean of a weight under it, and the least value of the integrand."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from sympy import Dummy, Expr, Rational, Sum, oo

from symslr.model.float64 import DIGITS, compiled
from symslr.model.one_term import DEEP, in_mpmath, log_size, merged
from symslr.model.places import FURTHEST, Place, apart, far_nodes, places
from symslr.model.quadrature import integrated
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import chi, epsilon, x

WIDTHS = 10.0 ** np.arange(-30.0, 18.0, 0.5)
"""Distances from a place at which the quadrature is cut: a narrow or a distant peak is not stepped over."""

CUTS = -30.0, -6.0, 6.0, 30.0
"""Where the mass of densities usually ends."""

NARROW, MOVED = 1e-4, 1e-3
"""A distance to a place, over its size, that has lost four digits in float64, and a move of a density that counts there."""

NO_MASS = 1e-20
"""Of a place: its digits do not count."""

BESIDE = 1e-5
"""Distance to a place that is known from an expression, at which a peak that was found in numbers is that place."""

SOME = 8
"""Places of one part, at which a density seems negative, that are looked at in 30 digits."""

MOST_PEAKS = 6
"""Highest places, between which a weight may be nothing."""

ZOOMS = 12
"""Each takes a factor of ten off the distance to a peak."""

EPS = float(np.finfo(float).eps)

MOST_ON_GRIDS = 3
"""So many tokens are integrated over on product grids; more are sampled."""

FINE, COARSE = (12, 41), (8, 15)
ROUGH = {FINE: (7, 29), COARSE: (6, 13)}
"""Nodes in a panel and panel ends of a product grid, and of the one that tells its error."""

MOST_UNSEEN = 0.03
"""Part of a token law that a product grid may miss: of one that is smooth it misses a hundredth at most."""

SAMPLES, SHIFTS = 2**10, 6
"""Sobol points of one scrambling, and scramblings."""

REACH = 1e6, 1e8
"""Distances at which an integrand that has a mean falls faster than 1/|x|."""

HUGE = 1e15
"""A mean beyond this is infinite, as that of 1/x^2 is, of which panels that halve see so much of its pole."""


@dataclass(frozen=True)
class Mean:
    """E_0[g] with the error of the quadrature, infinite where the mean diverges, and the least g or g p_0 that was seen, or 0."""

    value: float
    error: float
    lowest: float


def weight_mean(law: SequenceLaw, values: Mapping[Expr, float]) -> Mean:
    """The mean of a weight at a length that is a number, at values of its parameters.

    Raises:
        OverflowError: when the formula holds a number beyond float64.
    """
    if law.relevant_factor is not None:
        return _one_token(law, values)
    unseen = _unseen(law, values)
    if unseen > MOST_UNSEEN:
        return Mean(1.0, int(law.length) * unseen, 0.0)
    if int(law.length) > MOST_ON_GRIDS:
        return _sampled(law, values)
    size = FINE if int(law.length) <= 2 else COARSE
    mean, rough = (_on_grid(law, values, *grid) for grid in (size, ROUGH[size]))
    return Mean(mean.value, abs(mean.value - rough.value), min(mean.lowest, rough.lowest))


def _unseen(law: SequenceLaw, values: Mapping[Expr, float]) -> float:
    """How much of a token law the nodes of the coarsest product grid do not see, as a part that is narrow or far out."""
    nodes, steps = _nodes(law, values, *ROUGH[COARSE])
    with np.errstate(all="ignore"):
        density = compiled((x, *values), law.base.density)(nodes, *values.values())
        return float(abs(1.0 - np.nansum(steps * density)))


def lowest_kernel(law: SequenceLaw, values: Mapping[Expr, float]) -> float:
    """The least value of the kernel w of a selection g = L w(chi_eps)/sum_l w(chi_l) on the token's support."""
    nodes, _ = _nodes(law, values, *FINE)
    with np.errstate(all="ignore"):
        table = np.broadcast_to(compiled((x, *values), law.posterior_kernel)(nodes, *values.values()), nodes.shape)
    return float(np.nanmin(table))


def _on_grid(law: SequenceLaw, values: Mapping[Expr, float], points: int, ends: int) -> Mean:
    length = int(law.length)
    function = _of_tokens(law, tuple(values))
    nodes, steps = _nodes(law, values, points, ends)
    with np.errstate(all="ignore"):
        mass = steps * compiled((x, *values), law.base.density)(nodes, *values.values())
        grids = np.meshgrid(*[nodes] * length, indexing="ij", sparse=True)
        table = np.broadcast_to(function(*grids, *values.values()), (len(nodes),) * length)
        probability = 1.0
        for axis in range(length):
            probability = probability * mass.reshape([-1 if i == axis else 1 for i in range(length)])
        relevant = probability > 0
        return Mean(float(np.sum(np.where(relevant, table * probability, 0))), 0.0, float(np.min(table[relevant])))


@lru_cache(maxsize=64)
def _of_tokens(law: SequenceLaw, parameters: tuple[Expr, ...]) -> Callable[..., np.ndarray]:
    """g at epsilon = 1 as a function of the tokens and the parameters."""
    weight = law.weight.xreplace({s: s.doit() for s in law.weight.atoms(Sum)}).subs(epsilon, 1)
    tokens = [Dummy(real=True) for _ in range(int(law.length))]
    return compiled((*tokens, *parameters), weight.xreplace({chi[i + 1]: t for i, t in enumerate(tokens)}))


def _sampled(law: SequenceLaw, values: Mapping[Expr, float]) -> Mean:
    """Scrambled Sobol points through the inverse of the law's distribution function, which is tabulated."""
    from scipy.stats import qmc

    length = int(law.length)
    nodes, steps = _nodes(law, values, 12, 161)
    with np.errstate(all="ignore"):
        density = compiled((x, *values), law.base.density)(nodes, *values.values())
        mass = np.nan_to_num(steps * density)
        below = np.cumsum(mass) - mass / 2
        function = _of_tokens(law, tuple(values))
        tables = []
        for seed in range(SHIFTS):
            uniform = qmc.Sobol(length, seed=seed).random(SAMPLES)
            tokens = np.interp(uniform, below / mass.sum(), nodes)
            tables.append(np.broadcast_to(function(*tokens.T, *values.values()), (SAMPLES,)))
    means = np.array([table.mean() for table in tables])
    return Mean(float(means.mean()), float(3 * means.std(ddof=1) / SHIFTS**0.5), float(np.min(tables)))


def _one_token(law: SequenceLaw, values: Mapping[Expr, float]) -> Mean:
    """A weight of the relevant token alone, integrated around every place at which density times weight may have a feature."""
    low, high = _ends(law, values)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an integral that does not converge is told by its error
        known = places(merged(law), values, low, high)
        peaks, rounding = _peaks(law, values, low, high, [place.number for place in known])
        integrand = _integrand(merged(law), values)
        diverges = _diverges(integrand, low, high, [place.number for place in known])
        if not diverges and (not peaks or rounding > 1.0):
            return Mean(0.0, np.inf, 0.0)
        charts = _charts(known, peaks, low, high)
        parts = []
        for place, edges in charts:
            own = _from(law, values, place) if _is_narrow(integrand, place.number, edges) else None
            parts.append((place, integrated(own or partial(_moved, integrand, place.number), edges)))
        mean, error = sum(part.value for _, part in parts), sum(part.error for _, part in parts)
        least = _least(law, values, [(place, step) for place, part in parts for step in _some(part.negative)])
        if diverges or mean > HUGE or (least >= 0 > mean):  # beside a pole quad may return anything
            mean = np.inf
    return Mean(mean, error + rounding * abs(mean), least)


def _integrand(expr: Expr, values: Mapping[Expr, float]) -> Callable[[np.ndarray], np.ndarray]:
    """A function of ``x`` on arrays, in mpmath where float64 overflows on the way."""
    plain, exact = compiled((x, *values), expr), in_mpmath(expr, (x, *values))
    given = tuple(values.values())

    def function(points: np.ndarray) -> np.ndarray:
        found = np.array(np.broadcast_to(plain(points, *given), points.shape), dtype=float)
        for i in np.flatnonzero(~np.isfinite(found)):
            found[i] = exact(float(points[i]), *given)
        return found

    return function


def _moved(function: Callable[[np.ndarray], np.ndarray], place: float, steps: np.ndarray) -> np.ndarray:
    return function(place + steps)


def _from(law: SequenceLaw, values: Mapping[Expr, float], place: Place) -> Callable[[np.ndarray], np.ndarray]:
    """Density times weight as a function of the distance to a place, which x - place does not cancel in."""
    fixed = merged(law).xreplace({symbol: Rational(value) for symbol, value in values.items()})
    moved = fixed.xreplace({x: x + place.exact})
    return _integrand(moved.replace(lambda part: part.is_Add and part.is_polynomial(x), lambda part: part.expand()), {})


def _is_narrow(integrand: Callable[[np.ndarray], np.ndarray], place: float, edges: np.ndarray) -> bool:
    """Whether density times weight moves so near to a place that float64 has lost digits of the distance to it."""
    near = edges[np.abs(edges) <= NARROW * abs(place)]
    if len(near) < 2:
        return False
    heights = integrand(place + near)
    if not np.all(np.isfinite(heights)):  # as beside an end at which it is infinite
        return True
    counts = np.max(np.abs(heights)) * abs(place) > NO_MASS
    return bool(counts and np.ptp(heights) > MOVED * np.max(np.abs(heights)))


def _charts(known: list[Place], peaks: list[float], low: float, high: float) -> list[tuple[Place, np.ndarray]]:
    """Places that share the support, each with the edges of its own part as distances to it, ever nearer."""
    numbers = np.array([place.number for place in known])
    others = [own for own in (*peaks, *(end for end in (low, high) if np.isfinite(end)), 0.0) if low <= own <= high]
    fresh = [own for own in others if not np.any(np.abs(numbers - own) <= BESIDE * (1.0 + abs(own)))]
    centres = apart([*known, *(Place(Rational(own), own) for own in fresh)])
    gaps = [float((after.exact - before.exact).evalf(DIGITS)) for before, after in itertools.pairwise(centres)]
    sides = [low - centres[0].number, *(gap / 2 for gap in gaps), high - centres[-1].number]
    found = []
    for place, (before, last) in zip(centres, itertools.pairwise(sides)):
        first = before if place is centres[0] else -before
        widths = WIDTHS[EPS**2 * abs(place.number) <= WIDTHS]
        steps = np.unique([*-widths, 0.0, *widths, *(cut - place.number for cut in CUTS)])
        found.append((place, np.array([first, *steps[(steps > first) & (steps < last)], last])))
    return found


def _some(steps: np.ndarray) -> np.ndarray:
    """A few of many, evenly spread."""
    return steps[np.linspace(0, len(steps) - 1, min(len(steps), SOME)).astype(int)] if len(steps) else steps


def _least(law: SequenceLaw, values: Mapping[Expr, float], below: list[tuple[Place, float]]) -> float:
    """The least value in 30 digits, of those that float64 takes for negative ones: e^x - 1 - x has none beside 0."""
    if not below:
        return 0.0
    fixed = (law.base.density * law.relevant_factor).xreplace({s: Rational(v) for s, v in values.items()})
    found = [0.0]
    for place, step in below[:: max(1, len(below) // (2 * SOME))]:
        value = fixed.xreplace({x: place.exact + Rational(step)}).evalf(30)
        found.append(float(value) if value.is_comparable else -np.inf)
    return min(found)


def _peaks(
    law: SequenceLaw, values: Mapping[Expr, float], low: float, high: float, known: list[float]
) -> tuple[list[float], float]:
    """The highest places of density times weight, however far apart, and the relative rounding error of the function there.

    They are told from the logarithm of the largest term, which is seen from afar.
    """
    size = log_size(law, tuple(values))

    def logs(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        both = np.broadcast_to(np.array(np.broadcast_arrays(*size(points, *values.values()))), (2, len(points)))
        return np.where(np.isfinite(both[0]), both[0], -np.inf), both[1]

    wide = np.union1d(far_nodes(low, high, FURTHEST), known)
    table = np.concatenate([[-np.inf], logs(wide)[0], [-np.inf]])
    inside = np.flatnonzero((table[1:-1] >= table[:-2]) & (table[1:-1] > table[2:]))
    found: list[tuple[float, float, float]] = []
    for i in sorted(inside.tolist(), key=lambda i: -float(table[i + 1]))[:MOST_PEAKS]:
        around = wide[max(i - 1, 0)], wide[min(i + 1, len(wide) - 1)]
        for _ in range(ZOOMS):
            near = np.linspace(*around, 21)
            heights, sizes = logs(near)
            best = int(np.argmax(heights))
            around = near[max(best - 1, 0)], near[min(best + 1, 20)]
        place = float(near[best])
        same = [own for own in known if abs(own - place) <= BESIDE * (1.0 + abs(own))]
        if same:  # where the function is taken of the distance to it
            there, own = logs(np.array(same))
            place = same[int(np.argmax(there))]
            if np.max(there) > -np.inf:  # else it is infinite there, as 1/sqrt(x) is at 0
                heights, sizes, best = there, own, int(np.argmax(there))
        found.append((float(heights[best]), place, float(sizes[best])))
    top = max((height for height, _, _ in found), default=-np.inf)
    kept = [item for item in found if item[0] > top - DEEP]
    return [place for _, place, _ in kept], EPS * max((size for _, _, size in kept), default=0.0)


def _diverges(integrand: Callable[[np.ndarray], np.ndarray], low: float, high: float, known: list[float]) -> bool:
    """Whether, far beyond every place, what is integrated does not fall faster than 1/|x|."""
    distances = np.array(REACH) * max([1.0, *map(abs, known)])
    for side, end in ((-1.0, low), (1.0, high)):
        if np.isinf(end):
            near, far = np.abs(integrand(side * distances)) * distances
            if not (far < near or far == 0):
                return True
    return False


def _ends(law: SequenceLaw, values: Mapping[Expr, float]) -> tuple[float, float]:
    low, high = (float(end.subs(values)) for end in (law.base.lower, law.base.upper))
    return low, high


def _nodes(law: SequenceLaw, values: Mapping[Expr, float], order: int, ends: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and steps on the support: x = sinh t reaches heavy tails, Gauss-Legendre panels meet at the kink x = 0."""
    low, high = _ends(law, values)
    points, weights = np.polynomial.legendre.leggauss(order)
    reach = 12.0 if ends > COARSE[1] else 7.0
    half_line = np.isinf(low) != np.isinf(high)
    edges = np.linspace(-3 * reach if half_line else -reach, reach, 2 * ends - 1 if half_line else ends)
    t = np.concatenate([(b + a) / 2 + (b - a) / 2 * points for a, b in itertools.pairwise(edges)])
    step = np.concatenate([(b - a) / 2 * weights for a, b in itertools.pairwise(edges)])
    if low == -oo and high == oo:
        return np.sinh(t), step * np.cosh(t)
    if high == oo:
        return low + np.exp(t), step * np.exp(t)
    if low == -oo:
        return high - np.exp(t), step * np.exp(t)
    half = (high - low) / 2
    return low + half * (1 + np.tanh(t)), step * half / np.cosh(t) ** 2
