"""Tensor quadrature: the region and the number of nodes are chosen once, in floats."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from symslr.referee.arithmetic import Arithmetic, Array, CannotReferee
from symslr.referee.axes import End, Fineness, Map, Stretch, pieces, stacked
from symslr.referee.divergence import diverging_tail
from symslr.referee.samples import Sampler
from symslr.referee.scan import Diverges, Integrand, NotFinite, Scan
from symslr.referee.work import METER

GROWTH = 1.4
MOST_NODES = 2500
PLANNED_DIGITS = 12.0
"""Digits to which planning resolves an integral; more digits take proportionally more nodes."""

DOUBT = 2
"""Two passes of like fineness may err on the same side: softmax-1 at L = 4, nu = 92.3 was off by 1.1 of their difference."""

DRAFT = 1e-2
"""A tolerance at which planning takes the first grid as it is."""


CLOSER = 1 / 16
"""Steps of the last scan along one variable, beside those of the first, where nothing was seen."""

ROUNDED = 2e-15
"""Rounding of a sum over a grid, relative to the mean of the absolute value: 1e-15 was the worst seen."""


class NotPlanned(CannotReferee):
    """A pass in balls met an integral that the floats before it never met, so it has no grid."""


@dataclass(frozen=True)
class Axis:
    """A variable of integration: its interval, exact places where the integrand has a kink, a density of its own.

    Attributes:
        density: (nodes, number of array axes) -> what depends on this axis alone in the integrand.
    """

    lower: End = None
    upper: End = None
    breaks: tuple[Fraction, ...] = ()
    density: Callable[[Array, int], Array] | None = None

    def weighted(self, nodes: Array, weights: Array, axes: int) -> tuple[Array, Array]:
        """Nodes, and weights times the density."""
        return (nodes, weights) if self.density is None else (nodes, weights * self.density(nodes, axes))


@dataclass(frozen=True)
class Fixed:
    """An axis of a given rule for polynomials; the integrand is told the number of a node, 0, 1, ...

    Attributes:
        nodes: values of several variables, shape (nodes, variables).
        weights: shape (nodes,).
    """

    nodes: Array
    weights: Array

    @property
    def numbers(self) -> np.ndarray:
        """0, 1, ..., one for each node."""
        return np.arange(len(self.weights))


Plan = list[list[Stretch]]


@dataclass
class Look:
    """What was seen beside some values.

    Attributes:
        noise: the error of such a value that no second pass would show.
    """

    noise: float = 0.0


@dataclass(frozen=True)
class Problem:
    """One integral: its axes, its integrand, and the grid that it stands on.

    Attributes:
        axes: to integrate over.
        integrand: function of the nodes of the fixed axes, then of the others.
        depth, size: array axes outside, and points on them.
        fixed: axes whose nodes are given.
    """

    axes: list[Axis]
    integrand: Integrand
    depth: int
    size: int
    fixed: list[Fixed] = field(default_factory=list)


@dataclass
class Quadrature:
    """Integrates over axes; ``plans`` remembers for each node of an expression where and how finely.

    Attributes:
        arithmetic: of this pass.
        digits: aim.
        plans: node -> stretches; a planning pass (floats only) fills it, another pass follows it.
        planning: whether this pass plans.
        scale: more nodes than planned.
        shifted: grids moved and widened, for the second pass that shows the error of the first.
        tolerance: relative to the integral of the absolute value, at which planning stops refining.
        magnitude: largest absolute integral met outside of any other integral; rounding is relative to it.
        noise: error of the latest values that no second pass would show, absolute.
        shared: the part of the error that a value has in common with those at neighbouring parameters, absolute; 0 where none
            is known to be.
        absolute: integral of the absolute value, of the latest float sum.
        inside: how many integrals are being evaluated around the present one.
        routes: how expectations and integrals were summed, in words.
        sampler: what stands in for a grid over many tokens; None where grids alone are asked for.
        blind: whether an integral that depends on no other was 0 in floats wherever it was looked at.
    """

    arithmetic: Arithmetic
    digits: int
    plans: dict[Hashable, Any]
    planning: bool = False
    scale: float = 1.0
    shifted: bool = False
    tolerance: float = 1e-10
    magnitude: float = 0.0
    noise: float = 0.0
    shared: float = 0.0
    absolute: Array = 0.0
    inside: int = 0
    sampler: Sampler | None = None
    routes: set[str] = field(default_factory=set)
    blind: bool = False

    def integrate(self, key: Hashable, problem: Problem) -> Array:
        """The integral over all axes, an array on the axes outside."""
        if not problem.axes and not problem.fixed:
            return problem.integrand([])
        self.routes.add("on explicit grids")
        known = self.plans.get(key)
        if not self.planning:
            if known is None:
                known = self._laid(key, problem)
            fineness = Fineness(self.arithmetic, max(1.0, self.digits / PLANNED_DIGITS), self.scale, self.shifted)
            return self._sum(problem, known, fineness)
        try:
            return self._planned(key, problem, known)
        except CannotReferee:
            tail = None if self.blind else self._tail(problem)
            if tail is not None:
                raise Diverges(tail) from None
            raise

    def _planned(self, key: Hashable, problem: Problem, known: Plan | None) -> Array:
        """The integral on grids that are laid now."""
        if known is not None and self.inside:
            # the grids of the integral outside lie where its first one lay, so this plan covers them
            plan = known
        else:
            plan = self._stretches(problem)
            plan = plan if known is None else [_union(old, new) for old, new in zip(known, plan)]
        value, self.plans[key] = self._resolved(problem, plan, known is not None)
        return value

    def _tail(self, problem: Problem) -> float | None:
        """Of an integral of one variable that stands in no other and is seen to diverge, as of ``diverging_tail``."""
        if self.inside or problem.depth or problem.fixed or len(problem.axes) != 1:
            return None
        (axis,) = problem.axes
        lower, upper = (None if end is None else float(end) for end in (axis.lower, axis.upper))

        def weighted(places: Array) -> Array:
            places = np.asarray(places, dtype=self.arithmetic.dtype)
            nodes, weights = axis.weighted(places, np.ones_like(places), 0)
            return problem.integrand([nodes]) * weights

        try:
            with self._entered():
                return diverging_tail(weighted, lower, upper)
        except CannotReferee:  # an integral inside has no value so far out
            return None

    def _laid(self, key: Hashable, problem: Problem) -> Plan:
        """A plan for an integral that the planning pass did not meet, because a factor beside it was 0 there."""
        if self.arithmetic.dtype is object:
            raise NotPlanned("an integral was reached that the float pass never met")
        self.planning = True
        try:
            self.integrate(key, problem)
        finally:
            self.planning = False
        return self.plans[key]

    def _resolved(self, problem: Problem, plan: Plan, seen: bool) -> tuple[Array, Plan]:
        """The integral on the coarsest grid of a ladder that agrees with the one before."""
        plan = _grown(plan, 1 / GROWTH) if seen else plan
        plain = Fineness(self.arithmetic, 1.0, 1.0, False)
        before = self._sum(problem, plan, plain)
        if self.tolerance >= DRAFT or not problem.axes:
            return before, plan
        while True:
            plan = _grown(plan, GROWTH)
            now = self._sum(problem, plan, plain)
            scale = np.maximum(np.abs(now), self.absolute)
            # rows too small to have been given a stretch of their own need not converge
            finite = np.isfinite(scale)
            floor = np.max(scale, where=finite, initial=0) * self.arithmetic.exact(10) ** -(2 * self.digits + 15)
            if np.all((np.abs(now - before) <= self.tolerance * scale) | (scale <= floor) | ~finite):
                return now, plan
            if max(s.count for axis in plan for s in axis) > MOST_NODES:
                raise CannotReferee(
                    f"a grid of {MOST_NODES} nodes does not resolve an integrand; milder parameters, by a range, may mend it"
                )
            before = now

    def _stretches(self, problem: Problem) -> Plan:
        if not problem.axes:
            return []
        tolerance, plans = self.tolerance, self.plans
        self.tolerance, self.plans = DRAFT, {}
        plan: Plan | None = None
        try:
            for heavy, closer in ((False, 1.0), (True, 1.0), (True, CLOSER)):
                scan = Scan(
                    cut=[pieces(a.lower, a.upper, a.breaks, heavy=heavy) for a in problem.axes],
                    weighted=[a.weighted for a in problem.axes],
                    integrand=problem.integrand,
                    given=_on_axes([f.numbers for f in problem.fixed], problem.depth),
                    arithmetic=self.arithmetic,
                    depth=problem.depth,
                    size=problem.size,
                    digits=self.digits,
                    under_densities=all(a.density is not None for a in problem.axes),
                    closer=closer,
                )
                with self._entered():
                    found = scan.stretches()
                plan = found or plan
                unseen = len(problem.axes) == 1 and not problem.depth and plan and all(s.blind for s in plan[0])
                if plan and not (unseen and closer == 1.0):
                    return plan
        finally:
            self.tolerance, self.plans = tolerance, plans
        raise CannotReferee("an integrand does not decay")

    @contextmanager
    def looking(self) -> Iterator[Look]:
        """Values read inside say where to read, and are no part of the result: nor are their sizes, noise and routes."""
        outside = self.magnitude, self.noise, self.shared
        self.routes, routes = set(), self.routes
        look = Look()
        self.magnitude = self.noise = self.shared = 0.0
        try:
            yield look
        finally:
            look.noise = self.noise + ROUNDED * self.arithmetic.coarseness * self.magnitude
            self.magnitude, self.noise, self.shared = outside
            self.routes = routes

    @contextmanager
    def _entered(self) -> Iterator[None]:
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1

    def _sum(self, problem: Problem, plan: Plan, fineness: Fineness) -> Array:
        """Trapezoid sums, in blocks of the leading axis."""
        depth, fixed = problem.depth, len(problem.fixed)
        grids = [self._grid(a, s, fineness, depth + fixed + i) for i, (a, s) in enumerate(zip(problem.axes, plan))]
        nodes = _on_axes([f.numbers for f in problem.fixed], depth) + [x for x, _ in grids]
        weights = _on_axes([f.weights for f in problem.fixed], depth) + [w for _, w in grids]
        per_slice = prod(len(w) for w in weights[:-1]) * problem.size
        METER.add(per_slice * len(weights[-1]) * self.arithmetic.price)
        block = max(1, self.arithmetic.block // per_slice)
        total: Array = 0
        absolute: Array = 0
        for start in range(0, len(weights[-1]), block):
            part = slice(start, start + block)
            with self._entered():
                values = problem.integrand([*nodes[:-1], nodes[-1][part]])
            here = [*weights[:-1], weights[-1][part]]
            total = total + _contract(values, here, depth, fixed)
            if self.planning:
                absolute = absolute + _contract(np.abs(values), [np.abs(w) for w in here], depth, fixed)
        # the integral around may not care: it looks where its density leaves nothing
        if not self.inside and self.arithmetic.dtype is not object and not np.all(np.isfinite(total)):
            raise NotFinite("an integrand overflows")
        if not depth and any(all(s.blind for s in axis) for axis in plan):
            self.blind = True
            if self.arithmetic.dtype is object and not np.all(total == 0):
                raise NotFinite("an integrand is so small that floats do not find its mass")
        if self.planning:
            self.absolute = absolute
            if depth == 0:
                self.magnitude = max(self.magnitude, float(np.max(absolute)))
        return total

    def _grid(self, axis: Axis, plan: list[Stretch], fineness: Fineness, axes: int) -> tuple[Array, Array]:
        heavy = any(s.map is Map.HEAVY for s in plan)
        cut = pieces(axis.lower, axis.upper, axis.breaks, heavy=heavy)
        if len(cut) <= max(s.index for s in plan):
            raise CannotReferee("the kinks of an integrand move with another variable")
        nodes, weights = stacked([s.nodes(cut[s.index], fineness, axes) for s in plan])
        return axis.weighted(nodes, weights, axes)


def _on_axes(arrays: list[Array], depth: int) -> list[Array]:
    """Each array on an axis of its own, counted from the last one."""
    return [array.reshape((-1,) + (1,) * (depth + i)) for i, array in enumerate(arrays)]


def _contract(values: Array, weights: list[Array], depth: int, fixed: int) -> Array:
    """Weighted sums over the axes of integration; an axis that is missing or of length 1 carries no dependence.

    The short axes of the fixed nodes come first, so that the long ones see as few elements as may be.
    """
    missing = depth + len(weights) - np.ndim(values)
    result = np.reshape(values, (1,) * missing + np.shape(values)) if missing > 0 else values
    for i in range(fixed):
        axis = np.ndim(result) - depth - 1 - i
        total = weights[i].sum()
        result = (result * weights[i]).sum(axis=axis, keepdims=True) if np.shape(result)[axis] > 1 else result * total
    for weight in reversed(weights[fixed:]):
        rows = np.shape(result)[1:]
        alike = np.size(weight) == len(weight) == len(result) and result.dtype != object
        if alike and prod(rows) > 1:  # without an array of the products it takes a third of the time
            result = np.einsum("n,n...->...", weight.ravel(), result)
        else:
            result = (result * weight).sum(axis=0)
    return np.reshape(result, np.shape(result)[fixed:])


def _grown(plan: Plan, factor: float) -> Plan:
    return [[replace(s, count=s.count * factor) for s in axis] for axis in plan]


def _union(old: list[Stretch], new: list[Stretch]) -> list[Stretch]:
    """Stretches that cover both, with the step of ``old``."""
    result = {s.index: s for s in new}
    for stretch in old:
        other = result.get(stretch.index, stretch)
        if other.map is not stretch.map:
            result[stretch.index] = stretch if stretch.map is Map.HEAVY else other
            continue
        low, high = min(stretch.low, other.low), max(stretch.high, other.high)
        count = stretch.count * (high - low) / (stretch.high - stretch.low)
        result[stretch.index] = replace(stretch, low=low, high=high, count=count, blind=stretch.blind and other.blind)
    return [result[index] for index in sorted(result)]
