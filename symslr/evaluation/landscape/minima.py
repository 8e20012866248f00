"""Local minima over all seven order parameters: the matched one (k along k*, v along v*) and the mismatched one (k along v*, v
along k*).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize

from symslr.budget import reached
from symslr.evaluation.landscape.kernel import Array
from symslr.evaluation.landscape.landscape import Confirmed, Landscape
from symslr.evaluation.landscape.order import COORDINATES, QUADRATIC, OrderParameters, in_coordinates, order_of

STATIONARY = 1e-6
"""Largest derivative at a point that counts as stationary."""

CURVED = 1e-6
"""Smallest eigenvalue of the Hessian of a strict minimum; finite differences have an error of 1e-7."""

SCALES = (0.3, 1.0, 2.5)
"""Scales of the starts of a search: see ``matched_start``."""

FARTHEST = 30.0
TOO_FAR = 1e6
"""Coordinates of k and v are searched within +-``FARTHEST``; ``TOO_FAR`` replaces a risk that has no value."""
COARSE = 0.75
"""Refinement of the mesh of a search, relative to the usual mesh: its gradient is right to 1e-7."""


@dataclass(frozen=True)
class LocalMinimum:
    """A stationary point over k, v and the kernel's own parameters.

    Attributes:
        point: coordinates of k and v along k*, v* and two orthogonal directions, then the kernel's own parameters.
        risk: E there.
        gradient: largest absolute derivative.
        hessian: second derivatives in all these coordinates.
    """

    point: Array
    risk: float
    gradient: float
    hessian: Array

    @cached_property
    def eigenvalues(self) -> Array:
        """Of the Hessian, ascending."""
        return np.asarray(np.linalg.eigvalsh(self.hessian), dtype=float)

    def order_errors(self, found: Confirmed) -> Array:
        """Errors of the order parameters and of the kernel's own parameters at the minimum. Assumes a strict minimum.

        With J their derivatives in the coordinates, H the Hessian, and e = |gradient| + its error as ``found`` has them: |J H^-1|
        e; for the quadratic order parameters also the second-order term of a displacement |H^-1| e.

        Returns:
            One error for each name of the landscape.
        """
        by_point = np.array([in_coordinates(one, self.point) for one in np.eye(len(found.gradient))])
        slopes = np.abs(in_coordinates(found.gradient, self.point))
        errors = in_coordinates(found.gradient_errors, np.abs(self.point))
        inverse = np.linalg.inv(self.hessian)
        moves = np.abs(inverse) @ (slopes + errors)
        second = np.zeros(len(by_point))
        second[QUADRATIC] = order_of(moves)[QUADRATIC]
        return np.abs(by_point @ inverse) @ (slopes + errors) + second

    @property
    def order(self) -> OrderParameters:
        return OrderParameters.of_vectors(self.point[:COORDINATES].reshape(2, 4))

    @property
    def is_minimum(self) -> bool:
        """Whether this is a strict minimum: stationary, with a positive definite Hessian."""
        return bool(self.gradient < STATIONARY and self.eigenvalues[0] > CURVED)

    @property
    def kind(self) -> str:
        return kind_of(self.order)


def kind_of(order: OrderParameters) -> str:
    """ "matched" where |m_kk| m_vv > |m_kv m_vk|, "mismatched" where it is smaller, "neither" where both are below 1e-3.

    m_vv < 0 is no match, whatever m_kk is: at L = 10^6 and nu = 20 a strict minimum has m_kk > m_kv and m_vv < 0.
    """
    matched, crossed = abs(order.m_kk) * order.m_vv, abs(order.m_kv * order.m_vk)
    if max(matched, crossed) < 1e-3:
        return "neither"
    return "matched" if matched > crossed else "mismatched"


def matched_start(landscape: Landscape, scale: float) -> Array:
    """k = scale k*, v the best multiple of v*."""
    return _best_value(landscape, scale * np.eye(2, 4)[0], np.eye(2, 4)[1])


def mismatched_start(landscape: Landscape, scale: float) -> Array:
    """k = scale v*, v the best multiple of k*."""
    return _best_value(landscape, scale * np.eye(2, 4)[1], np.eye(2, 4)[0])


def _best_value(landscape: Landscape, k: Array, direction: Array) -> Array:
    """The point with this k and the best multiple of ``direction`` for v: the risk is quadratic in v, so three values suffice.

    Raises:
        ValueError: where rounding hides the curvature of the risk in v.
    """
    own = landscape.kernel.bounds.mean(axis=1)

    def point(size: float) -> Array:
        return np.concatenate([k, size * direction, own])

    left, middle, right = (landscape.in_vectors(point(size))[0] for size in (-1.0, 0.0, 1.0))
    curvature = left + right - 2 * middle
    if not curvature > 0:
        raise ValueError(
            f"landscape: found no curvature of the risk in v (it is {middle:.3g}) in float64; expected a shorter length, or "
            "parameters nearer to 1"
        )
    return point((left - right) / (2 * curvature))


def descend(landscape: Landscape, start: Array) -> LocalMinimum:
    """A local minimum by L-BFGS from ``start`` on a coarse mesh, then Newton steps on the usual one, with the Hessian there.

    The coordinates stay within +-``FARTHEST`` and the kernel's own parameters within their bounds. Where the risk falls towards
    infinity the point returned lies on that boundary and is no minimum.

    Raises:
        ValueError: where the risk is not finite on the way.
    """
    coarse = landscape.refine(COARSE)
    bounds = np.vstack([np.full((COORDINATES, 2), (-FARTHEST, FARTHEST)), landscape.kernel.bounds])
    options = {"gtol": 1e-7, "ftol": 1e-15, "maxiter": 400, "maxcor": 20}

    def loss(point: Array) -> tuple[float, Array]:
        try:
            return coarse.in_vectors(point)
        except ValueError:  # the kernel overflows after a long step, which the line search then shortens
            return TOO_FAR, np.zeros_like(point)

    found: Any = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    point = np.asarray(found.x, dtype=float)
    low, high = bounds.T
    risk, gradient = landscape.in_vectors(point)
    hessian = landscape.hessian_in_vectors(point)
    for _ in range(4):
        values, frame = np.linalg.eigh(hessian)
        step = frame @ ((frame.T @ gradient) / np.maximum(np.abs(values), 1e-4))
        moved = np.clip(point - step, low, high)
        after = landscape.in_vectors(moved)
        if np.max(np.abs(after[1])) >= np.max(np.abs(gradient)):
            break
        point, (risk, gradient) = moved, after
    return LocalMinimum(point, risk, float(np.max(np.abs(gradient))), hessian)


def both_minima(landscape: Landscape, near: tuple[Array, Array] | None = None) -> tuple[LocalMinimum, LocalMinimum]:
    """The matched and the mismatched minimum: the best from starts of three scales, or from the two points ``near``.

    ``is_minimum`` tells whether each is a minimum, and ``kind`` whether it is of the kind that was searched.
    """
    if near is not None:
        return descend(landscape, near[0]), descend(landscape, near[1])
    kinds = []
    for name, start in (("matched", matched_start), ("mismatched", mismatched_start)):
        starts = sorted((start(landscape, scale) for scale in SCALES), key=lambda p: landscape.in_vectors(p)[0])
        reached(f"the search for the {name} minimum")
        found = [descend(landscape, starts[0])]
        if found[0].kind != name:
            found += [descend(landscape, other) for other in starts[1:]]
        kinds.append(min(found, key=lambda item: (item.kind != name, item.risk)))
    return kinds[0], kinds[1]
