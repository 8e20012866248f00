"""The gradient of log Z of one label at the fields of its sequence, and its divergence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symslr.simulate.log_domain import Array
from symslr.simulate.position_levels import PositionLevels


@dataclass(frozen=True)
class Force:
    """g = grad log Z in the fields of keys and of values.

    Attributes:
        messages: g_k and g_v of every token, shape (2, T).
        divergence: sum over tokens of dg/domega, for keys and for values, shape (2,).
    """

    messages: Array
    divergence: Array


def posterior_force(
    levels: PositionLevels, omega: Array, variances: Array, y: Array, offsets: NDArray[np.int64], noise: float
) -> Force:
    """The force of every token.

    With chi_l ~ N(omega_k,l, V_k) and z_l ~ N(omega_v,l, V_v), a sequence and its label have the probability

        Z = sum_l E[g(l, chi)] N(y; omega_v,l, V_v + Delta^2),

    and E g(l, chi) is a sum over levels of products over tokens. So g_k,m sums, over levels and positions, the posterior
    of both times the slope of that product in omega_k,m; and g_v,l = p_l (y - omega_v,l)/(V_v + Delta^2).

    Args:
        omega: fields of keys and values, shape (2, T).
        variances: V_k and V_v.
        offsets: sequence mu owns the tokens offsets[mu]:offsets[mu + 1].
    """
    starts, counts = offsets[:-1], np.diff(offsets)
    lowest = float(np.maximum.reduceat(omega[0], starts).min())
    alpha, beta = levels.tokens(omega[0], float(variances[0]), lowest)
    width = variances[1] + noise**2
    gap = np.repeat(y, counts) - omega[1]
    others = np.repeat(np.add.reduceat(alpha.log, starts, axis=1), counts, axis=1) - alpha.log
    joint = others + beta.log - gap**2 / (2 * width)  # level by position
    top = np.maximum.reduceat(joint.max(axis=0), starts)
    joint = np.exp(joint - np.repeat(top, counts))
    joint /= np.repeat(np.add.reduceat(joint.sum(axis=0), starts), counts)
    elsewhere = np.repeat(np.add.reduceat(joint, starts, axis=1), counts, axis=1) - joint
    keys = np.einsum("jt,jt->t", elsewhere, alpha.first) + np.einsum("jt,jt->t", joint, beta.first)
    bend = float(np.vdot(elsewhere, alpha.second) + np.vdot(joint, beta.second))
    p = joint.sum(axis=0)
    values = p * gap / width
    divergence = [bend - keys @ keys, p @ (gap / width) ** 2 - p.sum() / width - values @ values]
    return Force(np.stack([keys, values]), np.array(divergence))
