"""Likelihood ratios of tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from symslr.evaluation.location.setting import Setting


def log_weights(setting: Setting, keys: Any) -> Any:
    """log w_l = log E_theta exp(sqrt(nu) theta.(C^-1 chi)_l - nu |theta|^2 (C^-1)_ll / 2), (n, L)."""
    return token_log_weight(setting, filtered(setting, keys), setting.precision_diagonal[:, None])


def filtered(setting: Setting, keys: Any) -> Any:
    """C^-1 chi, (n, L, p)."""
    return keys if setting.are_keys_independent else np.einsum("lm,nmp->nlp", setting.precision, keys)


def token_log_weight(setting: Setting, keys: Any, precision: Any = 1.0) -> Any:
    """log w of tokens from their filtered keys (..., p), for keys of this (C^-1)_ll."""
    logs = np.sqrt(setting.strength) * keys @ setting.values.T - setting.strength / 2 * precision * setting.norms
    if len(setting.shares) == 1:
        return logs[..., 0]
    top = logs.max(axis=-1)
    return top + np.log(np.exp(logs - top[..., None]) @ setting.shares)
