"""Nodes of one token's key, and its moments on a grid of log u.

E[(u kappa)^j e^{-u kappa(chi)}] for the others and for the relevant one.
"""

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

REACH, FARTHER, FARTHEST = 9.0, 3.0, 33.0
"""Standard deviations beyond which a token's density is left out, below 1e-18; steps to more; and where float64 ends."""
LOOK = 0.5
"""Step at which the size of a function is looked at."""
OUTSIDE = 1e-18
"""Of a mean square."""
MOST_NODES = 4_000_000
"""Of a grid over a token's keys: 32 MB for every function of them."""
BLOCK = 2**22
"""Numbers that are laid out at once."""
LEAST_LEFT = 1e-18
"""E[e^{-u kappa}] below this is rounding: no product of several tokens sees it."""
ORDER = 12
"""Points of the local interpolation in log u."""
BARYCENTRIC = np.array([(-1.0) ** (ORDER - 1 - k) / (factorial(k) * factorial(ORDER - 1 - k)) for k in range(ORDER)])
"""1/prod (k - m) over the other points m."""
FINEST = 1 / 24
"""Step of log u + log kappa at which that is exact to rounding: its error is 5e-5 step^12 times a twelfth derivative below 1e6."""
NOTHING, ALL = -75.0, 6.6
"""log(u kappa) below which e^{-u kappa} is 1 to 1e-32, and above which it is 0."""


@dataclass(frozen=True)
class Nodes:
    """Nodes of a token's key (n, p), with the mass of an irrelevant and of a relevant token there."""

    keys: Any
    others: Any
    relevant: Any

    @classmethod
    def of(cls, setting: Setting, keys: Any, weights: Any = 1.0, least: float = 0.0) -> Nodes:
        """Of a rule with these weights, without nodes of no more than the ``least`` mass."""
        others, relevant = (density * weights for density in densities(setting, keys))
        others, relevant = others / others.sum(), relevant / relevant.sum()
        kept = others + relevant > least
        return cls(keys[kept], others[kept], relevant[kept])


def densities(setting: Setting, keys: Any) -> tuple[Any, Any]:
    """Of an irrelevant and of a relevant token at keys (..., p), in units of the normal density's largest value."""

    def normal(centre: Any) -> Any:
        return np.exp(-np.sum((keys - centre) ** 2, axis=-1) / 2)

    centres = np.sqrt(setting.strength) * setting.values
    return normal(0.0), sum(share * normal(centre) for share, centre in zip(setting.shares, centres))


LEAST_MASS = 1e-20
"""Nodes of less mass are left out: ``MOST_NODES`` of them hold less than 1e-13 together."""


def nodes(setting: Setting, step: float, least: float = LEAST_MASS, reach: float = REACH) -> Nodes:
    """A trapezoid rule over one token's key in every direction, without nodes of less than the ``least`` mass.

    Args:
        reach: standard deviations from the tokens' means out to which it goes.

    Raises:
        CannotEvaluate: for more directions than a grid can have.
    """
    axes = []
    for low, high in zip(*means_of(setting)):
        first, last = int(np.floor((low - reach) / step)), int(np.ceil((high + reach) / step))
        axes.append(step * np.arange(first, last + 1))
    if np.prod([float(len(axis)) for axis in axes]) > MOST_NODES:
        raise CannotEvaluate(f"found keys along {setting.directions} directions; too many for a grid over one token")
    keys = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=-1)
    return Nodes.of(setting, keys, least=least)


def reach_of(setting: Setting, function: Callable[[Any], Any]) -> float:
    """Standard deviations from the tokens' means within which a function of a key has its mean square.

    That of exp(a x) is 2 a from them, and a density alone does not show it.

    Raises:
        CannotEvaluate: for a function that grows as fast as a density falls.
    """
    low, high = means_of(setting)
    reach = REACH
    while reach <= FARTHEST:
        found = nodes(setting, LOOK, 0.0, reach + FARTHER)
        off = np.any(found.keys != 0, axis=1)  # at the origin there may be a pole
        keys, mass = found.keys[off], (found.others + found.relevant)[off]
        parts = function(keys) ** 2 * mass
        outside = np.any((keys < low - reach) | (keys > high + reach), axis=1)
        if np.sum(parts[outside]) <= OUTSIDE * np.sum(parts):
            return reach
        reach += FARTHER
    raise CannotEvaluate(
        "attention: its mean square has no value seen in float64: it grows about as fast as tokens become rare"
    )


def means_of(setting: Setting) -> tuple[Any, Any]:
    """The least and the largest mean of a token's key in every direction."""
    shift = np.sqrt(setting.strength) * setting.values
    return np.minimum(shift.min(axis=0), 0), np.maximum(shift.max(axis=0), 0)


LEAST_KEY = -690.0
"""log |key| of the least one around a pole, as far as float64 can name it."""


def around_zero(setting: Setting, step: float, reach: float) -> Nodes:
    """A trapezoid rule over log |key| on both sides of 0, where a kernel has a pole or a kink, for keys along one direction."""
    furthest = reach + np.sqrt(setting.strength) * np.max(np.abs(setting.values))
    log = step * np.arange(int(LEAST_KEY / step), int(np.ceil(np.log(furthest) / step)) + 1)
    keys = np.concatenate([-np.exp(log), np.exp(log)])
    return Nodes.of(setting, keys[:, None], np.abs(keys), -1.0)


@dataclass(frozen=True)
class Table:
    """Moments over log u, one column for every u.

    Attributes:
        logs: log u.
        others, relevant: E[(u kappa)^j e^{-u kappa}] for j = 0, 1, 2, of the others and of the relevant token.
        log_others, log_relevant: log E[e^{-u kappa}], with its digits where that is near 1: long sequences multiply it.
    """

    logs: Any
    others: Any
    relevant: Any
    log_others: Any
    log_relevant: Any


def lagrange(at: Any) -> tuple[Any, Any]:
    """The first of the ``ORDER`` whole numbers around each number, and Lagrange's weights of them, (..., ORDER)."""
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
class Spectrum:
    """The law of v = log kappa as masses on a grid: a table needs no more of the tokens, in however many directions.

    Every node's mass is spread over the neighbours of its v by Lagrange's weights, which is exact to rounding for the
    smooth functions of log u + v that the moments are.

    Attributes:
        step: of the grid, and of log u.
        first: number of the first point of the grid.
        masses: of the others and of the relevant token, (2, points).
        vanishing: their masses where the kernel is 0, (2,).
    """

    step: float
    first: int
    masses: Any
    vanishing: Any

    @classmethod
    def of(cls, found: Nodes, log_kernel: Any, step: float) -> Spectrum:
        """For tables with this step of log u."""
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
        """Number of the first log(u kappa) at which e^{-u kappa} is neither 1 nor 0, and all four moments there, (4, points)."""
        low = int(np.floor(NOTHING / self.step))
        size = np.exp(self.step * np.arange(low, int(np.ceil(ALL / self.step))))
        decay = np.exp(-size)
        return low, np.array([decay, size * decay, size**2 * decay, -np.expm1(-size)])

    def table(self, first: int, count: int) -> Table:
        """The moments at log u = (first, first + 1, ...) times the step."""
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
"""Of a token's key: 16 MB for every function of it."""
WIDEST = 1.0
"""Of a panel, in standard deviations: eight nodes of a normal density on it are exact to 1e-13, sixteen to rounding."""
ENDED = 3
"""Legendre coefficients, the last ones, that must be small."""
AT_ENDS = 1e-8
"""How far log kappa may be off at the ends of a panel, seen from its nodes: a jump or kink may hide between the two. They are half
a percent of the panel apart, so that a kink of this size leaves the square of it."""
NARROWEST = 1e-15
"""Half of a panel that keeps its jump: places of that size are rounding."""
ROUNDING = 16 * 2.2e-16
"""Of log kappa, relative to its size or to 1: no panel is smoother."""


@dataclass(frozen=True)
class Panels:
    """Gauss's rules on panels, halved until log kappa is smooth and nearly level on each.

    A rule of one step for all keys would need to know where a kernel is steep, kinked or near a pole. A panel looks: its
    Legendre coefficients must end, and log kappa must change by little, as e^{-u kappa} is integrated for every u.

    Attributes:
        order: nodes of it.
        swing: by how much log kappa may change on it. With w of it the poles of e^{-u kappa} in u leave an ellipse of
            the sum of half axes rho = b + sqrt(1 + b^2), b = pi/w, and an error of rho^(-2 order).
        left: error of log kappa times the mass of the panel.
    """

    order: int
    swing: float
    left: float

    @cached_property
    def rule(self) -> tuple[Any, Any, Any, Any]:
        """Nodes, weights, and the matrices from values to the last Legendre coefficients and to what follows at both ends."""
        nodes, weights = legendre.leggauss(self.order)
        degrees = np.arange(self.order)
        matrix = legendre.legvander(nodes, self.order - 1) * weights[:, None] * (degrees + 0.5)
        return nodes, weights, matrix[:, -ENDED:], matrix @ legendre.legvander(np.array([-1.0, 1.0]), self.order - 1).T

    def on(self, setting: Setting, log_kernel: Callable[[Any], Any], slope: float) -> tuple[Nodes, Any]:
        """Nodes (n, 1) for tokens along one direction, and log kappa there.

        Args:
            setting: independent keys.
            log_kernel: of keys (n, 1).
            slope: the scale, in whose units a kernel is taken to have features of the size 1 or larger, or to show them.

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
        """Which panels are smooth and level enough, or of no mass, or nowhere reached by the kernel.

        Args:
            logs: log kappa at the nodes, (panels, order).
            there: at both ends, (panels, 2).
            mass: of the panels, at most.
        """
        _, _, tail, ends = self.rule
        finite = np.isfinite(logs)
        filled = np.where(finite, logs, 0.0)
        size = ROUNDING * np.maximum(np.abs(filled).max(axis=1), 1.0)
        with np.errstate(invalid="ignore"):
            off = np.abs(filled @ ends - there).max(axis=1)
        smooth = np.abs(filled @ tail).max(axis=1) <= np.maximum(self.left / np.maximum(mass, LEAST_MASS), size)
        smooth &= (off <= np.maximum(AT_ENDS, 100 * size)) & finite.all(axis=1)
        smooth &= np.ptp(filled, axis=1) <= self.swing
        nowhere = ~finite.any(axis=1) & ~np.isfinite(there).any(axis=1)
        return smooth | nowhere | (mass < LEAST_MASS)


def _too_many(count: int) -> CannotEvaluate:
    return CannotEvaluate(
        f"attention: {count} nodes of a key for so steep a kernel; expected at most {MOST_PANEL_NODES}"
    )


PANELS = (Panels(16, 2.0, 1e-16), Panels(14, 2.3, 1e-15), Panels(8, 3.0, 1e-8))
"""Of a fine and of a coarse rule, and of one for a search."""
