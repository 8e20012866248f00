"""A minimum refined from a place near it, in any arithmetic: Newton steps on divided differences, else golden section.

A value at its minimum is insensitive to the place: an error d of the place costs f'' d^2/2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

from symslr.evaluation.errors import CannotEvaluate, OutOfDigits
from symslr.evaluation.minima.search.objective import Objective
from symslr.evaluation.nodes.node import Pair

Least = tuple[Any, Any, list[Pair]]
"""(least value, its error, [(place, error)])."""

SECOND_DIFFERENCE = 1e-11
"""Tolerance of values over several variables: mixed second differences over steps of 1e-3 then have five digits."""
STEPS = 40
"""Newton steps: as many as halve the reach of the differences from 1e-2 down to 1e-13."""
BENT = 30.0
"""Ratio of curvatures above which a box is a valley: differences across would drown those along."""
SMALL = 1e-4
"""A part of a step over which a function is straight to all digits: its square is 1e-8 of a second difference."""
VISIBLE = 30.0
"""A second difference counts from so many errors of the values on: it then has more than one digit."""
REACH = 0.05
"""Half the first bracket, relative to the place."""
GOLDEN = (3.0 - 5.0**0.5) / 2.0
"""The smaller part of a bracket in golden section."""
WIDENINGS = 4
"""Moves of the bracket by half its length: a search that begins a fifth of the place away still ends."""
DOUBLINGS = 10
"""Of a bracket that is level, to find where the function rises: to fifty times the place."""
CHANGED = 0.3
"""Change of the least curvature between two steps, relative, from which on a function counts as flat or bent at its bottom."""
SHRINKINGS = 300
"""Steps of golden section: each takes a fifth of a digit off the bracket, so sixty digits."""


def polished(objective: Objective, start: list[float], reach: float, *, bent_too: bool = False) -> Least:
    """Newton steps on divided differences; each squares the error of the place.

    With steps h of the differences the place is wrong by about h^2 and, through errors eps of the values, by eps/(f'' h): steps
    become shorter down to h = eps^(1/3), as long as second differences are seen and the value gains. In a box both are
    amplified by the ratio of the curvatures.

    Args:
        objective, start: the function, and a place near its minimum.
        reach: first step of the differences, relative to the place.
        bent_too: whether a bottom on a line may be flat or bent, with errors that are linear in the steps.

    Raises:
        CannotEvaluate: where this does not converge to a minimum.
    """
    number = objective.context.arithmetic.number
    place = np.array([number(x) for x in start])
    scale = [max(abs(x), objective.smallest) for x in start]
    seen = objective.within(SECOND_DIFFERENCE) if len(start) > 1 else objective
    smallest = min(reach, 10.0 ** (float(mpmath.log10(seen.context.tolerance)) / 3))
    noise: Any = number(np.inf)
    before, least = np.nan, np.nan
    for _ in range(STEPS):
        step = [number(s) * number(reach) for s in scale]
        here = parabola(seen, place, step)
        shift = here.newton(number)
        place = place - shift
        moved = max(abs(float(d)) / s for d, s in zip(shift, scale))
        before, (least, most) = least, here.curvatures(scale)
        if moved > 3.0 or not least > 0 or (most > BENT * least and objective.is_float):
            break
        if moved > (3.0 if reach > smallest else 1.0) * reach:
            continue
        noise = min(noise, here.error)
        ratio, off = most / least, number(10) * (number(reach) ** 2 + number(moved) ** 2)
        # beside 0 the value there is looked at, too
        is_bent = abs(before - least) > CHANGED * least and (len(start) > 1 or abs(place[0]) > objective.smallest)
        if is_bent:
            if len(start) == 1 and objective.is_float and not bent_too:
                break  # golden section tells more
            off = number(10) * (number(reach) + number(moved))  # as of (x - 2)^4: there a step goes but part of the way
        enough = float(
            mpmath.sqrt(mpmath.sqrt(here.error / (most * ratio)) / 20)
        )  # a quarter of the error is climbed then
        shorter = max(reach * reach, smallest, enough)
        can_be_shorter = reach > smallest and shorter <= 0.7 * reach
        if least * (shorter if can_be_shorter else reach / 0.7) ** 2 < VISIBLE * float(noise):
            noise = min(noise, _noise(seen, place, step))
        visible = float(mpmath.sqrt(VISIBLE * noise / least))
        if 0.7 * visible > reach:
            break
        blind = noise / (number(reach) * number(least))
        climb = number(most) * (number(ratio) * off**2 + blind**2)
        shorter = max(shorter, visible)
        if reach > smallest and shorter <= 0.7 * reach and climb > here.error and not (is_bent and bent_too):
            reach = shorter
            continue
        doubts = [number(s) * (number(ratio) * off + blind) for s in scale]
        # Risks are often even; beside zero, where attentions are uniform, digits cancel.
        exact = [x * 0 if abs(x) <= doubt else x for x, doubt in zip(place, doubts)]
        value, error = objective.pair(exact)
        return value, error + climb, list(zip(exact, doubts))
    raise OutOfDigits("the minimum could not be refined: the function is flat or not smooth there")


@dataclass(frozen=True)
class Parabola:
    """The quadratic through neighbouring points, and the error of the value in their middle."""

    gradient: list[Any]
    hessian: Any
    error: Any

    def newton(self, number: Any) -> Any:
        """The step from the middle to the lowest point, negative.

        Raises:
            CannotEvaluate: where the quadratic has none.
        """
        size = np.max(np.abs(np.diag(self.hessian)))
        if not (size > 0 and mpmath.isfinite(size)):
            raise OutOfDigits("the minimum could not be refined: the function is flat or has no value there")
        try:  # relative to its size: mpmath takes a matrix whose pivots are below its precision for a singular one
            found = mpmath.cholesky_solve(
                mpmath.matrix((self.hessian / size).tolist()), mpmath.matrix([slope / size for slope in self.gradient])
            )
        except (ValueError, ZeroDivisionError):
            raise OutOfDigits("the minimum could not be refined: the second derivative is not positive there") from None
        return np.array([number(x) for x in found])

    def curvatures(self, scale: list[float]) -> tuple[float, float]:
        """The least and the largest, per unit of scale."""
        matrix = self.hessian.astype(float) * np.outer(scale, scale)
        if not np.isfinite(matrix).all():
            return np.nan, np.nan
        found = np.linalg.eigvalsh(matrix)
        return float(found[0]), float(found[-1])


def parabola(objective: Objective, place: Any, step: list[Any]) -> Parabola:
    """Gradient and Hessian by divided differences."""
    count = len(place)

    def at(*moves: tuple[int, int]) -> Any:
        point = list(place)
        for axis, sign in moves:
            point[axis] = point[axis] + sign * step[axis]
        return objective.pair(point)[0]

    centre, error = objective.pair(list(place))
    gradient, hessian = [], np.empty((count, count), dtype=object)
    for i in range(count):
        up, down = at((i, 1)), at((i, -1))
        gradient.append((up - down) / (2 * step[i]))
        hessian[i, i] = (up - 2 * centre + down) / step[i] ** 2
        for j in range(i):
            mixed = at((i, 1), (j, 1)) - at((i, 1), (j, -1)) - at((i, -1), (j, 1)) + at((i, -1), (j, -1))
            hessian[i, j] = hessian[j, i] = mixed / (4 * step[i] * step[j])
    return Parabola(gradient, hessian, error)


def _noise(objective: Objective, place: Any, step: list[Any]) -> Any:
    """How far values at neighbouring places jump, tenfold: what of their error does not cancel in differences."""
    near = objective.context.arithmetic.number(SMALL)
    values = [objective.pair([x + near * k * h for x, h in zip(place, step)])[0] for k in range(5)]
    jumps = [abs(values[k - 1] - 2 * values[k] + values[k + 1]) for k in (1, 2, 3)]
    return 10 * max(jumps) + objective.context.arithmetic.eps * abs(values[0])


def _reach_of_level(at: Callable[[Any], tuple[Any, Any, Any]], middle: Any, half: Any, level: Any) -> Any:
    """How far from the middle of a bracket that is level a function has risen on both sides; infinite where that is far."""
    for _ in range(DOUBLINGS):
        try:
            if min(at(middle[0] + side * half)[1] for side in (-1, 1)) > middle[1] + level:
                return half
        except (CannotEvaluate, ArithmeticError):
            break
        half = half * 2
    return np.inf


def bracketed(objective: Objective, start: float) -> Least:
    """By golden section, where the function is flat to a high order or has a kink: until it is level within its own error.

    Args:
        objective, start: a function of one variable, and a place near its minimum.

    Raises:
        CannotEvaluate: where the function does not rise on both sides of the start.
    """
    number = objective.context.arithmetic.number

    def at(place: Any) -> tuple[Any, Any, Any]:
        return (place, *objective.pair([place]))

    middle, half = at(number(start)), number(REACH * max(abs(start), objective.smallest))
    for _ in range(WIDENINGS):
        low, high = at(middle[0] - half), at(middle[0] + half)
        if min(low[1] + low[2], high[1] + high[2]) >= middle[1] - middle[2]:
            break
        middle = min(low, high, key=lambda point: point[1])
    else:
        raise OutOfDigits(
            f"the minimum could not be refined: at {float(middle[0]):.4g} the function still falls; "
            "expected one smooth valley, so search within bounds around one"
        )
    level = middle[2] + number(objective.context.tolerance) * abs(middle[1]) / 10
    for step in range(SHRINKINGS):
        rise = max(low[1], high[1]) - middle[1]
        if rise <= level:
            width = high[0] - low[0] if step else 2 * _reach_of_level(at, middle, half, level)
            return middle[1], middle[2] + abs(rise), [(middle[0], width)]
        longer = low if middle[0] - low[0] > high[0] - middle[0] else high
        tried = at(middle[0] + (longer[0] - middle[0]) * number(GOLDEN))
        if tried[1] < middle[1]:
            middle, tried = tried, middle
            low, high = (low, tried) if longer is low else (tried, high)
        else:
            low, high = (tried, high) if longer is low else (low, tried)
    raise OutOfDigits("the minimum could not be refined: the function is neither smooth nor level there")
