"""The Bayes risk for one relevant token and equally correlated keys, as a Fourier integral of means over independent tokens.

Keys of shared variance c^2 and own variance d^2 have filtered noises g = C^-1 xi ~ N(0, C^-1), and C = d^2 + c^2 1 1^T, so that

    E F(g) = sqrt(1 + L c^2/d^2) E_tau E[F(x/d) e^{i (c/d) tau sum_l x_l}],    tau, x_l ~ N(0, 1) independent,

so the inner mean is one over independent tokens with a phase e^{i (c/d) tau x_l} each. For one value of theta the common shift of
the keys has no effect on the posterior, and this formula is not needed; for several values it has.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from symslr.evaluation.location.means import Means, by_two_rules
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.tables.attention import given_common_part
from symslr.evaluation.location.tables.rules import COARSE, LOWEST, Rule, key_step, over_log_u
from symslr.evaluation.location.tables.tokens import nodes

LONGEST = 300
"""Most positions where their priors differ."""
REACH = 8.6
"""Range in standard deviations: beyond, a normal density is below 1e-16 of its maximum."""
HIGHEST = 700.0
"""Largest exponent used: exp(710) overflows in float64."""
LOAD = 0.2
"""Step of the trapezoid rule over log u."""


def common_means(setting: Setting) -> Means:
    """E|r - a|^2 for one relevant position, keys of one positive correlation along one direction and independent values."""
    parts = given_common_part(setting)
    assert parts is not None
    plain, _, ratio = parts
    return by_two_rules(
        partial(_risk, setting, plain, ratio), "tables with phases of what keys share in float64", 1e-14
    )


def _risk(setting: Setting, plain: Setting, ratio: float, rule: Rule) -> float:
    """sqrt(1 + L c^2/d^2) int dtau int du Re E sum_{l != m} omega_l omega_m e^{-u sum omega} e^{i tau ...}, omega = pi w.

    Args:
        plain: the setting with independent keys in units of d.
        ratio: c/d.
    """
    slope = float(np.sqrt(plain.strength * np.max(plain.norms)))
    found = nodes(plain, key_step(plain, rule, slope))
    narrow = np.sqrt(1 + setting.length * ratio**2)
    # aliases of the sum over tau lie at multiples of 2 pi/step, beyond the range of the sum of keys
    step = 2 * np.pi / (REACH * (narrow + 1) + 2 * ratio * slope) * rule.load / COARSE.load
    tau = step * np.arange(int(REACH / step) + 1)
    mass = step * np.exp(-(tau**2) / 2) / np.sqrt(2 * np.pi) * np.where(tau > 0, 2.0, 1.0)
    logs = plain.token_log_weight(found.keys, 1 - ratio**2 / narrow**2)
    phase = np.exp(1j * ratio * np.multiply.outer(found.keys[:, 0], tau))
    relevant = found.relevant * np.exp(logs - plain.token_log_weight(found.keys))
    others, relevant = found.others[:, None] * phase, relevant[:, None] * phase

    def integrand(log_u: Any) -> tuple[Any, Any]:
        pairs = np.sum(_pairs(setting, partial(_position_moments, log_u, logs, others, relevant)).real @ mass)
        return pairs, step_of_u * pairs

    step_of_u = LOAD * rule.load
    return float(narrow * over_log_u(integrand, step_of_u, LOWEST, rule.least))


def _pairs(setting: Setting, picked: Any) -> Any:
    """E sum_{l != m} omega_l (u omega_m) e^{-u sum omega} e^{i tau ...}, (log u, tau)."""
    prior = setting.log_prior
    if setting.is_uniform:
        log_none, _, seen, pick = picked(prior[0])
        return np.exp((len(prior) - 2) * log_none) * seen * pick * len(prior) * (len(prior) - 1)
    none, one, other, both = 1.0, 0.0, 0.0, 0.0
    for lean in prior:
        _, kept, seen, pick = picked(lean)
        both = both * kept + one * pick + other * seen
        one, other, none = one * kept + none * seen, other * kept + none * pick, none * kept
    return both


def _position_moments(log_u: Any, logs: Any, others: Any, relevant: Any, lean: float) -> tuple[Any, Any, Any, Any]:
    """log m, m, E[omega e^{-u omega} e^{i tau x}] and u times that, m = E[e^{-u omega} e^{i tau x}], for one position."""
    load = np.exp(np.minimum(log_u[:, None] + logs + lean, HIGHEST))
    decay = np.exp(-load)
    whole, kept = others.sum(axis=0), decay @ others
    share = (-np.expm1(-load) @ others) / whole
    near = np.abs(share) < 0.5
    log_none = np.log(whole) + np.log1p(-np.where(near, share, 0.0))
    log_none = np.where(near, log_none, np.log(np.where(kept == 0, 1e-300, kept)))
    return log_none, kept, np.exp(lean) * (decay @ relevant), (np.where(decay > 0, load, 0.0) * decay) @ others
