"""Meshes that crowd at several places, which differ from row to row: no cut, so that the trapezoid rule converges geometrically."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

COARSE = 0.2
"""Step in asinh((x - c)/w) of the table from which the inverse map starts."""
NEWTON_STEPS = 4
"""From a table with steps of 0.2: the error squares from 1e-2 to 1e-16 and once more."""


@dataclass(frozen=True, slots=True)
class CentredMesh:
    """Nodes and weights, (rows, nodes): every second and every fourth node of a row are meshes of their own.

    The cut by exp(-u kappa(x)) moves with log u as far as a power tail reaches; no fixed mesh resolves it everywhere. Here every
    log u has nodes equally spaced in y = sum_j asinh((x - c_j)/w_j), with centres at the peaks of the laws and at the cut.
    """

    nodes: Any
    weights: Any

    @staticmethod
    def of(centres: Any, widths: Any, reach: float, step: float) -> CentredMesh:
        """Meshes over [-reach, reach] with a step near ``step``.

        Args:
            centres, widths: (rows, centres).
            reach: half the window, larger than every width.
            step: in units of y; the number of nodes is the same in all rows.
        """
        ends = np.full((len(centres), 1), reach)
        low, high = _height(-ends, centres, widths), _height(ends, centres, widths)
        count = 4 * max(2, int(np.ceil(float(np.max(high - low)) / step / 4)))
        own = (high - low) / count
        y = low + own * np.arange(count + 1)
        x = _started(y, centres, widths, reach)
        for _ in range(NEWTON_STEPS):
            x = np.clip(x - (_height(x, centres, widths) - y) / _density(x, centres, widths), -reach, reach)
        return CentredMesh(x, own / _density(x, centres, widths))


def _height(x: Any, centres: Any, widths: Any) -> Any:
    return sum(np.arcsinh((x - c[:, None]) / w[:, None]) for c, w in zip(centres.T, widths.T))


def _density(x: Any, centres: Any, widths: Any) -> Any:
    """dy/dx."""
    return sum(1.0 / np.hypot(x - c[:, None], w[:, None]) for c, w in zip(centres.T, widths.T))


def _started(y: Any, centres: Any, widths: Any, reach: float) -> Any:
    """The inverse map by interpolation in a table that is fine around every centre."""
    furthest = float(np.arcsinh(2.0 * reach / np.min(widths)))
    around = np.sinh(np.linspace(-furthest, furthest, 2 * int(np.ceil(furthest / COARSE)) + 1))
    table = (centres[:, :, None] + widths[:, :, None] * around).reshape(len(centres), -1)
    table = np.sort(np.clip(table, -reach, reach), axis=-1)
    heights = _height(table, centres, widths)
    return np.array([np.interp(*row) for row in zip(y, heights, table)])
