"""The nodes of a kernel's panels, and bounds of what its token integrals keep and lose at one u: for the ends of an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb, ctx

from symslr.evaluation.panels.functions import TokenFunctions
from symslr.evaluation.panels.panels import Panels

LOST, LOST_TO_PARAMETERS, MOST_BITS = 20, 6, 32
"""Bits of a kernel that rounding may take, and that are lost of those of its parameters; so many times more are tried."""
SLACK = 1e-9
"""Relative amount by which bounds are rounded up."""


class Nodes:
    """Kernels and weights at the nodes of panels, as balls at the precision of the context.

    Attributes:
        kernels: values of every kernel, a list over the kernels of lists over the nodes.
        weights: times the Gauss weight, divided by e^shift, of every weight.
        shifts: log of the mass of every weight, 0 where it is one.
        logs, sizes: log kappa and log |weight| in float64, (kernels, nodes) and (weights, nodes).
        errors, tops: log of the factor of every panel in the error of a token integral, and in the integral of |g|.
        lost: log of the mass that is left out.
    """

    def __init__(self, functions: TokenFunctions, panels: Panels, shifts: Any, p: Sequence[Any]) -> None:
        self.panels, self.shifts = panels, shifts
        bits, reached = ctx.prec, -1
        enough = min(bits - LOST, min((own.rel_accuracy_bits() for own in p), default=bits) - LOST_TO_PARAMETERS)
        while True:  # with more bits where terms of a kernel cancel
            with ctx.workprec(bits):
                x, gauss = panels.nodes()
                self.kernels, weights = functions.at_nodes(x, p)
            before = reached
            reached = min((kappa.rel_accuracy_bits() for row in self.kernels for kappa in row), default=enough)
            if reached >= enough or 0 < reached <= before + 1 or bits > MOST_BITS * ctx.prec:
                break
            bits *= 2
        scales = [arb(-shift).exp() for shift in self.shifts]
        self.weights = [[w * own * scale for w, own in zip(row, gauss)] for row, scale in zip(weights, scales)]
        with ctx.workprec(64):
            logs = [[kappa.log() for kappa in row] for row in self.kernels]
            self.logs = np.array([[float(g) for g in row] for row in logs]).reshape(len(logs), len(x))
            self.sizes = np.array([[_log_size(w) for w in row] for row in self.weights])
        self.are_signed = np.array(functions.are_signed)
        shifts = self.shifts[:, None]
        self.errors, self.tops = panels.errors - shifts, panels.sizes + np.log(2) + panels.tops - shifts
        self.lost = panels.lost - self.shifts

    def kept(self, axis: int, v: float) -> Any:
        """log of bounds of E[|g| e^{-u kappa}] of every weight, u = e^v."""
        decay = -np.exp(np.minimum(v + self.panels.low[axis], 700.0))
        sums = _total(self.sizes - np.exp(np.minimum(v + self.logs[axis], 700.0)))
        return self._with_errors(np.where(self.are_signed, _total(self.tops + decay), sums), self.errors + decay)

    def gone(self, axis: int, v: float) -> Any:
        """log of bounds of E[|g| (1 - e^{-u kappa})] of every weight, u = e^v."""
        rise = np.minimum(v + self.panels.high[axis], np.log(2.0))
        sums = _total(self.sizes + np.minimum(v + self.logs[axis], 0.0))
        return self._with_errors(np.where(self.are_signed, _total(self.tops + rise), sums), self.errors + rise)

    def _with_errors(self, sums: Any, errors: Any) -> Any:
        return np.logaddexp.reduce([sums, _total(errors), self.lost]) + SLACK


def _total(logs: Any) -> Any:
    return np.logaddexp.reduce(logs, axis=-1)


def _log_size(weight: Any) -> float:
    size = abs(weight).upper()
    return float(size.log()) if size > 0 else -np.inf
