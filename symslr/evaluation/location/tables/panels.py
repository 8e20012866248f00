"""Nodes of one token's key for any kernel: Gauss's on panels, halved until log kappa is smooth and nearly level on each.

A rule of one step for all keys would need to know where a kernel is steep, kinked or near a pole. A panel looks: its
Legendre coefficients must end, and log kappa must change by little, as e^{-u kappa} is integrated for every u.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial import legendre

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.tables.tokens import LEAST_MASS, REACH, Nodes, densities, means_of

MOST_NODES = 2_000_000
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
    """What is asked of a panel.

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
        if count * self.order > MOST_NODES:
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
            if total > MOST_NODES:
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
    return CannotEvaluate(f"attention: {count} nodes of a key for so steep a kernel; expected at most {MOST_NODES}")


PANELS = (Panels(16, 2.0, 1e-16), Panels(14, 2.3, 1e-15), Panels(8, 3.0, 1e-8))
"""Of a fine and of a coarse rule, and of one for a search."""
