"""Exactly s of L: inclusion probabilities w_l e_{s-1}(w_{-l}) / e_s(w), without overflow at any length.

Independent coins with odds t w_l, given that exactly s of them fall, have the same law for every t. For t such that s fall on
average,
the elementary symmetric polynomials become probabilities of counts: sums of positive terms, without overflow. A binary tree over
the positions gives them with each position left out in O(L s^2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

MOST_HALVINGS = 60
"""Most bisection steps for log t: enough to reach an accuracy of 0.1 from a range of 1e17."""
MOST_CHANCES = 2**24
"""Probabilities of counts held at once: 128 MiB for each array."""


def inclusion_probabilities(logs: Any, size: int) -> tuple[Any, Any, Any]:
    """P(l in S | chi) and P(l not in S | chi), (n, L), for P(S) proportional to prod_{l in S} w_l, |S| = size.

    And log e_s(w), (n,).

    Args:
        logs: log w, (n, L).
        size: s, 1 <= s <= L.
    """
    count, length = logs.shape
    if size == length:
        return np.ones_like(logs), np.zeros_like(logs), logs.sum(axis=1)
    most = max(1, MOST_CHANCES // (length * (size + 1)))
    if count > most:
        inside, outside, total = zip(
            *(inclusion_probabilities(logs[k : k + most], size) for k in range(0, count, most))
        )
        return np.concatenate(inside), np.concatenate(outside), np.concatenate(total)
    log_t = tilt(logs, size)
    tilted = logs + log_t[:, None]
    fall, stay = scipy.special.expit(tilted), scipy.special.expit(-tilted)
    others = _all_but_one(fall, stay, size)
    inside = fall * others[..., size - 1]
    outside = stay * others[..., size]
    total = inside + outside  # P(s fall) = t^s e_s(w) prod_l stay_l, for every l
    return inside / total, outside / total, np.log(total[:, 0]) - size * log_t - np.log(stay).sum(axis=1)


def tilt(logs: Any, size: int) -> Any:
    """log t, (n,), with sum_l expit(log w_l + log t) = size to within 0.1 in log t, by bisection; the result holds for any t."""
    spread = np.log(logs.shape[1]) + 2.0
    low, high = -logs.max(axis=1) - spread, -logs.min(axis=1) + spread
    for _ in range(MOST_HALVINGS):
        middle = (low + high) / 2
        short = scipy.special.expit(logs + middle[:, None]).sum(axis=1) < size
        low, high = np.where(short, middle, low), np.where(short, high, middle)
        if np.max(high - low) < 0.1:
            break
    return (low + high) / 2


def _all_but_one(fall: Any, stay: Any, size: int) -> Any:
    """P(r of the other coins fall), r = 0..size, with each position left out in turn: (n, L, size + 1)."""
    n, length = fall.shape
    leaves = 1 << max(0, length - 1).bit_length()
    level = np.zeros((n, leaves, 2))
    level[:, :length, 0], level[:, :length, 1] = stay, fall
    level[:, length:, 0] = 1.0
    levels = [level]
    while levels[-1].shape[1] > 1:
        levels.append(convolved(levels[-1][:, 0::2], levels[-1][:, 1::2], size))
    context = np.ones((n, 1, 1))
    for level in reversed(levels[:-1]):
        swapped = np.empty_like(level)
        swapped[:, 0::2], swapped[:, 1::2] = level[:, 1::2], level[:, 0::2]
        context = convolved(np.repeat(context, 2, axis=1), swapped, size)
    found = np.zeros((n, length, size + 1))
    found[..., : context.shape[2]] = context[:, :length]
    return found


def convolved(first: Any, second: Any, most: int | None = None) -> Any:
    """The convolution of two laws of counts, (..., counts), up to the count ``most``.

    Args:
        most: by default the largest count of the first group.
    """
    last = first.shape[-1] - 1
    degree = min(last + second.shape[-1] - 1, last if most is None else most)
    found = np.zeros((*first.shape[:-1], degree + 1))
    for power in range(min(second.shape[-1], degree + 1)):
        count = min(last + 1, degree + 1 - power)
        found[..., power : power + count] += second[..., power, None] * first[..., :count]
    return found
