"""Tabulated inversion of a density: heavy tails, kinks, jumps, integrable poles, finite support."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, ndtr
from sympy import Expr

from symslr.model.symbols import x
from symslr.simulate.log_domain import Array, plain

MASS_TOLERANCE = 1e-6
"""A Monte Carlo run would need 1e12 samples to see mass misplaced by this much."""

PANEL_TOLERANCE = 1e-11
MOST_NODES = 2_000_000
MOST_ROUNDS = 80


@dataclass(frozen=True)
class TabulatedToken:
    """The law whose density in s, x = unfold(s), is linear between ``nodes``; its inverse is exact.

    Attributes:
        nodes, density, cumulative: s, density in s, and P(S <= s), arrays of one shape.
        error: mass misplaced in all, as measured by Simpson's rule against the trapezoid rule.
    """

    nodes: Array
    density: Array
    cumulative: Array
    unfold: Callable[[Array], Array]
    error: float

    def transport(self, t: Array) -> Array:
        """A draw of the law from t ~ N(0, 1), of the same shape."""
        return self.quantile(ndtr(t))

    def quantile(self, u: Array) -> Array:
        """The x with P(X <= x) = u, for u in (0, 1)."""
        panel = np.clip(np.searchsorted(self.cumulative, u, side="right") - 1, 0, len(self.nodes) - 2)
        left, right = self.density[panel], self.density[panel + 1]
        width = self.nodes[panel + 1] - self.nodes[panel]
        rest = np.maximum(u - self.cumulative[panel], 0.0)
        total = left + np.sqrt(np.maximum(left**2 + 2 * (right - left) * rest / width, 0.0))
        step = 2 * rest / np.where(total > 0, total, np.inf)
        return self.unfold(self.nodes[panel] + np.minimum(step, width))


def tabulate(log_density: Expr, low: float, high: float) -> TabulatedToken:
    """Table of exp(log_density) on (low, high), refined until no panel misplaces more than 1e-11 of mass.

    Raises:
        ValueError: when the mass is not 1, or the table does not settle.
    """
    unfold, log_slope, ends = _fold(low, high)
    function = plain(log_density, (x,))

    def log_mass(s: Array) -> Array:
        with np.errstate(all="ignore"):
            value = function(unfold(s)) + log_slope(s)
        return np.where(np.isnan(value), -np.inf, value)  # inf - inf far in a tail; what is lost shows in the mass

    nodes = _first_nodes(log_mass, ends)
    logs = log_mass(nodes)
    nodes, logs = nodes[logs < np.inf], logs[logs < np.inf]
    top = float(logs.max(initial=-np.inf))
    if not np.isfinite(top):
        raise ValueError(f"token density with logarithm {log_density}: found no positive value on ({low:g}, {high:g})")
    nodes, density, error = _refined(nodes, np.exp(logs - top), lambda s: np.exp(log_mass(s) - top))
    panels = np.diff(nodes) * (density[1:] + density[:-1]) / 2
    total = panels.sum()
    with np.errstate(over="ignore"):
        mass, error = total * np.exp(top), error / total
    if not abs(mass - 1) < MASS_TOLERANCE or not error < MASS_TOLERANCE:
        found = f"found total mass {mass:.8g}, of which {error:.1g} is unresolved"
        raise ValueError(f"token density with logarithm {log_density}: {found}; expected 1, so divide the weight by it")
    return TabulatedToken(nodes, density / total, np.concatenate([[0.0], np.cumsum(panels) / total]), unfold, error)


Map = Callable[[Array], Array]


def _fold(low: float, high: float) -> tuple[Map, Map, tuple[float, float]]:
    """x = unfold(s), log dx/ds and the range of s: exponential ends reach a tail x^-1.5 or a pole."""
    if np.isinf(low) and np.isinf(high):
        return np.sinh, lambda s: np.logaddexp(s, -s) - np.log(2), (-90.0, 90.1)
    if np.isinf(high):
        return lambda s: low + np.exp(s), lambda s: s, (-90.0, 90.1)
    if np.isinf(low):
        return lambda s: high - np.exp(-s), lambda s: -s, (-90.0, 90.1)
    span = high - low
    return (
        lambda s: np.where(s < 0, low + span * expit(s), high - span * expit(-s)),
        lambda s: np.log(span) + log_expit(s) + log_expit(-s),
        (-90.0, 90.1),
    )


def _first_nodes(log_mass: Map, ends: tuple[float, float]) -> Array:
    """An even mesh, and a geometric ladder around every peak: one narrower than the mesh shows in the log."""
    even = np.linspace(*ends, 9001)
    logs = np.nan_to_num(log_mass(even), posinf=1e300, neginf=-1e300)
    peaks = np.flatnonzero((logs[1:-1] >= logs[:-2]) & (logs[1:-1] > logs[2:])) + 1
    ladder = (even[1] - even[0]) * np.logspace(-14, 0, 57)
    nodes, floor = [even], float(logs.max()) - 1e6  # infinities upset the bounded minimiser

    def height(s: float) -> float:
        return max(float(log_mass(np.array([s]))[0]), floor)

    for peak in sorted(peaks, key=lambda i: -logs[i])[:20]:
        bracket = (even[peak - 1], even[peak + 1])
        best = minimize_scalar(lambda s: -height(s), bounds=bracket, method="bounded", options={"xatol": 1e-14})
        nodes += [best.x - ladder, np.array([best.x]), best.x + ladder]
    return np.unique(np.concatenate(nodes))


def _refined(nodes: Array, density: Array, function: Map) -> tuple[Array, Array, float]:
    """Nodes, density and misplaced mass after bisecting every panel where the trapezoid rule is off."""
    total = float(np.sum(np.diff(nodes) * (density[1:] + density[:-1]) / 2))
    settled, unsettled = 0.0, np.ones(len(nodes) - 1, dtype=bool)
    for _ in range(MOST_ROUNDS):
        if not unsettled.any():
            break
        if len(nodes) > MOST_NODES:
            raise ValueError(
                f"token density: its table did not settle within {MOST_NODES} nodes; expected a smoother law"
            )
        at = np.flatnonzero(unsettled)
        middle = (nodes[at] + nodes[at + 1]) / 2
        value = function(middle)
        usable = (middle > nodes[at]) & (middle < nodes[at + 1]) & (value < np.inf)
        gap = np.where(usable, np.abs(4 * value - 2 * density[at] - 2 * density[at + 1]), 0.0)
        wrong = gap * (nodes[at + 1] - nodes[at]) / 6
        split = wrong > PANEL_TOLERANCE * total
        settled += float(wrong[~split].sum())
        grown = np.ones(len(nodes), dtype=int)
        grown[at[split]] += 1
        positions = np.cumsum(grown) - grown
        merged, values = np.empty(grown.sum()), np.empty(grown.sum())
        merged[positions], values[positions] = nodes, density
        new = positions[at[split]] + 1
        merged[new], values[new] = middle[split], value[split]
        nodes, density = merged, values
        unsettled = np.zeros(len(nodes) - 1, dtype=bool)
        unsettled[new - 1] = unsettled[new] = True
    return nodes, density, settled
