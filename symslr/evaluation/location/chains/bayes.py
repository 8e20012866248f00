"""The Bayes risk for keys along a stationary chain, C_ij = v rho^|i - j|, by a transfer operator in one variable.

With chi_1 = sqrt(v) g_1, chi_l = rho chi_{l-1} + s g_l, s^2 = v (1 - rho^2), and independent g_l ~ N(0, 1),

    (C^-1 chi)_l = (g_l - rho g_{l+1})/s      (with sqrt(1 - rho^2) g_1 for l = 1, without g_{L+1} for l = L),

so that w_l depends on two neighbours, and e^{-u sum_l pi_l w_l} is a product of matrices in g_l. The Bayes risk is
E sum_{l<m} p_l p_m 2 v' (1 - rho'^{m-l}) for values along a chain (v', rho'); rho' = 0 for independent values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.chains.segments import (
    Key,
    Segment,
    Term,
    attention_terms,
    joined_segments,
    repeated_segment,
)
from symslr.evaluation.location.means import Means, by_two_rules
from symslr.evaluation.location.setting import Setting, chain_parameters
from symslr.evaluation.location.tables.rules import BLOCK, FINE, LOWEST, Rule, over_log_u

REACH = 8.8
"""Standard deviations of a key beyond which less than 2e-18 of its mass lies."""
LONGEST_WALK = 300
"""Up to this many positions matrices are applied one by one; beyond, where all are alike, by doubling."""
LONGEST = 2000
"""Most positions where their priors differ."""
MOST_NODES = 300
"""Most nodes of g: the matrix of one position has their square as entries, for every node of log u."""
MOST_ENTRIES = 12_000_000
"""Matrix entries held at once, for all nodes of log u: 96 MB."""
KEY_STEP, LOG_U_STEP = 0.4, 0.22
"""Steps of the trapezoid rules over g, divided by the slope of the steepest log w (at least 1), and over log u."""


def chain_means(setting: Setting) -> Means | None:
    """E (r - a)^T C_v (r - a) for one relevant position among keys and values along chains; None where weights are so steep that
    more than ``MOST_NODES`` nodes would be needed.

    Raises:
        CannotEvaluate: for sequences that are too long to walk along.
    """
    keys, values = chain_parameters(setting.task.key_covariance), chain_parameters(setting.task.value_covariance)
    assert keys is not None
    assert values is not None
    if setting.length > LONGEST and not setting.is_uniform:
        raise CannotEvaluate(f"found {setting.length} correlated positions with a prior; expected at most {LONGEST}")
    if len(_Chain.of(setting, keys, values, FINE).nodes) > MOST_NODES:
        return None
    return by_two_rules(
        lambda rule: _Chain.of(setting, keys, values, rule).risk(),
        "transfer operator along the chain in float64",
        1e-14,
    )


@dataclass(frozen=True)
class _Chain:
    setting: Setting
    rho: float
    scale: float
    value_variance: float
    value_rho: float
    nodes: Any
    masses: Any
    rule: Rule

    @classmethod
    def of(cls, setting: Setting, keys: tuple[float, float], values: tuple[float, float], rule: Rule) -> _Chain:
        variance, rho = keys
        scale = np.sqrt(variance * (1 - rho**2))
        steepness = np.sqrt(setting.strength) * np.max(np.abs(setting.values)) / scale
        step = KEY_STEP * rule.key / max(steepness, 1.0)
        half = int(np.ceil(REACH / step))
        nodes = step * np.arange(-half, half + 1)
        masses = np.exp(-(nodes**2) / 2)
        return cls(setting, rho, float(scale), *values, nodes, masses / masses.sum(), rule)

    def log_weight(self, place: int) -> Any:
        """log(pi_l w_l) on pairs of nodes (g_l, g_{l+1})."""
        setting, last = self.setting, self.setting.length
        own = np.sqrt(1 - self.rho**2) if place == 1 else 1.0
        ahead = 0.0 if place == last else self.rho
        score = (own * self.nodes[:, None] - ahead * self.nodes[None, :]) / self.scale
        diagonal = 1 / self.scale**2 * (1.0 if place in (1, last) else 1 + self.rho**2)
        return setting.log_prior[place - 1] + setting.token_log_weight(score[..., None], diagonal)

    def risk(self) -> float:
        """v' int du E_0[sum_{l, m} omega_l omega_m (1 - rho'^|l-m|) e^{-u sum omega}] with omega = pi w."""
        rows = max(1, MOST_ENTRIES // len(self.nodes) ** 2 // 6)
        total = over_log_u(self._pairs, LOG_U_STEP * self.rule.load, LOWEST, self.rule.least, min(rows, BLOCK))
        return self.value_variance * float(total)

    def _pairs(self, logs: Any) -> tuple[float, float]:
        """E sum_{l, m} u omega_l omega_m (1 - rho'^|l-m|) e^{-u sum omega}, summed over log u, and a bound on the rest."""
        length, alike, rho = self.setting.length, self.setting.is_uniform, self.value_rho
        terms = _terms(rho)
        decay, pick = (np.sum(part, axis=1, keepdims=True) for part in self._weighted(1, logs))
        rows: Segment = _entries(decay, pick)
        shared = _entries(*self._weighted(2, logs)) if alike and length > 2 else None
        if shared is not None and length - 2 > LONGEST_WALK:
            between = repeated_segment(terms, shared, length - 2, rho, np.matmul)
            rows = joined_segments(terms, rows, between, (1, length - 2), rho, np.matmul)
        else:
            for place in range(2, length):
                here = _entries(*self._weighted(place, logs)) if shared is None else shared
                rows = joined_segments(terms, rows, here, (place - 1, 1), rho, np.matmul, FORWARD_ENTRIES)
        decay, pick = (part[..., :1] for part in self._weighted(length, logs))
        last = joined_segments(terms, rows, _entries(decay, pick), (length - 1, 1), rho, np.matmul, ["one", "norm"])
        both, one = (last[key][:, 0, 0] * np.exp(-logs) for key in (BOTH, ONE))
        # E[sum_{l, m} omega_l omega_m / S e^{-uS}] <= E[S e^{-uS}], S = sum omega
        return float(np.sum(both)), float(one[-1])

    def _weighted(self, place: int, logs: Any) -> tuple[Any, Any]:
        """e^{-u omega} and u omega e^{-u omega} on pairs of nodes, times the mass of the first node, (values of u, nodes,
        nodes)."""
        load = np.exp(np.minimum(logs[:, None, None] + self.log_weight(place), 700.0))
        decay = np.exp(-load)
        pick = np.where(decay > 0, load, 0.0) * decay
        return self.masses[:, None] * decay, self.masses[:, None] * pick


NONE, ONE, BOTH = ("none", 0), ("one", 0), ("norm", 0)
FORWARD_ENTRIES = ("none", "one", "late pick", "norm")
"""Entries that are needed where positions are appended one by one."""


def _entries(none: Any, pick: Any) -> dict[Key, Any]:
    return {NONE: none, ONE: pick, ("late pick", 0): pick, ("early pick", 0): pick}


def _terms(rho: float) -> list[Term]:
    """One omega picked, and both in either order, times 1 - rho'^(their distance)."""
    return [*attention_terms(0, -1.0, rho), Term(ONE, ONE, NONE), Term(ONE, NONE, ONE), Term(BOTH, ONE, ONE, 2.0)]
