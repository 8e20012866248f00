"""What a function does as its variable grows without bound or vanishes: a series in its inverse, through a few values.

A kernel such as log(1 + e^(a x))/a has a limit of its own, and so has the risk times a power of a strong signal: both are
series in the inverse. What is claimed as an error is what the last values moved the series by.

All powers of the inverse are in it, also where most values would follow even ones alone: softplus is near relu up to 1/a^2, but
where all tokens are negative it selects the largest one, up to 1/a. Of several series the one that moved least would be chosen,
and the least of several changes may be small by chance: elu + 1 at length 2 or 10 and nu = 5 had a fifth of its error.
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

SPAN = 6
"""Steps outwards, at most: eight terms of a series in 1/2^k leave less than float64 shows."""
FEWEST = 4
"""Values that a series needs: three terms, and one value to confirm them."""
SETTLED = 1e-10
"""Relative error from where on no further value is needed: the ten digits that are given where none are asked for."""
USEFUL = 1e-4
"""Relative error above which there is no series: the values do not follow one."""
REMAINS = 10.0
"""The change before the last one, in units of the least error claimed: a fifth term at a ratio of 1.75 leaves a sixteenth of it."""
STEADY, SEEN = 0.9, 10.0
"""Part of the distance between the ratio of two changes and the one of a series that the next ratio keeps where they follow none,
and the errors of a value that a change spans at least for that to be told."""
SLOWLY = 1.0 / 3.0
"""What the change before the last one leaves at most where values follow a series; where more is left all falls as the variable."""
BETWEEN = np.linspace(0.0, 1.0, 4001)
"""Fractions of the inverse at which a series is looked at; its lowest point is refined by a parabola."""


Found = TypeVar("Found")
Fitted = TypeVar("Fitted")


def settled(
    places: Iterable[float],
    compute: Callable[[float], Found],
    fit: Callable[[list[Found]], tuple[Fitted, float, float]],
    enough: float = SETTLED,
    useful: float = USEFUL,
) -> Fitted:
    """The best of what is fitted to the first four, five, ... values, until its relative error is small enough.

    Args:
        fit: values to what is fitted to them, with the number that decides and its error.
        enough: relative error from where on no further value is needed.
        useful: relative error above which there is no series.

    Raises:
        CannotEvaluate: where the values cannot be had far enough, or do not settle.
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
        if len(found) < FEWEST:
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
        values: at places that grow, or shrink, by the factor.
        error: the largest of their errors.
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
        """Of the highest power first."""
        return self._inverse @ np.array(self.values)

    def __call__(self, h: float | NDArray[np.float64]) -> Any:
        return np.polyval(self.coefficients, h)

    @cached_property
    def before(self) -> Series:
        """The series through all values but the last."""
        return replace(self, values=self.values[:-1])

    def doubt(self, h: float) -> float:
        """The error at h: what the last value moved it by, or a tenth of what the one before did, which a change that is small by
        chance does not undo; and what errors of the values make of it. Of changes that hardly fall, as of log(a)/a, all that would
        follow count."""
        last, before, earlier = (float(one(h)) for one in (self, self.before, self.before.before))
        amplified = float(np.sum(np.abs(np.vander([h], len(self.values)) @ self._inverse)) * self.error)
        change, first = abs(last - before), abs(before - earlier)
        if change > max(SEEN * amplified, SLOWLY * first):
            ratio = max(change / first, min(self.factor, 1.0 / self.factor)) if first > 0 else np.inf
            change *= ratio / (1.0 - ratio) if ratio < 1.0 else np.inf
        return max(change, first / REMAINS) + amplified

    @property
    def is_slower(self) -> bool:
        """Whether the last values change by more than a series in the variable does, as with the inverse of a logarithm.

        The ratio of two changes tends to the inverse factor, or a power of it, as fast as the variable vanishes.
        """
        first, second, last = np.diff(self.values[-4:])
        if min(abs(first), abs(second), abs(last)) <= SEEN * self.error or not first * second > 0 < second * last:
            return False
        usual = min(self.factor, 1.0 / self.factor)
        return bool(last / second - usual >= STEADY * (second / first - usual) > 0)

    def lowest(self, rounding: float) -> float:
        """Where on [0, 1] it is lowest; 0 where that is no lower than its end by more than a rounding."""
        heights = self(BETWEEN)
        best = int(np.argmin(heights))
        if not heights[0] - heights[best] > rounding:  # nor is where it has no number
            return 0.0
        if best == len(BETWEEN) - 1:
            return 1.0
        left, middle, right = heights[best - 1 : best + 2]
        return float(BETWEEN[best] + BETWEEN[1] * (left - right) / (2.0 * (left - 2.0 * middle + right)))


@dataclass(frozen=True)
class Limit:
    """The least value from some point on outwards, and its error.

    ``place`` is 0, oo or -oo where the value is only approached, or a number with the error ``doubt`` where the series has a
    minimum of its own. ``level`` says that the function does not depend on the variable's size, as with relu(a x) = a relu(x).
    """

    value: float
    error: float
    place: float
    level: bool
    doubt: float = 0.0

    @property
    def is_attained(self) -> bool:
        return bool(np.isfinite(self.place) and self.place != 0)


def limit(
    objective: Objective,
    start: float,
    factor: float,
    enough: float = SETTLED,
    span: int = SPAN,
    useful: float = USEFUL,
) -> Limit:
    """The least of the values from ``start`` on, by those at start, start factor, start factor^2, ...

    The claimed error is the whole change that the last value made, of which the next value would make a fraction again.

    Raises:
        CannotEvaluate: where the values cannot be had far enough, or do not settle.
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
        level = all(abs(value - values[-1]) <= error for value in values)
        own = Series(values, factor, error)
        inverse = own.lowest(float(abs(own(0.0) - own.before(0.0))) + 2.0 * error)
        place, doubt = away, 0.0
        if inverse > 0:
            place = start * inverse ** (-1 if factor > 1 else 1)
            doubt = (abs(own.before.lowest(0.0) - inverse) / inverse + float(BETWEEN[1])) * abs(place)
        best = Limit(float(own(inverse)), own.doubt(inverse), place, level, doubt)
        return best, best.value, np.inf if own.is_slower else best.error

    try:
        return settled((start * factor**k for k in range(span + 1)), at, fit, enough, useful)
    except CannotEvaluate as fault:
        raise CannotEvaluate(
            f"the values from {start:.3g} on do not settle as the variable goes to {away:g}"
        ) from fault
