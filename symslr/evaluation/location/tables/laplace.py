"""Independent tokens and a common normaliser: 1/N = int du e^{-uN} makes every mean a product over positions.

With weights beta_l = e^{b_l} before the kernel and one relevant position of prior pi_l,

    E sigma_eps = int du/u e^{-u o} prod_k B_0(u beta_k) sum_l pi_l R_1(u beta_l)/B_0(u beta_l),
    E |sigma|^2 = the same with u^2 kappa^2: of the relevant token, and of the others beside it,

B_j(u) = E[(u kappa)^j e^{-u kappa}] and R_j the same under the law of the relevant token. Positions enter through functions of
log u + b_l alone. On one grid of log u, any number of positions is a convolution: each is spread over the neighbours of
b_l by Lagrange's weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.tables.tokens import LEAST_LEFT, ORDER, Nodes, Spectrum, Table, lagrange, survival
from symslr.model.location.where import Independent

FALLEN = 90.0
"""Nats below the largest weight at which a position no longer counts: its load is 1e-39 of the other's."""
BELOW_ONE = np.nextafter(1.0, 0.0)
LEAST, HIGHEST = 1e-19, 4.0
"""The window of log u begins where this is left of the integrand, and reaches so far beyond its end."""


@dataclass(frozen=True)
class Positions:
    """Positions by their weights: b_l, pi_l, (L,), or one value with a count."""

    leans: Any
    priors: Any
    counts: Any

    @classmethod
    def of(cls, leans: Any, log_prior: Any) -> Positions:
        """Equal positions counted together."""
        order = np.lexsort((log_prior, leans))
        lean, prior = leans[order], log_prior[order]
        starts = np.flatnonzero(np.concatenate([[True], (np.diff(lean) != 0) | (np.diff(prior) != 0)]))
        counts = np.diff(np.append(starts, len(order))).astype(float)
        return cls(lean[starts], np.exp(prior[starts]), counts)

    @classmethod
    def alike(cls, length: int) -> Positions:
        """L positions without differences."""
        return cls(np.zeros(1), np.array([1.0 / length]), np.array([float(length)]))


@dataclass(frozen=True)
class Moments:
    """E sigma_eps, E |sigma|^2, and E[1 - sigma_eps] from positive terms (for offset 0)."""

    hit: float
    norm: float
    miss: float


def positions(setting: Setting, leans: Any | None) -> Positions:
    """The positions of a setting with weights e^{b_l} before the kernel."""
    if leans is None and setting.is_uniform:
        return Positions.alike(setting.length)
    return Positions.of(np.zeros(setting.length) if leans is None else leans, setting.log_prior)


def one_position(
    found: Nodes, log_kernel: Any, positions: Positions, offset: float, step: float, least: float = LEAST
) -> Moments:
    """The moments of a normalised attention with one relevant position.

    Args:
        found: nodes of a token.
        log_kernel: log kappa on them.
        positions: their weights and priors.
        offset: o of the normaliser.
        step: of log u.

    Raises:
        CannotEvaluate: where the window of log u does not end.
    """
    kept = positions.leans > positions.leans.max() - FALLEN
    leans, priors, counts = positions.leans[kept], positions.priors[kept], positions.counts[kept]
    top = leans.max()
    one = _table(
        found, log_kernel, float(np.sum(counts * np.exp(leans - top))), offset, top, step, top - leans.min(), least
    )
    spread = _Spread.of(leans - top, one.logs, step)
    base = np.maximum(one.others[0], LEAST_LEFT)
    ratios = [part / base for part in (*one.relevant, one.others[1], one.others[2])]
    r0, r1, r2, b1, b2 = ratios
    weights = {"n": counts, "pi": counts * priors}
    log_all = spread.sums(one.log_others, weights["n"])
    outside = 0.0 if not np.any(~kept) else float(np.sum(positions.counts[~kept] * positions.priors[~kept]))

    def relevant(values: Any) -> Any:
        return spread.sums(values, weights["pi"])

    v = spread.nodes(one.logs)
    density = np.exp(log_all - _left_out(offset, v - top))
    mean_r0 = relevant(r0) + outside
    hit = relevant(r1)
    beside = mean_r0 * spread.sums(b1, weights["n"]) - relevant(r0 * b1)
    norm = relevant(r2) + mean_r0 * spread.sums(b2, weights["n"]) - relevant(r0 * b2)
    return Moments(*(step * float(np.sum(density * part)) for part in (hit, norm, beside)))


def exchangeable(
    found: Nodes, log_kernel: Any, setting: Setting, offset: float, step: float, least: float = LEAST
) -> Moments:
    """The moments where all positions are alike, and s of them are relevant or each by its own coin; ``hit`` is E r^T sigma."""
    one = _table(found, log_kernel, float(setting.length), offset, 0.0, step, 0.0, least)
    base, own = np.maximum(one.others[0], LEAST_LEFT), np.maximum(one.relevant[0], LEAST_LEFT)
    if isinstance(setting.task.location, Independent):
        share, relevant = float(setting.coins[0]), setting.length * float(setting.coins[0])
        gone = -share * np.expm1(one.log_relevant) - (1 - share) * np.expm1(one.log_others)
        log_all, size = (setting.length - 1) * np.log1p(-np.minimum(gone, BELOW_ONE)), 1
        ours, theirs = relevant * one.relevant, (setting.length - relevant) * one.others
    else:
        relevant, size = float(setting.size), setting.size
        log_all = relevant * one.log_relevant + (setting.length - relevant) * one.log_others
        ours, theirs = relevant * one.relevant / own, (setting.length - relevant) * one.others / base
    density = step * np.exp(log_all - _left_out(offset, one.logs))
    hit = float(np.sum(density * ours[1]))
    return Moments(hit / size, float(np.sum(density * (ours[2] + theirs[2]))), 1 - hit)


def _left_out(offset: float, logs: Any) -> Any:
    """u o; nothing where there is no offset, however large u is."""
    with np.errstate(over="ignore"):
        return offset * np.exp(logs) if offset else 0.0


def _table(
    found: Nodes,
    log_kernel: Any,
    load: float,
    offset: float,
    top: float,
    step: float,
    reach: float,
    least: float,
) -> Table:
    """The moments on a window of log u outside of which nothing is left, ``reach`` longer below for weights that fall."""
    finite = log_kernel[np.isfinite(log_kernel)]
    mean = np.log(max(float(np.sum((found.others + found.relevant) * np.exp(np.minimum(log_kernel, 700.0)))), 1e-290))
    low = np.log(least) - mean - np.log(max(load, 1.0)) - max(0.0, np.log1p(offset) - top)

    def is_over(high: float) -> bool:
        left = survival(found, log_kernel, high)
        return left * np.exp(-_left_out(offset, min(high - top, 700.0))) <= least * 1e-5

    short, long = 0.0, 4.0
    while not is_over(low + long):
        short, long = long, 2 * long
        if short > 4000.0 + 20 * float(np.ptp(finite)):
            raise CannotEvaluate("the Laplace integral has no end; the kernel may vanish on part of the line")
    while long - short > 4.0:
        middle = (short + long) / 2
        short, long = (short, middle) if is_over(low + middle) else (middle, long)
    high = low + long
    high += HIGHEST
    first = int(np.floor((low - reach) / step)) - ORDER
    return Spectrum.of(found, log_kernel, step).table(first, int(np.ceil(high / step)) + ORDER - first)


@dataclass(frozen=True)
class _Spread:
    """Positions on the grid of log u: sum_l c_l f(v + b_l) as a correlation with Lagrange's weights."""

    places: Any
    shares: Any
    depth: int

    @classmethod
    def of(cls, leans: Any, logs: Any, step: float) -> _Spread:
        """For b_l <= 0."""
        first, shares = lagrange(leans / step)
        places = first[:, None] + np.arange(ORDER)
        depth = int(-places.min())
        return cls(places + depth, shares, depth)

    def nodes(self, logs: Any) -> Any:
        """The nodes v at which sums are known."""
        return logs[self.depth : len(logs) - ORDER]

    def sums(self, values: Any, weights: Any) -> Any:
        """sum_l weights_l f(v + b_l) at ``nodes``."""
        kernel = np.bincount(self.places.ravel(), (self.shares * weights[:, None]).ravel())
        count = len(values) - ORDER - self.depth
        found = np.zeros(count)
        for place in np.flatnonzero(kernel):
            found += kernel[place] * values[place : place + count]
        return found
