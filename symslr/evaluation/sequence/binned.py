"""E[z | y] and E[z z^T | y] of a label without noise that no field enters affinely: means over quantile bins of the label.

Products are formed of two independent halves of the samples, so that their noise does not add to the squares; what is left is the
width of the bins.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symslr.evaluation.sampling.points import normal_points
from symslr.model.sequence.model import SequenceModel

Array = Any


def linear_response(model: SequenceModel, count: int, bins: int, seed: int) -> tuple[Array, Array]:
    """E sum_l E[z_l | y] E[z_l | y]^T, shape (p, p), and the map F, shape (p, p, p, p) as ``thresholds.responses``.

    Args:
        count: samples of a half, a power of two.

    Raises:
        ValueError: for several outputs, hidden variables or a weight.
    """
    if len(model.written) > 1 or len(model.configurations) > 1 or model.weights[0] != 1:
        raise ValueError(
            f"{model.name}: found a label without noise that is not affine in some field, with several outputs, hidden "
            "variables or a weight; expected noise > 0"
        )
    shape = model.length, len(model.teachers)
    size = shape[0] * shape[1]
    halves = [normal_points(count, size, seed + half) for half in (0, 1)]
    labels = [model.labels_at(z.T.reshape(-1, *shape))[0, 0] for z in halves]
    edges = np.quantile(np.concatenate(labels), np.linspace(0, 1, bins + 1)[1:-1])
    means, squares, counts = [], [], []
    for z, y in zip(halves, labels):
        at = np.searchsorted(edges, y, side="right")
        held = np.bincount(at, minlength=bins)
        share = np.maximum(held, 1)
        means.append(np.array([np.bincount(at, own, bins) for own in z]) / share)
        second = np.array([[np.bincount(at, a * b, bins) for b in z] for a in z]) / share
        squares.append((second - np.eye(size)[:, :, None]).reshape(*shape, *shape, bins))
        counts.append(held)
    weight = sum(counts) / sum(map(np.sum, counts))
    first, other = (own.reshape(*shape, bins) for own in means)
    slope = np.einsum("lkn,ljn,n->kj", first, other, weight)
    F = np.einsum("lkmjn,lKmJn,n->kKjJ", *squares, weight)
    return (slope + slope.T) / 2, (F + F.transpose(1, 0, 3, 2)) / 2
