"""What a function does as its variable grows without bound or vanishes: a series in its inverse, through a few values.

A kernel such as log(1 + e^(a x))/a has a limit of its own, and so has the risk times a power of a strong signal: both are
series in the inverse. What is claimed as an error is what the last values moved the series by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.minima.objective import Objective

SPAN = 6
"""Steps outwards, at most: eight terms of a series in 1/2^k leave less than float64 shows."""
FEWEST = 4
"""Values that a series needs: three terms, and one value to confirm them."""
SHAPES = ((1, 1), (2, 1), (2, 2))
"""First power of a series, and its step: (2, 1) where the kernel's limit is approached faster than by 1/a, as by softplus,
(2, 2) where only its square matters, as with the tail of erf."""
SETTLED = 1e-10
"""Relative error from where on no further value is needed: the ten digits that are given where none are asked for."""
USEFUL = 1e-4
"""Relative error above which there is no series: the values do not follow one."""
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
    """v(h) = c_0 + c_1 h^(p_1) + c_2 h^(p_2) + ..., through v(1), v(1/f), v(1/f^2), ...

    ``amplification`` is how much its end enlarges errors of the values.
    """

    powers: NDArray[np.int_]
    coefficients: NDArray[np.float64]
    amplification: float

    def __call__(self, h: float | NDArray[np.float64]) -> NDArray[np.float64]:
        return np.power.outer(np.asarray(h, dtype=float), self.powers) @ self.coefficients

    def lowest(self, rounding: float) -> float:
        """Where on [0, 1] it is lowest; 0 where that is no lower than its end by more than a rounding."""
        heights = self(BETWEEN)
        best = int(np.argmin(heights))
        if heights[0] - heights[best] <= rounding:
            return 0.0
        if best == len(BETWEEN) - 1:
            return 1.0
        left, middle, right = heights[best - 1 : best + 2]
        return float(BETWEEN[best] + BETWEEN[1] * (left - right) / (2.0 * (left - 2.0 * middle + right)))


def series(values: Sequence[float], shape: tuple[int, int], factor: float) -> Series:
    """The series of a shape through values at places that grow, or shrink, by a factor."""
    first, step = shape
    powers = np.array([0, *range(first, first + step * (len(values) - 1), step)])
    at = max(factor, 1.0 / factor) ** -np.arange(len(values), dtype=float)
    inverse = np.linalg.inv(np.power.outer(at, powers))
    return Series(powers, inverse @ np.array(values), float(np.sum(np.abs(inverse[0]))))


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

    def at(place: float) -> tuple[float, float]:
        value, error = (float(part) for part in objective.pair([place]))
        if not np.isfinite(value + error):
            raise CannotEvaluate(f"no finite value at {place:.3g}")
        return value, error

    def fit(pairs: list[tuple[float, float]]) -> tuple[Limit, float, float]:
        values, error = [value for value, _ in pairs], max(own for _, own in pairs)
        level = all(abs(value - values[-1]) <= error for value in values)
        found = []
        for shape in SHAPES:
            last, before = series(values, shape, factor), series(values[:-1], shape, factor)
            inverse = last.lowest(float(abs(last(0.0) - before(0.0))) + 2.0 * error)
            value, doubt = float(last(inverse)), 0.0
            place = away if inverse == 0 else start * inverse ** (-1 if factor > 1 else 1)
            if inverse > 0:
                doubt = (abs(before.lowest(0.0) - inverse) / inverse + float(BETWEEN[1])) * abs(place)
            found.append(
                Limit(value, abs(value - float(before(inverse))) + last.amplification * error, place, level, doubt)
            )
        best = min(found, key=lambda one: one.error)
        return best, best.value, best.error

    try:
        return settled((start * factor**k for k in range(span + 1)), at, fit, enough, useful)
    except CannotEvaluate as fault:
        raise CannotEvaluate(
            f"the values from {start:.3g} on do not settle as the variable goes to {away:g}"
        ) from fault
