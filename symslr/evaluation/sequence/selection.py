"""P(l | omega) of the token l that softmax(rate z) selects, of fields z = omega + sqrt(1-q) xi with omega known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

Array = Any


@dataclass(frozen=True)
class Selected:
    """What is known of the selected token.

    Attributes:
        log_weight: log P(l | omega), shape (L, n).
        slopes: ``slopes[l]`` is the gradient of ``log_weight[l]`` in omega, shape (L, L, n).
    """

    log_weight: Array
    slopes: Array

    def repeated(self, times: int) -> Selected:
        """The same of so many copies of the samples."""
        return Selected(np.tile(self.log_weight, times), np.tile(self.slopes, times))

    def at(self, columns: slice) -> Selected:
        """Some of the samples."""
        return Selected(self.log_weight[:, columns], self.slopes[:, :, columns])


HALF_WIDTH = 14.0
"""Mesh of t in units of the noise width: from -HALF_WIDTH/2 to HALF_WIDTH; beyond lies less than 1e-6 for every rate."""
NODES_PER_WIDTH = 3
"""Nodes of the trapezoid rule in one noise width: for a Gaussian its error is below e^{-2 pi^2 9}."""
TABLE_NODES = 2048
"""Nodes of the table from which the distribution of the noise is interpolated linearly."""


def selected(rate: float, omega: Array, overlap: float) -> Selected:
    """E softmax_l(rate z) given omega, shape (L, n), as one integral over the level t of the largest perturbed score.

    Scores are measured in units of the rate (or of 1 where it is infinite and no Gumbel noise is left): score_m = omega_m plus
    noise of distribution psi, and W_l = int psi'(t - omega_l) prod_{m != l} psi(t - omega_m) dt. With
    J_lm = int psi'(t - omega_l) psi'(t - omega_m) prod_{others} psi dt, dW_l/d omega_m = -J_lm for m != l, and the
    gradient of each W_l sums to zero, as a common shift of the scores changes nothing.

    Args:
        overlap: q < 1.
    """
    side = 1 if rate > 0 else -1
    weight, slopes = _largest_score(side * omega, *_noise_table(abs(rate), overlap))
    return Selected(np.log(np.maximum(weight, 1e-300)), side * slopes)


def _noise_table(rate: float, overlap: float) -> tuple[Array, Array, Array, float]:
    """(t, psi(t), psi'(t)) on a uniform mesh, and the width of the noise: chi* given omega, plus Gumbel noise/nu."""
    gaussian, gumbel = np.sqrt(1 - overlap), 1 / rate
    width = float(np.hypot(gaussian, 1.3 * gumbel))
    t = np.linspace(-HALF_WIDTH / 2 - 1, HALF_WIDTH + 6, TABLE_NODES) * width
    # quadrature over the narrower of the two noises of the distribution function of the wider one, which is smooth
    if gumbel < gaussian:
        nodes = np.arange(-4.0, 34.0, 0.4)
        weights = np.exp(-nodes - np.exp(-nodes))
        score = (t[:, None] - gumbel * nodes) / gaussian
        level, density = ndtr(score), np.exp(-(score**2) / 2) / (gaussian * np.sqrt(2 * np.pi))
    else:
        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        score = np.minimum(-(t[:, None] - gaussian * nodes) / gumbel, 500.0)
        level = np.exp(-np.exp(score))
        density = np.exp(score - np.exp(score)) / gumbel
    share = weights / weights.sum()
    return t, level @ share, density @ share, width


def _largest_score(omega: Array, t: Array, psi: Array, slope: Array, width: float) -> tuple[Array, Array]:
    """W_l, shape (L, n), and the gradient of every log W_l in omega."""
    length, count = omega.shape
    spacing = width / NODES_PER_WIDTH
    levels = np.arange(-HALF_WIDTH / 2, HALF_WIDTH, 1 / NODES_PER_WIDTH) * width
    top = omega.max(axis=0)
    weight, pair = np.zeros((length, count)), np.zeros((length, length, count))
    step = t[1] - t[0]
    for level in levels:
        place = (top + level - omega - t[0]) / step
        index = np.clip(place.astype(np.intp), 0, len(t) - 2)
        part = np.clip(place - index, 0.0, 1.0)
        below = psi[index] + part * (psi[index + 1] - psi[index])
        density = slope[index] + part * (slope[index + 1] - slope[index])
        ratio = density / np.maximum(below, 1e-300)
        product = below.prod(axis=0) * spacing
        share = ratio * product
        weight += share
        for l in range(length):
            for m in range(l):
                pair[l, m] += share[l] * ratio[m]
    slopes = -(pair + pair.swapaxes(0, 1))
    np.einsum("lln->ln", slopes)[...] = -slopes.sum(axis=1)
    return weight, slopes / np.maximum(weight, 1e-300)[:, None]
