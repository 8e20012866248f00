"""Small symmetric systems, one for every column of an array: factorised by hand, so that thousands are solved at once."""

from __future__ import annotations

import numpy as np

from symslr.evaluation.finite_sample.samples.points import Array


@np.errstate(all="ignore")  # a vanishing pivot makes an infinite step, which its pivot marks as useless
def newton_step(matrix: Array, gradient: Array) -> tuple[Array, Array]:
    """(-H^-1 g, smallest pivot) by H = L D L^T without pivoting: exact wherever the smallest pivot is positive.

    Args:
        matrix: symmetric, shape (dimension, dimension, n); overwritten.
        gradient: shape (dimension, n).
    """
    step = -gradient
    for i in range(len(gradient)):
        pivot = np.where(matrix[i, i] > 0, matrix[i, i], 1.0)
        below = matrix[i + 1 :, i] / pivot
        matrix[i + 1 :, i + 1 :] -= below[:, None] * matrix[i, i + 1 :]
        step[i + 1 :] -= below * step[i]
        step[i] /= pivot
        matrix[i, i + 1 :] = below
    for i in reversed(range(len(gradient) - 1)):
        step[i] -= np.einsum("ln,ln->n", matrix[i, i + 1 :], step[i + 1 :])
    return step, np.einsum("iin->in", matrix).min(axis=0)
