"""The integrals of one Laplace form at given parameters: which of their terms count, and their sum from finished moments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace.code import Constants, LaplaceCode
from symslr.evaluation.laplace.form import LaplaceForm

LARGE_POWER = 8.0
"""Above this power log M is formed from 1 - M, below it from M."""


def log_near_one(missing: Any, log: Any) -> Any:
    """log M from 1 - M where M is near 1, elsewhere the logarithm that is known."""
    return np.where(missing < 0.5, np.log1p(-np.minimum(missing, 0.5)), log)


@dataclass(slots=True)
class Moments:
    """Of every moment the mean, the logarithm (of survival functions) and the scale: M = exp(scale) mean.

    Lists over the moments of arrays (rules, *outer nodes), where the rules are nested token meshes.
    """

    means: list[Any]
    logs: list[Any]
    scales: list[Any]

    @classmethod
    def zeros(cls, count: int, shape: tuple[int, ...]) -> Moments:
        """Of so many moments, to be replaced."""
        zero = np.zeros(shape)
        return cls(*([zero] * count for _ in range(3)))


class Family:
    """A form and its parameters, in float64.

    Attributes:
        integrals: for every integral the terms whose coefficients are not zero.
        powers: size of the power of every moment in every term that counts, (terms, moments).
        largest, power: the largest power of every moment, and that of survival functions.
        tolerance: relative error aimed at, exp(-nats); 0 where float64 cannot name it.
        moments_of: for every kernel its moments.
        depth: nats below the largest contribution that are left out.
    """

    def __init__(self, code: LaplaceCode, p: tuple[float, ...], nats: float) -> None:
        self.code, self.p, self.tolerance = code, p, float(np.exp(-nats))
        self.form: LaplaceForm = code.form
        self.moments_of = self.form.moments_of
        self.constants: Constants = code.constants(p)
        self.integrals = [[t for t in own if self.constants.coefficients[t] != 0] for own in self.form.integrals]
        self.active = [t for own in self.integrals for t in own]
        self.powers = self.constants.sizes
        self.largest = self.powers.max(axis=0)
        self.power = float(self.largest[self.form.survivors].max(initial=0.0))
        self.depth = 8.0 + nats + float(np.log1p(self.power))

    @cached_property
    def are_gaussian(self) -> list[bool]:
        """For every moment whether its weight is a Gaussian times what grows by powers alone: no u is needed to cut it off."""
        curvatures = self.constants.gaussians[:, 0].tolist()
        return [is_square and float(own) < 0 for is_square, own in zip(self.form.are_square, curvatures)]

    @cached_property
    def together(self) -> float:
        """The most means that are multiplied in one term, each as often as its power; survival functions stand in logarithms."""
        own = [i for i, m in enumerate(self.form.moments) if not m.is_survival]
        return float(self.powers[:, own].sum(axis=1).max())

    def values(self, grid: list[Any], moments: Moments, shifts: Any = None) -> tuple[Any, Any]:
        """Every term that counts (in the order of ``active``), each integral's divided by exp(shift), and the shifts.

        The shifts are the largest logarithms where none are given, under the rule with all nodes: to the power of 10^5 tokens a
        coarser one may be e^1000 times as large.

        Raises:
            CannotEvaluate: where an integrand vanishes or overflows everywhere.
        """
        exponents, rests = self._terms(grid, moments)
        if shifts is None:
            shifts = np.zeros(len(self.integrals))
            for n, logs in enumerate(self._each((exponents + np.log(np.abs(rests)))[:, 0])):
                if len(logs):
                    shifts[n] = np.fmax.reduce(logs, axis=None)
            if not np.all(np.isfinite(shifts)):
                raise CannotEvaluate("the outer integrand vanishes or overflows in float64")
        own = np.repeat(shifts, [len(own) for own in self.integrals])
        values = np.exp(exponents - own.reshape(-1, *[1] * (exponents.ndim - 1))) * rests
        values[np.isnan(values)] = 0.0
        return values, shifts

    def _terms(self, grid: list[Any], moments: Moments) -> tuple[Any, Any]:
        """(exponents, the rest of them) of every term that counts, (terms, rules, *outer nodes)."""
        exponents, rests = np.empty((2, len(self.active), *moments.means[0].shape))
        terms = self.code.terms(grid, moments.means, moments.logs, moments.scales, self.p)
        for n, t in enumerate(self.active):
            exponents[n], rests[n] = terms[t][0], terms[t][1] * self.constants.coefficients[t]
        return exponents, rests

    def _each(self, terms: Any) -> list[Any]:
        """What belongs to every integral, of what all terms that count have."""
        ends = [0, *accumulate(len(own) for own in self.integrals)]
        return [terms[start:end] for start, end in pairwise(ends)]

    def logs(self, grid: list[Any], moments: Moments) -> list[Any]:
        """log |largest term| of every integral of which a term counts, NaN where none is a number: (rules, *outer nodes)."""
        exponents, rests = self._terms(grid, moments)
        each = self._each(exponents + np.log(np.abs(rests)))
        return [np.fmax.reduce(logs) for logs in each if len(logs)]

    def sums(self, values: Any) -> Any:
        """Every integral's integrand, from its terms: (integrals, rules, *outer nodes)."""
        return np.array([own.sum(axis=0) for own in self._each(values)])
