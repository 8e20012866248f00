"""Where a moment under one exponential kernel lives: the saddle point of its integral, by Lambert's W.

    M(u) = integral of exp(height - (x - c)^2/(2 w^2)) e^{-u C e^{s x}},  t = log(u C)

has its saddle at x = c - s w^2 e^{t + s c - y} with y e^y = s^2 w^2 e^{t + s c}. Source: Asmussen, Jensen and
Rojas-Nandayapa, "On the Laplace transform of the lognormal distribution" (2016), for s of either sign. It is the
estimate that a mesh is placed by, never a value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from symslr.evaluation.laplace.table import TINY


def saddle(t: Any, rate: Any, curvature: Any, centre: Any, height: Any) -> tuple[Any, Any]:
    """(log M up to a constant, x at the saddle); the arguments broadcast, ``curvature`` = -1/(2 w^2) < 0."""
    start = t + rate * centre
    variance = -0.5 / curvature
    y = scipy.special.wrightomega(start + np.log(rate * rate * variance))
    load = np.exp(start - y)
    moved = rate * variance * load
    return height + curvature * moved * moved - load - 0.5 * np.log1p(y), centre - moved


def log_survival(t: Any, rate: Any, curvature: Any, centre: Any) -> Any:
    """log E[e^{-u C e^{s x}}] for a Gaussian x, right in both tails: 1 - M is E[min(1, u C e^{s x})] where M is near 1."""
    start = t + rate * centre
    spread = np.abs(rate) * np.sqrt(-0.5 / curvature) + TINY
    edge = -start / spread
    special = scipy.special
    missing = special.ndtr(-edge) + np.exp(start + 0.5 * spread * spread + special.log_ndtr(edge - spread))
    far, _ = saddle(t, rate, curvature, centre, 0.0)
    return np.where(missing < 0.5, np.log1p(-np.minimum(missing, 0.5)), np.minimum(far, 0.0))
