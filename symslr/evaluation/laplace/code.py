"""A Laplace form compiled: its weights, its outer terms and its shapes as functions of numbers.

And at given parameters: which of its terms count, and their sum from finished moments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from operator import add
from typing import Any

import numpy as np
from sympy import Expr, S, Symbol

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace.form import LaplaceForm, Moment
from symslr.evaluation.numbers.arithmetic import FLOAT, Arithmetic
from symslr.evaluation.numbers.exponent import Split, magnitude, split
from symslr.evaluation.numbers.logarithm import leaves_float64, sign_and_log
from symslr.evaluation.quadrature.token_mesh import zeros_of

BESIDE = 64.0 * FLOAT.eps
"""Distance of a node's neighbours, of that to the middle: a function that moves by 1 over a percent of it leaves 2e-24 behind."""
NEAR = 1e4
"""Steps of a mesh that a node is from the middle at most, for that: of a power tail on a half line the middle is 1e15 away."""
AROUND = 2
"""Nodes on each side whose rounding stands for that of a node: one alone may be rounded by nothing."""


@dataclass(frozen=True)
class LaplaceCode:
    """Functions of nodes and of the parameters ``p`` (a tuple in the order of ``parameters``)."""

    form: LaplaceForm
    parameters: tuple[Symbol, ...]
    arithmetic: Arithmetic

    @cached_property
    def _weights(self) -> list[Any]:
        """Per kernel: exponent and rest of its slopes and of its moments' weights, compiled together."""
        functions = []
        for kernel, indices in zip(self.form.kernels, self.form.moments_of):
            parts = [split(slope) for slope in kernel.slopes]
            for moment in (self.form.moments[i] for i in indices):
                square = moment.gaussian
                parts.append(Split(moment.exponent if square is None else square.centred(self.form.x), moment.rest))
            exprs = [e for part in parts for e in (part.exponent, *self._without_overflow(part.rest))]
            functions.append(self.arithmetic.compile((self.form.x, *self.parameters), exprs))
        return functions

    def _of_moments(self, part: Callable[[Moment], Expr]) -> list[Any]:
        """Per kernel a part of each of its moments, as functions of x and the parameters."""
        own = [[part(self.form.moments[i]) for i in indices] for indices in self.form.moments_of]
        return [self.arithmetic.compile((self.form.x, *self.parameters), exprs) for exprs in own]

    @cached_property
    def _whole(self) -> list[Any]:
        """Per kernel the exponents of its moments' Gaussians with their heights, not written as squares."""
        return self._of_moments(lambda moment: moment.exponent)

    def whole(self, kernel: int, moment: int, x: Any, p: tuple[Any, ...]) -> float:
        """The exponent of a kernel's moment at one token, with its height: of the size of what it is a sum of."""
        return float(self._whole[kernel](x, *p)[moment])

    def _without_overflow(self, rest: Expr) -> tuple[Expr, Expr]:
        """(log, rest): in float64 a sum of exponentials may overflow, and erfc underflow, where a density times them is tame."""
        if self.arithmetic.name != "numpy" or not leaves_float64(rest):
            return S.Zero, rest
        sign, log = sign_and_log(rest)
        return log, sign

    def slopes(self, kernel: int, x: Any, p: tuple[Any, ...]) -> Any:
        """log kappa, log w, ... at the nodes: (slopes, nodes); raises as ``weights``."""
        return self._slopes(self._weights[kernel](x, *p), x)

    def _slopes(self, values: list[Any], x: Any) -> Any:
        """The same from the compiled function's values."""
        found = _rows(values[: 3 * len(self.form.logs)], x)
        if (found[2::3] < 0).any():
            place = x[(found[2::3] < 0).any(axis=0)][0]
            raise CannotEvaluate(
                f"a kernel is negative at {place}: 1/S has no Laplace representation there; expected one that is positive at "
                "every token, or a positive scale, as by bounds (--bounds a:0:10)"
            )
        return found[::3] + found[1::3] + self.arithmetic.log(found[2::3])

    def parts(self, kernel: int, x: Any, p: tuple[Any, ...]) -> tuple[Any, Any, Any, Any]:
        """As ``weights``, the exponents of moments as (Gaussians without their height, logarithms)."""
        values = self._weights[kernel](x, *p)
        found = _rows(values[3 * len(self.form.logs) :], x)
        return self._slopes(values, x), found[::3], found[1::3], found[2::3]

    def weights(self, kernel: int, x: Any, p: tuple[Any, ...]) -> tuple[Any, Any, Any]:
        """log kappa, log w, ..., and the exponents and rests of a kernel's moments at the nodes; gaussians without their height.

        They are (slopes, nodes), (moments, nodes) and (moments, nodes).

        Raises:
            CannotEvaluate: where a kernel is negative.
        """
        slopes, exponents, logs, rests = self.parts(kernel, x, p)
        return slopes, exponents + logs, rests

    def logs(self, kernel: int, x: Any, p: tuple[Any, ...]) -> Any:
        """log kappa, log w, ... at the nodes, and the logs of those weights whose bumps may hide: (functions, nodes).

        A weight that changes its sign among the nodes has NaN in its row.
        """
        if not self.form.turns_of_weights[kernel]:
            return self.slopes(kernel, x, p)
        slopes, exponents, rests = self.weights(kernel, x, p)
        logs = exponents + np.log(np.abs(rests))
        logs[(rests < 0.0).any(axis=1) & (rests > 0.0).any(axis=1)] = np.nan
        return np.concatenate([slopes, logs])

    def shaken(self, kernel: int, x: Any, p: tuple[Any, ...]) -> tuple[Any, Any]:
        """Rounding of log kappa and of the log of each moment's weight at nodes in float64, in roundoffs: (slopes, weights).

        The second difference over places very near a node leaves nothing of a smooth function but its rounding.
        It shows what sums of large terms lose, as where a power of x - 7/2 was written out. What the rounded coefficients lose is
        the same at all nodes and of that size; the largest of the nodes around stands for it.
        """
        inwards = (np.min(x) + np.max(x)) / 2.0 - x  # beyond its ends a kernel may be negative
        inwards = BESIDE * np.sign(inwards) * np.minimum(np.abs(inwards), np.maximum(NEAR * np.gradient(x), np.abs(x)))
        slopes, exponents, rests = self.weights(kernel, np.concatenate([x, x + inwards, x + 2.0 * inwards]), p)
        found = _second(np.concatenate([slopes, exponents + np.log(np.abs(rests))]))
        return found[: len(slopes)], found[len(slopes) :]

    def _outer(self, exprs: list[Expr]) -> Any:
        """Expressions compiled as functions of v, of the means, logs and scales of all moments, and of the parameters."""
        moments = self.form.moments
        symbols = [*(m.mean for m in moments), *(m.log for m in moments), *(m.scale for m in moments)]
        return self.arithmetic.compile([*self.form.logs, *symbols, *self.parameters], exprs)

    @cached_property
    def _terms(self) -> Any:
        return self._outer([e for t in self.form.terms for e in (t.exponent, t.rest)])

    @cached_property
    def _sizes(self) -> Any:
        return self._outer([t.size for t in self.form.terms])

    @cached_property
    def _token_sizes(self) -> list[Any]:
        return self._of_moments(lambda moment: magnitude(moment.exponent))

    def token_sizes(self, kernel: int, x: Any, p: tuple[Any, ...]) -> Any:
        """Sum of |addends| of the whole exponent of a kernel's moments at nodes, (moments, nodes)."""
        return _rows(self._token_sizes[kernel](x, *p), x)

    def terms(self, v: list[Any], means: Any, logs: Any, scales: Any, p: tuple[Any, ...]) -> list[tuple[Any, Any]]:
        """(exponent, rest) of each outer term."""
        values = self._terms(*v, *means, *logs, *scales, *p)
        return list(zip(values[::2], values[1::2]))

    def sizes(self, v: list[Any], means: Any, logs: Any, scales: Any, p: tuple[Any, ...]) -> list[Any]:
        """Sum of |addends| of the exponent of each outer term."""
        return list(self._sizes(*v, *means, *logs, *scales, *p))

    @cached_property
    def _constants(self) -> Any:
        form = self.form
        exprs: list[Expr] = [t.coefficient for t in form.terms]
        marks = [m.log if m.is_survival else m.scale for m in form.moments]
        exprs += [t.exponent.coeff(mark, 1) for t in form.terms for mark in marks]
        for m in form.moments:
            exprs += (
                [S.Zero] * 3 if m.gaussian is None else [m.gaussian.curvature, m.gaussian.centre, m.gaussian.height]
            )
        for kernel in form.kernels:
            one = kernel.exponential(form.x)
            exprs += [S.Zero, S.Zero] if one is None else [one.constant, one.rate]
            exprs += [kernel.lower, kernel.upper]
        return self.arithmetic.compile(self.parameters, exprs)

    @cached_property
    def _offsets(self) -> Any:
        return self.arithmetic.compile(self.parameters, list(self.form.offsets))

    def offsets(self, p: tuple[Any, ...]) -> list[float]:
        """``LaplaceForm.offsets``."""
        return [float(offset) for offset in self._offsets(*p)]

    def constants(self, p: tuple[Any, ...]) -> Constants:
        """What depends on the parameters alone."""
        kind = float if self.arithmetic.name == "numpy" else object
        return Constants.of(self.form, np.array(self._constants(*p), dtype=kind))

    def constant_table(self, p: Any) -> Any:
        """The numbers behind ``constants`` at many points: (constants, points) for ``p`` (parameters, points), float64."""
        if p.shape[1] == 1:
            return np.array(self._constants(*p[:, 0].tolist()), dtype=float)[:, None]
        values = self._constants(*p)
        table = np.empty((len(values), np.shape(p)[-1]))
        for row, value in zip(table, values):
            row[:] = value
        return table

    @cached_property
    def touches(self) -> list[list[Any]]:
        """Per kernel the functions of x and p whose zeros may be zeros of kappa."""
        arguments = (self.form.x, *self.parameters)
        return [[self.arithmetic.compile(arguments, [slope]) for slope in slopes] for slopes in self.form.touches]

    @cached_property
    def kinks(self) -> list[list[tuple[Any, Any]]]:
        """Per kernel, as ``zeros_of`` gives them."""
        return self._zeros(self.form.kinks)

    @cached_property
    def turns(self) -> list[list[tuple[Any, Any]]]:
        """Per kernel, where it or a weight turns, as ``zeros_of`` gives them."""
        return self._zeros(map(add, self.form.turns, self.form.turns_of_weights))

    def _zeros(self, equations_of: Iterable[tuple[Expr, ...]]) -> list[list[tuple[Any, Any]]]:
        return [zeros_of(equations, self.form.x, self.parameters, self.arithmetic) for equations in equations_of]


def _rows(values: list[Any], x: Any) -> Any:
    """Functions of the nodes as rows of the nodes' own kind of number; some may be constants."""
    found = np.empty((len(values), len(x)), dtype=x.dtype)
    for row, value in zip(found, values):
        row[:] = value
    return found


def _second(values: Any) -> Any:
    """|second difference| of rows of three columns in roundoffs, the largest of the nodes around; 0 where it is not finite."""
    count = values.shape[1] // 3
    first, second, third = values[:, :count], values[:, count : 2 * count], values[:, 2 * count :]
    own = np.abs(first - 2.0 * second + third) / FLOAT.eps
    own[~np.isfinite(own)] = 0.0
    around = np.arange(count) + np.arange(-AROUND, AROUND + 1)[:, None]
    return own[:, np.clip(around, 0, count - 1)].max(axis=1)


@dataclass(frozen=True, slots=True)
class Constants:
    """What depends on the parameters alone, at one point or at many, which are then the last axis of all.

    Attributes:
        coefficients: (terms,).
        powers: of every moment in every term, (terms, moments).
        gaussians: curvature, centre and height of every moment, (moments, 3).
        exponentials, ends: constant and rate, and both ends, of every kernel, (kernels, 2).
    """

    coefficients: Any
    powers: Any
    gaussians: Any
    exponentials: Any
    ends: Any

    @classmethod
    def of(cls, form: LaplaceForm, table: Any) -> Constants:
        """From the numbers in the order in which they are compiled."""
        terms, moments, points = len(form.terms), len(form.moments), table.shape[1:]
        parts = np.split(table, np.cumsum([terms, terms * moments, 3 * moments]))
        kernels = parts[3].reshape(-1, 4, *points)
        powers, gaussians = parts[1].reshape(terms, moments, *points), parts[2].reshape(moments, 3, *points)
        return cls(parts[0], powers, gaussians, kernels[:, :2], kernels[:, 2:])

    @property
    def sizes(self) -> Any:
        """Size of the power of every moment in every term, 0 in terms that do not count."""
        return np.abs(self.powers) * (self.coefficients != 0.0)[:, None]


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
        turns: ``LaplaceCode.turns``.
        depth: nats below the largest contribution that are left out.
    """

    def __init__(self, code: LaplaceCode, p: tuple[float, ...], nats: float) -> None:
        self.code, self.p, self.tolerance = code, p, float(np.exp(-nats))
        self.form: LaplaceForm = code.form
        self.moments_of = self.form.moments_of
        self.constants: Constants = code.constants(p)
        self.turns = code.turns
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
