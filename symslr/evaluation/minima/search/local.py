"""A minimum refined from a place near it, at any precision: Newton steps on divided differences, or golden section.

A minimum value is insensitive to its place: an error d of the place changes it by f'' d^2/2.
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
NEWTON_STEPS = 40
"""At most: enough to halve the step of the differences from 1e-2 down to 1e-13."""
MOST_ELONGATED = 30.0
"""Condition number of the Hessian above which float64 differences are useless: errors across the valley exceed what is seen
along it."""
NOISE_STEP = 1e-4
"""Part of a step on which a function is straight to working precision: its second difference is 1e-8 of that of the step, so
what remains is noise."""
DIFFERENCE_IN_ERRORS = 30.0
"""A second difference must be so many errors of the values, to have more than one digit."""
BRACKET = 0.05
"""Half the first bracket of golden section, relative to the place."""
GOLDEN = (3.0 - 5.0**0.5) / 2.0
"""The smaller part of a bracket in golden section."""
WIDENINGS = 4
"""Moves of the bracket by half its length: enough for a start that is a fifth of the place away."""
DOUBLINGS = 10
"""Of the bracket on a plateau, until the function rises: up to fifty times the place."""
CURVATURE_CHANGE = 0.3
"""Relative change of the least curvature between two steps above which the minimum counts as not quadratic: flat to fourth
order, or with a kink."""
SHRINKINGS = 300
"""Steps of golden section: each gains a fifth of a digit of the place, so 300 gain sixty digits."""


def newton_minimum(
    objective: Objective, start: list[float], reach: float, *, allow_nonquadratic: bool = False
) -> Least:
    """The minimum near a place by Newton steps on divided differences; each squares the error of the place.

    With steps h of the differences the place is wrong by about h^2, and by eps/(f'' h) from errors eps of the values. So h is
    reduced down to eps^(1/3), as long as second differences exceed the noise and the value gains. With several variables both
    errors are multiplied by the condition number of the Hessian.

    Args:
        objective, start: the function, and a place near its minimum.
        reach: first step of the differences, relative to the place.
        allow_quartic: whether a minimum on a line may be flat to fourth order or have a kink; errors are then linear in the
            steps.

    Raises:
        CannotEvaluate: where this does not converge to a minimum.
    """
    number = objective.context.arithmetic.number
    place = np.array([number(x) for x in start])
    scale = [max(abs(x), objective.unit) for x in start]
    seen = objective.with_tolerance(SECOND_DIFFERENCE) if len(start) > 1 else objective
    smallest = min(reach, 10.0 ** (float(mpmath.log10(seen.context.tolerance)) / 3))
    noise: Any = number(np.inf)
    before, least = np.nan, np.nan
    for _ in range(NEWTON_STEPS):
        step = [number(s) * number(reach) for s in scale]
        here = quadratic_model(seen, place, step)
        shift = here.newton_step(number)
        place = place - shift
        relative_step = max(abs(float(d)) / s for d, s in zip(shift, scale))
        before, (least, most) = least, here.curvatures(scale)
        if relative_step > 3.0 or not least > 0 or (most > MOST_ELONGATED * least and objective.is_float):
            break
        if relative_step > (3.0 if reach > smallest else 1.0) * reach:
            continue
        noise = min(noise, here.error)
        ratio, off = most / least, number(10) * (number(reach) ** 2 + number(relative_step) ** 2)
        # beside 0 the value there is looked at, too
        is_nonquadratic = abs(before - least) > CURVATURE_CHANGE * least and (
            len(start) > 1 or abs(place[0]) > objective.unit
        )
        if is_nonquadratic:
            if len(start) == 1 and objective.is_float and not allow_nonquadratic:
                break  # golden section tells more
            off = number(10) * (number(reach) + number(relative_step))  # as for (x - 2)^4
        # the climb is a quarter of the error then
        enough = float(mpmath.sqrt(mpmath.sqrt(here.error / (most * ratio)) / 20))
        shorter = max(reach * reach, smallest, enough)
        can_be_shorter = reach > smallest and shorter <= 0.7 * reach
        if least * (shorter if can_be_shorter else reach / 0.7) ** 2 < DIFFERENCE_IN_ERRORS * float(noise):
            noise = min(noise, _noise(seen, place, step))
        visible = float(mpmath.sqrt(DIFFERENCE_IN_ERRORS * noise / least))
        if 0.7 * visible > reach:
            break
        step_from_noise = noise / (number(reach) * number(least))
        climb = number(most) * (number(ratio) * off**2 + step_from_noise**2)
        shorter = max(shorter, visible)
        if (
            reach > smallest
            and shorter <= 0.7 * reach
            and climb > here.error
            and not (is_nonquadratic and allow_nonquadratic)
        ):
            reach = shorter
            continue
        doubts = [number(s) * (number(ratio) * off + step_from_noise) for s in scale]
        # Risks are often even; beside zero, where attentions are uniform, digits cancel.
        exact = [x * 0 if abs(x) <= doubt else x for x, doubt in zip(place, doubts)]
        value, error = objective.pair(exact)
        return value, error + climb, list(zip(exact, doubts))
    raise OutOfDigits("the minimum could not be refined: the function is flat or not smooth there")


@dataclass(frozen=True)
class QuadraticModel:
    """The quadratic through neighbouring points: gradient, Hessian, and the error of the value in their middle."""

    gradient: list[Any]
    hessian: Any
    error: Any

    def newton_step(self, number: Any) -> Any:
        """Minus the Newton step: the middle less the result is the minimum of the quadratic.

        Raises:
            CannotEvaluate: where the Hessian is not positive definite.
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
        """The least and the largest eigenvalue of the Hessian in coordinates divided by ``scale``."""
        matrix = self.hessian.astype(float) * np.outer(scale, scale)
        if not np.isfinite(matrix).all():
            return np.nan, np.nan
        found = np.linalg.eigvalsh(matrix)
        return float(found[0]), float(found[-1])


def quadratic_model(objective: Objective, place: Any, step: list[Any]) -> QuadraticModel:
    """Gradient and Hessian at a place by central divided differences with the given step in each variable."""
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
    return QuadraticModel(gradient, hessian, error)


def _noise(objective: Objective, place: Any, step: list[Any]) -> Any:
    """The noise of the values: ten times the largest second difference over steps so short that the function is straight."""
    near = objective.context.arithmetic.number(NOISE_STEP)
    values = [objective.pair([x + near * k * h for x, h in zip(place, step)])[0] for k in range(5)]
    jumps = [abs(values[k - 1] - 2 * values[k] + values[k + 1]) for k in (1, 2, 3)]
    return 10 * max(jumps) + objective.context.arithmetic.eps * abs(values[0])


def _half_width_of_plateau(at: Callable[[Any], tuple[Any, Any, Any]], middle: Any, half: Any, plateau: Any) -> Any:
    """The distance from the middle at which the function has risen by ``plateau`` on both sides; infinite where it does not in
    reach.
    """
    for _ in range(DOUBLINGS):
        try:
            if min(at(middle[0] + side * half)[1] for side in (-1, 1)) > middle[1] + plateau:
                return half
        except (CannotEvaluate, ArithmeticError):
            break
        half = half * 2
    return np.inf


def golden_section(objective: Objective, start: float) -> Least:
    """The minimum by golden section, for a function that is flat to a high order or has a kink: until the bracket is level
    within its error.

    Args:
        objective, start: a function of one variable, and a place near its minimum.

    Raises:
        CannotEvaluate: where the function does not rise on both sides of the start.
    """
    number = objective.context.arithmetic.number

    def at(place: Any) -> tuple[Any, Any, Any]:
        return (place, *objective.pair([place]))

    middle, half = at(number(start)), number(BRACKET * max(abs(start), objective.unit))
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
    plateau = middle[2] + number(objective.context.tolerance) * abs(middle[1]) / 10
    for step in range(SHRINKINGS):
        rise = max(low[1], high[1]) - middle[1]
        if rise <= plateau:
            width = high[0] - low[0] if step else 2 * _half_width_of_plateau(at, middle, half, plateau)
            return middle[1], middle[2] + abs(rise), [(middle[0], width)]
        longer = low if middle[0] - low[0] > high[0] - middle[0] else high
        tried = at(middle[0] + (longer[0] - middle[0]) * number(GOLDEN))
        if tried[1] < middle[1]:
            middle, tried = tried, middle
            low, high = (low, tried) if longer is low else (tried, high)
        else:
            low, high = (tried, high) if longer is low else (low, tried)
    raise OutOfDigits("the minimum could not be refined: the function is neither smooth nor level there")
