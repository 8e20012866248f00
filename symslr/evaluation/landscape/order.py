"""The seven order parameters as numbers, and coordinates W = (m | rest) of two vectors k and v with these overlaps, q = W W^T."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np

from symslr.evaluation.landscape.kernel import Array
from symslr.model.symbols import ORDER_PARAMETERS

NAMES = tuple(symbol.name for symbol in ORDER_PARAMETERS)
"""m_kk, m_vv, m_kv, m_vk, q_kk, q_vv, q_kv: the order of every gradient."""

QUADRATIC = slice(4, 7)
"""Positions of q_kk, q_vv, q_kv, which are quadratic in the coordinates; the others are linear."""

TOLERANCE = 1e-9
"""Smallest eigenvalue of q - m m^T that is accepted is minus this, relative to 1 + q_kk + q_vv: input is rounded."""
LARGEST = 1e100
"""Largest order parameter that is accepted: squares of much larger ones overflow."""
COORDINATES = 8
"""Number of coordinates of k and v along k*, v* and two orthogonal directions, which suffice for any pair of vectors."""


@dataclass(frozen=True)
class OrderParameters:
    """Inner products over D of k and v with k*, v* and one another.

    Raises:
        ValueError: where q - m m^T is not positive semidefinite, so that no vectors have these overlaps.

    Source: arXiv 2509.21936, section 4.
    """

    m_kk: float
    m_vv: float
    m_kv: float
    m_vk: float
    q_kk: float
    q_vv: float
    q_kv: float

    def __post_init__(self) -> None:
        numbers = astuple(self)
        if not np.all(np.isfinite(numbers)):
            raise ValueError(f"order parameters: found {numbers}; expected finite numbers")
        if not max(map(abs, numbers)) < LARGEST:
            raise ValueError(f"order parameters: found {max(numbers, key=abs):.3g}; expected sizes below {LARGEST:g}")
        lowest = np.linalg.eigvalsh(self.outside)[0]
        if not lowest >= -TOLERANCE * (1 + self.q_kk + self.q_vv):
            raise ValueError(
                f"order parameters: found q - m m^T with eigenvalue {lowest:.4g}; expected q >= m m^T, such as "
                "q_kk >= m_kk^2 + m_kv^2"
            )

    @classmethod
    def of(cls, numbers: Array) -> OrderParameters:
        """From an array in the order of ``NAMES``."""
        return cls(*map(float, numbers))

    @classmethod
    def of_vectors(cls, vectors: Array) -> OrderParameters:
        """From the coordinates of k and v, rows of shape (2, n): first along k*, then v*, then orthogonal to both.

        q = W W^T for the whole rows and m their first two columns, so q - m m^T is never negative.
        """
        q = vectors @ vectors.T
        (m_kk, m_kv), (m_vk, m_vv) = vectors[:, :2]
        return cls.of(np.array([m_kk, m_vv, m_kv, m_vk, q[0, 0], q[1, 1], q[0, 1]]))

    @property
    def means(self) -> Array:
        """m, rows (k, v), columns (k*, v*)."""
        return np.array([[self.m_kk, self.m_kv], [self.m_vk, self.m_vv]])

    @property
    def squares(self) -> Array:
        """q, rows and columns (k, v)."""
        return np.array([[self.q_kk, self.q_kv], [self.q_kv, self.q_vv]])

    @property
    def outside(self) -> Array:
        """R = q - m m^T."""
        return self.squares - self.means @ self.means.T

    @property
    def array(self) -> Array:
        """In the order of ``NAMES``."""
        return np.array(astuple(self))

    @property
    def vectors(self) -> Array:
        """Coordinates of k and v, shape (2, 4): m and the symmetric root of R."""
        values, frame = np.linalg.eigh(self.outside)
        return np.hstack([self.means, (frame * np.sqrt(np.maximum(values, 0.0))) @ frame.T])


def matrices(gradient: Array) -> tuple[Array, Array]:
    """dE/dm, rows (k, v) and columns (k*, v*), and dE/dq, symmetrised: q_kv stands twice in the matrix."""
    by_m = np.array([[gradient[0], gradient[2]], [gradient[3], gradient[1]]])
    by_q = np.array([[gradient[4], gradient[6] / 2], [gradient[6] / 2, gradient[5]]])
    return by_m, by_q


def order_of(point: Array) -> Array:
    """The order parameters of these coordinates of k and v, then the kernel's own parameters."""
    return np.append(OrderParameters.of_vectors(point[:COORDINATES].reshape(2, 4)).array, point[COORDINATES:])


def in_coordinates(gradient: Array, point: Array) -> Array:
    """The gradient in the coordinates of k and v and the kernel's own parameters, from that in the order parameters.

    dE/dW = (dE/dm | 0) + 2 dE/dq W.
    """
    by_m, by_q = matrices(gradient)
    slope = 2 * by_q @ point[:COORDINATES].reshape(2, 4)
    slope[:, :2] += by_m
    return np.append(slope.ravel(), gradient[7:])
