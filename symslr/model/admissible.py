"""Is the input a model at all? A weight must be a density (mean 1, nonnegative), a normaliser must not vanish.

These are input checks in float64, at a few values of the free parameters; the theory's numbers are made elsewhere.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from sympy import Expr, S, Sum, expand, lambdify, oo, powsimp

from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, x

MEAN_TOLERANCE = 1e-6
"""The product rule below is exact to 1e-10 for smooth weights, to 1e-7 for weights with kinks."""

PARAMETER_VALUES = (0.7, 1.3)


def check_mean_one(law: SequenceLaw) -> None:
    """Refuse a weight with E_0[g] != 1 or g < 0 somewhere, at two values of its parameters and L = 2, 3.

    Raises:
        ValueError: with the mean that was found and how to mend it.
    """
    if law.base != STANDARD_NORMAL:
        check_density(law.base)
    if law.is_selection:
        return  # sum_l g(l, chi) = L at every chi, so the mean is 1 by symmetry
    parameters = sorted(law.free_symbols - {L}, key=str)
    for value, length in itertools.product(PARAMETER_VALUES, (2, 3)):
        values = {s: value + index / 8 for index, s in enumerate(parameters)}
        mean, lowest = _mean_and_minimum(law.subs({L: length}), values)
        at = ", ".join([f"L={length}", *(f"{s}={v:g}" for s, v in values.items())])
        if not np.isfinite(mean):
            raise ValueError(f"weight {law.weight}: found no finite mean under the token law ({at}); expected mean 1")
        if lowest < -1e-12:
            raise ValueError(f"weight {law.weight}: found the negative value {lowest:.4g} ({at}); expected g >= 0")
        if abs(mean - 1) > MEAN_TOLERANCE:
            raise ValueError(
                f"weight {law.weight}: found mean {mean:.6g} ({at}); expected 1, so divide the weight by it"
            )


def check_density(law: ScalarLaw) -> None:
    """Refuse a token law whose density does not integrate to 1.

    Raises:
        ValueError: with the mass that was found.
    """
    for value in PARAMETER_VALUES:
        values = {s: value + index / 8 for index, s in enumerate(sorted(law.free_symbols, key=str))}
        mass, lowest = _one_token(SequenceLaw(S.One, 2, law), values)
        if not abs(mass - 1) < MEAN_TOLERANCE or lowest < 0:
            raise ValueError(f"token law {law.density}: found total mass {mass:.6g}; expected a density with mass 1")


def _mean_and_minimum(law: SequenceLaw, values: dict[Expr, float]) -> tuple[float, float]:
    if law.relevant_factor is not None:
        return _one_token(law, values)
    length = int(law.length)
    tokens = [f"t{i}" for i in range(1, length + 1)]
    weight = law.weight.xreplace({s: s.doit() for s in law.weight.atoms(Sum)}).subs(epsilon, 1)
    symbols = {chi[i]: x.func(name) for i, name in zip(range(1, length + 1), tokens, strict=True)}
    density = lambdify([x, *values], law.base.density, "scipy")
    function = lambdify([*symbols.values(), *values], weight.subs(symbols), "scipy")
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


def _one_token(law: SequenceLaw, values: dict[Expr, float]) -> tuple[float, float]:
    """A weight of the relevant token alone: density and weight are merged first, since either may overflow by itself."""
    merged = lambdify([x, *values], powsimp(expand(law.base.density) * expand(law.relevant_factor)), "scipy")
    nodes, steps = _nodes(law, values)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an integral that does not converge is reported by its value
        low, high = (float(end.subs(values)) for end in (law.base.lower, law.base.upper))
        mean = sum(quad(merged, *ends, tuple(values.values()), limit=300)[0] for ends in _pieces(low, high))
        table = np.broadcast_to(merged(nodes, *values.values()), nodes.shape)
    return mean, float(np.min(table[np.isfinite(table)]))


def _pieces(low: float, high: float) -> list[tuple[float, float]]:
    """The support, cut where densities bend and where their mass usually ends."""
    cuts = [low, *(cut for cut in (-30.0, -6.0, 0.0, 6.0, 30.0) if low < cut < high), high]
    return list(itertools.pairwise(cuts))


def _nodes(law: SequenceLaw, values: dict[Expr, float]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and steps on the support: x = sinh t reaches heavy tails, Gauss-Legendre panels meet at the kink x = 0."""
    low, high = (float(end.subs(values)) for end in (law.base.lower, law.base.upper))
    few = int(law.length) > 2
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


def check_positive_kernel(kernel: Expr, parameters: set[Expr]) -> None:
    """Refuse a kernel that is negative or zero somewhere on the line, so that its normaliser can vanish.

    Raises:
        ValueError: naming the point where the kernel fails.
    """
    values = {s: 1.0 for s in parameters}
    function = lambdify([x, *values], kernel, "scipy")

    def at(point: float) -> float:
        with np.errstate(all="ignore"):
            return float(np.real(function(np.float64(point), *values.values())))

    grid = np.linspace(-20, 20, 1601)
    table = np.array([at(point) for point in grid])
    if np.any(np.isnan(table)):
        raise ValueError(
            f"kernel {kernel}: not a real number at x = {grid[np.isnan(table)][0]:g}; expected one for every x"
        )
    mend = "add an offset, or use normalise none"
    if np.any(table < 0):
        raise ValueError(
            f"kernel {kernel}: negative at x = {grid[table < 0][0]:g}, so its normaliser can vanish; {mend}"
        )
    for i in np.flatnonzero((table[1:-1] <= table[:-2]) & (table[1:-1] <= table[2:])) + 1:
        bracket = (grid[i - 1], grid[i + 1])
        best = minimize_scalar(at, bounds=bracket, method="bounded", options={"xatol": 1e-12})
        lowest = min(table[i], best.fun)
        if lowest <= 1e-9 * max(table[i - 1], table[i + 1]) or (lowest == 0 and abs(grid[i]) < 8):
            place = grid[i] if table[i] <= best.fun else best.x
            raise ValueError(f"kernel {kernel}: vanishes at x = {place:.4g}, so its normaliser can vanish; {mend}")
