"""The risk of an attention in all seven order parameters of its key and value vectors.

k = m_kk k* + m_kv v* + sqrt(R_kk) e and v = m_vk k* + m_vv v* + (R_kv/sqrt(R_kk)) e + ..., with e and what follows
orthogonal to k* and v*, and R = q - m m^T >= 0.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache

from sympy import Expr, Matrix, S, Sum, sqrt

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules import Collect, GaussianMoments, Linearity, RotateNoise, TurnTowardsKey
from symslr.expression.scored import ScoredActivation
from symslr.model.attention import Attention
from symslr.model.symbols import L, chi, epsilon, eta, l, m, m_kk, m_kv, m_vk, m_vv, q_kk, q_kv, q_vv, z, zeta
from symslr.model.task import Task
from symslr.theory.definitions import over_length, squared_loss

R_KK = q_kk - m_kk**2 - m_kv**2
R_KV = q_kv - m_kk * m_vk - m_kv * m_vv
R_VV = q_vv - m_vk**2 - m_vv**2
"""R = q - m m^T, the parts of k and v outside span(k*, v*)."""


def score(index: Expr) -> Expr:
    """chi_l = m_kk chi*_l + m_kv z*_l + sqrt(R_kk) eta_l, the projection of token l on k."""
    return m_kk * chi[index] + m_kv * z[index] + sqrt(R_KK) * eta[index]


def value(index: Expr) -> Expr:
    """z_l = m_vk chi*_l + m_vv z*_l + (R_kv/sqrt(R_kk)) eta_l + sqrt(R_vv - R_kv^2/R_kk) zeta_l, the projection on v."""
    along, across = R_KV / sqrt(R_KK), sqrt(R_VV - R_KV**2 / R_KK)
    return m_vk * chi[index] + m_vv * z[index] + along * eta[index] + across * zeta[index]


def attention_at_key(attention: Attention, length: Expr = L) -> ScoredActivation:
    """sigma_epsilon at the scores of k."""
    return ScoredActivation.of(epsilon, attention, score(m), length)


def landscape_loss(task: Task, attention: Attention) -> Expr:
    """E_g (y - sum_l sigma_l(chi) z_l)^2 at key and value vectors with the seven order parameters."""
    sigma = attention_at_key(attention)
    prediction = Sum(sigma.at(l) * value(l), (l, 1, L))
    return over_length(squared_loss(prediction, task.law, task.noise), task.length)


ON_MANIFOLD = {m_kv: S.Zero, m_vk: S.Zero, q_kv: S.Zero}
"""Where the flow of a start on the manifold stays: z -> -z with v* -> -v* and v -> -v changes the sign of these three."""


@cache
def landscape_chain(task: Task, attention: Attention) -> Derivation:
    """From the definition to expectations over one Gaussian a token where g shifts a Gaussian, over two elsewhere."""
    return reduced(Derivation(landscape_loss(task, attention)))


def reduced(chain: Derivation) -> Derivation:
    """The rules that lead from a landscape loss to its risk, applied to a chain that starts there."""
    for rule in (RotateNoise(), TurnTowardsKey()):
        with suppress(RuleRefused):
            chain = chain.apply(rule)
    return chain.apply(Linearity()).apply(GaussianMoments()).apply(Collect())


def landscape_risk(task: Task, attention: Attention) -> Expr:
    """E(m, q), the population risk at key and value vectors with given order parameters, in the symbols of the seven.

    Where the weight shifts a Gaussian (spiked-SLR) it stands in expectations over one Gaussian a token, at the signal
    strength nu m_kk^2/q_kk and the scale sqrt(q_kk) that the key sees, and ``evaluate`` takes it to any digits. Elsewhere
    chi* and the part of the score that it leaves open are two; ``symslr.evaluation.landscape`` has numbers for both.

    Source: arXiv 2509.21936, section 4; derived in derivations/25_landscape.py.
    """
    return landscape_chain(task, attention).result


def velocities(slopes_m: Matrix, slopes_q: Matrix, m: Matrix, q: Matrix) -> tuple[Matrix, Matrix]:
    """(dm/dt, dq/dt) where dk/dt = -D dE/dk and dv/dt = -D dE/dv.

        dm/dt = -(E_m + 2 E_q m),   dq/dt = -(E_m m^T + m E_m^T + 2 E_q q + 2 q E_q)

    Args:
        slopes_m: E_m = dE/dm, rows (k, v) and columns (k*, v*).
        slopes_q: E_q, half of dE/dq_kv off its diagonal.
        m, q: the order parameters in the same order.
    """
    half = slopes_m * m.T + 2 * slopes_q * q
    return -(slopes_m + 2 * slopes_q * m), -(half + half.T)
