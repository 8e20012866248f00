"""Integrals over one or two Laplace variables, with every error bounded: all but the arithmetic of the sums."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from math import exp, inf, log
from typing import Any

import numpy as np
from flint import arb, ctx

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.panels import axis as rule
from symslr.evaluation.panels.moments import Factor, Moments, Product
from symslr.evaluation.panels.panels import Search
from symslr.evaluation.panels.tokens import Nodes

SPARE = 8.0
"""Nats by which every error is aimed lower than asked for."""
APART = 4.0
"""Nats by which what is left out of a token's mass is below what the nodes beyond an end may hold."""
ROUNDS = 3
"""An integral much smaller than the masses of its weights is summed again, to a tolerance relative to itself."""


@dataclass(frozen=True)
class Summand:
    """A term at given parameters: scale (a ball) times a coefficient of size one; powers, r, o and k as in ``Product``."""

    scale: Any
    sign: int
    factors: tuple[int, ...]
    powers: tuple[int, ...]
    residues: tuple[int, ...]
    offsets: tuple[Any, ...]
    exponents: tuple[int, ...]


class Integrals(ABC):
    """Abstract: all integrals of a form at given parameters ``p``, balls, aimed at relative errors e^-nats.

    Attributes:
        bits: of kernels, weights and coefficients.
        nodes: of every kernel; ``summands`` the terms in the order of ``moments.products``.
    """

    def __init__(self, moments: Moments, p: Sequence[Any], nats: float, bits: int) -> None:
        self.moments, self.p, self.nats, self.bits, self.extra = moments, p, nats, bits, 0.0
        self._resolve()

    def _resolve(self) -> None:
        numbers = self.moments.numbers(self.p)
        power = max(1.0, *(float(n) for _, own, *_ in numbers for n in own))
        goal = self.nats + self.extra + log(power) + SPARE + APART
        functions, factors = self.moments.functions, self.moments.factors
        ones = [[f.weight for f in factors if f.is_survival and f.kernel == n] for n in range(len(functions))]
        with ctx.workprec(self.bits):
            searches = [Search(f.at(self.p), goal) for f in functions]
        shifts = [
            np.where([w in one for w in range(len(own.masses))], 0.0, own.masses) for own, one in zip(searches, ones)
        ]
        with ctx.workprec(self.bits):
            numbers = self.moments.numbers(self.p)
            self.summands = [self._summand(t, shifts, *own) for t, own in zip(self.moments.products, numbers)]
        ends = self._last(
            lambda axis, v: [own.kept(axis, v) - shift for own, shift in zip(searches, shifts)], self._aim() + log(2)
        )
        self.limits = ends
        live = [t for t in self.summands if t.sign]
        far = [end + 2 * step for end, step in zip(ends, self._steps(live))] if live else []
        panels = [own.panels(far) for own in searches if live]
        with ctx.workprec(self.bits):
            self.nodes = [Nodes(*own) for own in zip(functions, panels, shifts, repeat(self.p))]
        self.prepare()

    def _summand(
        self,
        term: Product,
        shifts: Sequence[Any],
        coefficient: Any,
        powers: Any,
        residues: Any,
        offsets: Any,
        exponents: Any,
    ) -> Summand:
        whole = [tuple(int(n.unique_fmpz()) for n in own) for own in (powers, residues, exponents)]
        factors = [self.moments.factors[f] for f in term.factors]
        shift = sum((n * arb(float(shifts[f.kernel][f.weight])) for n, f in zip(whole[0], factors)), arb(0))
        for r, o in zip(whole[1], offsets):
            coefficient = coefficient / o**r if r else coefficient
        scale = abs(coefficient) * shift.exp()
        sign = 0 if coefficient == 0 else 1 if coefficient > 0 else -1
        return Summand(scale, sign, term.factors, whole[0], whole[1], tuple(offsets), whole[2])

    @abstractmethod
    def prepare(self) -> None:
        """Called when nodes and summands are new."""

    @abstractmethod
    def sums_on(self, axes: list[tuple[float, int, float]], ends: float) -> list[Any]:
        """Every integral as (value, error, log of its size relative to what bounds it).

        Args:
            axes: (first v, number of steps, step) of every axis.
            ends: what the nodes beyond hold, relative to the scale of a term.
        """

    @abstractmethod
    def step(self, largest: float) -> float:
        """The step of an axis, no larger than this."""

    def sums(self, rounds: int = ROUNDS) -> list[tuple[Any, Any]]:
        """(value, error) of every integral; by one round to the masses of its weights only.

        Raises:
            CannotEvaluate: where it costs too much, or a number leaves the range of float64.
        """
        for left in reversed(range(rounds)):
            try:
                found = self.sums_on(*self._axes())
            except OverflowError as fault:
                raise CannotEvaluate(f"a Laplace integral has no window: {fault}") from fault
            small = min((own for *_, own in found), default=0.0)
            if small >= -self.extra - SPARE or not left:
                break
            self.extra = -small
            self._resolve()
        return [(value, error) for value, error, _ in found]

    def _axes(self) -> tuple[list[tuple[float, int, float]], float]:
        live = [t for t in self.summands if t.sign]
        if not live:
            return [], 0.0
        steps = self._steps(live)
        # what is left out of the tokens is beyond every end
        lost = np.logaddexp.reduce(np.concatenate([nodes.lost for nodes in self.nodes]))
        count = max(float(sum(t.powers)) for t in live)
        held = [
            log(count * rule.right_factor(step, max(t.exponents[axis], 1))) + self._others(t, axis, steps)
            for t in live
            for axis, step in enumerate(steps)
        ]
        aim = min(self._aim() + log(2), -log(2) - lost - max(held))
        lasts = self._last(lambda axis, v: [nodes.kept(axis, v) for nodes in self.nodes], aim)
        axes = []
        for axis, (step, last) in enumerate(zip(steps, map(min, lasts, self.limits))):
            others = [self._others(t, axis, steps) for t in live]
            if last == inf:
                raise CannotEvaluate("a Laplace integral has no window: it may not converge")
            first = rule.first_below(partial(self._left, axis, step, live, others), -aim, rises=True)
            first = np.floor(first / step) * step
            axes.append((first, int(np.ceil((last - first) / step)), step))
        return axes, 2 * exp(-aim) * len(axes)

    def _aim(self) -> float:
        return self.nats + self.extra + SPARE

    def _steps(self, live: list[Summand]) -> list[float]:
        orders = [max(1, *(t.exponents[axis] for t in live)) for axis in range(self.moments.axes)]
        return [self.step(rule.step_for(self._aim(), k)) for k in orders]

    def _last(self, kept: Callable[[int, float], list[Any]], aim: float) -> list[float]:
        """For every axis a v beyond which all nodes hold less than e^-aim of the scale of their term."""
        live = [t for t in self.summands if t.sign]
        steps = self._steps(live) if live else []
        ends = []
        for axis, step in enumerate(steps):
            others = [self._others(t, axis, steps) for t in live]
            bound = partial(self._right, axis, step, live, others, kept)
            try:
                ends.append(rule.first_below(bound, -aim, rises=False))
            except OverflowError:
                ends.append(inf)
        return ends

    def _others(self, t: Summand, axis: int, steps: list[float]) -> float:
        """log of what the nodes of all other axes hold of a term, at most."""
        return sum(log(rule.whole_factor(h, max(t.exponents[n], 1))) for n, h in enumerate(steps) if n != axis)

    def _left(self, axis: int, step: float, live: list[Summand], others: list[float], v: float) -> float:
        gone = [nodes.gone(axis, v) for nodes in self.nodes]
        found = -inf
        for t, other in zip(live, others):
            own = [self.moments.factors[f] for f in t.factors]
            miss = [-inf, *(log(n) + float(gone[f.kernel][f.weight]) for f, n in zip(own, t.powers) if n)]
            if t.offsets[axis] > 0:
                miss.append(v + float(t.offsets[axis].log()))
            found = max(
                found, other + log(rule.left_factor(step, max(t.exponents[axis], 1))) + float(np.logaddexp.reduce(miss))
            )
        return found

    def _right(
        self,
        axis: int,
        step: float,
        live: list[Summand],
        others: list[float],
        bounds: Callable[[int, float], list[Any]],
        v: float,
    ) -> float:
        kept = bounds(axis, v - log(2))
        found = -inf
        for t, other in zip(live, others):
            own = [self.moments.factors[f] for f in t.factors]
            size = sum(n * self._least(kept, f) for f, n in zip(own, t.powers))
            if t.offsets[axis] > 0:
                size -= exp(min(v + float(t.offsets[axis].log()), 700.0)) / 2
            found = max(found, other + log(rule.right_factor(step, max(t.exponents[axis], 1))) + size)
        return found

    @staticmethod
    def _least(kept: list[Any], factor: Factor) -> float:
        own = float(kept[factor.kernel][factor.weight])
        return min(own, 0.0) if factor.is_survival else own

    def relative_error(self, t: Summand, steps: Sequence[float]) -> float:
        """Of the rule in all variables, for a term."""
        return sum(rule.relative_error(h, max(k, 1)) for h, k in zip(steps, t.exponents)) * (1 + 1e-6)
