"""What is no channel: a label that is constant or no number, a weight that is negative or has another mean than 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Abs, Heaviside, Max, Min, Piecewise, sign

if TYPE_CHECKING:
    from symslr.model.sequence.model import SequenceModel

JUMPS = (Abs, Heaviside, Max, Min, Piecewise, sign)
COUNT = 2**16
"""Fields that are drawn to look at the label and at the weight."""
HERMITE, SMOOTH = 60, 2
"""Nodes in a direction, and the directions up to which the mean of a weight is a Gauss-Hermite sum."""
SEVERAL, EXACT = 6.0, 1e-6
"""Standard errors by which a mean that is drawn may differ from 1, and the difference at which a sum over nodes does."""
FOUND = 0.05
"""Standard error from which on a mean that is drawn says nothing."""


def check_channel(model: SequenceModel) -> None:
    """Refuse a label without fields, one that is constant or no number somewhere, and a weight that is no density.

    Raises:
        ValueError: in one line, with what was found.
    """
    labels = model.labels_at(_fields(model, 1024))
    if not np.all(np.isfinite(labels)):
        raise ValueError("label: found no number at some fields; expected a real number at all of them")
    if not np.any(np.ptp(labels, axis=2) > 1e-12):
        raise ValueError("label: found a constant; expected one that depends on the fields")
    total, error = _mean(model)
    if abs(total - 1) > SEVERAL * error + EXACT:
        told = f"{total:.6g}" + (f" +- {error:.1g}" if error > EXACT else "")
        raise ValueError(f"weight: found the mean {told}; expected 1, so divide the weight by it")


def _fields(model: SequenceModel, count: int) -> Any:
    """Random fields (count, L, p)."""
    return np.random.default_rng(0).standard_normal((count, model.length, len(model.teachers)))


def _mean(model: SequenceModel) -> tuple[float, float]:
    """E sum_h P(h) g(h, z) with its standard error, 0 where it is a sum over nodes or one exactly."""
    total, drawn, z = 0.0, np.zeros(1), None
    for weight in model.weights:
        held = sorted(weight.free_symbols, key=str)
        if not held:
            total += float(weight)
        elif len(held) <= SMOOTH and not weight.has(*JUMPS):
            at, share = np.polynomial.hermite_e.hermegauss(HERMITE)
            share = share / share.sum()
            grids = np.meshgrid(*[at] * len(held), indexing="ij")
            nodes = np.zeros((HERMITE ** len(held), model.length, len(model.teachers)))
            places = {symbol: (l, k) for l, row in enumerate(model.fields) for k, symbol in enumerate(row)}
            for symbol, grid in zip(held, grids):
                nodes[:, *places[symbol]] = grid.ravel()
            values = model.evaluated([weight], nodes)[0]
            _check_nonnegative(values)
            shares = share if len(held) == 1 else np.outer(share, share).ravel()
            total += float(values @ shares)
        else:
            z = _fields(model, COUNT) if z is None else z
            values = model.evaluated([weight], z)[0]
            _check_nonnegative(values)
            drawn = drawn + values
    error = float(drawn.std() / len(drawn) ** 0.5)
    if not error <= FOUND:
        raise ValueError(f"weight: its mean is not found, as it scatters by {error:.2g}; expected a weight with mean 1")
    return total + float(drawn.mean()), error


def _check_nonnegative(values: Any) -> None:
    if not np.all(np.isfinite(values)):
        raise ValueError("weight: found no number at some fields; expected one at all of them")
    if np.min(values) < 0:
        raise ValueError(f"weight: found the negative value {np.min(values):.4g}; expected a density")
