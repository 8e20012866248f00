"""Several relevant tokens among keys of one positive correlation: the posterior, as a mean over the part that all keys share.

Keys of variance v and correlation rho are chi_l = c zeta + d xi_l + sqrt(nu) theta_l, c^2 = v rho, d^2 = v (1 - rho), with
independent zeta and xi_l ~ N(0, 1). Given zeta the tokens are independent, and

    p(zeta | chi) ~ exp(-zeta^2/2 - sum_l (chi_l - c zeta)^2/(2 d^2)) W(zeta),

W = prod_l (1 - pi + pi w_l) for coins and e_s(w) for s relevant tokens, w_l the weights of the keys (chi_l - c zeta)/d. For every
configuration this is a normal density of the same width tau, about a mean that moves with the sum of its signals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.subsets.counts import inclusion
from symslr.evaluation.location.tables.attention import given_common_part
from symslr.model.location.where import Independent

STEP, REACH = 0.75, 8.0
"""Of a trapezoid rule, in units of tau: its error is that of exp(-2 pi^2/STEP^2)."""
BLOCK = 2**21
"""Keys at once."""


def given_all(setting: Setting, keys: Any) -> tuple[Any, Any]:
    """P(l relevant | chi) and P(l not relevant | chi), (n, L), for keys (n, L, 1)."""
    parts = given_common_part(setting)
    assert parts is not None
    plain, own, ratio = parts
    width = (1 + setting.length * ratio**2) ** -0.5
    moved = -width * ratio / own * np.sqrt(setting.strength) * (setting.size or setting.length) * setting.values[:, 0]
    low, high = min(0.0, float(moved.min())) - REACH, max(0.0, float(moved.max())) + REACH
    at = np.arange(low, high + STEP, STEP)
    size = max(1, BLOCK // (keys.shape[1] * len(at)))
    starts = range(0, len(keys), size)
    # keys and what they share in units of a key's own deviation
    inside, outside = zip(
        *(_batch(setting, plain, keys[start : start + size] / own, ratio, width, at) for start in starts)
    )
    return np.concatenate(inside), np.concatenate(outside)


def _batch(setting: Setting, plain: Setting, keys: Any, ratio: float, width: float, at: Any) -> tuple[Any, Any]:
    """The same for few keys.

    Args:
        plain: the setting with independent keys.
        ratio: c/d.
        at: nodes in units of tau = ``width`` about the mean without relevant tokens.
    """
    zeta = width**2 * ratio * keys[:, :, 0].sum(axis=1)[:, None] + width * at
    apart = keys[:, None, :, 0] - ratio * zeta[..., None]
    count, nodes, length = apart.shape
    logs = plain.log_weights(apart.reshape(-1, length, 1)).reshape(count, nodes, length)
    if isinstance(setting.task.location, Independent):
        logits = logs + setting.log_odds
        inside, outside = scipy.special.expit(logits), scipy.special.expit(-logits)
        together = np.sum(np.logaddexp(0.0, logits), axis=2)
    else:
        found = inclusion((logs + setting.log_prior).reshape(-1, length), setting.size)
        inside, outside, together = (part.reshape(count, nodes, -1) for part in found)
        together = together[..., 0]
    log_mass = together - at**2 / 2
    mass = np.exp(log_mass - log_mass.max(axis=1, keepdims=True))
    mass /= mass.sum(axis=1, keepdims=True)
    return np.einsum("nm,nml->nl", mass, inside), np.einsum("nm,nml->nl", mass, outside)
