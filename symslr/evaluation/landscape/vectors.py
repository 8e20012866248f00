"""The landscape over the vectors k and v themselves: coordinates W = (m | outside), q = W W^T."""

from __future__ import annotations

import numpy as np

from symslr.evaluation.landscape.landscape import Landscape, differences
from symslr.evaluation.landscape.moments.kernel import Array
from symslr.evaluation.landscape.order import OrderParameters

COORDINATES = 8
"""Of k and of v along k*, v* and two directions outside: as many as any pair of vectors needs."""


def matrices(gradient: Array) -> tuple[Array, Array]:
    """dE/dm, rows (k, v) and columns (k*, v*), and dE/dq, symmetrised: q_kv stands twice in the matrix."""
    by_m = np.array([[gradient[0], gradient[2]], [gradient[3], gradient[1]]])
    by_q = np.array([[gradient[4], gradient[6] / 2], [gradient[6] / 2, gradient[5]]])
    return by_m, by_q


def order_of(point: Array) -> Array:
    """The order parameters of these coordinates of k and v, then the kernel's own parameters."""
    return np.append(OrderParameters.of_vectors(point[:COORDINATES].reshape(2, 4)).array, point[COORDINATES:])


def in_vectors(landscape: Landscape, point: Array) -> tuple[float, Array]:
    """Risk and gradient at the coordinates of k, those of v and the kernel's own parameters, one after the other.

    dE/dW = (dE/dm | 0) + 2 dE/dq W. There q >= m m^T holds by itself and the manifold R = 0 is an ordinary point.
    """
    vectors = point[:COORDINATES].reshape(2, 4)
    risk, gradient = landscape.risk_and_gradient(order_of(point))
    by_m, by_q = matrices(gradient)
    slope = 2 * by_q @ vectors
    slope[:, :2] += by_m
    return risk, np.append(slope.ravel(), gradient[7:])


def hessian_in_vectors(landscape: Landscape, point: Array, step: float = 1e-4) -> Array:
    """Second derivatives by central differences of the gradient, symmetrised."""
    return differences(lambda at: in_vectors(landscape, at)[1], point, np.full(len(point), step))
