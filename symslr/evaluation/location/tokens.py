"""Moments of one token on a grid of log u: E[f(chi) kappa^j e^{-u kappa(chi)}] for the others and for the relevant one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.setting import Setting

REACH = 9.0
"""Standard deviations beyond which a token's density is left out: below 1e-18."""
MOST_NODES = 4_000_000
BLOCK = 2**22
TINY = 1e-290


@dataclass(frozen=True)
class Nodes:
    """Nodes of a token's key (n, p), with the mass of an irrelevant and of a relevant token there."""

    keys: Any
    others: Any
    relevant: Any


LEAST_MASS = 1e-20


def nodes(setting: Setting, step: float, least: float = LEAST_MASS) -> Nodes:
    """A trapezoid rule over one token's key in every direction, without nodes of less than the ``least`` mass.

    Raises:
        CannotEvaluate: for more directions than a grid can have.
    """
    shift = np.sqrt(setting.strength) * setting.values
    axes = []
    for low, high in zip(np.minimum(shift.min(axis=0), 0), np.maximum(shift.max(axis=0), 0)):
        first, last = int(np.floor((low - REACH) / step)), int(np.ceil((high + REACH) / step))
        axes.append(step * np.arange(first, last + 1))
    if np.prod([float(len(axis)) for axis in axes]) > MOST_NODES:
        raise CannotEvaluate(f"found keys along {setting.directions} directions; too many for a grid over one token")
    keys = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=-1)

    def mass(centre: Any) -> Any:
        return np.exp(-np.sum((keys - centre) ** 2, axis=1) / 2)

    others = mass(np.zeros(setting.directions))
    relevant = sum(share * mass(centre) for share, centre in zip(setting.shares, shift))
    others, relevant = others / others.sum(), relevant / relevant.sum()
    kept = others + relevant > least
    return Nodes(keys[kept], others[kept], relevant[kept])


@dataclass(frozen=True)
class Table:
    """Moments over log u, one column for every u.

    Attributes:
        logs: log u.
        others, relevant: E[(u kappa)^j e^{-u kappa}] for j = 0, 1, 2, of the others and of the relevant token.
        log_others, log_relevant: log E[e^{-u kappa}], with its digits where that is near 1: long sequences multiply it.
    """

    logs: Any
    others: Any
    relevant: Any
    log_others: Any
    log_relevant: Any


def table(found: Nodes, log_kernel: Any, logs: Any) -> Table:
    """The moments j = 0, 1, 2 of a kernel kappa >= 0, given by its logarithm on the nodes."""
    others, relevant, gone = np.empty((3, len(logs))), np.empty((3, len(logs))), np.empty((2, len(logs)))
    rows = max(1, BLOCK // len(log_kernel))
    masses = np.stack([found.others, found.relevant], axis=1)
    for start in range(0, len(logs), rows):
        part = slice(start, start + rows)
        load = logs[part, None] + log_kernel
        with np.errstate(over="ignore", under="ignore"):
            size = np.exp(np.minimum(load, 700.0))
            gone[:, part] = (-np.expm1(-size) @ masses).T
            decay = np.exp(-size)
            for power in range(3):
                others[power, part], relevant[power, part] = (decay @ masses).T
                decay = decay * np.where(decay > 0, size, 0.0)
    survived = [
        np.where(m < 0.5, np.log1p(-np.minimum(m, 0.5)), np.log(np.maximum(own[0], TINY)))
        for m, own in zip(gone, (others, relevant))
    ]
    return Table(logs, others, relevant, *survived)


def log_of(kernel: Callable[[Any], Any], keys: Any) -> Any:
    """log kappa on nodes; -inf where the kernel vanishes.

    Raises:
        CannotEvaluate: where the kernel is negative or overflows.
    """
    values = kernel(keys)
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise CannotEvaluate("kernel: negative or beyond float64 at a token that counts")
    with np.errstate(divide="ignore"):
        return np.log(values)
