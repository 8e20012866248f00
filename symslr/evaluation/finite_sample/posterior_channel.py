"""P(eps = l | omega): the posterior of the hidden position given the field omega = q chi* + sqrt(q(1-q)) xi of the keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtr

from symslr.evaluation.finite_sample.fields import Array, gaussian_shift
from symslr.model.exponential import exponential_slope
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.sequence_law import SequenceLaw


@dataclass(frozen=True)
class PositionPosterior:
    """The posterior of the hidden position given the fields of the keys.

    Attributes:
        log_weight: log E[g(l, chi*) | omega] up to a constant shared by all samples, shape (L, n).
        slopes: ``slopes[l]`` is the gradient of ``log_weight[l]`` in omega, shape (L, n); or one number s where
            d log_weight[l]/d omega_m = s delta_lm.
        positions: weights of the true positions: P(eps = l | omega), shape (L, n), where the fields are drawn first; ones of shape
            (1, n) where the relevant token is the first by construction.
    """

    log_weight: Array
    slopes: list[Array] | float
    positions: Array

    def force(self, probability: Array) -> Array:
        """sum_l p_l d log_weight[l]/d omega, shape (L, n)."""
        if isinstance(self.slopes, float):
            return self.slopes * probability
        return np.sum([p * slope for p, slope in zip(probability, self.slopes, strict=True)], axis=0)


def position_channel(law: SequenceLaw, normals: Array) -> Callable[[float], PositionPosterior]:
    """The posterior of the position as a function of the overlap q; ``law`` has numbers for its parameters.

    Args:
        normals: fixed random points, shape (L, n).

    Raises:
        ValueError: for a weight that is neither a Gaussian shift (spiked) nor a softmax selection (max).
    """
    shift = gaussian_shift(law)
    if shift is not None:
        return partial(posterior_of_shift, shift, normals)
    rate = selection_rate(law)
    if rate is None:
        raise ValueError(f"Bayes-optimal curve: found the weight {law.weight}; expected spiked-SLR or max-SLR")
    return partial(posterior_of_selection, rate, normals)


def selection_rate(law: SequenceLaw) -> float | None:
    """nu where eps | chi ~ softmax(nu chi) with standard normal keys, infinity for the largest; None elsewhere."""
    if law.base != STANDARD_NORMAL or not law.is_selection:
        return None
    if law.selects_largest:
        return np.inf
    slope = exponential_slope(law)
    return None if slope is None else float(slope)


def posterior_of_shift(shift: float, normals: Array, overlap: float) -> PositionPosterior:
    """spiked-SLR: E[g(l, chi*) | omega] = exp(s omega_l - s^2 q/2), s = sqrt(nu)."""
    omega = np.sqrt(overlap) * normals
    omega[0] += overlap * shift
    return PositionPosterior(shift * omega - shift**2 * overlap / 2, shift, np.ones_like(omega[:1]))


HALF_WIDTH = 14.0
"""Mesh of t in units of the noise width: from -HALF_WIDTH/2 to HALF_WIDTH; beyond lies less than 1e-6 for every rate."""
NODES_PER_WIDTH = 3
"""Nodes of the trapezoid rule in one noise width: for a Gaussian its error is below e^{-2 pi^2 9}."""
TABLE_NODES = 2048
"""Nodes of the table from which the distribution of the noise is interpolated linearly."""


def posterior_of_selection(rate: float, normals: Array, overlap: float) -> PositionPosterior:
    """max-SLR: E softmax_l(nu chi*) given omega, one integral over the level t of the largest perturbed score.

    Scores are measured in units of nu (or of 1 at nu = infinity, where no Gumbel noise is left): score_m = omega_m plus
    noise of distribution psi, and W_l = int psi'(t - omega_l) prod_{m != l} psi(t - omega_m) dt. With
    J_lm = int psi'(t - omega_l) psi'(t - omega_m) prod_{others} psi dt, dW_l/d omega_m = -J_lm for m != l, and the
    gradient of each W_l sums to zero, as a common shift of the scores changes nothing.
    """
    omega = np.sqrt(overlap) * normals
    weight, slopes = _largest_score(omega, *_noise_table(rate, overlap))
    return PositionPosterior(np.log(np.maximum(weight, 1e-300)), slopes, weight / weight.sum(axis=0))


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


def _largest_score(omega: Array, t: Array, psi: Array, slope: Array, width: float) -> tuple[Array, list[Array]]:
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
    slopes = []
    for l in range(length):
        gradient = np.array([-(pair[l, m] + pair[m, l]) for m in range(length)])
        gradient[l] = -gradient.sum(axis=0)
        slopes.append(gradient / np.maximum(weight[l], 1e-300))
    return weight, slopes
