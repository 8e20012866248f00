"""The refinement loop of all integrals over Laplace variables: outer trapezoid meshes over inner meshes of tokens.

The inner meshes are refined first, at a few outer nodes, then the outer meshes, until the coarser rules inside agree. The nodes
and the table come from ``Sums``, in float64 or in Arb balls. Every axis has its own step, as the integrand varies on another
scale.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf, log, log2
from typing import Any

import mpmath
import numpy as np

from symslr.evaluation.errors import OutOfDigits, TooDear
from symslr.evaluation.numbers.arithmetic import FLOAT, Float64
from symslr.evaluation.numbers.balls import Balls
from symslr.evaluation.quadrature.convergence import DETUNED, alternating_error, geometric_error, tail_beyond

MOST_ROUNDS = 20
"""Of either refinement; each shortens a step by a tenth at least."""
STALLED_RATIO = 0.5
"""Refinement has stalled where a shorter step leaves more than this part of the error."""
ROUNDINGS = 100.0
"""A stalled error of fewer roundings than this is itself rounding."""
BLOCKS = 16
"""Parts of an axis; the outermost three show how an integrand with long tails falls."""
BLOCK_RATIO = 0.3
"""Where the outermost part has less than this of the next, single values show the tail well enough."""
NEGLIGIBLE = 1e-9
"""Values below this part of an integral are not extrapolated beyond the end of the axis."""
UNDERFLOW_LOGARITHM = -800.0
"""An integral whose logarithm is smaller is 0 in float64, whose smallest number has -745."""
WIDENINGS = 3
"""Most times that the windows are widened where they end too early."""
WIDER = 1.0
"""In log u: over this an integrand that falls exponentially in u falls to its 2.7th power."""


@dataclass(frozen=True, slots=True)
class Outer:
    """Outer nodes: ``v``, one array per variable; dv/dw on their product; the steps of w; whether no node of these steps is
    left out.
    """

    v: list[Any]
    density: Any
    steps: list[Any]
    is_whole: bool = False


class Sums(ABC):
    """Abstract: integrals with the same outer variables, with their windows and meshes.

    Attributes:
        arithmetic: of the values.
        tolerance: relative error aimed at.
        level: of the first inner meshes; each further level halves their steps. ``finest`` is the last.
        is_nested: whether coarser inner meshes are contained in finer ones.
        is_geometric: whether an inner error may be claimed to be a power of the change made by halving the step.
        steps: the first steps of the outer variables.
        guard: bits that balls need beyond those of the parameters.
        shifts: logarithms of factors by which the integrands are divided; None for none.
    """

    arithmetic: Float64 | Balls
    tolerance: Any
    level: float
    finest: float = inf
    is_nested: bool = True
    is_geometric: bool = True
    steps: list[float]
    shifts: Any = None
    guard: int = 0

    @property
    @abstractmethod
    def few(self) -> Outer:
        """A few outer nodes, at which inner meshes are judged."""

    @abstractmethod
    def outer(self, steps: list[Any]) -> Outer:
        """Outer nodes with steps no longer than these; the number of steps is a multiple of four."""

    @abstractmethod
    def inner(self, level: float) -> Any:
        """The inner meshes of a level."""

    @abstractmethod
    def table(self, outer: Outer, inner: Any, rules: int = 1) -> Any:
        """The table of the integrands on these nodes, by one rule or by three: with once, twice and four times the inner step.

        Its ``values`` are the integrands times the density of the outer nodes: (integrals, rules, *outer nodes).
        """

    @abstractmethod
    def widen(self, late: list[int]) -> None:
        """Lengthens these axes to the right, where an integrand has not fallen far enough."""

    def is_smooth(self, axis: int) -> bool:
        """Whether the integrand is smooth along an axis, so that an error may be claimed to be a power of the change made by
        halving its step.
        """
        return False

    @property
    def is_stretched(self) -> bool:
        """Whether nodes of an outer axis lie far apart beside others that do not."""
        return False

    @property
    def doubt(self) -> float:
        """The factor of the change on a mesh with other steps, added to the error for what rules along the axes miss; 0 where
        they miss nothing.

        A ridge across both axes hides from the rules along each of them. A bend between nodes far apart, as on a stretched axis,
        may show in none.
        """
        return 2.0 if self.is_stretched else 1.0 if len(self.steps) > 1 else 0.0

    def rounding(self, table: Any) -> list[Any]:
        """Relative rounding error of every integral, from a table at few nodes; 0 in balls, which carry it."""
        return [0]

    def cut(self, table: Any) -> list[Any]:
        """The tails beyond the ends of the inner meshes, relative to every integral, from a table at few nodes."""
        return [0]


@dataclass(frozen=True, slots=True)
class Resolved:
    """Inner meshes judged at the ``few`` outer nodes: the table there, and the relative error and rounding of every integral."""

    few: Outer
    level: float
    inner: Any
    table: Any
    errors: list[Any]
    rounding: list[Any]
    tolerance: Any


def refined(sums: Sums) -> list[tuple[Any, Any]]:
    """(value, error) of every integral.

    Raises:
        CannotEvaluate: where a mesh does not converge, in balls; in float64 the error shows it.
    """
    arithmetic, seen = sums.arithmetic, _resolved_inner(sums, sums.level)
    steps, axes, widened = sums.steps, range(len(sums.steps)), 0
    outer, table, is_last = seen.few, seen.table, False
    for again in range(MOST_ROUNDS):
        if again or not outer.is_whole:
            finer = sums.outer(steps)
            try:
                table, outer = sums.table(finer, seen.inner), finer
            except TooDear:
                if again == 0:
                    raise
                is_last = True  # with the digits that are there
        values, tolerance = table.values[:, 0], seen.tolerance
        masses = arithmetic.masses(values)
        is_last = is_last or _is_below_floats(sums, masses, outer.steps)
        along = [_axis_errors(arithmetic, values, n, masses, smooth=sums.is_smooth(n)) for n in axes]
        errors = [list(own) for own in zip(*along)]
        edges = [_edges(arithmetic, values, n, masses) for n in axes]
        if sums.doubt and arithmetic == FLOAT and (is_last or max(map(max, errors)) < tolerance):
            other = sums.table(coarse := sums.outer([h * DETUNED for h in outer.steps]), seen.inner).values[:, 0]
            ratio = float(np.prod(coarse.steps) / np.prod(outer.steps))
            doubts = [abs(np.sum(two) * ratio - np.sum(one)) / mass for one, two, mass in zip(values, other, masses)]
            errors = [[e + sums.doubt * doubt for e in own] for own, doubt in zip(errors, doubts)]
        worst = [max(own[n] for own in errors) for n in axes]
        late = [n for n in axes if max(late for _, late in edges[n]) > tolerance]
        if is_last or (max(worst) < tolerance and (not late or widened == WIDENINGS)):
            break
        steps = [h / _finer(e, tolerance) if e >= tolerance else h for h, e in zip(outer.steps, worst)]
        if late and widened < WIDENINGS:
            sums.widen(late)
            widened += 1
            seen = _resolved_inner(sums, seen.level)  # at the new nodes steeper factors exp(-u kappa) decide
    if isinstance(arithmetic, Balls) and not max(*seen.errors, *worst) < tolerance:
        raise OutOfDigits("mpmath: an integral does not converge geometrically (a kink that is not shown?)")
    rest = [sum(own) for own in zip(sums.cut(seen.table), seen.rounding)]
    found = []
    for n, own in enumerate(values):
        missed = masses[n] * (
            sum(errors[n]) + seen.errors[n] + rest[min(n, len(rest) - 1)] + sum(sum(own[n]) for own in edges)
        )
        scale = 1.0 if sums.shifts is None else float(np.exp(sums.shifts[n]))
        found.append(arithmetic.pair(np.sum(own), missed, np.prod(outer.steps) * scale))
    return found


def _is_below_floats(sums: Sums, masses: list[Any], steps: list[Any]) -> bool:
    """Whether every integral is so far below the smallest number of float64 that no finer mesh changes it."""
    if sums.arithmetic != FLOAT or sums.shifts is None or not all(mass > 0 for mass in masses):
        return False
    return bool(np.max(np.log(masses) + sums.shifts) + np.sum(np.log(steps)) < UNDERFLOW_LOGARITHM)


def _resolved_inner(sums: Sums, level: float) -> Resolved:
    """The inner meshes, refined from a level on until they meet the tolerance."""
    arithmetic, few, tolerance, before = sums.arithmetic, sums.few, sums.tolerance, inf
    for turn in range(MOST_ROUNDS):
        sums.shifts = None  # those of a coarser mesh may leave nothing of what is seen on this one
        inner = sums.inner(level)
        table = sums.table(few, inner, 3)
        full = table.values[:, 0]
        if turn == 0:
            rounding = sums.rounding(table)
            tolerance = max(tolerance, *rounding)
        errors = _inner_errors(arithmetic, table.values, geometric=sums.is_geometric)
        if max(errors) < tolerance and sums.is_nested:
            # on steps near a period of 2 + sin(50 x) every nested rule sees the same slow function
            other = sums.table(few, sums.inner(level + log2(DETUNED))).values[:, 0]
            changes = zip(arithmetic.masses(other - full), arithmetic.masses(full))
            errors = [max(e, change / mass if mass > 0 else mass) for e, (change, mass) in zip(errors, changes)]
        is_stalled = arithmetic == FLOAT and STALLED_RATIO * before < max(errors) < ROUNDINGS * max(rounding)
        if max(errors) < tolerance or is_stalled or level >= sums.finest:
            break
        before = max(errors)
        level = min(level + log2(_finer(max(errors), tolerance)), sums.finest)
    sums.level = level
    return Resolved(few, level, inner, table, errors, sums.rounding(table) if turn else rounding, tolerance)


def _edges(arithmetic: Any, values: Any, axis: int, masses: list[Any]) -> list[tuple[Any, Any]]:
    """Bounds of the tails beyond both ends of an axis, relative to every integral.

    Eight times the last value, or more where steps are short. In float64 with several variables also the tail extrapolated from
    sixteenths of the axis: single values jump where a thin ridge passes between nodes, and long low tails add up.
    """
    lines = np.moveaxis(values, axis + 1, 1)
    sizes = arithmetic.masses(lines[:, [0, 1, -1, -2]].reshape(4 * len(values), -1))
    found = []
    for n, mass in enumerate(masses):
        if not mass > 0:
            found.append((mass, mass))
            continue
        first, second, last, third = sizes[4 * n : 4 * n + 4]
        edges = [tail_beyond(first, second) / mass, tail_beyond(last, third) / mass]
        if arithmetic == FLOAT and values.ndim > 2:
            heights = np.abs(lines[n]).reshape(len(lines[n]), -1).sum(axis=1) / mass
            edges = [max(own, _tail_by_blocks(side)) for own, side in zip(edges, (heights, heights[::-1]))]
        found.append((edges[0], edges[1]))
    return found


def _tail_by_blocks(heights: Any) -> float:
    """Four times the tail before the first of some values, extrapolated from the masses of the first three blocks.

    The second difference of their logarithms is continued, which is exact for a normal law, as the tails of tokens along log u
    are. 0 where the first block has less than a third of the next; there single values show the tail.
    """
    count = max(4, len(heights) // BLOCKS)
    one, two, three = (float(np.sum(heights[k * count : (k + 1) * count])) for k in range(3))
    if one < BLOCK_RATIO * two or np.max(heights[:count]) < NEGLIGIBLE:
        return 0.0
    if not one < two:
        return 1.0
    ratio = one / two * min(one * three / two**2, 1.0)
    return 4 * one * ratio / (1 - ratio)


def _finer(error: Any, tolerance: Any) -> float:
    """The ratio of the step to the next one: an error exp(-c/h) is brought down to the tolerance and a little beyond."""
    if not error < 0.5:
        return 2.0
    ln = log if isinstance(error, float) else mpmath.log
    ratio = ln(tolerance) / ln(error)
    return float(np.clip(1.1 * float(ratio), 1.1, 2.0))


def _inner_errors(arithmetic: Any, rules: Any, *, geometric: bool) -> list[Any]:
    """Relative errors of the integrals at few outer nodes from three nested inner meshes; changes at all nodes are added up.

    Twice the last change where the error may fall as a power of the step only.
    """
    full, half, quarter = rules.swapaxes(0, 1)
    masses, near, far = (arithmetic.masses(part) for part in (full, half - full, quarter - half))
    if not geometric:
        return [2 * one / mass if mass > 0 else mass for one, mass in zip(near, masses)]
    return [geometric_error(two + one, one, 0, mass) for one, two, mass in zip(near, far, masses)]


def _axis_errors(arithmetic: Any, values: Any, axis: int, masses: list[Any], *, smooth: bool) -> list[Any]:
    """Relative error of the trapezoid rule along one axis, for every integral."""
    lines = values.sum(axis=2 - axis) if values.ndim > 2 else values
    eights = zip(*(8 * lines[:, k::8].sum(axis=1) for k in range(8)))
    return [
        alternating_error([*map(arithmetic.middle, eight)], mass, smooth=smooth) for eight, mass in zip(eights, masses)
    ]
