"""The risk as a polynomial in overlaps, with moments that depend on m_kk, q_kk and the kernel alone.

One Gaussian a token, s the shift of the relevant one, x_l its centred score over sqrt(q_kk), X = sum_l sigma_l x_l:

    E = Delta^2 + 1 - 2 m_vv h + q_vv n - 2 m_kv q_kv d1 - 2 s m_kv m_vk e1 + q_kv^2 d2 + 2 s m_vk q_kv e2 + s^2 m_vk^2 h2

    h = E sigma_eps, n = E sum sigma_l^2, h2 = E sigma_eps^2, e1 = E[x_eps sigma_eps]/sqrt(q), e2 = E[sigma_eps X]/sqrt(q),
    d1 = E[x_eps X - sigma_eps]/q, d2 = E[X^2 - sum sigma_l^2]/q

Two Gaussians a token, s^2 = q_kk - m_kk^2, C = q_kv - m_kk m_vk, P = sum sigma_l chi_l, Q = sum sigma_l rho_l:

    E = Delta^2 + 1 - 2 m_vv h + q_vv n - 2 m_kv C d1 - 2 m_kv m_vk e1 + C^2 d2 + 2 m_vk C e2 + m_vk^2 h2

    e1 = E[rho_eps P]/s, e2 = E[P Q]/s, h2 = E P^2 - n, d1 = E[rho_eps Q - sigma_eps]/s^2, d2 = E[Q^2 - sum sigma_l^2]/s^2

By Stein's lemma every quotient has a limit where its denominator vanishes, so both forms are smooth up to the manifold.
Source: derivations/25_landscape.py (landscape-centred), from arXiv 2509.21936, section 4.
"""

from __future__ import annotations

import numpy as np

from symslr.evaluation.landscape.dual import Array, Dual
from symslr.evaluation.landscape.moments import Means

MOMENTS = ("h", "n", "d1", "e1", "d2", "e2", "h2")
X = RHO = (0, 1)
CHI = (1, 0)


def single_moments(means: Means, scale: float) -> list[Dual]:
    """The seven moments for one Gaussian a token; slopes in (shift, scale, parameters of the kernel)."""
    h, n = means.hit(), means.norm()
    over = _inverse(scale, len(h.slopes), 1)
    twice = over * over
    return [
        h,
        n,
        (means.attended(X, X) - h) * twice,
        means.hit(X) * over,
        (means.product(X, X) - n) * twice,
        means.hit_and_sum(X) * over,
        means.hit_squared(),
    ]


def pair_moments(means: Means, s: float) -> list[Dual]:
    """The same for two Gaussians a token; slopes in (m_kk, s, parameters of the kernel)."""
    h, n = means.hit(), means.norm()
    over = _inverse(s, len(h.slopes), 1)
    twice = over * over
    return [
        h,
        n,
        (means.attended(RHO, RHO) - h) * twice,
        means.attended(RHO, CHI) * over,
        (means.product(RHO, RHO) - n) * twice,
        means.product(CHI, RHO) * over,
        means.product(CHI, CHI) - n,
    ]


def _inverse(number: float, directions: int, which: int) -> Dual:
    slopes = np.zeros(directions)
    slopes[which] = -1 / number**2
    return Dual(np.asarray(1 / number), slopes)


def risk_and_gradient(
    w: Array, moments: Array, slopes: Array, noise: float, shift: float | None
) -> tuple[float, Array]:
    """E and its derivatives in the seven order parameters and then in the kernel's own.

    Args:
        w: order parameters in the order of ``NAMES``.
        moments: shape (7,), in the order of ``MOMENTS``.
        slopes: shape (2 + parameters, 7), in m_kk, q_kk and the kernel's own parameters.
        noise: Delta.
        shift: s for one Gaussian a token, None for two.
    """
    m_kk, m_vv, m_kv, m_vk, _, q_vv, q_kv = w
    s = 1.0 if shift is None else shift
    c = q_kv - m_kk * m_vk if shift is None else q_kv
    h, n, d1, e1, d2, e2, h2 = moments
    factors = np.array([-2 * m_vv, q_vv, -2 * m_kv * c, -2 * s * m_kv * m_vk, c**2, 2 * s * m_vk * c, (s * m_vk) ** 2])
    risk = noise**2 + 1 + factors @ moments
    by_c = -2 * m_kv * d1 + 2 * c * d2 + 2 * s * m_vk * e2
    by_moments = slopes @ factors
    gradient = np.array(
        [
            by_moments[0],
            -2 * h,
            -2 * c * d1 - 2 * s * m_vk * e1,
            -2 * s * m_kv * e1 + 2 * s * c * e2 + 2 * s**2 * m_vk * h2,
            by_moments[1],
            n,
            by_c,
            *by_moments[2:],
        ]
    )
    if shift is None:  # c depends on m_kk and m_vk
        gradient[0] -= m_vk * by_c
        gradient[3] -= m_kk * by_c
    return float(risk), gradient
