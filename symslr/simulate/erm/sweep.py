"""One pass over the tokens: the squared loss and its gradient, fused so that X is read from memory once.

A block of tokens that fits the cache is multiplied by (k, v), the samples of the block are finished one by one, and
the same block, still in cache, is multiplied back. numpy's four matrix-vector products read X four times.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from symslr.simulate.log_domain import Array


@njit(error_model="numpy", cache=True)
def sweep(tokens, offsets, y, directions, rows, kernel, normalised, offset):  # type: ignore[no-untyped-def]
    """(sum_mu (y - f)^2 / 2, its gradient with respect to ``directions``, shape (2, D), float64).

    Args:
        tokens, offsets, y: a training set.
        directions: k/sqrt(D) and v/sqrt(D), shape (2, D), in the precision of the tokens.
        rows: tokens of a block; a block holds at least one sequence.
        kernel: x -> (c, h, d) with kappa = c e^h, kappa' = d e^h.
        normalised, offset: N = offset + sum_l kappa(chi_l), or N = 1.
    """
    gradient = np.zeros(directions.shape)
    part = np.empty_like(directions)
    size = len(y)
    longest = 1
    for mu in range(size):
        longest = max(longest, offsets[mu + 1] - offsets[mu])
    factors, heights, slopes = np.empty(longest), np.empty(longest), np.empty(longest)
    loss, first = 0.0, 0
    while first < size:
        last = first + 1
        while last < size and offsets[last + 1] - offsets[first] <= rows:
            last += 1
        block = tokens[offsets[first] : offsets[last]]
        scores = np.dot(directions, block.T)
        for mu in range(first, last):
            low, length = offsets[mu] - offsets[first], offsets[mu + 1] - offsets[mu]
            for l in range(length):
                factors[l], heights[l], slopes[l] = kernel(scores[0, low + l])
            top = 0.0
            total = 1.0
            if normalised:
                top = math.log(offset) if offset > 0 else -np.inf
                for l in range(length):
                    top = max(top, heights[l])
                total = offset * math.exp(-top) if offset > 0 else 0.0
            prediction = 0.0
            for l in range(length):
                scale = math.exp(heights[l] - top)
                factors[l] *= scale
                slopes[l] *= scale
                prediction += factors[l] * scores[1, low + l]
                if normalised:
                    total += factors[l]
            prediction /= total
            residual = prediction - y[mu]
            loss += residual * residual / 2
            centre = prediction if normalised else 0.0
            for l in range(length):
                value = scores[1, low + l]
                scores[0, low + l] = residual * slopes[l] / total * (value - centre)
                scores[1, low + l] = residual * factors[l] / total
        np.dot(scores, block, part)
        gradient += part
        first = last
    return loss, gradient


BLOCK_BYTES = 2**20
"""Tokens of a block: about the second-level cache of one core, measured best between 0.5 and 2 MiB."""


def block_rows(tokens: Array) -> int:
    """Tokens of a block for this array."""
    return max(1, BLOCK_BYTES // (tokens.shape[1] * tokens.itemsize))
