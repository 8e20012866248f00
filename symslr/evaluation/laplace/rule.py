"""The trapezoid rule on the dense table in float64: refined until its own coarser rules and a detuned one agree.

Every axis has its own step. The moments are smooth in log u on the scale of what smooths them (a Gaussian over tokens, say),
which no rule here has to know: each axis starts coarse and is refined while its nested rules differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace.family import Family, Moments
from symslr.evaluation.laplace.survey import Layout, Tables, layout
from symslr.evaluation.laplace.table import EPS, TINY, Table
from symslr.evaluation.power_tails.tails import TailLayout, has_power_tail, tail_layout
from symslr.evaluation.quadrature.convergence import DETUNED, geometric_error

FEW = {1: 24, 2: 12}
"""Outer nodes per axis at which the token meshes are judged."""
ROUNDS = 14
SETTLED = 2
"""The round after which rounding is asked for how far rules can converge."""
LEVELS = 11.0
BLIND = 0.1
"""A token mesh with a larger error spoils the sight of the outer ones."""

Pair = tuple[float, float]


def integrate(family: Family) -> list[Pair]:
    """Value and error of every integral of the form.

    Raises:
        CannotEvaluate: where an integrand does not decay, or the meshes would be too large.
    """
    if not family.active:
        return [(0.0, 0.0)] * len(family.integrals)
    with np.errstate(all="ignore"):
        return _Rule(family, tail_layout(family) if has_power_tail(family) else layout(family)).run()


@dataclass(slots=True)
class Seen:
    """A table carried out: terms and integrands times the density of the stretched nodes, and the steps.

    ``few`` is the table at every few outer nodes, by which its errors are judged; ``thin`` are their places.
    """

    table: Table
    few: Table
    thin: tuple[slice, ...]
    terms: list[Any]
    integrands: list[Any]
    sizes: list[float]
    shifts: Any
    steps: list[float]


class _Rule:
    def __init__(self, family: Family, found: Layout | TailLayout) -> None:
        self.family, self.layout = family, found
        self.tolerance = family.tolerance
        self.axes = len(found.axes)

    def run(self) -> list[Pair]:
        steps = self.layout.first_steps(self.family)
        level = min(self.layout.first_level(self.family), LEVELS)
        tables = self.layout.tables(self.family, level)
        for turn in range(ROUNDS):
            now = self._seen(tables, steps)
            if turn == SETTLED:
                self.tolerance = max(self.tolerance, self._floor(now))
            outer = [self._axis_error(now, n) for n in range(self.axes)]
            inner = self._inner_error(now)
            if inner.max() < self.tolerance:
                inner = np.maximum(inner, self._aliased(now, level))
            errors = np.array([*outer, inner])
            doubt = np.zeros(len(self.family.integrals))
            if errors.max() < self.tolerance:
                doubt = self._doubt(now, tables)
                if doubt.max() < self.tolerance:
                    break
                outer = [doubt] * self.axes
            if inner.max() >= self.tolerance and level < LEVELS:
                level = min(level + self._finer(float(inner.max())), LEVELS)
                tables = self.layout.tables(self.family, level)
            if inner.max() <= BLIND:
                steps = [
                    h / 2.0 ** self._finer(float(e.max())) if e.max() >= self.tolerance else h
                    for h, e in zip(now.steps, outer)
                ]
        return self._result(now, errors.sum(axis=0) + doubt)

    def _floor(self, now: Seen) -> float:
        """The relative rounding error, below which no rule can be seen to converge."""
        pairs = zip(self._rounding(now), now.sizes)
        return max(EPS * rounding / size for rounding, size in pairs if size > 0)

    def _finer(self, error: float) -> float:
        """log2 of the ratio of steps: errors are exp(-c/h), down to the tolerance and a little beyond."""
        if not error < 0.5:
            return 1.0
        ratio = float(np.log(self.tolerance)) / float(np.log(error))
        return float(np.clip(np.log2(1.1 * ratio), 0.2, 1.0))

    def _seen(self, tables: Tables, steps: list[float]) -> Seen:
        nodes = [axis.nodes(step) for axis, step in zip(self.layout.axes, steps)]
        density = np.multiply.outer(*(own[1] for own in nodes)) if len(nodes) == 2 else nodes[0][1]
        table = tables([own[0] for own in nodes])
        terms, shifts = table.values(table.moments)
        terms = [term * density for term in terms]
        integrands = self.family.sums(terms)
        sizes = [float(np.sum(np.abs(own))) for own in integrands]
        strides = [max(1, len(w) // FEW[self.axes]) for w in table.v]
        thin = tuple(slice(None, None, s) for s in strides)
        return Seen(table, table.thinned(strides), thin, terms, integrands, sizes, shifts, [own[2] for own in nodes])

    def _axis_error(self, now: Seen, axis: int) -> Any:
        """Relative error of the rule along one axis, from its rules with two and four times the step, per integral."""
        errors = []
        for values, size in zip(now.integrands, now.sizes):
            line = np.sum(values, axis=1 - axis) if values.ndim == 2 else values
            quarter, half, full = (float(np.sum(line[::s])) * s for s in (4, 2, 1))
            errors.append(float(geometric_error(quarter, half, full, size)))
        return np.array(errors)

    def _aliased(self, now: Seen, level: float) -> Any:
        """Relative change of the integrals, at every few outer nodes, on finer token meshes that are nested in none.

        On steps near a period of 2 + sin(50 x) every nested rule sees the same slow function.
        """
        other = self.layout.tables(self.family, level + float(np.log2(DETUNED)))(now.few.v)
        errors = []
        for values, detuned in zip(now.integrands, self._weighed(other, other.moments, now.shifts)):
            size = float(np.sum(np.abs(values[now.thin])))
            errors.append(float(np.sum(np.abs(detuned - values[now.thin]))) / size if size > 0 else 0.0)
        return np.array(errors)

    def _weighed(self, few: Table, moments: Moments, shifts: Any) -> list[Any]:
        """The integrands at few outer nodes, times the density of these."""
        density = [self.layout.axes[n].density(w) for n, w in enumerate(few.v)]
        weight = np.multiply.outer(*density) if len(density) == 2 else density[0]
        terms, _ = few.values(moments, shifts)
        return [own * weight for own in self.family.sums(terms)]

    def _inner_error(self, now: Seen) -> Any:
        """Relative error of the token meshes, seen through the integrands at every few outer nodes."""
        few, thin = now.few, now.thin
        coarse = self._weighed(few, few.coarser, now.shifts)
        errors = []
        for values, (half, quarter) in zip(now.integrands, coarse):
            full = values[thin]
            size = float(np.sum(np.abs(full)))
            near, far = float(np.sum(np.abs(half - full))), float(np.sum(np.abs(quarter - half)))
            errors.append(float(geometric_error(far + near, near, 0.0, size)) if size > 0 else 0.0)
        return np.array(errors)

    def _doubt(self, now: Seen, tables: Tables) -> Any:
        """Relative error told by a mesh that is coarser in all outer directions and nested in none.

        Nested rules on few nodes may agree by chance. The error exp(-c/h) itself would be the change to the power r, but
        where the integrand is a ridge across both axes it was found up to eight times larger than that.
        """
        other = self._seen(tables, [step * DETUNED for step in now.steps])
        mine, its = (np.array([np.sum(own) for own in o.integrands]) * np.prod(o.steps) for o in (now, other))
        size = np.maximum(np.array(now.sizes), TINY) * np.prod(now.steps)
        return np.abs(its * np.exp(other.shifts - now.shifts) - mine) / size

    def _result(self, now: Seen, relative: Any) -> list[Pair]:
        edges, rounding = self._edges(now), self._rounding(now)
        cut = self._weighted(now, now.few.lost(), 1.0)
        found = []
        for n, values in enumerate(now.integrands):
            factor = float(np.prod(now.steps)) * float(np.exp(now.shifts[n]))
            value = float(np.sum(values)) * factor
            error = (relative[n] * now.sizes[n] + edges[n] + cut[n] + EPS * rounding[n]) * factor
            if self.family.integrals[n] and value == 0 and error == 0:
                raise CannotEvaluate("a Laplace integral underflows in float64")
            found.append((value, error))
        return found

    def _edges(self, now: Seen) -> list[float]:
        """What the ends of the outer windows leave out."""
        ends = [(n, e) for n in range(self.axes) for e in (0, -1)]
        return [sum(float(np.sum(np.abs(np.take(own, e, axis=n)))) * 8 for n, e in ends) for own in now.integrands]

    def _weighted(self, now: Seen, per_moment: list[Any], most: float = np.inf) -> list[float]:
        """Sum of |term| times the sum over its moments of power times ``per_moment``, per integral, told from few nodes."""
        totals, rest = [], iter(now.terms)
        for own in self.family.integrals:
            total = 0.0
            for t in own:
                powers, size = self.family.powers[t], np.abs(next(rest))
                inside = sum((n * part for n, part in zip(powers, per_moment) if n), np.zeros(now.few.shape))
                few = size[now.thin]
                seen = float(np.sum(few))
                total += float(np.sum(few * np.minimum(inside, most))) * (float(np.sum(size)) / seen if seen else 1.0)
            totals.append(total)
        return totals

    def _rounding(self, now: Seen) -> list[float]:
        """Rounding of the integrals in units of the roundoff: of every moment by its power, and of the terms' exponents."""
        few, moments = now.few, now.few.moments
        sizes = self.family.code.sizes(few.grid, moments.means, moments.logs, moments.scales, self.family.p)
        totals = self._weighted(now, few.roundings())
        rest = iter(now.terms)
        for n, own in enumerate(self.family.integrals):
            for t in own:
                size = np.abs(next(rest))
                few_size = size[now.thin]
                share = float(np.sum(few_size * sizes[t])) / max(float(np.sum(few_size)), TINY)
                totals[n] += float(np.sum(size)) * (16.0 + share)
        return totals
