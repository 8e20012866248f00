"""All hidden configurations, written out: the posterior where no structure sums them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import scipy

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.setting import Setting
from symslr.model.location.where import Independent

MOST_CONFIGURATIONS = 4096
"""Hidden configurations that are written out where no structure helps."""


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
