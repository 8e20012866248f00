"""Moments of an attention whose keys form a stationary Gaussian chain, by a transfer operator in one key, at any length.

With S = o + sum_l k_l, k_l = e^{b_l} kappa(a chi_l), and c_lm the correlations of values,

    E sum_lm c_lm r_l k_m / S = int dlog u E[sum_lm c_lm r_l (u k_m) e^{-u S}],   and alike with k_l k_m / S^2 and u k_l u k_m,

and the noise xi of keys chi = xi + sqrt(nu) theta r is a Markov chain: every mean is a product along it of functions of one xi_l
and of the transition kernel K. Mehler: K_rho = K_sqrt(rho) K_sqrt(rho) in the basis where the normal density is 1. Functions,
which may be steep, are evaluated on a fine mesh between the two factors; the chain itself lives on a coarse mesh of few nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.attention_function import AttentionFunction, ParameterValues
from symslr.evaluation.location.chains.segments import Key, Segment, attention_terms, joined_segments, repeated_segment
from symslr.evaluation.location.setting import Setting, chain_parameters
from symslr.evaluation.location.tables.attention import as_independent_keys, attention_reach
from symslr.evaluation.location.tables.rules import Rule, lowest_log_u, over_log_u
from symslr.model.location.covariance import Covariance, Equicorrelated

REACH = 9.0
"""Standard deviations beyond which a token's density is left out."""
MOST_RELEVANT = 6
"""Most relevant positions: the sums carry their number along the chain."""
MOST_NODES = 6000
"""Most nodes of the fine mesh."""
LONGEST_WALK = 2000
"""Most positions where their priors or biases differ: the sums go position by position."""
MOST_WALKED = 256
"""Up to this many positions, all alike, the sums go position by position: quicker than doubling of operators."""
LONGEST = 10**7
"""Most positions where all are alike, by doubling: rounding grows with their number."""


STEP_TIMES_SCALE, WIDEST_STEP, COARSE_STEP, LOG_U_STEP = 0.29, 0.2, 0.62, 0.27
"""Steps of the trapezoid rules. Fine mesh of a key: step times scale, and the widest step in standard deviations. Coarse mesh:
relative to sqrt((1 - rho)/(1 + rho)), the width of the transition. And log u.

The first and the last differ on purpose: where scores differ by whole steps of log u, errors of the sum over log u add up (at the
scale 6 the coarse rule was off by 1e-12 with 0.27 for both, and is by 8e-16)."""


def value_chain_parameters(covariance: Covariance | None) -> tuple[float, float, float] | None:
    """(v, c, d) with C_ll = v and C_lm = v c d^|l - m|, for values that are independent, along a chain, or equally correlated.

    None for other covariances.
    """
    if covariance is not None and isinstance(covariance.structure, Equicorrelated):
        return float(covariance.structure.variance), float(covariance.structure.correlation), 1.0
    found = chain_parameters(covariance)
    return None if found is None else (found[0], float(found[1] != 0), found[1])


def applies_to(setting: Setting, is_uniform: bool) -> bool:
    """Whether keys and values of a setting have the covariances of a chain, and the length is within reach.

    Args:
        is_uniform: whether the attention treats all positions alike.
    """
    known = chain_parameters(setting.task.key_covariance) is not None and value_chain_parameters(
        setting.task.value_covariance
    )
    length = LONGEST if is_uniform and setting.is_uniform else LONGEST_WALK
    return bool(known) and setting.directions == 1 and setting.size <= MOST_RELEVANT and setting.length <= length


def moments_along_chain(attend: AttentionFunction, place: ParameterValues, rule: Rule) -> Any:
    """E[r^T C r], E[r^T C sigma], E[sigma^T C r], E[sigma^T C sigma] for keys along a chain, by one rule, shape (4,).

    Raises:
        CannotEvaluate: for an attention too steep for the mesh, or where the integral over u does not converge.
    """
    found = _Chain.of(attend, place, rule)
    hit, norm = found.integrals()
    size, count = max(found.setting.size, 1), found.readout
    none, own = (float(count[name, found.setting.size][0]) for name in ("none", "norm"))
    own = found.variance * own / none / size**2
    hit, norm = found.variance * hit / none / size, found.variance * norm / none
    return np.array([own, hit, hit, norm])


@dataclass(frozen=True)
class _Chain:
    attend: AttentionFunction
    place: ParameterValues
    rule: Rule
    variance: float
    share: float
    ratio: float
    keys: Any
    start: Any
    before: Any
    after: Any

    @classmethod
    def of(cls, attend: AttentionFunction, place: ParameterValues, rule: Rule) -> _Chain:
        """Meshes and half transitions for one direction; keys and values along chains, or independent."""
        task = attend.setting.task
        keys, values = chain_parameters(task.key_covariance), value_chain_parameters(task.value_covariance)
        assert keys is not None
        assert values is not None
        deviation, rho = float(np.sqrt(keys[0])), keys[1]
        alone = as_independent_keys(attend, attend.setting)
        reach = (
            REACH
            if alone is None
            else attention_reach(attend, alone[0], replace(place, scales=alone[1] * place.scales))
        )
        fine = _mesh(
            rule.key * min(STEP_TIMES_SCALE / max(place.slope * deviation, 1e-300), WIDEST_STEP * np.sqrt(1 - rho**2)),
            reach,
        )
        if len(fine) > MOST_NODES:
            raise CannotEvaluate(
                f"attention: {len(fine)} nodes of a key for so steep a one; expected at most {MOST_NODES}"
            )
        coarse = _mesh(rule.load * COARSE_STEP * np.sqrt((1 - abs(rho)) / (1 + abs(rho))))
        steps = fine[len(fine) // 2 + 1] * coarse[len(coarse) // 2 + 1]
        half = np.sqrt(abs(rho))
        cross = (1 + abs(rho)) * (fine[:, None] ** 2 + coarse**2) - 4 * half * np.multiply.outer(fine, coarse)
        after = np.exp(-cross / (4 * (1 - abs(rho)))) * np.sqrt(steps / (2 * np.pi * (1 - abs(rho))))
        start = np.exp(-(coarse**2) / 4)
        before = after if rho >= 0 else after[:, ::-1]
        return cls(attend, place, rule, *values, deviation * fine, start / np.linalg.norm(start), before, after)

    @property
    def setting(self) -> Setting:
        return self.attend.setting

    @cached_property
    def offset(self) -> float | None:
        """o of the normaliser, or None where nothing normalises."""
        attention = self.attend.attention
        return float(attention.offset) if attention.is_normalised else None

    def picks(self, keys: Any, bias: float) -> Any:
        """log k at keys (n,) with a bias; k itself without a normaliser."""
        if self.offset is None:
            return self.attend.unnormalised_kernels(keys[:, None], self.place, bias)[:, 0]
        return self.attend.log_kernel(keys[:, None], self.place) + bias

    @cached_property
    def terms(self) -> Any:
        return attention_terms(self.setting.size, self.share, self.ratio)

    @property
    def is_uniform(self) -> bool:
        return self.attend.bias is None and self.setting.is_uniform

    @cached_property
    def readout(self) -> dict[Key, Any]:
        """The same sums with 1 for the weight of a relevant position and 0 for others: ``none`` and ``norm`` give E[r^T C r]."""
        none, one = (np.ones(1), np.zeros(1), np.zeros(1)), (np.ones(1),) * 3
        if self.is_uniform:
            return repeated_segment(
                self.terms, self._one_position(1, none, one), self.setting.length, self.ratio, np.multiply
            )
        found = self._one_position(1, none, one)
        for place in range(2, self.setting.length + 1):
            found = joined_segments(
                self.terms,
                found,
                self._one_position(place, none, one),
                (place - 1, 1),
                self.ratio,
                np.multiply,
                FORWARD_ENTRIES,
            )
        return found

    def integrals(self) -> tuple[float, float]:
        """E sum c_lm r_l sigma_m and E sum c_lm sigma_l sigma_m, times the sum of the weights of all configurations."""
        offset = self.offset
        if offset is None:
            hit, norm, _ = self._sums(None)
            return float(hit[0]), float(norm[0])

        def integrand(logs: Any) -> tuple[Any, Any]:
            with np.errstate(over="ignore"):
                beside = np.exp(-offset * np.exp(np.minimum(logs, 700.0)))
            hit, norm, none = (part * beside for part in self._sums(logs))
            return [np.sum(hit), np.sum(norm)], self.setting.expected * none[-1]

        hit, norm = over_log_u(integrand, LOG_U_STEP * self.rule.load, self._lowest(), self.rule.least)
        return float(hit), float(norm)

    def _lowest(self) -> float:
        """log u at which the integral over log u begins."""
        bias, density = self.attend.bias, np.exp(-((self.keys / self.keys[-1] * REACH) ** 2) / 2)
        log_kernel = np.concatenate([self.picks(keys, 0.0) for keys, _ in (*self._relevant, (self.keys, 1.0))])
        mass = np.tile(density / density.sum(), len(log_kernel) // len(density))
        load = np.log(self.setting.length) if bias is None else np.logaddexp.reduce(bias)
        return lowest_log_u(log_kernel, mass, float(load), self.rule.least)

    @cached_property
    def _relevant(self) -> tuple[tuple[Any, float], ...]:
        """(keys of a relevant token on the fine mesh, probability) for every value of its signal."""
        shift = np.sqrt(self.setting.strength) * self.setting.values[:, 0]
        return tuple((self.keys + own, share) for own, share in zip(shift, self.setting.shares))

    def _sums(self, logs: Any) -> list[Any]:
        """The entries ``hit``, ``norm`` and ``none`` of the whole chain, for every log u (one row without a normaliser)."""
        length = self.setting.length
        alike = self._one_position(1, *self._functions(logs, 0.0)) if self.is_uniform else None
        if alike is not None and length > MOST_WALKED:
            operators = {key: self._operator(part) for key, part in alike.items()}
            found = repeated_segment(self.terms, operators, length, self.ratio, np.matmul)
            sums = {key: part @ self.start @ self.start for key, part in found.items()}
        else:
            count = 1 if logs is None else len(logs)
            rows: Segment = {("none", 0): np.broadcast_to(self.start, (count, len(self.start)))}
            for place in range(1, length + 1):
                bias = 0.0 if self.attend.bias is None else float(self.attend.bias[place - 1])
                one = self._one_position(place, *self._functions(logs, bias)) if alike is None else alike
                moved = {key: row @ self.before.T for key, row in rows.items()}
                found = joined_segments(
                    self.terms, moved, one, (place - 1, 1), self.ratio, np.multiply, FORWARD_ENTRIES
                )
                rows = {key: row @ self.after for key, row in found.items()}
            sums = {key: row @ self.start for key, row in rows.items()}
        return [sums[name, self.setting.size] for name in ("hit", "norm", "none")]

    def _operator(self, functions: Any) -> Any:
        """Multiplication by functions on the fine mesh as operators on the coarse one, (values of u, before, after)."""
        return np.stack(
            [
                (self.before.T * function) @ self.after
                for function in np.broadcast_to(functions, (len(functions), len(self.keys)))
            ]
        )

    def _functions(self, logs: Any, bias: float) -> tuple[Any, Any]:
        """(e^{-u k}, u k e^{-u k}, (u k)^2 e^{-u k}) of an irrelevant token, and their means over a relevant one's signal."""

        def of(keys: Any) -> Any:
            picked = self.picks(keys, bias)
            if logs is None:
                return np.ones((1, len(keys))), picked[None], picked[None] ** 2
            load = np.exp(np.minimum(logs[:, None] + picked, 700.0))
            decay = np.exp(-load)
            load = np.where(decay > 0, load, 0.0)
            return decay, load * decay, load**2 * decay

        relevant = [[share * part for part in of(keys)] for keys, share in self._relevant]
        return of(self.keys), tuple(sum(parts) for parts in zip(*relevant))

    def _one_position(self, place: int, none: Any, one: Any) -> dict[Key, Any]:
        """The segment of one position.

        Args:
            none: the functions for no, one and two picks of this position, where it is irrelevant.
            one: the same where it is relevant.
        """
        setting = self.setting
        if setting.size == 0:
            share = float(setting.coin_probabilities[0 if self.is_uniform else place - 1])
            mixed = [(1 - share) * first + share * second for first, second in zip(none, one)]
            return _entries(0, *mixed) | _relevant_entries(0, share * one[0], share * one[1])
        share = 1.0 if self.setting.is_uniform else float(np.exp(setting.log_prior[place - 1]))
        relevant = [share * part for part in one]
        return _entries(0, *none) | _entries(1, *relevant) | _relevant_entries(1, *relevant[:2])


FORWARD_ENTRIES = ("none", "hit", "norm", "late pick", "late relevant")
"""Entries that are needed where positions are appended one by one."""


def _entries(count: int, none: Any, pick: Any, norm: Any) -> dict[Key, Any]:
    return {("none", count): none, ("norm", count): norm, ("late pick", count): pick, ("early pick", count): pick}


def _relevant_entries(count: int, none: Any, pick: Any) -> dict[Key, Any]:
    return {("late relevant", count): none, ("early relevant", count): none, ("hit", count): pick}


def _mesh(step: float, reach: float = REACH) -> Any:
    half = int(np.ceil(reach / step))
    return step * np.arange(-half, half + 1)
