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
from symslr.evaluation.location.counts import inclusion
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.shared import given_all, is_shared
from symslr.evaluation.location.walk import along_the_chain, is_walked
from symslr.model.location.where import Independent, OnePosition

MOST_CONFIGURATIONS = 4096
"""Hidden configurations that are written out where no structure helps."""
FEW_CONFIGURATIONS = 64
"""Those that are written out where one does: it is quicker."""

Posterior = Callable[[Any], tuple[Any, Any]]
"""Keys (n, L, p) to (a, left): a_l = E[r_l | chi], (n, L), and E[(r - a)^T C_v (r - a) | chi], (n,)."""


@dataclass(frozen=True)
class Configurations:
    """All hidden configurations: log probabilities (M,), read-outs r (M, L), signals (M, L, p)."""

    logs: Any
    readouts: Any
    signals: Any


def posterior(setting: Setting) -> Posterior:
    """The posterior of a setting.

    Raises:
        CannotEvaluate: where keys are correlated, several positions may be relevant, and there are too many ways.
    """
    if isinstance(setting.task.location, OnePosition):
        return lambda keys: _one(setting, keys)
    if setting.are_keys_independent and isinstance(setting.task.location, Independent):
        return lambda keys: _coins(setting, keys)
    if setting.are_keys_independent and setting.are_values_independent:
        return lambda keys: _subset(setting, keys)
    if setting.are_values_independent and is_walked(setting):
        return lambda keys: _walked(setting, keys)
    if is_shared(setting) and ways(setting) > FEW_CONFIGURATIONS:
        return lambda keys: _sized(setting, *given_all(setting, keys, log_weights))
    every = configurations(setting)
    return lambda keys: _enumerated(setting, every, keys)


def log_weights(setting: Setting, keys: Any) -> Any:
    """log w_l = log E_theta exp(sqrt(nu) theta.(C^-1 chi)_l - nu |theta|^2 (C^-1)_ll / 2), (n, L)."""
    filtered = keys if setting.are_keys_independent else np.einsum("lm,nmp->nlp", setting.precision, keys)
    inner = np.sqrt(setting.strength) * filtered @ setting.values.T
    cost = setting.strength / 2 * setting.precision_diagonal[:, None] * np.sum(setting.values**2, axis=1)
    return log_mean(inner - cost, setting.shares)


def log_mean(logs: Any, shares: Any) -> Any:
    """log of the mean of exp(logs) over the last axis."""
    if len(shares) == 1:
        return logs[..., 0]
    top = logs.max(axis=-1)
    return top + np.log(np.exp(logs - top[..., None]) @ shares)


def _one(setting: Setting, keys: Any) -> tuple[Any, Any]:
    logs = log_weights(setting, keys) + setting.log_prior
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
    share = setting.coins
    logits = log_weights(setting, keys) + np.log(share) - np.log1p(-share)
    p, miss = scipy.special.expit(logits), scipy.special.expit(-logits)
    spread = np.ones(setting.length) if setting.are_values_independent else np.diag(setting.value_matrix)
    return p, np.einsum("l,nl,nl->n", spread, p, miss)


def _subset(setting: Setting, keys: Any) -> tuple[Any, Any]:
    return _sized(setting, *inclusion(log_weights(setting, keys) + setting.log_prior, setting.size))


def _walked(setting: Setting, keys: Any) -> tuple[Any, Any]:
    return _sized(setting, *along_the_chain(setting, keys))


def _sized(setting: Setting, p: Any, miss: Any) -> tuple[Any, Any]:
    """From probabilities of being relevant and of not."""
    size = max(setting.size, 1)
    return p / size, np.einsum("nl,nl->n", p, miss) / size**2


def _enumerated(setting: Setting, every: Configurations, keys: Any) -> tuple[Any, Any]:
    flat = every.signals.reshape(len(every.logs), -1)
    filtered = keys if setting.are_keys_independent else np.einsum("lm,nmp->nlp", setting.precision, keys)
    inner = np.sqrt(setting.strength) * filtered.reshape(len(keys), -1) @ flat.T
    precision = np.eye(setting.length) if setting.are_keys_independent else setting.precision
    cost = np.einsum("hlp,lm,hmp->h", every.signals, precision, every.signals, optimize=True)
    logs = inner - setting.strength / 2 * cost + every.logs
    share = np.exp(logs - scipy.special.logsumexp(logs, axis=1, keepdims=True))
    mean = share @ every.readouts
    norms = np.einsum("hl,lm,hm->h", every.readouts, setting.value_matrix, every.readouts, optimize=True)
    return mean, share @ norms - np.einsum("nl,lm,nm->n", mean, setting.value_matrix, mean, optimize=True)


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
    positions = range(setting.length)
    sizes = range(setting.length + 1) if isinstance(setting.task.location, Independent) else (setting.size,)
    logs, readouts, signals = [], [], []
    for chosen in (subset for size in sizes for subset in combinations(positions, size)):
        base = _log_of(setting, chosen)
        readout = np.zeros(setting.length)
        readout[list(chosen)] = 1 / setting.size if setting.size else 1.0
        for kinds in product(range(len(setting.shares)), repeat=len(chosen)):
            signal = np.zeros((setting.length, setting.directions))
            signal[list(chosen)] = setting.values[list(kinds)]
            logs.append(base + float(np.sum(np.log(setting.shares[list(kinds)]))))
            readouts.append(readout)
            signals.append(signal)
    total = np.array(logs)
    return Configurations(total - scipy.special.logsumexp(total), np.array(readouts), np.array(signals))


def _log_of(setting: Setting, chosen: tuple[int, ...]) -> float:
    """The log probability of relevant positions, up to a constant."""
    if isinstance(setting.task.location, Independent):
        inside = np.zeros(setting.length, dtype=bool)
        inside[list(chosen)] = True
        return float(np.sum(np.where(inside, np.log(setting.coins), np.log1p(-setting.coins))))
    return float(np.sum(setting.log_prior[list(chosen)]))
