"""Moments of a selection among few exchangeable tokens, by rules over the least score of a support and what lies above it.

In every support weights are smooth. Of k tokens with scores s_i = tau + d(r_i), sum r_i^2 = 1 and weights r_i^2, where d(r) is r^2
for sparsemax and 2 r for entmax, the Jacobian is sum_j r_j prod_{i != j} d'(r_i) times the element of the sphere, and all other
tokens lie below tau. Source: symslr's own; held against samples in tests/evaluation/test_location_selection.py.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from math import ceil, comb, erfc, factorial, pi
from typing import Any

import numpy as np
import scipy

from symslr.evaluation.location.attend import Attend, Place
from symslr.evaluation.location.tables.rules import Rule
from symslr.model.location.attention import Selection
from symslr.model.location.where import OnePosition

MOST = {"sparsemax": 3, "entmax": 3, "top": 4}
"""Tokens of a sequence: a support of k tokens is a rule over k variables, of many nodes at small scales but for top-k."""
STEP, REACH = 0.27, 8.6
"""Of the middle of a support, in units of its deviation: of normal densities and distribution functions."""
NODES, RESOLVED = 16, 0.35
"""Gauss nodes for what is smooth at any scale, and the distance of two, in deviations of a key, where scales are small."""
FAR = 40.0
"""log of a density, less than its top, that is left out."""
PANELS = (3.0, 12.0, 40.0)
"""Ends of panels of the scores between two tokens: their weights differ by e^d."""
MANY = 10**5
"""Numbers from where on a function of SciPy is worth the 0.2 s that it takes to load."""


def is_plain(attend: Attend) -> bool:
    """Whether an attention is a selection along one direction among exchangeable tokens, one of them relevant."""
    setting, attention = attend.setting, attend.attention
    independent = setting.are_keys_independent and setting.are_values_independent
    one = isinstance(setting.task.location, OnePosition) and setting.is_uniform and setting.directions == 1
    return (
        attend.is_selection
        and independent
        and one
        and attention.heads == 1
        and attention.filter is None
        and attention.bias is None
    )


def is_short(attend: Attend) -> bool:
    """Whether a selection is plain, among so few tokens that ``selected_row`` is quick."""
    base = attend.attention.base
    return isinstance(base, Selection) and is_plain(attend) and attend.setting.length <= MOST[base.kind]


def selected_row(attend: Attend, place: Place, rule: Rule) -> Any:
    """(1, E sigma_eps, E sigma_eps, E sum_l sigma_l^2) of a plain selection among few tokens."""
    setting, scale = attend.setting, float(place.scales[0, 0])
    length, hit, norm = setting.length, 0.0, 0.0
    if scale == 0:
        weights = attend.weights(np.zeros((1, length, 1)), place)
        return np.array([1.0, np.mean(weights), np.mean(weights), np.sum(weights**2)])
    for theta, share in zip(setting.values[:, 0], setting.shares):
        mean = float(np.sign(scale) * np.sqrt(setting.strength) * theta)
        for size in range(1, length + 1):
            gaps, weights, masses = _supports(attend.attention.base, size, length, abs(scale), abs(mean), rule.key)
            # the relevant token in the support, as its first one, or below it
            inside = comb(length - 1, size - 1) * masses * _chances(gaps - mean * np.eye(size)[0], length - size, rule)
            outside = comb(length - 1, size) * masses * _chances(gaps, length - size - 1, rule, mean)
            hit += share * float(inside @ weights[:, 0])
            norm += share * float((inside + outside) @ np.sum(weights**2, axis=1))
    return np.array([1.0, hit, hit, norm])


def _chances(gaps: Any, others: int, rule: Rule, mean: float | None = None) -> Any:
    """Integrals over t of the densities of N(0, 1) at t + gaps (n, k), with so many others, and one of this mean, below t; (n,)."""
    size, found = gaps.shape[1], np.zeros(len(gaps))
    if others < 0:
        return found
    middle = np.mean(gaps, axis=1)
    squares = np.sum((gaps - middle[:, None]) ** 2, axis=1) / 2
    near = squares < FAR
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


def _supports(base: Any, size: int, length: int, scale: float, mean: float, key: float) -> tuple[Any, Any, Any]:
    """Gaps of keys above the threshold and weights, (n, size), with masses (n,), of all supports of so many tokens."""
    assert isinstance(base, Selection)
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
    far = scale * (np.sqrt(2 * FAR) + mean)  # of a score from the mean of all
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
    """Nodes and weights of Gauss's rule on panels, (n,), which resolve what is as wide as ``unit``."""
    nodes, weights = [], []
    for low, high in pairwise(ends):
        points, own = _rule(ceil((NODES + (high - low) / (RESOLVED * unit)) / key))
        nodes.append((low + high + (high - low) * points) / 2)
        weights.append((high - low) / 2 * own)
    return np.concatenate(nodes), np.concatenate(weights)


_rule = lru_cache(maxsize=256)(np.polynomial.legendre.leggauss)


def _product(rules: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Nodes (n, variables) and weights (n,) of a product of rules; one node where there are none."""
    nodes, weights = np.zeros((1, 0)), np.ones(1)
    for own, mass in rules:
        nodes = np.concatenate([np.repeat(nodes, len(own), axis=0), np.tile(own, len(nodes))[:, None]], axis=1)
        weights = np.outer(weights, mass).ravel()
    return nodes, weights
