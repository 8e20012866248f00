"""Several relevant tokens among keys of a stationary chain: the posterior by sums forwards and backwards along it.

The precision K of C_ij = v rho^|i - j| couples neighbours alone, so that for hidden signals theta_l (0 where l is not relevant)

    log w = sum_l (sqrt(nu) theta_l.(K chi)_l - nu K_ll |theta_l|^2/2) - nu sum_l K_{l,l+1} theta_l.theta_{l+1}

is summed over all configurations position by position; where s are relevant the state holds how many have been met.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symslr.evaluation.location.setting import Setting
from symslr.model.location.where import Independent

LEAST = 1e-300
"""In the place of 0 in a denominator."""


def along_the_chain(setting: Setting, keys: Any) -> tuple[Any, Any]:
    """P(l relevant | chi) and P(l not relevant | chi), (n, L), for keys (n, L, p)."""
    leaps, own = _leaps(setting), _own(setting, keys)
    ahead = _swept(setting, own, leaps)
    backwards = _swept(setting, own[:, ::-1], leaps.transpose(0, 2, 1)[::-1])[:, ::-1]
    # what a position weighs itself stands in both sweeps
    joint = (
        ahead
        * _met_before(setting, backwards)
        / np.maximum(np.exp(own - own.max(axis=2, keepdims=True)), LEAST)[:, :, None]
    )
    by_state = joint.sum(axis=2)
    inside, outside = by_state[..., 1:].sum(axis=2), by_state[..., 0]
    total = inside + outside
    return inside / total, outside / total


def _signals(setting: Setting) -> Any:
    """theta of every state of a position, (1 + kinds, p): 0 where it is not relevant."""
    return np.concatenate([np.zeros((1, setting.directions)), setting.values])


def _leaps(setting: Setting) -> Any:
    """e^{-nu K_{l,l+1} theta.theta'} between neighbours, (L - 1, states, states)."""
    theta = _signals(setting)
    beside = np.diag(setting.precision, 1)
    return np.exp(-setting.strength * beside[:, None, None] * (theta @ theta.T))


def _own(setting: Setting, keys: Any) -> Any:
    """log of the prior and of what a position weighs by itself, (n, L, states)."""
    theta = _signals(setting)
    cost = setting.strength / 2 * setting.precision_diagonal[:, None] * np.sum(theta**2, axis=1)
    logs = np.sqrt(setting.strength) * setting.filtered(keys) @ theta.T - cost
    coins = isinstance(setting.task.location, Independent)
    odds = setting.log_odds if coins else setting.log_prior + np.log(setting.length)
    logs[:, :, 1:] += odds[:, None] + np.log(setting.shares)
    return logs


def _swept(setting: Setting, own: Any, leaps: Any) -> Any:
    """Sums over all positions up to each one, itself included, by how many were met and its state: (n, L, met, states)."""
    n, length, states = own.shape
    most = setting.size
    mass = np.exp(own - own.max(axis=2, keepdims=True))
    found = np.zeros((n, length, most + 1, states))

    def taken(rows: Any, place: int) -> Any:
        here = np.zeros_like(found[:, 0])
        here[..., 0] = rows[..., 0] * mass[:, place, None, 0]
        gone = rows[..., 1:] * mass[:, place, None, 1:]
        here[:, min(most, 1) :, 1:] = gone[:, : most + 1 - min(most, 1)]
        return here / np.maximum(here.max(axis=(1, 2), keepdims=True), LEAST)

    start = np.zeros((n, most + 1, states))
    start[:, 0] = 1.0
    found[:, 0] = taken(start, 0)
    for place in range(1, length):
        found[:, place] = taken(found[:, place - 1] @ leaps[place - 1], place)
    return found


def _met_before(setting: Setting, backwards: Any) -> Any:
    """The sums from the other end, by how many are met up to the position so that the wanted number is met in all."""
    if setting.size == 0:
        return backwards
    met = backwards[:, :, ::-1].copy()
    # a relevant position is met by both sweeps
    found = np.zeros_like(met)
    found[..., 0] = met[..., 0]
    found[:, :, 1:, 1:] = met[:, :, :-1, 1:]
    return found
