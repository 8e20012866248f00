"""E[r_l | chi] at many sequences at once, and the variance that is left: one function for every law of location."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import scipy

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.posterior.along_chain import along_the_chain
from symslr.evaluation.location.posterior.one_correlation import given_all
from symslr.evaluation.location.setting import Setting, chain_of, common_part
from symslr.evaluation.location.subsets.counts import inclusion
from symslr.model.location.where import Independent, OnePosition

FEW_CONFIGURATIONS = 64
"""Hidden configurations that are written out even where a structure helps: it is quicker."""
MOST_CONFIGURATIONS = 4096
"""Hidden configurations that are written out where no structure helps."""

Posterior = Callable[[Any], tuple[Any, Any]]
"""Keys (n, L, p) to (a, left): a_l = E[r_l | chi], (n, L), and E[(r - a)^T C_v (r - a) | chi], (n,)."""


def posterior(setting: Setting) -> Posterior:
    """The posterior of a setting.

    Raises:
        CannotEvaluate: where keys are correlated, several positions may be relevant, and there are too many ways.
    """
    where, independent = setting.task.location, setting.are_keys_independent
    if isinstance(where, OnePosition):
        return lambda keys: _one(setting, keys)
    if independent and isinstance(where, Independent):
        return lambda keys: _coins(setting, keys)
    if setting.are_values_independent and ways(setting) > FEW_CONFIGURATIONS:
        if independent:
            odds = setting.log_prior
            return lambda keys: sized(setting, *inclusion(setting.log_weights(keys) + odds, setting.size)[:2])
        if chain_of(setting.task.key_covariance) is not None:
            return lambda keys: sized(setting, *along_the_chain(setting, keys))
        if common_part(setting.task.key_covariance) and setting.directions == 1:
            return lambda keys: sized(setting, *given_all(setting, keys))
    every = configurations(setting)
    return lambda keys: enumerated(setting, every, keys)


def _one(setting: Setting, keys: Any) -> tuple[Any, Any]:
    logs = setting.log_weights(keys) + setting.log_prior
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
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


def sized(setting: Setting, p: Any, miss: Any) -> tuple[Any, Any]:
    """(a, left) from the probabilities of being relevant and of not, with independent values."""
    size = max(setting.size, 1)
    return p / size, np.einsum("nl,nl->n", p, miss) / size**2


@dataclass(frozen=True)
class Configurations:
    """All hidden configurations: log probabilities (M,), read-outs r (M, L), signals (M, L, p)."""

    logs: Any
    readouts: Any
    signals: Any


def ways(setting: Setting) -> int:
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
    found = ways(setting)
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


def enumerated(setting: Setting, every: Configurations, keys: Any) -> tuple[Any, Any]:
    """(a, left) at keys (n, L, p), by Bayes' rule over all configurations."""
    flat = every.signals.reshape(len(every.logs), -1)
    inner = np.sqrt(setting.strength) * setting.filtered(keys).reshape(len(keys), -1) @ flat.T
    precision = np.eye(setting.length) if setting.are_keys_independent else setting.precision
    cost = np.einsum("hlp,lm,hmp->h", every.signals, precision, every.signals, optimize=True)
    logs = inner - setting.strength / 2 * cost + every.logs
    share = np.exp(logs - logs.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    mean = share @ every.readouts
    if setting.are_values_independent:
        # positive terms, which keep their digits where the risk is small
        size = max(setting.size, 1)
        return mean, np.einsum("nl,nl->n", mean, share @ (every.readouts == 0)) / size
    norms = np.einsum("hl,lm,hm->h", every.readouts, setting.value_matrix, every.readouts, optimize=True)
    return mean, share @ norms - np.einsum("nl,nl->n", mean @ setting.value_matrix, mean)
