"""The seven order parameters of an attention, and vectors k, v that have them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symslr.simulate.log_domain import Array


@dataclass(frozen=True)
class Overlaps:
    """Inner products over D of k and v with k*, v* and one another.

    Attributes:
        m_kk, m_kv: k.k*/D and k.v*/D.
        m_vk, m_vv: v.k*/D and v.v*/D.
        q_kk, q_vv, q_kv: k.k/D, v.v/D and k.v/D.

    Raises:
        ValueError: where q - m m^T is not positive semidefinite, so that no vectors have these overlaps.

    Source: arXiv 2509.21936, section 4.
    """

    m_kk: float
    m_vv: float
    q_kk: float
    q_vv: float
    m_kv: float = 0.0
    m_vk: float = 0.0
    q_kv: float = 0.0

    def __post_init__(self) -> None:
        lowest = np.linalg.eigvalsh(self.residual)[0]
        if not lowest >= -1e-9 * (1 + self.q_kk + self.q_vv):
            raise ValueError(f"overlaps: found q - m m^T with eigenvalue {lowest:.4g}; expected q >= m m^T")

    @classmethod
    def aligned(cls, scale: float, value_norm: float, R_kk: float = 0.0, R_vv: float = 0.0) -> Overlaps:
        """k = scale k* + noise of variance R_kk, v = value_norm v* + noise of variance R_vv."""
        return cls(scale, value_norm, scale**2 + R_kk, value_norm**2 + R_vv)

    @property
    def means(self) -> Array:
        """m, rows (k, v), columns (k*, v*)."""
        return np.array([[self.m_kk, self.m_kv], [self.m_vk, self.m_vv]])

    @property
    def residual(self) -> Array:
        """R = q - m m^T, the covariance of a token's (chi, z) given (chi*, z*)."""
        return np.array([[self.q_kk, self.q_kv], [self.q_kv, self.q_vv]]) - self.means @ self.means.T

    @property
    def root(self) -> Array:
        """Symmetric square root of R."""
        values, vectors = np.linalg.eigh(self.residual)
        return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T

    @property
    def is_exact(self) -> bool:
        """True where k and v lie in the span of k* and v*."""
        return bool(np.all(np.abs(self.root) < 1e-12))

    def project(self, chi: Array, z: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Projections on k and v given those on k* and v*: N(m (chi, z)^T, R), independent over tokens."""
        m, root = self.means, self.root
        key, value = m[0, 0] * chi + m[0, 1] * z, m[1, 0] * chi + m[1, 1] * z
        if self.is_exact:
            return key, value
        first, second = rng.standard_normal((2, *chi.shape))
        key_noise, value_noise = (row[0] * first + row[1] * second for row in root)
        return key + key_noise, value + value_noise

    def vectors(self, k_star: Array, v_star: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """k and v in R^D with exactly these overlaps.

        Raises:
            ValueError: when R is not zero and D < 4.
        """
        stars = np.stack([k_star, v_star])
        if self.is_exact:
            k, v = self.means @ stars
            return k, v
        dimension = len(k_star)
        if dimension < 4:
            raise ValueError(f"dimension: found D = {dimension}; expected at least 4 where q - m m^T is not zero")
        random = rng.standard_normal((2, dimension))
        random -= (random @ stars.T / dimension) @ stars
        q, _ = np.linalg.qr(random.T)
        k, v = self.means @ stars + self.root @ (np.sqrt(dimension) * q.T)
        return k, v
