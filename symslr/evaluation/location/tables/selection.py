"""Moments of a selection (top-k, sparsemax, entmax) among few exchangeable tokens, by quadrature over each support.

The support is the set of tokens with positive weight; given the support, weights are smooth. For sparsemax and entmax a support of
k tokens has scores s_i = tau + d(r_i) with weights r_i^2, sum r_i^2 = 1, d(r) = r^2 (sparsemax) or 2 r (entmax); all other scores
lie below the threshold tau. The Jacobian is sum_j r_j prod_{i != j} d'(r_i) times the area element of the sphere. Source: symslr's
own; compared with samples in tests/evaluation/test_location_selection.py.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from math import ceil, comb, erfc, factorial, pi
from typing import Any

import numpy as np
import scipy

from symslr.evaluation.location.attention_function import AttentionFunction, ParameterValues
from symslr.evaluation.location.tables.rules import Rule
from symslr.model.attention import Selection
from symslr.model.location.where import OnePosition

MOST_TOKENS = {"sparsemax": 3, "entmax": 3, "top": 4}
"""Longest sequence of each kind: a support of k tokens needs a quadrature over k variables, with many nodes at small scales except
for top-k."""
STEP, REACH = 0.27, 8.6
"""Step and range of the trapezoid rule over the mean key of a support, in units of its standard deviation."""
NODES, RESOLVED = 16, 0.35
"""Gauss nodes of a panel at least, and the distance of nodes in standard deviations of a key on long panels."""
LARGEST_DROP = 40.0
"""Densities below e^-40 of their maximum are left out."""
PANELS = (3.0, 12.0, 40.0)
"""Panel ends for the difference d of two scores, whose weights differ by the factor e^d."""
MANY = 10**5
"""Array size from which SciPy's ``ndtr`` is used: it is faster, but takes 0.2 s to load."""


def is_plain(attend: AttentionFunction) -> bool:
    """Whether an attention is a single-head selection along one direction, one of several exchangeable tokens being relevant."""
    setting, attention = attend.setting, attend.attention
    independent = setting.are_keys_independent and setting.are_values_independent
    one = isinstance(setting.task.location, OnePosition) and setting.is_uniform and setting.directions == 1
    return attend.is_selection and independent and one and attention.is_plain


def is_short(attend: AttentionFunction) -> bool:
    """Whether ``selected_row`` applies: a plain selection among few tokens."""
    return is_plain(attend) and attend.setting.length <= MOST_TOKENS[attend.attention.kernel.kind]


def selected_row(attend: AttentionFunction, place: ParameterValues, rule: Rule) -> Any:
    """(1, E sigma_eps, E sigma_eps, E sum_l sigma_l^2) of a plain selection among few tokens."""
    setting, scale = attend.setting, float(place.scales[0, 0])
    length, hit, norm = setting.length, 0.0, 0.0
    if scale == 0:
        weights = attend.weights(np.zeros((1, length, 1)), place)
        return np.array([1.0, np.mean(weights), np.mean(weights), np.sum(weights**2)])
    for theta, share in zip(setting.values[:, 0], setting.shares):
        mean = float(np.sign(scale) * np.sqrt(setting.strength) * theta)
        for size in range(1, length + 1):
            gaps, weights, masses = _supports(attend.attention.kernel, size, length, abs(scale), abs(mean), rule.key)
            # the relevant token in the support, as its first one, or below it
            inside = (
                comb(length - 1, size - 1)
                * masses
                * _support_probabilities(gaps - mean * np.eye(size)[0], length - size, rule)
            )
            outside = comb(length - 1, size) * masses * _support_probabilities(gaps, length - size - 1, rule, mean)
            hit += share * float(inside @ weights[:, 0])
            norm += share * float((inside + outside) @ np.sum(weights**2, axis=1))
    return np.array([1.0, hit, hit, norm])


def _support_probabilities(gaps: Any, others: int, rule: Rule, mean: float | None = None) -> Any:
    """int dt prod_i phi(t + gap_i) Phi(t)^others, times Phi(t - mean) where a mean is given; (n,).

    Args:
        gaps: keys of the support above the threshold, (n, k).
        others: number of irrelevant tokens below the threshold; negative for the result 0.
        mean: of the relevant token, where it lies below the threshold too.
    """
    size, found = gaps.shape[1], np.zeros(len(gaps))
    if others < 0:
        return found
    middle = np.mean(gaps, axis=1)
    squares = np.sum((gaps - middle[:, None]) ** 2, axis=1) / 2
    near = squares < LARGEST_DROP
    u = np.arange(-REACH, REACH, STEP * rule.key)
    density = np.exp(-(u**2) / 2) * STEP * rule.key / np.sqrt(size) * (2 * pi) ** (-size / 2)
    t = u[:, None] / np.sqrt(size) - middle[near]
    below = np.ones_like(t) if others == 0 else _cdf(t) ** others
    found[near] = np.exp(-squares[near]) * (density @ (below if mean is None else below * _cdf(t - mean)))
    return found


def _cdf(t: Any) -> Any:
    """Phi."""
    if t.size > MANY:
        return scipy.special.ndtr(t)
    return np.frompyfunc(erfc, 1, 1)(-t / np.sqrt(2)).astype(float) / 2


def _supports(base: Selection, size: int, length: int, scale: float, mean: float, key: float) -> tuple[Any, Any, Any]:
    """Quadrature over supports of ``size`` tokens: gaps of keys above the threshold, weights, (n, size) each, and masses (n,)."""
    if base.kind == "top":
        reach = 2 * REACH + mean
        if size != min(base.size, length):
            return np.zeros((0, size)), np.zeros((0, size)), np.zeros(0)
        ends = sorted({0.0, *(min(reach, end / scale) for end in PANELS), reach})
        between, masses = _product([_gauss(ends, key)] * (size - 1))
        ordered = np.insert(np.cumsum(between, axis=1), 0, 0.0, axis=1)
        gaps = np.concatenate([np.roll(ordered[:, -1:] - ordered, n, axis=1) for n in range(size)])  # any may be first
        parts = np.exp(scale * (gaps - gaps.max(axis=1, keepdims=True)))
        return gaps, parts / parts.sum(axis=1, keepdims=True), factorial(size - 1) * np.tile(masses, size)
    is_sparsemax = base.kind == "sparsemax"
    far = scale * (np.sqrt(2 * LARGEST_DROP) + mean)  # of a score from the mean of all
    if is_sparsemax:
        least, most = np.sqrt(max(0.0, 1 / size - far)), np.sqrt(1 / size + far)
    else:
        least, most = max(0.0, np.sqrt(max(0.0, 1 / size - far**2 / 4)) - far / 2), size**-0.5 + far / 2
    # an angle moves by that at least where a score does by 1
    unit = scale * (np.sqrt(size) if is_sparsemax else 1.0) / 2
    rest = [np.sqrt(size - 1 - n) for n in range(size - 1)]
    axes = [_gauss([np.arctan2(least, most * m), np.arctan2(most, least * m)], key, unit) for m in rest]
    angles, masses = _product(axes)
    cosines = np.cumprod(np.insert(np.cos(angles), 0, 1.0, axis=1), axis=1)
    r = cosines * np.insert(np.sin(angles), size - 1, 1.0, axis=1)
    masses = masses * np.prod(cosines[:, 1:-1], axis=1) * scale ** (1 - size)
    distance, slope = (r**2, 2 * r) if is_sparsemax else (2 * r, np.full_like(r, 2.0))
    jacobian = sum(r[:, j] * np.prod(np.delete(slope, j, axis=1), axis=1) for j in range(size))
    return distance / scale, r**2, masses * jacobian


def _gauss(ends: list[float], key: float, unit: float = 1.0) -> tuple[Any, Any]:
    """Nodes and weights (n,) of Gauss-Legendre rules on panels between ``ends``, fine enough for features of width ``unit``."""
    nodes, weights = [], []
    for low, high in pairwise(ends):
        points, own = _rule(ceil((NODES + (high - low) / (RESOLVED * unit)) / key))
        nodes.append((low + high + (high - low) * points) / 2)
        weights.append((high - low) / 2 * own)
    return np.concatenate(nodes), np.concatenate(weights)


_rule = lru_cache(maxsize=256)(np.polynomial.legendre.leggauss)


def _product(rules: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Nodes (n, variables) and weights (n,) of a product rule; a single node of weight 1 for no rules."""
    nodes, weights = np.zeros((1, 0)), np.ones(1)
    for own, mass in rules:
        nodes = np.concatenate([np.repeat(nodes, len(own), axis=0), np.tile(own, len(nodes))[:, None]], axis=1)
        weights = np.outer(weights, mass).ravel()
    return nodes, weights
