"""The limit of a function as its variable grows without bound or vanishes: polynomial extrapolation through a few values.

A kernel such as log(1 + e^(a x))/a has a limit, and so has the risk times a power of a strong signal. Both have a series in the
inverse of the variable. The claimed error is what the last values changed.

All powers of the inverse are fitted, also where most values would follow even ones alone. Softplus differs from relu by order
1/a^2, but where all tokens are negative it selects the largest one, which is of order 1/a. Choosing among several series the
one that changed least does not work, as the least of several changes may be small by chance: for elu + 1 at length 2 or 10 and
nu = 5 it was a fifth of the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.minima.search.objective import Objective

SERIES_STEPS = 6
"""Most steps of a series, so seven values: eight terms of a series in 1/2^k leave less than float64 shows."""
FEWEST_VALUES = 4
"""Values that a series needs: three for its terms and one that confirms them."""
CONVERGED = 1e-10
"""Relative error from which on no further value is needed: the ten digits that are given where none are asked for."""
LARGEST_ERROR = 1e-4
"""Relative error above which the values follow no series."""
LEAST_GAIN = 10.0
"""The claimed error is at least the change before the last one divided by this. A fifth term at a ratio of 1.75 leaves a
sixteenth of that change."""
RATIO_EXCESS_KEPT = 0.9
"""Where the ratio of two changes exceeds that of a series, and the next one keeps this part of the excess, there is no series."""
CHANGE_IN_ERRORS = 10.0
"""A change of the values is certain from so many errors of a value on."""
SLOW_RATIO = 1.0 / 3.0
"""Largest ratio of the last two changes at which values follow a series; above it a geometric sum of all later changes is claimed
as error."""
FRACTIONS = np.linspace(0.0, 1.0, 4001)
"""Fractions of the inverse variable at which a series is searched for its minimum, which a parabola then refines."""


Found = TypeVar("Found")
Fitted = TypeVar("Fitted")


def converged(
    places: Iterable[float],
    compute: Callable[[float], Found],
    fit: Callable[[list[Found]], tuple[Fitted, float, float]],
    enough: float = CONVERGED,
    useful: float = LARGEST_ERROR,
) -> Fitted:
    """The best fit to the first four, five, ... values, until its relative error is small enough.

    Args:
        places, compute: where the values are taken, and how.
        fit: from the values to (the fit, the number that decides, its error).
        enough: relative error from which on no further value is needed.
        useful: relative error above which the fit is rejected.

    Raises:
        CannotEvaluate: where too few values can be computed, or the fits do not converge.
    """
    found: list[Found] = []
    best: tuple[Fitted, float, float] | None = None
    reason: Exception | None = None
    for place in places:
        try:
            found.append(compute(place))
        except (CannotEvaluate, ArithmeticError) as fault:
            reason = fault
            break
        if len(found) < FEWEST_VALUES:
            continue
        fitted = fit(found)
        best = fitted if best is None or fitted[2] < best[2] else best
        if best[2] <= enough * abs(best[1]):
            break
    if best is None or not best[2] <= useful * abs(best[1]):
        raise CannotEvaluate(f"values do not settle outwards{f' ({reason})' if reason else ''}") from reason
    return best[0]


@dataclass(frozen=True)
class Series:
    """v(h) = c_0 + c_1 h + c_2 h^2 + ... through v(1), v(1/f), v(1/f^2), ..., one coefficient for each value.

    Args:
        values: at places that grow (f > 1) or shrink (f < 1) by the factor f.
        factor: f; h falls by f or 1/f, whichever is above 1.
        error: the largest error of the values.
    """

    values: Sequence[float]
    factor: float
    error: float

    @cached_property
    def _inverse(self) -> NDArray[np.float64]:
        count = len(self.values)
        return np.linalg.inv(np.vander(max(self.factor, 1.0 / self.factor) ** -np.arange(count)))

    @cached_property
    def coefficients(self) -> NDArray[np.float64]:
        """The coefficients, that of the highest power first."""
        return self._inverse @ np.array(self.values)

    def __call__(self, h: float | NDArray[np.float64]) -> Any:
        return np.polyval(self.coefficients, h)

    @cached_property
    def without_last(self) -> Series:
        """The series through all values but the last."""
        return replace(self, values=self.values[:-1])

    def error_at(self, h: float) -> float:
        """The error at h, including what errors of the values cause.

        It is the change made by the last value, or a tenth of the change before where that is more, as the last may be small by
        chance. Where changes hardly fall, as for log(a)/a, the sum of all later changes, as a geometric series, takes the place
        of the last change.
        """
        last, before, earlier = (float(one(h)) for one in (self, self.without_last, self.without_last.without_last))
        amplified = float(np.sum(np.abs(np.vander([h], len(self.values)) @ self._inverse)) * self.error)
        change, first = abs(last - before), abs(before - earlier)
        if change > max(CHANGE_IN_ERRORS * amplified, SLOW_RATIO * first):
            ratio = max(change / first, min(self.factor, 1.0 / self.factor)) if first > 0 else np.inf
            change *= ratio / (1.0 - ratio) if ratio < 1.0 else np.inf
        return max(change, first / LEAST_GAIN) + amplified

    @property
    def is_slower_than_series(self) -> bool:
        """Whether the last values change by more than a series in the variable does, as for the inverse of a logarithm.

        For a series the ratio of two changes tends to 1/f, or a power of it, as fast as the variable vanishes.
        """
        first, second, last = np.diff(self.values[-4:])
        if (
            min(abs(first), abs(second), abs(last)) <= CHANGE_IN_ERRORS * self.error
            or not first * second > 0 < second * last
        ):
            return False
        usual = min(self.factor, 1.0 / self.factor)
        return bool(last / second - usual >= RATIO_EXCESS_KEPT * (second / first - usual) > 0)

    def argmin(self, rounding: float) -> float:
        """The h in [0, 1] with the lowest value; 0 where no value is lower than that at 0 by more than ``rounding``."""
        heights = self(FRACTIONS)
        best = int(np.argmin(heights))
        if not heights[0] - heights[best] > rounding:  # nor is where it has no number
            return 0.0
        if best == len(FRACTIONS) - 1:
            return 1.0
        left, middle, right = heights[best - 1 : best + 2]
        return float(FRACTIONS[best] + FRACTIONS[1] * (left - right) / (2.0 * (left - 2.0 * middle + right)))


@dataclass(frozen=True)
class Limit:
    """The least value from some place on outwards (or towards 0), and its error.

    Attributes:
        value, error: the least value.
        place: 0, oo or -oo where the value is only approached; a number where the series has a minimum.
        is_constant: whether the function does not depend on the size of its variable, as with relu(a x) = a relu(x).
        place_error: of that number.
    """

    value: float
    error: float
    place: float
    is_constant: bool
    place_error: float = 0.0

    @property
    def is_attained(self) -> bool:
        return bool(np.isfinite(self.place) and self.place != 0)


def limit(
    objective: Objective,
    start: float,
    factor: float,
    enough: float = CONVERGED,
    span: int = SERIES_STEPS,
    useful: float = LARGEST_ERROR,
) -> Limit:
    """The least value from ``start`` on, by a series through the values at start, start factor, start factor^2, ...

    Args:
        factor: above 1 for places that go to infinity, below 1 for places that go to 0.
        enough, span, useful: relative error at which to stop, most steps, and largest relative error accepted.

    Raises:
        CannotEvaluate: where too few values can be computed, or they do not converge.
    """
    away = float(np.sign(start)) * np.inf if factor > 1 else 0.0
    if factor > 1 and abs(start) < objective.selection_scale:
        raise CannotEvaluate(
            f"values from {start:.3g} on begin before {objective.selection_scale:.3g}, where the law selects"
        )

    def at(place: float) -> tuple[float, float]:
        value, error = (float(part) for part in objective.pair([place]))
        if not np.isfinite(value + error):
            raise CannotEvaluate(f"no finite value at {place:.3g}")
        return value, error

    def fit(pairs: list[tuple[float, float]]) -> tuple[Limit, float, float]:
        values, error = [value for value, _ in pairs], max(own for _, own in pairs)
        is_constant = all(abs(value - values[-1]) <= error for value in values)
        own = Series(values, factor, error)
        inverse = own.argmin(float(abs(own(0.0) - own.without_last(0.0))) + 2.0 * error)
        place, doubt = away, 0.0
        if inverse > 0:
            place = start * inverse ** (-1 if factor > 1 else 1)
            doubt = (abs(own.without_last.argmin(0.0) - inverse) / inverse + float(FRACTIONS[1])) * abs(place)
        best = Limit(float(own(inverse)), own.error_at(inverse), place, is_constant, doubt)
        return best, best.value, np.inf if own.is_slower_than_series else best.error

    try:
        return converged((start * factor**k for k in range(span + 1)), at, fit, enough, useful)
    except CannotEvaluate as fault:
        raise CannotEvaluate(
            f"the values from {start:.3g} on do not settle as the variable goes to {away:g}"
        ) from fault
