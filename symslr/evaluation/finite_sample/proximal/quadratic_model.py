"""Small symmetric systems, one for every column of an array: factorised by hand, so that thousands are solved at once."""

from __future__ import annotations

import numpy as np

from symslr.evaluation.finite_sample.samples.points import Array

Matrix = list[list[Array]]
"""Lower triangle of a symmetric matrix: ``matrix[i][j]`` for j <= i, each an array over the columns."""


@np.errstate(all="ignore")  # a vanishing pivot makes an infinite step, which its pivot marks as useless
def newton_step(matrix: Matrix, gradient: Array) -> tuple[Array, Array]:
    """(-H^-1 g, smallest pivot) by H = L D L^T without pivoting: exact wherever the smallest pivot is positive.

    Args:
        matrix: lower triangle; overwritten.
        gradient: shape (dimension, n).
    """
    size = len(gradient)
    step = -gradient
    pivots: list[Array] = []
    for i in range(size):
        pivot = np.where(matrix[i][i] > 0, matrix[i][i], 1.0)
        pivots.append(pivot)
        column = [matrix[j][i] / pivot for j in range(i + 1, size)]
        for j, factor in enumerate(column, i + 1):
            for k in range(i + 1, j + 1):
                matrix[j][k] -= factor * matrix[k][i]
            step[j] -= factor * step[i]
        for j, factor in enumerate(column, i + 1):
            matrix[j][i] = factor
    smallest = np.minimum.reduce([matrix[i][i] for i in range(size)])
    for i in reversed(range(size)):
        step[i] /= pivots[i]
        for j in range(i + 1, size):
            step[i] -= matrix[j][i] * step[j]
    return step, smallest
