"""Quadrature in float64: the mass of a token law, the mean of a weight under it, and the least value of the integrand."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

import mpmath
import numpy as np
from sympy import (
    Abs,
    Add,
    Dummy,
    Expr,
    Function,
    Mul,
    Piecewise,
    S,
    Sum,
    Symbol,
    cosh,
    exp,
    expand_mul,
    expand_multinomial,
    lambdify,
    log,
    oo,
    sinh,
)

from symslr.model.float64 import in_float64
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import chi, epsilon, x

WIDTHS = tuple(10.0**power for power in range(-5, 5))
"""Distances from a peak at which the quadrature is cut: a narrow or a distant peak is not stepped over."""

MOST_PEAKS = 6
"""Highest places, between which a weight may be nothing."""

FURTHEST = 40.0
"""Logarithm of the furthest place; at half of that, a Gaussian's exponent has lost all digits."""

ZOOMS = 12
"""Each takes a factor of ten off the distance to a peak."""

DEEP = 60.0
"""Nats below the highest place at which another counts for nothing."""

EPS = float(np.finfo(float).eps)

MOST_ON_GRIDS = 3
"""So many tokens are integrated over on product grids; more are sampled."""

FINE, COARSE = (12, 41), (8, 15)
ROUGH = {FINE: (7, 29), COARSE: (6, 13)}
"""Nodes in a panel and panel ends of a product grid, and of the one that tells its error."""

SAMPLES, SHIFTS = 2**10, 6
"""Sobol points of one scrambling, and scramblings."""

REACH = 1e6, 1e8
"""Distances at which an integrand that has a mean falls faster than 1/|x|."""


@dataclass(frozen=True)
class Mean:
    """E_0[g] with the error of the quadrature, infinite where the mean diverges, and the least g or g p_0 that was seen."""

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
    if int(law.length) > MOST_ON_GRIDS:
        return _sampled(law, values)
    size = FINE if int(law.length) <= 2 else COARSE
    mean, rough = (_on_grid(law, values, *grid) for grid in (size, ROUGH[size]))
    return Mean(mean.value, abs(mean.value - rough.value), min(mean.lowest, rough.lowest))


def lowest_kernel(law: SequenceLaw, values: Mapping[Expr, float]) -> float:
    """The least value of the kernel w of a selection g = L w(chi_eps)/sum_l w(chi_l) on the token's support."""
    nodes, _ = _nodes(law, values, *FINE)
    with np.errstate(all="ignore"):
        table = np.broadcast_to(compiled((x, *values), law.posterior_kernel)(nodes, *values.values()), nodes.shape)
    return float(np.nanmin(table))


@lru_cache(maxsize=256)
def compiled(symbols: tuple[Expr, ...], expr: Expr) -> Callable[..., np.ndarray]:
    """A numpy function of the symbols in order."""
    letters = _letters(symbols)
    expr = in_float64(expr.xreplace(letters))
    # SciPy is loaded for special functions only, so that the catalogue imports quickly
    plain = all(hasattr(np, node.func.__name__.lower()) for node in expr.atoms(Function) - expr.atoms(Piecewise))
    return lambdify(list(letters.values()), expr, "numpy" if plain else "scipy")


def _letters(symbols: tuple[Expr, ...]) -> dict[Expr, Symbol]:
    """Letters instead of symbols, of which two may share a name.

    A letter is known to be what its symbol is: else SymPy would look for the signs and the real parts of everything anew. And it
    has a plain name: in the place of any other ``lambdify`` puts a letter of which nothing is known.
    """
    return {symbol: Symbol(f"letter_{place}", **symbol.assumptions0) for place, symbol in enumerate(symbols)}


def far_nodes(low: float, high: float, furthest: float = 14.5) -> np.ndarray:
    """Points of the support up to 1e6 in size (the logarithm of the furthest may be given), 1 % apart."""
    points = np.sinh(np.linspace(-furthest, furthest, 2 * int(100 * furthest) + 1))
    inside = points[(points > low) & (points < high)]
    return inside if inside.size else np.array([(low + high) / 2])


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
    """A weight of the relevant token alone: density and weight are merged, since either may overflow by itself."""
    merged = _merged(law)
    plain, exact = compiled((x, *values), merged), _in_mpmath(merged, (x, *values))
    given = tuple(values.values())

    def integrand(point: float) -> float:
        try:
            value = float(plain(np.float64(point), *given))
        except (OverflowError, ZeroDivisionError):
            value = np.nan
        return value if np.isfinite(value) else exact(point, *given)

    low, high = _ends(law, values)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an integral that does not converge is told by its error
        peaks, rounding = _peaks(law, values, low, high)
        diverges = _diverges(integrand, low, high)
        if not diverges and (not peaks or rounding > 1.0):
            return Mean(0.0, np.inf, 0.0)
        from scipy.integrate import quad

        panels = [quad(integrand, *ends, limit=300)[:2] for ends in _pieces(low, high, peaks)]
        nodes, _ = _nodes(law, values, *FINE)
        lowest = np.broadcast_to(np.asarray(plain(nodes, *given), dtype=float), nodes.shape)
        mean, error = (sum(column) for column in zip(*panels, strict=True))
        least = float(np.min(lowest[np.isfinite(lowest)], initial=np.inf))
        if diverges or (least >= 0 > mean):  # beside a pole quad may return anything
            mean = np.inf
    return Mean(mean, error + rounding * abs(mean), least)


def _peaks(law: SequenceLaw, values: Mapping[Expr, float], low: float, high: float) -> tuple[list[float], float]:
    """The highest places of density times weight, however far apart, and the relative rounding error of the function there.

    They are told from the logarithm of the largest term, which is seen from afar.
    """
    size = _log_size(law, tuple(values))

    def logs(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        both = np.broadcast_to(np.array(np.broadcast_arrays(*size(points, *values.values()))), (2, len(points)))
        return np.where(np.isfinite(both[0]), both[0], -np.inf), both[1]

    wide = far_nodes(low, high, FURTHEST)
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
        found.append((float(heights[best]), float(near[best]), float(sizes[best])))
    top = max((height for height, _, _ in found), default=-np.inf)
    kept = [item for item in found if item[0] > top - DEEP]
    return [place for _, place, _ in kept], EPS * max((size for _, _, size in kept), default=0.0)


@lru_cache(maxsize=256)
def _log_size(law: SequenceLaw, parameters: tuple[Expr, ...]) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """log of the largest term of density times weight, and the sum of the sizes of what stands in its exponent."""
    found, sizes = [], []
    for term in Add.make_args(_merged(law)):
        factors = Mul.make_args(term)
        exponents = (factor.exp for factor in factors if isinstance(factor, exp))
        exponent = Add(*exponents).expand()  # so that squares cancel exactly
        rest = Mul(*(factor for factor in factors if not isinstance(factor, exp)))
        if (height := log(Abs(rest))) is S.ComplexInfinity:  # a sum over tokens of 0
            continue
        found.append(exponent + height)
        sizes.append(Add(*(Abs(part) for part in Add.make_args(exponent))))
    functions = [(compiled((x, *parameters), f), compiled((x, *parameters), s)) for f, s in zip(found, sizes)]

    def largest(points: np.ndarray, *given: float) -> tuple[np.ndarray, np.ndarray]:
        pairs = [[np.broadcast_to(part(points, *given), points.shape) for part in pair] for pair in functions]
        return np.fmax.reduce([pair[0] for pair in pairs]), np.fmax.reduce([pair[1] for pair in pairs])

    return largest


@lru_cache(maxsize=256)
def _merged(law: SequenceLaw) -> Expr:
    """Density times weight as a sum in which the exponentials of a term are one."""
    weight = law.relevant_factor
    assert weight is not None
    factor = weight.replace(lambda node: isinstance(node, (cosh, sinh)), lambda node: node.rewrite(exp))
    return expand_mul(law.base.density * expand_multinomial(factor))


def _in_mpmath(expr: Expr, symbols: tuple[Expr, ...]) -> Callable[..., float]:
    """The same function where float64 overflows on the way; not a number where mpmath has none either."""

    @cache  # made where it is asked for: hardly any weight overflows
    def function() -> Callable[..., mpmath.mpf]:
        letters = _letters(symbols)
        return lambdify(list(letters.values()), expr.xreplace(letters), "mpmath")

    def at(*point: float) -> float:
        made = function()
        try:
            return float(made(*map(mpmath.mpf, point)))
        except (OverflowError, ZeroDivisionError, ValueError, TypeError):
            return float("nan")

    return at


def _diverges(integrand: Callable[[float], float], low: float, high: float) -> bool:
    for side, end in ((-1.0, low), (1.0, high)):
        near, far = (abs(integrand(side * distance)) * distance for distance in REACH)
        if np.isinf(end) and not (far < near or far == 0):
            return True
    return False


def _ends(law: SequenceLaw, values: Mapping[Expr, float]) -> tuple[float, float]:
    low, high = (float(end.subs(values)) for end in (law.base.lower, law.base.upper))
    return low, high


def _pieces(low: float, high: float, peaks: list[float]) -> list[tuple[float, float]]:
    """The support, cut where densities bend, where their mass usually ends, and around the highest points."""
    cuts = {-30.0, -6.0, 0.0, 6.0, 30.0, *(p + side * width for p in peaks for side in (-1, 1) for width in WIDTHS)}
    return list(itertools.pairwise([low, *sorted(cut for cut in cuts if low < cut < high), high]))


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
