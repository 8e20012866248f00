"""How far a trapezoid rule has come, told from coarser ones in it."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot
from typing import Any

import numpy as np


def geometric_error(quarter: Any, half: Any, full: Any, scale: Any) -> Any:
    """Relative error of ``full`` from the rules with four times, twice and once the step.

    When the step is halved the error of an analytic integrand is squared, that of a Gaussian one taken to the fourth power.
    Where the two differences show that, the error of the finest rule is far below their last one: its power 3/2, or 2, is
    claimed. Where they do not (an unseen kink), the last difference itself is claimed.
    """
    if not scale > 0:
        return scale * 0
    return _error(abs(quarter - half) / scale, abs(half - full) / scale)


def alternating_error(rules: Sequence[float], scale: float) -> float:
    """As ``geometric_error``, from the four rules with four times the step, each beginning one step later.

    Their differences hold the error's size at four times the step whatever its phase; one rule alone may meet a zero of it.
    """
    if not scale > 0:
        return 0.0
    zeroth, first, second, third = rules
    size = 0.5 * hypot(zeroth - second, first - third)
    return _error(size / scale, 0.25 * abs(zeroth + second - first - third) / scale)


def unextrapolated_error(values: Any) -> Any:
    """Relative error of the sum of values over a mesh, in as many digits as they have: its last difference, axis by axis.

    Below 1e-16 an integrand's Gaussian core hides a tail that falls far more slowly: for the spiked Bayes risk at L = 19435,
    nu = 367.41 the rules with four steps, two steps and one err by 1.3e-5, 2.5e-19 and 4e-23, so that no power of the last
    difference may be claimed. One difference may meet a zero; the size at four steps, whatever its phase, bounds it then.
    """
    mass = np.sum(abs(values))
    error = 0 * mass
    for axis in range(values.ndim):
        line = np.sum(values, axis=tuple(n for n in range(values.ndim) if n != axis))
        zeroth, first, second, third = (4 * np.sum(line[k::4]) for k in range(4))
        size = ((zeroth - second) ** 2 + (first - third) ** 2) ** 0.5 / (2 * mass)
        last = abs(zeroth + second - first - third) / (4 * mass)
        error = error + (last if last > size else max(last, size**4))
    return error


def _error(first: Any, last: Any) -> Any:
    """From the changes between four times and twice the step, and between twice and once."""
    if last > 1e-2 or last > first**1.4:
        return last
    if last <= first**3:
        return max(last, first**4) ** 2
    return max(last, first * first) ** 1.5


def beyond(last: Any, before: Any) -> Any:
    """What a mesh leaves out behind its last value, if the values go on to fall as between its last two."""
    last, before = abs(last), abs(before)
    if not last < before:
        return last
    return last / (1 - last / before)
