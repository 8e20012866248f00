"""What a function does as its one variable grows without bound or vanishes: a series in its inverse, from a few values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.minima.objective import Objective

SPAN = 6
"""Steps outwards, at most."""
FEWEST = 4
"""Values that a series needs."""
SHAPES = ((1, 1), (2, 1), (2, 2))
"""First power of a series, and its step: (2, 1) where the kernel's limit is approached faster than by 1/a, as by softplus,
(2, 2) where only its square matters, as with the tail of erf."""
SETTLED = 1e-10
"""Relative error of the series from where on no further value is needed."""
USEFUL = 1e-4
"""Relative error of the series above which there is none."""
BETWEEN = np.linspace(0.0, 1.0, 4001)
"""Fractions of the inverse at which the series is looked at."""


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


def limit(objective: Objective, start: float, factor: float, settled: float = SETTLED, span: int = SPAN) -> Limit:
    """The least of the values from ``start`` on, by those at start, start factor, start factor^2, ...

    An attention whose kernel has a limit of its own, such as log(1 + e^(a x))/a -> relu(x), has a risk that is a series in
    1/a. The claimed error is the whole change that the last value made, of which the next value would make a fraction again.

    Raises:
        CannotEvaluate: where the values cannot be had far enough, or do not settle.
    """
    away = float(np.sign(start)) * np.inf if factor > 1 else 0.0
    values: list[float] = []
    error, found = 0.0, None
    for k in range(span + 1):
        try:
            value, own = (float(part) for part in objective.pair([start * factor**k]))
        except (CannotEvaluate, OverflowError, ZeroDivisionError, FloatingPointError):
            break
        if not np.isfinite(value + own):
            break
        values.append(value)
        error = max(error, own)
        if k + 1 < FEWEST:
            continue
        level = all(abs(other - value) <= error for other in values)
        for shape in SHAPES:
            lowest = _lowest(values, shape, factor, error)
            if found is None or lowest[1] < found.error:
                value, doubt, inverse = lowest
                place = away if inverse == 0 else start * inverse ** (-1 if factor > 1 else 1)
                moved = _moved(values, shape, factor, inverse) * abs(place) if inverse > 0 else 0.0
                found = Limit(value, doubt, place, level, moved)
        if found is not None and (level or found.error <= settled * abs(found.value)):
            break
    if found is None or not found.error <= USEFUL * abs(found.value):
        raise CannotEvaluate(f"the values from {start:.3g} on do not settle as the variable goes to {away:g}")
    return found


def _lowest(values: list[float], shape: tuple[int, int], factor: float, error: float) -> tuple[float, float, float]:
    """(least value on [0, 1], its error, the fraction h of the inverse start where it lies) of the series through the values."""
    last, before = (series(own, shape, factor) for own in (values, values[:-1]))
    heights = last(BETWEEN)
    best = int(np.argmin(heights))
    # An end that the series cannot tell from the lowest point is one: nothing there is known to be lower.
    if heights[0] - heights[best] <= abs(last(0.0) - before(0.0)) + 2.0 * error:
        best = 0
    inverse = float(BETWEEN[best])
    if 0 < best < len(BETWEEN) - 1:
        left, middle, right = heights[best - 1 : best + 2]
        inverse += float(BETWEEN[1] * (left - right) / (2.0 * (left - 2.0 * middle + right)))
    value = float(last(inverse))
    return value, abs(value - float(before(inverse))) + last.amplification * error, inverse


def _moved(values: list[float], shape: tuple[int, int], factor: float, inverse: float) -> float:
    """How far the last value moved the lowest point, relative to it."""
    before = series(values[:-1], shape, factor)
    own = float(BETWEEN[int(np.argmin(before(BETWEEN)))])
    return abs(own - inverse) / inverse + float(BETWEEN[1])


@dataclass(frozen=True)
class Series:
    """v(h) = c_0 + c_1 h^(p_1) + c_2 h^(p_2) + ..."""

    powers: NDArray[np.int_]
    coefficients: NDArray[np.float64]
    amplification: float

    def __call__(self, h: float | NDArray[np.float64]) -> NDArray[np.float64]:
        return np.power.outer(np.asarray(h, dtype=float), self.powers) @ self.coefficients


def series(values: list[float], shape: tuple[int, int], factor: float) -> Series:
    """The series through v(1), v(1/f), v(1/f^2), ...; ``amplification`` is how much its end enlarges errors of the values."""
    first, step = shape
    powers = np.array([0, *range(first, first + step * (len(values) - 1), step)])
    if factor < 1:
        factor = 1.0 / factor
    at = factor ** -np.arange(len(values), dtype=float)
    inverse = np.linalg.inv(np.power.outer(at, powers))
    return Series(powers, inverse @ np.array(values), float(np.sum(np.abs(inverse[0]))))
