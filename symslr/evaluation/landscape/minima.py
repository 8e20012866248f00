"""Local minima over all seven order parameters: the well matched one, and the one with k along v* and v along k*."""

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
"""Largest gradient at a point that is called a minimum."""

CURVED = 1e-6
"""Least eigenvalue of the Hessian of a strict minimum: finite differences leave 1e-7."""

SCALES = (0.3, 1.0, 2.5)
"""Of the starts from which a minimum is looked for: see ``matched_start``."""

FARTHEST = 30.0
TOO_FAR = 1e6
"""Coordinates of k and v beyond ``FARTHEST`` are not looked at; ``TOO_FAR`` stands for a risk that is no number."""
COARSE = 0.75
"""Mesh on which a minimum is looked for: its gradient is right to 1e-7."""


@dataclass(frozen=True)
class LocalMinimum:
    """A stationary point over k, v and the kernel's own parameters.

    Attributes:
        point: coordinates of k and v along k*, v* and two directions outside, then the kernel's own parameters.
        risk: E there.
        gradient: largest absolute derivative.
        hessian: second derivatives over all coordinates: the seven order parameters and, where R = q - m m^T vanishes, one
            direction more.
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
        """How far the order parameters and the kernel's own may be from those of the minimum.

        With J their derivatives by the coordinates, g the gradient ``found`` here and e = |g| + its error, that is |J H^-1| e,
        and of the quadratic ones what a move by |H^-1| e adds to second order.

        Returns:
            One error for each name of the landscape.

        Assumes a strict minimum.
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
        """Stationary, with every curvature positive: strict in all directions."""
        return bool(self.gradient < STATIONARY and self.eigenvalues[0] > CURVED)

    @property
    def kind(self) -> str:
        return kind_of(self.order)


def kind_of(order: OrderParameters) -> str:
    """ "matched" where k leans on k* and v on v*, "mismatched" where k leans on v* and v on k*, else "neither".

    v against v* is no match, whatever k does: at L = 10^6 and nu = 20 a strict minimum has m_kk > m_kv and m_vv < 0.
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
    """The risk is quadratic in v, so three values along a line give the best one.

    Raises:
        ValueError: where the outputs are so large or so small that the risk beside them has no digits.
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
    """The minimum that L-BFGS finds from ``start`` on a coarse mesh, polished by Newton steps, with the Hessian there.

    The coordinates stay within +-``FARTHEST`` and the kernel's own parameters within their bounds: where the risk falls
    towards infinity the point returned lies at the wall, and is no minimum.

    Raises:
        ValueError: where the risk is not finite on the way.
    """
    coarse = landscape.refine(COARSE)
    bounds = np.vstack([np.full((COORDINATES, 2), (-FARTHEST, FARTHEST)), landscape.kernel.bounds])
    options = {"gtol": 1e-7, "ftol": 1e-15, "maxiter": 400, "maxcor": 20}

    def loss(point: Array) -> tuple[float, Array]:
        try:
            return coarse.in_vectors(point)
        except ValueError:  # a step so long that the kernel overflows: the line search shortens it
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
    """The well matched and the mismatched minimum: the best from starts of three scales, or from those ``near``.

    Whether either is a minimum its Hessian says; where a start leaves its kind, its ``kind`` says so.
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
