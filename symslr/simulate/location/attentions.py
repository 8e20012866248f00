"""Attentions as functions of the keys: softmax, sigmoid, sparsemax, entmax-1.5, top-k, and several heads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import expit

from symslr.simulate.log_domain import Array

Scores = Callable[[Array], Array]
"""Scores of shape (n, L) to weights of shape (n, L)."""


def softmax(scores: Array) -> Array:
    """e^{s_l} / sum_m e^{s_m}."""
    mass = np.exp(scores - scores.max(axis=1, keepdims=True))
    return mass / mass.sum(axis=1, keepdims=True)


def sigmoid(bias: float) -> Scores:
    """1/(1 + e^{-s_l - bias}), each token by itself."""
    return lambda scores: expit(scores + bias)


def sparsemax(scores: Array) -> Array:
    """The point of the simplex nearest to the scores: max(s_l - tau, 0) with sum 1. Source: arXiv 1602.02068."""
    ordered = -np.sort(-scores, axis=1)
    count = np.arange(1, scores.shape[1] + 1)
    above = 1 + count * ordered > np.cumsum(ordered, axis=1)
    last = above.sum(axis=1)
    threshold = (np.take_along_axis(np.cumsum(ordered, axis=1), last[:, None] - 1, axis=1) - 1) / last[:, None]
    return np.maximum(scores - threshold, 0.0)


def entmax(scores: Array, rounds: int = 60) -> Array:
    """entmax-1.5: max(s_l/2 - tau, 0)^2 with sum 1, tau by bisection. Source: arXiv 1905.05702."""
    half = scores / 2
    high = half.max(axis=1, keepdims=True)
    low = high - 1.0
    for _ in range(rounds):
        middle = (low + high) / 2
        too_much = np.sum(np.maximum(half - middle, 0.0) ** 2, axis=1, keepdims=True) >= 1
        low, high = np.where(too_much, middle, low), np.where(too_much, high, middle)
    weights = np.maximum(half - (low + high) / 2, 0.0) ** 2
    return weights / weights.sum(axis=1, keepdims=True)


def top(count: int) -> Scores:
    """Softmax over the ``count`` largest scores, 0 elsewhere."""

    def weights(scores: Array) -> Array:
        threshold = -np.sort(-scores, axis=1)[:, count - 1 : count]
        return softmax(np.where(scores >= threshold, scores, -np.inf))

    return weights


def heads(directions: Sequence[Sequence[float]], shares: Sequence[float], *, joint: bool) -> Callable[[Array], Array]:
    """Several heads with keys theta_k, weighted by ``shares``, as one attention.

    Args:
        directions: theta_k, one for each head, as many components as the keys have directions; the scale is in them.
        shares: weights q_k of the heads: in the exponent for ``joint`` normalisation over tokens and heads, else of the value
            vectors of heads that are normalised by themselves.
        joint: whether one normaliser is shared.
    """
    thetas, weights = np.array(directions, dtype=float), np.array(shares, dtype=float)

    def attention(chi: Array) -> Array:
        scores = np.einsum("nld,kd->nkl", chi, thetas)
        if not joint:
            return np.einsum(
                "k,nkl->nl", weights, np.stack([softmax(head) for head in scores.transpose(1, 0, 2)], axis=1)
            )
        biased = scores + np.log(weights)[:, None]
        return softmax(biased.reshape(len(chi), -1)).reshape(biased.shape).sum(axis=1)

    return attention
