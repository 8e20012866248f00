"""The posterior mean E[r_l | chi] and the posterior variance, on arrays of sequences, for every law of location."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import scipy

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.setting import Setting, chain_parameters, shared_and_own_variance
from symslr.evaluation.location.subsets.counts import inclusion_probabilities
from symslr.evaluation.location.tables.attention import given_common_part
from symslr.model.location.where import Independent, OnePosition

FEW_CONFIGURATIONS = 64
"""Up to this many hidden configurations are enumerated even where a structured sum exists: it is quicker."""
MOST_CONFIGURATIONS = 4096
"""Most hidden configurations that are enumerated where no structured sum exists."""

Posterior = Callable[[Any], tuple[Any, Any]]
"""Keys (n, L, p) -> (a, v): a_l = E[r_l | chi], shape (n, L), and v = E[(r - a)^T C_v (r - a) | chi], shape (n,)."""


def posterior(setting: Setting) -> Posterior:
    """The posterior of a setting, as a function of keys.

    Raises:
        CannotEvaluate: for more than ``MOST_CONFIGURATIONS`` hidden configurations without a structured sum.
    """
    where, independent = setting.task.location, setting.are_keys_independent
    if isinstance(where, OnePosition):
        return lambda keys: _one(setting, keys)
    if independent and isinstance(where, Independent):
        return lambda keys: _coins(setting, keys)
    if setting.are_values_independent and configuration_count(setting) > FEW_CONFIGURATIONS:
        if independent:
            odds = setting.log_prior
            return lambda keys: from_inclusion(
                setting, *inclusion_probabilities(setting.log_weights(keys) + odds, setting.size)[:2]
            )
        if chain_parameters(setting.task.key_covariance) is not None:
            return lambda keys: from_inclusion(setting, *by_forward_backward(setting, keys))
        if shared_and_own_variance(setting.task.key_covariance) and setting.directions == 1:
            return lambda keys: from_inclusion(setting, *by_common_part(setting, keys))
    every = configurations(setting)
    return lambda keys: by_enumeration(setting, every, keys)


def _one(setting: Setting, keys: Any) -> tuple[Any, Any]:
    logs = setting.log_weights(keys) + setting.log_prior
    p = scipy.special.softmax(logs, axis=1)
    if setting.are_values_independent:
        top = p.argmax(axis=1)[:, None]
        rest = p.copy()
        np.put_along_axis(rest, top, 0.0, axis=1)
        miss = 1.0 - p
        np.put_along_axis(miss, top, rest.sum(axis=1, keepdims=True), axis=1)
        return p, np.einsum("nl,nl->n", p, miss)
    matrix = setting.value_matrix
    spread = np.diag(matrix)
    apart = spread[:, None] + spread - 2 * matrix
    np.fill_diagonal(apart, 0.0)
    return p, np.einsum("nl,lm,nm->n", p, apart, p, optimize=True) / 2


def _coins(setting: Setting, keys: Any) -> tuple[Any, Any]:
    logits = setting.log_weights(keys) + setting.log_odds
    p, miss = scipy.special.expit(logits), scipy.special.expit(-logits)
    return p, np.einsum("l,nl,nl->n", setting.value_variances, p, miss)


def from_inclusion(setting: Setting, p: Any, miss: Any) -> tuple[Any, Any]:
    """(a, v) of ``Posterior`` for independent values, from P(l relevant | chi) and P(l irrelevant | chi), (n, L) each."""
    size = max(setting.size, 1)
    return p / size, np.einsum("nl,nl->n", p, miss) / size**2


@dataclass(frozen=True)
class Configurations:
    """All hidden configurations: log probabilities (M,), read-outs r (M, L), signals (M, L, p)."""

    logs: Any
    readouts: Any
    signals: Any


def configuration_count(setting: Setting) -> int:
    """The number of hidden configurations."""
    kinds = len(setting.shares)
    if isinstance(setting.task.location, Independent):
        return (1 + kinds) ** setting.length
    return comb(setting.length, setting.size) * kinds**setting.size


def configurations(setting: Setting) -> Configurations:
    """All hidden configurations.

    Raises:
        CannotEvaluate: where there are too many.
    """
    found = configuration_count(setting)
    if found > MOST_CONFIGURATIONS:
        raise CannotEvaluate(
            f"task {setting.task.name}: {setting.task.location} with correlated keys or values has {found} hidden "
            f"configurations at L={setting.length}, and no structure that sums them; expected at most {MOST_CONFIGURATIONS}"
        )
    coins = isinstance(setting.task.location, Independent)
    odds = np.broadcast_to(setting.log_odds if coins else setting.log_prior, (setting.length,))
    logs, readouts, signals = [], [], []
    for size in range(setting.length + 1) if coins else (setting.size,):
        for chosen in map(list, combinations(range(setting.length), size)):
            for kinds in map(list, product(range(len(setting.shares)), repeat=size)):
                signals.append(np.zeros((setting.length, setting.directions)))
                signals[-1][chosen] = setting.values[kinds]
                readouts.append(np.zeros(setting.length))
                readouts[-1][chosen] = 1 / max(setting.size, 1)
                logs.append(np.sum(odds[chosen]) + np.sum(np.log(setting.shares[kinds])))
    total = np.array(logs)
    return Configurations(total - scipy.special.logsumexp(total), np.array(readouts), np.array(signals))


def by_enumeration(setting: Setting, every: Configurations, keys: Any) -> tuple[Any, Any]:
    """(a, v) of ``Posterior`` at keys (n, L, p), by Bayes' rule over all configurations."""
    flat = every.signals.reshape(len(every.logs), -1)
    inner = np.sqrt(setting.strength) * setting.filtered(keys).reshape(len(keys), -1) @ flat.T
    precision = np.eye(setting.length) if setting.are_keys_independent else setting.precision
    cost = np.einsum("hlp,lm,hmp->h", every.signals, precision, every.signals, optimize=True)
    logs = inner - setting.strength / 2 * cost + every.logs
    share = scipy.special.softmax(logs, axis=1)
    mean = share @ every.readouts
    if setting.are_values_independent:
        # positive terms, which keep their digits where the risk is small
        size = max(setting.size, 1)
        return mean, np.einsum("nl,nl->n", mean, share @ (every.readouts == 0)) / size
    norms = np.einsum("hl,lm,hm->h", every.readouts, setting.value_matrix, every.readouts, optimize=True)
    return mean, share @ norms - np.einsum("nl,nl->n", mean @ setting.value_matrix, mean)


TINY = 1e-300
"""Replaces 0 in a denominator."""


def by_forward_backward(setting: Setting, keys: Any) -> tuple[Any, Any]:
    """P(l relevant | chi) and P(l not relevant | chi), (n, L), for keys (n, L, p) of a stationary chain: forward-backward sums.

    The precision K of C_ij = v rho^|i - j| is tridiagonal, so that for hidden signals theta_l (0 where l is not relevant)

        log w = sum_l (sqrt(nu) theta_l.(K chi)_l - nu K_ll |theta_l|^2/2) - nu sum_l K_{l,l+1} theta_l.theta_{l+1}

    is summed over all configurations position by position, forwards and backwards. Where s positions are relevant the state also
    counts those met so far.
    """
    leaps, own = _pair_factors(setting), _log_single_factors(setting, keys)
    ahead = _forward_sums(setting, own, leaps)
    backwards = _forward_sums(setting, own[:, ::-1], leaps.transpose(0, 2, 1)[::-1])[:, ::-1]
    # both sweeps hold the factor of the position itself: divide by it once
    joint = (
        ahead
        * _aligned_counts(setting, backwards)
        / np.maximum(np.exp(own - own.max(axis=2, keepdims=True)), TINY)[:, :, None]
    )
    by_state = joint.sum(axis=2)
    inside, outside = by_state[..., 1:].sum(axis=2), by_state[..., 0]
    total = inside + outside
    return inside / total, outside / total


def _signals(setting: Setting) -> Any:
    """theta of every state of a position, (1 + kinds, p): 0 where it is not relevant."""
    return np.concatenate([np.zeros((1, setting.directions)), setting.values])


def _pair_factors(setting: Setting) -> Any:
    """Pair factors e^{-nu K_{l,l+1} theta.theta'} of neighbours, (L - 1, states, states)."""
    theta = _signals(setting)
    beside = np.diag(setting.precision, 1)
    return np.exp(-setting.strength * beside[:, None, None] * (theta @ theta.T))


def _log_single_factors(setting: Setting, keys: Any) -> Any:
    """log of the factor of a single position, prior included, (n, L, states)."""
    theta = _signals(setting)
    cost = setting.strength / 2 * setting.precision_diagonal[:, None] * np.sum(theta**2, axis=1)
    logs = np.sqrt(setting.strength) * setting.filtered(keys) @ theta.T - cost
    coins = isinstance(setting.task.location, Independent)
    odds = setting.log_odds if coins else setting.log_prior + np.log(setting.length)
    logs[:, :, 1:] += odds[:, None] + np.log(setting.shares)
    return logs


def _forward_sums(setting: Setting, own: Any, leaps: Any) -> Any:
    """Forward sums over positions 1..l, by the number of relevant ones met and the state of l: (n, L, met, states), rescaled."""
    n, length, states = own.shape
    most = setting.size
    mass = np.exp(own - own.max(axis=2, keepdims=True))
    found = np.zeros((n, length, most + 1, states))

    def taken(rows: Any, place: int) -> Any:
        here = np.zeros_like(found[:, 0])
        here[..., 0] = rows[..., 0] * mass[:, place, None, 0]
        gone = rows[..., 1:] * mass[:, place, None, 1:]
        here[:, min(most, 1) :, 1:] = gone[:, : most + 1 - min(most, 1)]
        return here / np.maximum(here.max(axis=(1, 2), keepdims=True), TINY)

    start = np.zeros((n, most + 1, states))
    start[:, 0] = 1.0
    found[:, 0] = taken(start, 0)
    for place in range(1, length):
        found[:, place] = taken(found[:, place - 1] @ leaps[place - 1], place)
    return found


def _aligned_counts(setting: Setting, backwards: Any) -> Any:
    """The backward sums, indexed by the number met in the forward sums such that s are met in all."""
    if setting.size == 0:
        return backwards
    met = backwards[:, :, ::-1].copy()
    # a relevant position is met by both sweeps
    found = np.zeros_like(met)
    found[..., 0] = met[..., 0]
    found[:, :, 1:, 1:] = met[:, :, :-1, 1:]
    return found


STEP, REACH = 0.75, 8.0
"""Step and range of the trapezoid rule over zeta, in units of tau: its relative error is exp(-2 pi^2/STEP^2) = 6e-16."""
KEYS_AT_ONCE = 2**21
"""Keys times nodes that are held at once: 16 MiB for each array."""


def by_common_part(setting: Setting, keys: Any) -> tuple[Any, Any]:
    """P(l relevant | chi) and P(l not relevant | chi), (n, L), for keys (n, L, 1) of one positive correlation.

    Keys of variance v and correlation rho are chi_l = c zeta + d xi_l + sqrt(nu) theta_l, c^2 = v rho, d^2 = v (1 - rho), with
    independent zeta and xi_l ~ N(0, 1). Given zeta the tokens are independent, and

        p(zeta | chi) ~ exp(-zeta^2/2 - sum_l (chi_l - c zeta)^2/(2 d^2)) W(zeta),

    W = prod_l (1 - pi + pi w_l) for coins and e_s(w) for s relevant tokens, w_l the weights of the keys (chi_l - c zeta)/d. For
    every configuration this is a normal density of the same standard deviation tau, whose mean depends on the sum of its signals.
    """
    parts = given_common_part(setting)
    assert parts is not None
    plain, own, ratio = parts
    width = (1 + setting.length * ratio**2) ** -0.5
    moved = -width * ratio / own * np.sqrt(setting.strength) * (setting.size or setting.length) * setting.values[:, 0]
    low, high = min(0.0, float(moved.min())) - REACH, max(0.0, float(moved.max())) + REACH
    at = np.arange(low, high + STEP, STEP)
    size = max(1, KEYS_AT_ONCE // (keys.shape[1] * len(at)))
    starts = range(0, len(keys), size)
    # keys and what they share in units of a key's own deviation
    inside, outside = zip(
        *(_batch(setting, plain, keys[start : start + size] / own, ratio, width, at) for start in starts)
    )
    return np.concatenate(inside), np.concatenate(outside)


def _batch(setting: Setting, plain: Setting, keys: Any, ratio: float, width: float, at: Any) -> tuple[Any, Any]:
    """The same for one batch of sequences.

    Args:
        plain: the setting with independent keys, in units of d.
        keys: shape (n, L, 1), in units of d.
        ratio: c/d.
        width: tau.
        at: nodes of zeta in units of tau, from the mean without relevant tokens.
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
        found = inclusion_probabilities((logs + setting.log_prior).reshape(-1, length), setting.size)
        inside, outside, together = (part.reshape(count, nodes, -1) for part in found)
        together = together[..., 0]
    mass = scipy.special.softmax(together - at**2 / 2, axis=1)
    return np.einsum("nm,nml->nl", mass, inside), np.einsum("nm,nml->nl", mass, outside)
