"""The integrals of one Laplace form at given parameters: which of their terms count, and their sum from finished moments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace.code import Constants, LaplaceCode
from symslr.evaluation.laplace.form import LaplaceForm

LARGE_POWER = 8.0
"""Above this power log M is formed from 1 - M, below it from M."""


@dataclass(slots=True)
class Moments:
    """Of every moment the mean, the logarithm (of survival functions) and the scale: M = exp(scale) mean."""

    means: list[Any]
    logs: list[Any]
    scales: list[Any]


class Family:
    """A form and its parameters, in float64.

    Attributes:
        integrals: for every integral the terms whose coefficients are not zero.
        powers: size of the power of every moment in every term that counts, (terms, moments).
        largest, power: the largest power of every moment, and that of survival functions.
        tolerance: relative error aimed at, exp(-nats); 0 where float64 cannot name it.
        depth: nats below the largest contribution that are left out.
    """

    def __init__(self, code: LaplaceCode, p: tuple[float, ...], nats: float) -> None:
        self.code, self.p, self.tolerance = code, p, float(np.exp(-nats))
        self.form: LaplaceForm = code.form
        self.constants: Constants = code.constants(p)
        self.integrals = [[t for t in own if self.constants.coefficients[t] != 0] for own in self.form.integrals]
        self.active = [t for own in self.integrals for t in own]
        self.powers = self.constants.sizes
        self.largest = self.powers.max(axis=0)
        self.power = float(self.largest[self.form.survivors].max(initial=0.0))
        self.depth = 8.0 + nats + float(np.log1p(self.power))

    @property
    def moments_of(self) -> list[list[int]]:
        """For every kernel its moments."""
        return [[i for i, m in enumerate(self.form.moments) if m.kernel == kernel] for kernel in self.form.kernels]

    @cached_property
    def together(self) -> float:
        """The most means that are multiplied in one term, each as often as its power; survival functions stand in logarithms."""
        own = [i for i, m in enumerate(self.form.moments) if not m.is_survival]
        return float(self.powers[:, own].sum(axis=1).max())

    def values(self, grid: list[Any], moments: Moments, shifts: Any = None) -> tuple[list[Any], Any]:
        """Every term that counts (in the order of ``active``), each integral's divided by exp(shift), and the shifts.

        The shifts are the largest logarithms where none are given.

        Raises:
            CannotEvaluate: where an integrand vanishes or overflows everywhere.
        """
        terms = self.code.terms(grid, moments.means, moments.logs, moments.scales, self.p)
        shape = np.broadcast_shapes(*map(np.shape, (*grid, *moments.means)))
        own_shifts = self._shifts(terms) if shifts is None else shifts
        values = []
        for own, shift in zip(self.integrals, own_shifts):
            for t in own:
                value = np.exp(terms[t][0] - shift) * (terms[t][1] * self.constants.coefficients[t])
                value = np.broadcast_to(value, shape)
                lost = np.isnan(value)
                values.append(np.where(lost, 0.0, value) if lost.any() else value)
        return values, own_shifts

    def _shifts(self, terms: list[tuple[Any, Any]]) -> Any:
        """The largest logarithm of every integral's terms, 0 where none counts.

        Raises:
            CannotEvaluate: where they vanish or overflow everywhere.
        """
        found = np.zeros(len(self.integrals))
        for n, sizes in enumerate(self.logs(terms)):
            tops = [float(np.fmax.reduce(size, axis=None)) if np.ndim(size) else float(size) for size in sizes]
            if tops:
                found[n] = max((top for top in tops if not np.isnan(top)), default=-np.inf)
                if not np.isfinite(found[n]):
                    raise CannotEvaluate("the outer integrand vanishes or overflows in float64")
        return found

    def logs(self, terms: list[tuple[Any, Any]]) -> list[list[Any]]:
        """log |term| for the terms of every integral that count."""
        return [
            [terms[t][0] + np.log(np.abs(terms[t][1] * self.constants.coefficients[t])) for t in own]
            for own in self.integrals
        ]

    def sums(self, values: list[Any]) -> list[Any]:
        """Every integral's integrand, from its terms."""
        found, rest = [], iter(values)
        for own in self.integrals:
            parts = [next(rest) for _ in own]
            found.append(sum(parts[1:], parts[0]) if parts else np.zeros(np.shape(values[0])))
        return found
