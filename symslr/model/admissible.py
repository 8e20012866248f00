"""Is the input a model at all? A weight must be a density (mean 1, nonnegative), a normaliser must not vanish.

These are input checks in float64, at a few values of the free parameters; the theory's numbers are made elsewhere.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from sympy import Dummy, Expr, Function, Piecewise, Pow, Rational, S, Sum, expand, lambdify, oo, powsimp

from symslr.model.form import check_parameters, check_weight
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, x

MEAN_TOLERANCE = 1e-6
"""The product rule below is exact to 1e-10 for smooth weights, to 1e-7 for weights with kinks."""

PARAMETER_VALUES = (0.7, 1.3)

NEIGHBOURS = (Rational(1, 10**9), Rational(1, 10**6), Rational(1, 10**3))
"""How far beside 0, where a kernel vanishes, it is asked whether the kernel vanishes there too."""

WIDTHS = tuple(10.0**power for power in range(-5, 5))
"""Distances from a peak at which the quadrature is cut: a narrow or a distant peak is not stepped over."""


def check_mean_one(law: SequenceLaw) -> None:
    """Refuse a weight with E_0[g] != 1 or g < 0 somewhere, at two values of its parameters and L = 2, 3.

    Raises:
        ValueError: with the mean that was found and how to mend it.
    """
    if law.base != STANDARD_NORMAL:
        check_density(law.base)
    check_weight(law.weight)
    if law.selects_largest:
        return
    parameters = sorted(law.free_symbols - {L}, key=str)
    selection = law.is_selection  # then sum_l g(l, chi) = L at every chi, so the mean is 1 by symmetry
    for value, length in itertools.product(PARAMETER_VALUES, (2, 3)):
        values = {s: value + index / 8 for index, s in enumerate(parameters)}
        at = ", ".join([f"L={length}", *(f"{s}={v:g}" for s, v in values.items())])
        try:
            mean, lowest = (
                (1.0, _lowest(law, values)) if selection else _mean_and_minimum(law.subs({L: length}), values)
            )
        except OverflowError:
            raise ValueError(f"weight {law.weight}: holds a number beyond 1e308; expected smaller ones") from None
        if not np.isfinite(mean):
            raise ValueError(f"weight {law.weight}: found no finite mean under the token law ({at}); expected mean 1")
        if not lowest >= -1e-12:
            raise ValueError(f"weight {law.weight}: found the negative value {lowest:.4g} ({at}); expected g >= 0")
        if abs(mean - 1) > MEAN_TOLERANCE:
            raise ValueError(
                f"weight {law.weight}: found mean {mean:.6g} ({at}); expected 1, so divide the weight by it"
            )


def check_density(law: ScalarLaw) -> None:
    """Refuse a token law whose density is negative somewhere or does not integrate to 1.

    Raises:
        ValueError: with the mass that was found.
    """
    check_parameters(law.density, "token law", allowed={x})
    for value in PARAMETER_VALUES:
        values = {s: value + index / 8 for index, s in enumerate(sorted(law.free_symbols, key=str))}
        try:
            mass, lowest = _one_token(SequenceLaw(S.One, 2, law), values)
        except OverflowError:
            raise ValueError(f"token law {law.density}: holds a number beyond 1e308; expected smaller ones") from None
        if not lowest >= 0:
            raise ValueError(f"token law {law.density}: found the negative value {lowest:.4g}; expected a density")
        if np.isnan(mass):
            raise ValueError(
                f"token law {law.density}: not a number somewhere on ({law.lower}, {law.upper}); expected a density "
                "there, or a support that leaves such places out"
            )
        if not abs(mass - 1) < MEAN_TOLERANCE:
            raise ValueError(f"token law {law.density}: found total mass {mass:.6g}; expected a density with mass 1")


def _compiled(symbols: list[Expr], expr: Expr) -> Callable[..., np.ndarray]:
    """A numpy function of the symbols in order; letters of its own, since two symbols may share a name."""
    letters = {symbol: Dummy() for symbol in symbols}
    expr = expr.xreplace(
        {power: power.evalf(17) for power in expr.atoms(Pow) if power.is_number}
    )  # numpy has no big roots
    # SciPy is loaded for special functions only, so that the catalogue imports quickly
    plain = all(hasattr(np, node.func.__name__.lower()) for node in expr.atoms(Function) - expr.atoms(Piecewise))
    return lambdify(list(letters.values()), expr.xreplace(letters), "numpy" if plain else "scipy")


def _mean_and_minimum(law: SequenceLaw, values: Mapping[Expr, float]) -> tuple[float, float]:
    if law.relevant_factor is not None:
        return _one_token(law, values)
    length = int(law.length)
    weight = law.weight.xreplace({s: s.doit() for s in law.weight.atoms(Sum)}).subs(epsilon, 1)
    tokens = [Dummy() for _ in range(length)]
    density = _compiled([x, *values], law.base.density)
    function = _compiled([*tokens, *values], weight.xreplace({chi[i + 1]: t for i, t in enumerate(tokens)}))
    nodes, steps = _nodes(law, values)
    with np.errstate(all="ignore"):
        mass = steps * density(nodes, *values.values())
        grids = np.meshgrid(*[nodes] * length, indexing="ij", sparse=True)
        table = np.broadcast_to(function(*grids, *values.values()), (len(nodes),) * length)
        probability = 1.0
        for axis in range(length):
            probability = probability * mass.reshape([-1 if i == axis else 1 for i in range(length)])
        relevant = probability > 0
        return float(np.sum(np.where(relevant, table * probability, 0))), float(np.min(table[relevant]))


def _lowest(law: SequenceLaw, values: Mapping[Expr, float]) -> float:
    """The lowest value of the kernel w of a selection g = L w(chi_eps)/sum_l w(chi_l) on the token's support."""
    nodes, _ = _nodes(law, values)
    with np.errstate(all="ignore"):
        table = np.broadcast_to(_compiled([x, *values], law.posterior_kernel)(nodes, *values.values()), nodes.shape)
    return float(np.nanmin(table))


def _one_token(law: SequenceLaw, values: Mapping[Expr, float]) -> tuple[float, float]:
    """A weight of the relevant token alone: density and weight are merged, since either may overflow by itself."""
    merged = _compiled([x, *values], powsimp(expand(law.base.density) * expand(law.relevant_factor)))
    nodes, _ = _nodes(law, values)
    low, high = (float(end.subs(values)) for end in (law.base.lower, law.base.upper))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an integral that does not converge is reported by its value and error
        wide = _far_nodes(low, high)
        table = np.broadcast_to(merged(wide, *values.values()), wide.shape)
        peak = float(wide[np.argmax(np.where(np.isfinite(table), table, -np.inf))])
        from scipy.integrate import quad

        panels = [quad(merged, *ends, tuple(values.values()), limit=300)[:2] for ends in _pieces(low, high, peak)]
        lowest = np.broadcast_to(merged(nodes, *values.values()), nodes.shape)
    mean, error = (sum(column) for column in zip(*panels, strict=True))
    if error > 1e-3 * max(1.0, abs(mean)):
        mean = np.inf
    return mean, float(np.min(lowest[np.isfinite(lowest)], initial=np.inf))


def _far_nodes(low: float, high: float) -> np.ndarray:
    """Points of the support up to 1e6 in size, 1 % apart, where a peak is looked for."""
    points = np.sinh(np.linspace(-14.5, 14.5, 2901))
    inside = points[(points > low) & (points < high)]
    return inside if inside.size else np.array([(low + high) / 2])


def _pieces(low: float, high: float, peak: float) -> list[tuple[float, float]]:
    """The support, cut where densities bend, where their mass usually ends, and around the highest point."""
    cuts = {-30.0, -6.0, 0.0, 6.0, 30.0, *(peak + side * width for side in (-1, 1) for width in WIDTHS)}
    return list(itertools.pairwise([low, *sorted(cut for cut in cuts if low < cut < high), high]))


def _nodes(law: SequenceLaw, values: Mapping[Expr, float]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and steps on the support: x = sinh t reaches heavy tails, Gauss-Legendre panels meet at the kink x = 0."""
    low, high = (float(end.subs(values)) for end in (law.base.lower, law.base.upper))
    few = int(law.length) > 2 if law.length.is_Integer else True
    points, weights = np.polynomial.legendre.leggauss(8 if few else 12)
    reach = 7.0 if few else 12.0
    edges = np.linspace(-reach, reach, 15 if few else 41)
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


def check_kernel(kernel: Expr, parameters: set[Expr], *, normalised: bool, may_vanish: bool) -> None:
    """Refuse a kernel that is not real on the line; under a normaliser, one that is negative or,
    without an offset, vanishes elsewhere than at x = 0.

    Raises:
        ValueError: naming the point where the kernel fails.
    """
    values = dict.fromkeys(parameters, 1.0)
    function = _compiled([x, *values], kernel)

    def at(points: np.ndarray | np.float64) -> np.ndarray:
        with np.errstate(all="ignore"):
            try:
                return np.broadcast_to(np.real(function(points, *values.values())), np.shape(points)).astype(float)
            except OverflowError:
                raise ValueError(f"kernel {kernel}: holds a number beyond 1e308; expected smaller ones") from None

    def value_at(point: float) -> float:
        return float(at(np.float64(point)))

    grid = np.linspace(-20, 20, 1601)
    table = at(grid)
    if np.any(np.isnan(table)):
        raise ValueError(
            f"kernel {kernel}: not a real number at x = {grid[np.isnan(table)][0]:g}; expected one for every x"
        )
    if not normalised:
        return
    mend = "add an offset, or use normalise none"
    far = np.concatenate([grid, _far_nodes(-1e4, 1e4)])
    negative = far[at(far) < 0]
    if negative.size:
        mend = "use normalise none" if may_vanish else mend
        raise ValueError(f"kernel {kernel}: negative at x = {negative[0]:g}, so its normaliser can vanish; {mend}")
    if may_vanish:
        return
    for i in np.flatnonzero((table[1:-1] <= table[:-2]) & (table[1:-1] <= table[2:])) + 1:
        from scipy.optimize import minimize_scalar

        best = minimize_scalar(value_at, bounds=(grid[i - 1], grid[i + 1]), method="bounded", options={"xatol": 1e-12})
        place = float(grid[i] if table[i] <= best.fun else best.x)
        lowest = min(table[i], best.fun)
        if lowest <= 1e-9 * max(table[i - 1], table[i + 1]) and not _harmless(
            kernel, values, place, grid[i - 1 : i + 2]
        ):
            raise ValueError(f"kernel {kernel}: vanishes at x = {place:.4g}, so its normaliser can vanish; {mend}")


@cache
def check_nonnegative(kernel: Expr) -> None:
    """Refuse a function of ``x`` that is negative somewhere on the line, whatever it is called.

    Raises:
        ValueError: naming the point where it is negative.
    """
    if not kernel.is_nonnegative:
        check_kernel(kernel, kernel.free_symbols - {x}, normalised=True, may_vanish=True)


def _harmless(kernel: Expr, values: Mapping[Expr, float], place: float, around: np.ndarray) -> bool:
    """Whether the kernel in 30 digits is something after all, where float64 underflows, or nothing at the point 0 alone.

    No token lies at a point, and tokens near 0 keep all their digits; those near another zero do not.
    """
    fixed = kernel.subs({s: Rational(v) for s, v in values.items()})

    def at(point: Expr) -> Expr:
        return fixed.subs(x, point).evalf(30)

    lowest, *sides = (at(Rational(float(point))) for point in (place, around[0], around[-1]))
    if all(value.is_comparable for value in (lowest, *sides)) and lowest > 1e-9 * min(sides):
        return True
    return abs(place) < 1e-6 and at(S.Zero) == 0 and all(at(side * step) > 0 for side in (-1, 1) for step in NEIGHBOURS)
