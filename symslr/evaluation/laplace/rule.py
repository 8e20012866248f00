"""The refinement loop of all integrals over Laplace variables: outer trapezoid meshes over inner meshes of tokens.

First the inner meshes are refined at a few outer nodes, then the outer meshes on these, until coarser rules inside agree. What
is summed, in floats or in Arb balls, tells its own nodes; every axis has its own step, since it is smooth on its own scale.
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

ROUNDS = 20
"""Of either refinement: each takes at least a tenth off a step."""
STALLED, ROUNDINGS = 0.5, 100.0
"""An error of so few roundings that a shorter step does not bring below this part of itself is rounding, to which others add."""
BLOCKS, FALLEN, ROUNDED = 16, 0.3, 1e-9
"""Parts of an axis, of which the outermost say how the integrand falls, if they fall slowly; and the part of an integral below
which values need not fall."""
LOWEST = -800.0
"""An integral whose logarithm is smaller is 0 in float64: the smallest number has -745."""
WIDENINGS = 3
"""Of the windows, where they end too early."""
WIDER = 1.0
"""In log u: an integrand that dies exponentially in u falls to its 2.7th power."""


@dataclass(frozen=True, slots=True)
class Outer:
    """Outer nodes, one array per variable; dv/dw on their product; the steps of w; whether they are all nodes of these steps."""

    v: list[Any]
    density: Any
    steps: list[Any]
    is_whole: bool = False


class Sums(ABC):
    """Abstract: integrals with the same outer variables, and where they live.

    Attributes:
        arithmetic: of the values.
        tolerance: relative error aimed at.
        level: of the first inner meshes; one more halves their steps. ``finest`` is the last.
        is_nested: whether the nodes of coarser inner meshes are among those of finer ones.
        is_geometric: whether an inner error may be claimed to fall as a power of what halving the step changes.
        steps: the first steps of the outer variables.
        guard: bits beyond those of the parameters that the balls need.
        shifts: logarithms by whose exponentials the integrands are divided, None for none.
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
        """Outer nodes with steps no longer than these: a multiple of four steps."""

    @abstractmethod
    def inner(self, level: float) -> Any:
        """The inner meshes of a level."""

    @abstractmethod
    def table(self, outer: Outer, inner: Any, rules: int = 1) -> Any:
        """What is summed on these: by one rule, or by three, with twice and four times the inner step as well.

        Its ``values`` are every integrand at the outer nodes times their density, for every rule: (integrals, rules, *outer nodes).
        """

    @abstractmethod
    def widen(self, late: list[int]) -> None:
        """Let these axes end further to the right, where an integrand has not died out: few tokens may decide there."""

    def is_smooth(self, axis: int) -> bool:
        """Whether an axis is so well laid out that the error may be claimed to fall as a power of what halving a step changes."""
        return False

    @property
    def is_stretched(self) -> bool:
        """Whether nodes of an outer axis lie far apart beside others that do not."""
        return False

    @property
    def doubt(self) -> float:
        """How often the change on a mesh of other steps counts, for what rules along the axes do not see; 0 where they see all.

        A ridge across both axes hides from the rules along each of them. A bend between nodes far apart, as on a stretched axis,
        may show in none.
        """
        return 2.0 if self.is_stretched else 1.0 if len(self.steps) > 1 else 0.0

    def rounding(self, table: Any) -> list[Any]:
        """Relative rounding error of every integral, from a table at few nodes; 0 in balls, which hold it."""
        return [0]

    def cut(self, table: Any) -> list[Any]:
        """What the ends of the inner meshes leave out, relative to every integral, from a table at few nodes."""
        return [0]


@dataclass(frozen=True, slots=True)
class Resolved:
    """Inner meshes, judged at ``few`` outer nodes: the table there, and of every integral the relative error and rounding."""

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
        CannotEvaluate: where a mesh does not converge, in balls; in floats its error says so.
    """
    arithmetic, seen = sums.arithmetic, _resolved(sums, sums.level)
    steps, axes, widened = sums.steps, range(len(sums.steps)), 0
    outer, table, is_last = seen.few, seen.table, False
    for again in range(ROUNDS):
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
            seen = _resolved(sums, seen.level)  # at the new nodes steeper factors exp(-u kappa) decide
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
    """Whether every integral is 0 as float64 names numbers, by a margin that no finer mesh makes up."""
    if sums.arithmetic != FLOAT or sums.shifts is None or not all(mass > 0 for mass in masses):
        return False
    return bool(np.max(np.log(masses) + sums.shifts) + np.sum(np.log(steps)) < LOWEST)


def _resolved(sums: Sums, level: float) -> Resolved:
    """The inner meshes, from a level on as fine as it takes."""
    arithmetic, few, tolerance, before = sums.arithmetic, sums.few, sums.tolerance, inf
    for turn in range(ROUNDS):
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
        is_stalled = arithmetic == FLOAT and STALLED * before < max(errors) < ROUNDINGS * max(rounding)
        if max(errors) < tolerance or is_stalled or level >= sums.finest:
            break
        before = max(errors)
        level = min(level + log2(_finer(max(errors), tolerance)), sums.finest)
    sums.level = level
    return Resolved(few, level, inner, table, errors, sums.rounding(table) if turn else rounding, tolerance)


def _edges(arithmetic: Any, values: Any, axis: int, masses: list[Any]) -> list[tuple[Any, Any]]:
    """What lies beyond both ends of an axis, relative to every integral: eight times the last value, more where steps are short.

    In floats over several variables what would go on to fall as it does over sixteenths of the axis, too: single values jump where
    a thin ridge passes between the nodes, and long tails of small height add up.
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
            edges = [max(own, _going_on(side)) for own, side in zip(edges, (heights, heights[::-1]))]
        found.append((edges[0], edges[1]))
    return found


def _going_on(heights: Any) -> float:
    """Four times what lies before the first of some values, if their logarithm goes on to bend over blocks as over the first three.

    Of a normal law, as the tails of tokens are along log u, that is what lies there. Nothing where the first block has fallen to
    less than a third of the next: there single values tell.
    """
    count = max(4, len(heights) // BLOCKS)
    one, two, three = (float(np.sum(heights[k * count : (k + 1) * count])) for k in range(3))
    if one < FALLEN * two or np.max(heights[:count]) < ROUNDED:
        return 0.0
    if not one < two:
        return 1.0
    ratio = one / two * min(one * three / two**2, 1.0)
    return 4 * one * ratio / (1 - ratio)


def _finer(error: Any, tolerance: Any) -> float:
    """Ratio of steps: errors are exp(-c/h), down to the tolerance and a little beyond."""
    if not error < 0.5:
        return 2.0
    ln = log if isinstance(error, float) else mpmath.log
    ratio = ln(tolerance) / ln(error)
    return float(np.clip(1.1 * float(ratio), 1.1, 2.0))


def _inner_errors(arithmetic: Any, rules: Any, *, geometric: bool) -> list[Any]:
    """Relative errors of integrals over few nodes from three nested inner meshes, their changes at all nodes added up.

    Twice the last change, where it may fall no faster than a power of the step.
    """
    full, half, quarter = rules.swapaxes(0, 1)
    masses, near, far = (arithmetic.masses(part) for part in (full, half - full, quarter - half))
    if not geometric:
        return [2 * one / mass if mass > 0 else mass for one, mass in zip(near, masses)]
    return [geometric_error(two + one, one, 0, mass) for one, two, mass in zip(near, far, masses)]


def _axis_errors(arithmetic: Any, values: Any, axis: int, masses: list[Any], *, smooth: bool) -> list[Any]:
    """Relative error of the rule along one axis, for every integral."""
    lines = values.sum(axis=2 - axis) if values.ndim > 2 else values
    eights = zip(*(8 * lines[:, k::8].sum(axis=1) for k in range(8)))
    return [
        alternating_error([*map(arithmetic.middle, eight)], mass, smooth=smooth) for eight, mass in zip(eights, masses)
    ]
