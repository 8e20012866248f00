"""Meshes that crowd at several places, which differ from row to row: no cut, so that the trapezoid rule converges geometrically."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluation.quadrature.stretch import Stretch


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
        stretch = Stretch(centres, widths)
        ends = np.full((len(centres), 1), reach)
        low, high = stretch.heights(-ends), stretch.heights(ends)
        count = 4 * max(2, int(np.ceil(float(np.max(high - low)) / step / 4)))
        own = (high - low) / count
        x = stretch.places(low + own * np.arange(count + 1), -reach, reach)
        return CentredMesh(x, own / stretch.density(x))
