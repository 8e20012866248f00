"""Independent tokens and a common normaliser: 1/N = int du e^{-uN} makes every mean a product over positions.

With weights beta_l = e^{b_l} before the kernel and one relevant position of prior pi_l,

    E sigma_eps = int du/u e^{-u o} prod_k B_0(u beta_k) sum_l pi_l R_1(u beta_l)/B_0(u beta_l),
    E |sigma|^2 = the same with u^2 kappa^2: of the relevant token, and of the others beside it,

B_j(u) = E[(u kappa)^j e^{-u kappa}] and R_j the same under the law of the relevant token. Positions enter through functions of
log u + b_l alone. So the sum over positions is a convolution on a grid of log u: each b_l is spread over neighbouring grid points
by the weights of Lagrange interpolation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.tables.rules import HIGHEST, Rule, lowest_log_u, over_log_u
from symslr.evaluation.location.tables.tokens import FINEST, LEAST_LEFT, ORDER, LogKernelLaw, Nodes, Table, lagrange
from symslr.model.location.where import Independent

DROPPED_BELOW = 90.0
"""Positions whose log weight b_l is further below the largest than this, in nats, are left out: e^-90 = 1e-39."""
BELOW_ONE = np.nextafter(1.0, 0.0)
"""The largest float64 below 1: log(1 - x) stays finite."""
BLOCK = 256
"""Values of log u at once."""
EXHAUSTED = 5.0
"""log(u kappa) beyond which e^{-u kappa} is 0: exp(-e^5) = 1e-64."""


def positions(setting: Setting, biases: Any | None) -> tuple[Any, Any, Any]:
    """b_l, pi_l and number of positions, (k,) each, for every different pair (b_l, pi_l); b_l = 0 without biases."""
    if biases is None and setting.is_uniform:
        return (np.zeros(1), np.array([1.0 / setting.length]), np.array([float(setting.length)]))
    biases, log_prior = np.zeros(setting.length) if biases is None else biases, setting.log_prior
    order = np.lexsort((log_prior, biases))
    bias, prior = biases[order], log_prior[order]
    starts = np.flatnonzero(np.concatenate([[True], (np.diff(bias) != 0) | (np.diff(prior) != 0)]))
    counts = np.diff(np.append(starts, len(order))).astype(float)
    return (bias[starts], np.exp(prior[starts]), counts)


def one_position(found: Nodes, log_kernel: Any, positions: tuple[Any, Any, Any], offset: float, rule: Rule) -> Any:
    """E sigma_eps, E |sigma|^2, and E[1 - sigma_eps] (for offset 0, as a sum of positive terms), with one relevant position.

    Args:
        found: nodes of a token.
        log_kernel: log kappa on them.
        positions: their weights, priors and counts, as ``positions`` finds them.
        offset: o of the normaliser.

    Raises:
        CannotEvaluate: where the integral over u does not converge.
    """
    biases, priors, counts = positions
    top = biases.max()
    kept = biases > top - DROPPED_BELOW
    outside = float(np.sum(counts[~kept] * priors[~kept]))
    biases, priors, counts = biases[kept] - top, priors[kept], counts[kept]
    # sum_l c_l f(v + b_l) on a grid of v is a correlation of f there with Lagrange's weights of b_l
    first, shares = lagrange(biases / (FINEST * rule.load))
    places = first[:, None] + np.arange(ORDER)
    depth = int(-places.min())
    every, own = (
        np.bincount((places + depth).ravel(), (shares * numbers[:, None]).ravel())
        for numbers in (counts, counts * priors)
    )
    beside = depth, len(every) - 1 - depth

    def integrand(one: Table) -> tuple[Any, Any]:
        base = np.maximum(one.others[0], LEAST_LEFT)
        r0, r1, r2, b1, b2 = (part / base for part in (*one.relevant, one.others[1], one.others[2]))
        density = np.exp(
            _sparse_correlation(every, one.log_others)
            - _offset_load(offset, one.logs[depth : len(base) - beside[1]] - top)
        )
        r0_seen = _sparse_correlation(own, r0) + outside
        miss = r0_seen * _sparse_correlation(every, b1) - _sparse_correlation(own, r0 * b1)
        norm = (
            _sparse_correlation(own, r2) + r0_seen * _sparse_correlation(every, b2) - _sparse_correlation(own, r0 * b2)
        )
        return [float(density @ part) for part in (_sparse_correlation(own, r1), norm, miss)], density[-1] * r0_seen[-1]

    load = np.log(np.sum(counts * np.exp(biases))) + max(0.0, np.log1p(offset) - top)
    return _integrals(found, log_kernel, integrand, load, rule, beside)


def _sparse_correlation(kernel: Any, values: Any) -> Any:
    """The valid part of the correlation of values with a sparse kernel."""
    count = len(values) - len(kernel) + 1
    found = np.zeros(count)
    for place in np.flatnonzero(kernel):
        found += kernel[place] * values[place : place + count]
    return found


def exchangeable(found: Nodes, log_kernel: Any, setting: Setting, offset: float, rule: Rule) -> tuple[float, float]:
    """E r^T sigma and E |sigma|^2 where all positions are alike: s of them are relevant, or each by itself with one probability."""
    relevant, size = setting.expected, max(setting.size, 1)

    def integrand(one: Table) -> tuple[Any, Any]:
        if isinstance(setting.task.location, Independent):
            share = float(setting.coin_probabilities[0])
            gone = -share * np.expm1(one.log_relevant) - (1 - share) * np.expm1(one.log_others)
            log_all = (setting.length - 1) * np.log1p(-np.minimum(gone, BELOW_ONE))
            ours, theirs = relevant * one.relevant, (setting.length - relevant) * one.others
        else:
            log_all = relevant * one.log_relevant + (setting.length - relevant) * one.log_others
            ours = relevant * one.relevant / np.maximum(one.relevant[0], LEAST_LEFT)
            theirs = (setting.length - relevant) * one.others / np.maximum(one.others[0], LEAST_LEFT)
        density = np.exp(log_all - _offset_load(offset, one.logs))
        sums = [float(density @ part) for part in (ours[1], ours[2] + theirs[2])]
        return sums, density[-1] * (ours[0] + theirs[0])[-1]

    load = np.log(setting.length) + np.log1p(offset)
    hit, norm = _integrals(found, log_kernel, integrand, float(load), rule)
    return hit / size, norm


def _offset_load(offset: float, logs: Any) -> Any:
    """u o at these log u; 0 without an offset, however large u is."""
    with np.errstate(over="ignore"):
        return offset * np.exp(logs) if offset else 0.0


def _integrals(
    found: Nodes,
    log_kernel: Any,
    integrand: Callable[[Table], tuple[Any, Any]],
    load: float,
    rule: Rule,
    beside: tuple[int, int] = (0, 0),
) -> Any:
    """Integrals over log u of functions of one-token moments.

    Args:
        integrand: from a table to the results that ``over_log_u`` expects.
        load: log of the sum of the weights before the kernel, offset included.
        beside: how many more nodes the table needs below and above those that are summed.
    """
    step, mass = FINEST * rule.load, found.others + found.relevant
    lowest = lowest_log_u(log_kernel, mass, max(load, 0.0), rule.least)
    spectrum, (below, above) = LogKernelLaw.of(found, log_kernel, step), beside

    def of(logs: Any) -> tuple[Any, Any]:
        return integrand(spectrum.table(round(logs[0] / step) - below, len(logs) + below + above))

    highest = EXHAUSTED - float(log_kernel[np.isfinite(log_kernel)].min())
    return over_log_u(of, step, lowest, rule.least, BLOCK + below, max(highest, HIGHEST))
