"""One pass over the tokens: the squared loss and its gradient, with X read from memory once.

A block of tokens that fits the cache is multiplied by (k, v), the samples of the block are finished one by one, and
the same block, still in cache, is multiplied back. numpy's four matrix-vector products read X four times. Tokens go
twelve at a time: a general matrix product would copy its block first, and one token at a time reloads k and v.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from symslr.simulate.log_domain import Array

REASSOCIATE = {"reassoc", "contract", "nsz"}
"""Sums in any order, so that they run in vector registers; not a number stays not a number."""
TOGETHER = 12
"""Tokens treated together, with 24 sums in as many registers: k, v and the gradient are loaded once for all of them."""
FLUSH = 16
"""Blocks after which the part of the gradient in the tokens' own precision is added to the float64 total."""


@njit(fastmath=REASSOCIATE, error_model="numpy", cache=True)
def _project(rows, first, k, v, scores):  # type: ignore[no-untyped-def]
    """Inner products with k and v of the tokens from ``first`` on; past the end the last token is repeated."""
    last = len(rows) - 1
    x0, x1 = rows[min(first + 0, last)], rows[min(first + 1, last)]
    x2, x3 = rows[min(first + 2, last)], rows[min(first + 3, last)]
    x4, x5 = rows[min(first + 4, last)], rows[min(first + 5, last)]
    x6, x7 = rows[min(first + 6, last)], rows[min(first + 7, last)]
    x8, x9 = rows[min(first + 8, last)], rows[min(first + 9, last)]
    x10, x11 = rows[min(first + 10, last)], rows[min(first + 11, last)]
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = s8 = s9 = s10 = s11 = k.dtype.type(0)
    t0 = t1 = t2 = t3 = t4 = t5 = t6 = t7 = t8 = t9 = t10 = t11 = k.dtype.type(0)
    for j in range(len(k)):
        a, b = k[j], v[j]
        s0, t0 = s0 + x0[j] * a, t0 + x0[j] * b
        s1, t1 = s1 + x1[j] * a, t1 + x1[j] * b
        s2, t2 = s2 + x2[j] * a, t2 + x2[j] * b
        s3, t3 = s3 + x3[j] * a, t3 + x3[j] * b
        s4, t4 = s4 + x4[j] * a, t4 + x4[j] * b
        s5, t5 = s5 + x5[j] * a, t5 + x5[j] * b
        s6, t6 = s6 + x6[j] * a, t6 + x6[j] * b
        s7, t7 = s7 + x7[j] * a, t7 + x7[j] * b
        s8, t8 = s8 + x8[j] * a, t8 + x8[j] * b
        s9, t9 = s9 + x9[j] * a, t9 + x9[j] * b
        s10, t10 = s10 + x10[j] * a, t10 + x10[j] * b
        s11, t11 = s11 + x11[j] * a, t11 + x11[j] * b
    scores[0, first : first + TOGETHER] = s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
    scores[1, first : first + TOGETHER] = t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11


@njit(fastmath=REASSOCIATE, error_model="numpy", cache=True)
def _return(rows, first, scores, along_k, along_v):  # type: ignore[no-untyped-def]
    """Add the tokens from ``first`` on, times their two scores, to the two sums; scores past the end are 0."""
    last = len(rows) - 1
    x0, x1 = rows[min(first + 0, last)], rows[min(first + 1, last)]
    x2, x3 = rows[min(first + 2, last)], rows[min(first + 3, last)]
    x4, x5 = rows[min(first + 4, last)], rows[min(first + 5, last)]
    x6, x7 = rows[min(first + 6, last)], rows[min(first + 7, last)]
    x8, x9 = rows[min(first + 8, last)], rows[min(first + 9, last)]
    x10, x11 = rows[min(first + 10, last)], rows[min(first + 11, last)]
    a0, b0 = scores[0, first + 0], scores[1, first + 0]
    a1, b1 = scores[0, first + 1], scores[1, first + 1]
    a2, b2 = scores[0, first + 2], scores[1, first + 2]
    a3, b3 = scores[0, first + 3], scores[1, first + 3]
    a4, b4 = scores[0, first + 4], scores[1, first + 4]
    a5, b5 = scores[0, first + 5], scores[1, first + 5]
    a6, b6 = scores[0, first + 6], scores[1, first + 6]
    a7, b7 = scores[0, first + 7], scores[1, first + 7]
    a8, b8 = scores[0, first + 8], scores[1, first + 8]
    a9, b9 = scores[0, first + 9], scores[1, first + 9]
    a10, b10 = scores[0, first + 10], scores[1, first + 10]
    a11, b11 = scores[0, first + 11], scores[1, first + 11]
    for j in range(len(along_k)):
        a, b = along_k[j], along_v[j]
        a, b = a + a0 * x0[j], b + b0 * x0[j]
        a, b = a + a1 * x1[j], b + b1 * x1[j]
        a, b = a + a2 * x2[j], b + b2 * x2[j]
        a, b = a + a3 * x3[j], b + b3 * x3[j]
        a, b = a + a4 * x4[j], b + b4 * x4[j]
        a, b = a + a5 * x5[j], b + b5 * x5[j]
        a, b = a + a6 * x6[j], b + b6 * x6[j]
        a, b = a + a7 * x7[j], b + b7 * x7[j]
        a, b = a + a8 * x8[j], b + b8 * x8[j]
        a, b = a + a9 * x9[j], b + b9 * x9[j]
        a, b = a + a10 * x10[j], b + b10 * x10[j]
        a, b = a + a11 * x11[j], b + b11 * x11[j]
        along_k[j], along_v[j] = a, b


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
    part = np.zeros_like(directions)
    pending = 0
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
        count = len(block)
        scores = np.empty((2, count + TOGETHER), tokens.dtype)
        for row in range(0, count, TOGETHER):
            _project(block, row, directions[0], directions[1], scores)
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
        scores[:, count:] = 0
        for row in range(0, count, TOGETHER):
            _return(block, row, scores, part[0], part[1])
        pending += 1
        first = last
        if pending == FLUSH or first == size:
            gradient += part
            part[:] = 0
            pending = 0
    return loss, gradient


BLOCK_BYTES = 2**19
"""Tokens of a block: half of the second-level cache of one core, which also holds k, v and the gradient."""


def block_rows(tokens: Array) -> int:
    """Tokens of a block for this array."""
    return max(TOGETHER, BLOCK_BYTES // (tokens.shape[1] * tokens.itemsize))
