"""Quadrature over one token's key, and the one-token moments E[(u kappa)^j e^{-u kappa(chi)}], j = 0, 1, 2, on a grid of log u."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import factorial
from typing import Any

import numpy as np
from numpy.polynomial import legendre

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.setting import Setting

REACH, REACH_STEP, LARGEST_REACH = 9.0, 3.0, 33.0
"""Range of a key in standard deviations, beyond which its density is below 1e-17; the increment of that range where a function
grows; and its largest value, near which the density underflows."""
PROBE_STEP = 0.5
"""Step, in standard deviations, of the coarse grid on which the range of a function is determined."""
OUTSIDE = 1e-18
"""Share of a mean square that may lie outside the range."""
MOST_NODES = 4_000_000
"""Most nodes of a grid over one token's key: 32 MB for every function on it."""
BLOCK = 2**22
"""Array entries held at once."""
LEAST_LEFT = 1e-18
"""E[e^{-u kappa}] is replaced by this where it is smaller: its relative digits are lost, and products of several tokens are 0."""
ORDER = 12
"""Points of the local Lagrange interpolation in log u."""
BARYCENTRIC = np.array([(-1.0) ** (ORDER - 1 - k) / (factorial(k) * factorial(ORDER - 1 - k)) for k in range(ORDER)])
"""Barycentric weights 1/prod_m (k - m), over the other points m."""
FINEST = 1 / 24
"""Step of log u + log kappa at which the interpolation is exact to rounding: its error is 5e-5 step^12 times the twelfth
derivative, which is below 1e6."""
LEAST_LOG_LOAD, LARGEST_LOG_LOAD = -75.0, 6.6
"""log(u kappa) below which e^{-u kappa} is 1 to 1e-32, and above which it is 0."""


@dataclass(frozen=True)
class Nodes:
    """A quadrature over one token's key.

    Attributes:
        keys: nodes, (n, p).
        others, relevant: masses of an irrelevant and of a relevant token there, (n,) each.
    """

    keys: Any
    others: Any
    relevant: Any

    @classmethod
    def of(cls, setting: Setting, keys: Any, weights: Any = 1.0, least: float = 0.0) -> Nodes:
        """Normalised masses at keys (n, p) for a rule with these weights; nodes of mass ``least`` or less are dropped."""
        others, relevant = (density * weights for density in densities(setting, keys))
        others, relevant = others / others.sum(), relevant / relevant.sum()
        kept = others + relevant > least
        return cls(keys[kept], others[kept], relevant[kept])


def densities(setting: Setting, keys: Any) -> tuple[Any, Any]:
    """Densities of an irrelevant and of a relevant token at keys (..., p), in units of the maximum of the normal density."""

    def normal(centre: Any) -> Any:
        return np.exp(-np.sum((keys - centre) ** 2, axis=-1) / 2)

    centres = np.sqrt(setting.strength) * setting.values
    return normal(0.0), sum(share * normal(centre) for share, centre in zip(setting.shares, centres))


LEAST_MASS = 1e-20
"""Nodes of less mass are dropped: ``MOST_NODES`` of them hold less than 1e-13 together."""


def nodes(setting: Setting, step: float, least: float = LEAST_MASS, reach: float = REACH) -> Nodes:
    """A trapezoid rule over one token's key in every direction, without nodes of mass ``least`` or less.

    Args:
        step: in standard deviations.
        reach: range in standard deviations beyond the smallest and the largest mean of a key.

    Raises:
        CannotEvaluate: for more than ``MOST_NODES`` nodes.
    """
    axes = []
    for low, high in zip(*means_of(setting)):
        first, last = int(np.floor((low - reach) / step)), int(np.ceil((high + reach) / step))
        axes.append(step * np.arange(first, last + 1))
    if np.prod([float(len(axis)) for axis in axes]) > MOST_NODES:
        raise CannotEvaluate(f"found keys along {setting.directions} directions; too many for a grid over one token")
    keys = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=-1)
    return Nodes.of(setting, keys, least=least)


def mean_square_reach(setting: Setting, function: Callable[[Any], Any]) -> float:
    """Range, in standard deviations beyond the means of a key, that holds the mean square of a function of it.

    The integrand exp(2 a x) times the density has its maximum at 2 a, outside the range of the density if a is large.

    Raises:
        CannotEvaluate: for a function that grows as fast as the density falls.
    """
    low, high = means_of(setting)
    reach = REACH
    while reach <= LARGEST_REACH:
        found = nodes(setting, PROBE_STEP, 0.0, reach + REACH_STEP)
        off = np.any(found.keys != 0, axis=1)  # at the origin there may be a pole
        keys, mass = found.keys[off], (found.others + found.relevant)[off]
        parts = function(keys) ** 2 * mass
        outside = np.any((keys < low - reach) | (keys > high + reach), axis=1)
        if np.sum(parts[outside]) <= OUTSIDE * np.sum(parts):
            return reach
        reach += REACH_STEP
    raise CannotEvaluate(
        "attention: its mean square has no value seen in float64: it grows about as fast as tokens become rare"
    )


def means_of(setting: Setting) -> tuple[Any, Any]:
    """The smallest and the largest mean of a token's key in every direction, (p,) each."""
    shift = np.sqrt(setting.strength) * setting.values
    return np.minimum(shift.min(axis=0), 0), np.maximum(shift.max(axis=0), 0)


LEAST_KEY = -690.0
"""log |key| of the node nearest to a pole: exp(-690) = 1e-300, near the end of float64."""


def nodes_around_zero(setting: Setting, step: float, reach: float) -> Nodes:
    """A trapezoid rule over log |key| on both sides of 0, for a kernel with a pole or kink there, along one direction."""
    furthest = reach + np.sqrt(setting.strength) * np.max(np.abs(setting.values))
    log = step * np.arange(int(LEAST_KEY / step), int(np.ceil(np.log(furthest) / step)) + 1)
    keys = np.concatenate([-np.exp(log), np.exp(log)])
    return Nodes.of(setting, keys[:, None], np.abs(keys), -1.0)


@dataclass(frozen=True)
class Table:
    """One-token moments at values of log u.

    Attributes:
        logs: log u, (n,).
        others, relevant: E[(u kappa)^j e^{-u kappa}], j = 0, 1, 2, for an irrelevant and a relevant token, (3, n) each.
        log_others, log_relevant: log E[e^{-u kappa}], accurate also where the mean is near 1: it is raised to the length.
    """

    logs: Any
    others: Any
    relevant: Any
    log_others: Any
    log_relevant: Any


def lagrange(at: Any) -> tuple[Any, Any]:
    """Lagrange interpolation on the integers: the first of ``ORDER`` integers around each number (...), and weights (...,
    ORDER)."""
    first = np.floor(at).astype(int) - ORDER // 2 + 1
    fraction = at - first
    shares = np.ones((ORDER, *np.shape(at)))
    before, after = np.ones(np.shape(at)), np.ones(np.shape(at))
    for own, other in zip(range(ORDER), reversed(range(ORDER))):
        shares[own] *= before
        shares[other] *= after
        before, after = before * (fraction - own), after * (fraction - other)
    return first, np.moveaxis(shares, 0, -1) * BARYCENTRIC


@dataclass(frozen=True)
class LogKernelLaw:
    """The law of v = log kappa as masses on a uniform grid, which is all that the one-token moments depend on.

    The mass of each node is spread over grid points around its v by Lagrange weights. That is exact to rounding for smooth
    functions of log u + v, such as the moments.

    Attributes:
        step: of the grid, and of log u.
        first: the first grid point, in steps.
        masses: of an irrelevant and of a relevant token, (2, points).
        vanishing: their masses where the kernel is 0, (2,).
    """

    step: float
    first: int
    masses: Any
    vanishing: Any

    @classmethod
    def of(cls, found: Nodes, log_kernel: Any, step: float) -> LogKernelLaw:
        """The law on a grid of this step, from nodes and log kappa there."""
        masses, there = np.stack([found.others, found.relevant]), np.isfinite(log_kernel)
        at = log_kernel[there] / step
        low = int(np.floor(at.min())) - ORDER
        grid = np.zeros((2, int(np.floor(at.max())) - low + ORDER))
        for start in range(0, len(at), BLOCK // ORDER):
            part = slice(start, start + BLOCK // ORDER)
            first, shares = lagrange(at[part])
            places = (first[:, None] - low + np.arange(ORDER)).ravel()
            for law, mass in zip(grid, masses[:, there]):
                law += np.bincount(places, (shares * mass[part, None]).ravel(), len(law))
        return cls(step, low, grid, masses[:, ~there].sum(axis=1))

    @cached_property
    def _moments(self) -> tuple[int, Any]:
        """The functions s^j e^{-s}, j = 0, 1, 2, and 1 - e^{-s} of log s on the grid where e^{-s} is neither 1 nor 0.

        Returns:
            The first grid point, in steps, and the values, (4, points).
        """
        low = int(np.floor(LEAST_LOG_LOAD / self.step))
        size = np.exp(self.step * np.arange(low, int(np.ceil(LARGEST_LOG_LOAD / self.step))))
        decay = np.exp(-size)
        return low, np.array([decay, size * decay, size**2 * decay, -np.expm1(-size)])

    def table(self, first: int, count: int) -> Table:
        """The moments at ``count`` values log u = first * step, (first + 1) * step, ..., by correlation of the law with s^j
        e^{-s}."""
        low, moments = self._moments
        width, points = moments.shape[1], self.masses.shape[1]
        # log u + v is among the moments where the grid's number is ``low`` or more less that of log u
        begin, end = low - (first + count - 1), low + width - first
        padded = np.zeros((2, end - begin))
        start = max(self.first, begin)
        own = slice(start, max(start, min(self.first + points, end)))  # empty where no token is near 1/u
        padded[:, own.start - begin : own.stop - begin] = self.masses[:, own.start - self.first : own.stop - self.first]
        below = low - np.arange(first, first + count) - self.first
        found, gone = np.empty((2, 3, count)), np.empty((2, count))
        for law, (seen, masses) in enumerate(zip(padded, self.masses)):
            left, right = np.zeros(points + 1), np.zeros(points + 1)
            np.cumsum(masses, out=left[1:])
            np.cumsum(masses[::-1], out=right[-2::-1])
            *found[law], gone[law] = (np.correlate(seen, moment)[::-1] for moment in moments)
            found[law, 0] += left[np.clip(below, 0, points)] + self.vanishing[law]
            gone[law] += right[np.clip(below + width, 0, points)]
        survived = np.where(gone < 0.5, np.log1p(-np.minimum(gone, 0.5)), np.log(np.maximum(found[:, 0], LEAST_LEFT)))
        return Table(self.step * np.arange(first, first + count), *found, *survived)


MOST_PANEL_NODES = 2_000_000
"""Most nodes of all panels: 16 MB for every function of a key."""
WIDEST = 1.0
"""Widest panel in standard deviations: on it eight Gauss nodes integrate a normal density to 1e-13, sixteen to rounding."""
LAST_COEFFICIENTS = 3
"""How many of the last Legendre coefficients must be small."""
END_TOLERANCE = 1e-8
"""Largest error of log kappa extrapolated from the nodes to the ends of a panel: a jump or kink may hide in between. The outermost
nodes are half a per cent of the panel away from the ends, so an undetected kink of this size leaves an error of its square."""
NARROWEST = 1e-15
"""Half width of a panel that is not halved further even if log kappa jumps on it: keys of that size are rounding."""
ROUNDING = 16 * 2.2e-16
"""Rounding error of log kappa, relative to its size or to 1: no smaller coefficients are demanded."""


@dataclass(frozen=True)
class Panels:
    """Adaptive Gauss-Legendre quadrature over a key: panels are halved until log kappa is smooth and nearly constant on each.

    The last Legendre coefficients of log kappa on a panel must be small, and log kappa must change by little, as e^{-u kappa} is
    integrated for every u. So nothing has to be known about where a kernel is steep, has a kink or a pole nearby.

    Attributes:
        order: nodes of a panel.
        largest_change: of log kappa on a panel. With a change w, e^{-u kappa} is analytic in an ellipse whose half axes sum to
            rho = b + sqrt(1 + b^2), b = pi/w, and the error is rho^(-2 order).
        left: tolerance of the error of log kappa times the mass of the panel.
    """

    order: int
    largest_change: float
    left: float

    @cached_property
    def rule(self) -> tuple[Any, Any, Any, Any]:
        """Nodes, weights, and matrices from values at the nodes to the last Legendre coefficients and to the values at both
        ends."""
        nodes, weights = legendre.leggauss(self.order)
        degrees = np.arange(self.order)
        matrix = legendre.legvander(nodes, self.order - 1) * weights[:, None] * (degrees + 0.5)
        return (
            nodes,
            weights,
            matrix[:, -LAST_COEFFICIENTS:],
            matrix @ legendre.legvander(np.array([-1.0, 1.0]), self.order - 1).T,
        )

    def nodes_for(self, setting: Setting, log_kernel: Callable[[Any], Any], slope: float) -> tuple[Nodes, Any]:
        """Nodes (n, 1) for tokens along one direction, and log kappa there.

        Args:
            setting: independent keys.
            log_kernel: of keys (n, 1).
            slope: the scale of the attention; first panels are at most 1/slope wide, where features of the kernel should show.

        Raises:
            CannotEvaluate: for a kernel that needs too many panels.
        """
        (low,), (high,) = means_of(setting)
        low, high = low - REACH, high + REACH
        count = int(np.ceil((high - low) * max(1 / WIDEST, slope)))
        if count * self.order > MOST_PANEL_NODES:
            raise _too_many(count * self.order)
        edges = np.linspace(low, high, count + 1)
        left, right = edges[:-1], edges[1:]
        nodes, weights, _, _ = self.rule
        kept: list[tuple[Any, Any, Any]] = []
        while len(left):
            middle, half = (left + right) / 2, (right - left) / 2
            seen = np.concatenate([left[:, None], middle[:, None] + half[:, None] * nodes, right[:, None]], axis=1)
            logs = log_kernel(seen.reshape(-1, 1)).reshape(seen.shape)
            keys, there, logs = seen[:, 1:-1], logs[:, [0, -1]], logs[:, 1:-1]
            most = np.maximum(*densities(setting, keys[..., None])).max(axis=1)
            done = self._resolved(logs, there, 2 * half * most) | (half < NARROWEST)
            kept.append((keys[done], logs[done], half[done][:, None] * weights))
            left, right, middle = left[~done], right[~done], middle[~done]
            left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
            total = sum(part[0].size for part in kept) + len(left) * self.order
            if total > MOST_PANEL_NODES:
                raise _too_many(total)
        at, found, masses = (np.concatenate(parts).ravel() for parts in zip(*kept))
        return Nodes.of(setting, at[:, None], masses, -1.0), found

    def _resolved(self, logs: Any, there: Any, mass: Any) -> Any:
        """Which panels need no halving, boolean (panels,): log kappa is smooth and level, the mass negligible, or kappa 0.

        Args:
            logs: log kappa at the nodes, (panels, order).
            there: log kappa at both ends, (panels, 2).
            mass: a bound on the mass of each panel.
        """
        _, _, tail, ends = self.rule
        finite = np.isfinite(logs)
        filled = np.where(finite, logs, 0.0)
        size = ROUNDING * np.maximum(np.abs(filled).max(axis=1), 1.0)
        with np.errstate(invalid="ignore"):
            off = np.abs(filled @ ends - there).max(axis=1)
        smooth = np.abs(filled @ tail).max(axis=1) <= np.maximum(self.left / np.maximum(mass, LEAST_MASS), size)
        smooth &= (off <= np.maximum(END_TOLERANCE, 100 * size)) & finite.all(axis=1)
        smooth &= np.ptp(filled, axis=1) <= self.largest_change
        nowhere = ~finite.any(axis=1) & ~np.isfinite(there).any(axis=1)
        return smooth | nowhere | (mass < LEAST_MASS)


def _too_many(count: int) -> CannotEvaluate:
    return CannotEvaluate(
        f"attention: {count} nodes of a key for so steep a kernel; expected at most {MOST_PANEL_NODES}"
    )


PANELS = (Panels(16, 2.0, 1e-16), Panels(14, 2.3, 1e-15), Panels(8, 3.0, 1e-8))
"""Panels of the fine, the coarse and the search rule."""
