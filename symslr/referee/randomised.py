"""A value with a standard error, from several independent scramblings of the points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import hypot
from typing import Any

import numpy as np
from mpmath import mpf

from symslr.expression.value import Kind, Value
from symslr.referee.arithmetic import CannotReferee, Floats
from symslr.referee.plans import DOUBT, Quadrature
from symslr.referee.samples import FEWEST, Sampler, TokenLaw
from symslr.referee.scan import NotFinite
from symslr.referee.work import METER, TooCostly

REPLICATIONS = 16
"""Independent scramblings."""

STUDENT = 10.0
"""Standard errors within which the value is all but certain: with 15 degrees of freedom it lies beyond once in 20 million."""

FIRST_SIZE, LAST_SIZE = 2**10, 2**16
"""Points of one scrambling."""

LEAST_GROWTH, MOST_GROWTH = 2, 4
"""How many times more points the next round has, as many as the last one's error asks for if errors fall as one over the points."""

ENOUGH = 3e-5
"""A relative standard error after which no further round is made: ten times the sum of two leaves three digits and more."""

AGREE = 6.0
"""Standard errors within which the means of two rounds agree: 15 degrees of freedom each."""

TINY = 1e-300

ROUNDING = 1e-13
DIGITS = 11
"""To which integrals inside of a sampled expectation are resolved."""

NOTHING_SAMPLED = "nothing in the expression is sampled"

Read = Callable[[Quadrature, dict[Any, Any]], Any]


def sampled_value(read: Read) -> tuple[Value, float]:
    """The mean over independent scramblings and its standard error, and the scale of ``measured``.

    An expression that is no mean itself, such as a ratio of two, is read in each; its bias is of the order of the squared
    standard error.

    Args:
        read: (quadrature, places of minima) -> the number.

    Raises:
        CannotReferee: where nothing in the expression can be sampled, or not with the work that is allowed.
    """
    floats = Floats(np.float64)
    plans: dict[Any, Any] = {}
    places: dict[Any, Any] = {}
    laws: dict[Any, list[TokenLaw]] = {}
    used = False
    scale = noise = 0.0
    fewest = float("inf")

    def once(size: int, seed: int, planning: bool = False, shifted: bool = True) -> float:
        nonlocal used, scale, noise, fewest
        sampler = Sampler(size, seed, laws)
        quadrature = Quadrature(floats, DIGITS, plans, planning=planning, sampler=sampler, shifted=shifted)
        with np.errstate(all="ignore"):
            value = float(read(quadrature, places if planning else dict(places)))
        if not np.isfinite(value):
            raise NotFinite("the value is not finite")
        used = used or sampler.used
        fewest = min(fewest, sampler.effective)
        scale = max(scale, quadrature.magnitude, sampler.magnitude)
        noise = max(noise, quadrature.noise)
        return value

    once(FIRST_SIZE, 0, planning=True, shifted=False)
    if not used:
        raise CannotReferee(NOTHING_SAMPLED)
    size, rounds = FIRST_SIZE, list[_Round]()
    while size <= LAST_SIZE:
        began = METER.done
        fewest = float("inf")
        try:
            found = np.array([once(size, seed) for seed in range(1, REPLICATIONS + 1)])
            if not rounds:  # the same points and other grids: what is summed on grids is in every scrambling alike
                noise += DOUBT * abs(once(size, 1, shifted=False) - float(found[0]))
        except TooCostly:
            if not rounds:
                raise
            break
        rounds.append(_Round.of(found, size, fewest))
        missing = rounds[-1].error / max(ENOUGH * abs(rounds[-1].mean), TINY)
        growth = LEAST_GROWTH if missing <= LEAST_GROWTH else MOST_GROWTH
        if (missing <= 1 and len(rounds) > 1) or growth * (METER.done - began) > METER.left:
            break
        size *= growth
    mean, error, points = _together(rounds)
    error = max(error + noise, ROUNDING * abs(mean))
    digits = max(0, int(np.log10(abs(mean) / (STUDENT * error)))) if mean != 0 else 0
    method = f"definition, {REPLICATIONS} scramblings of {points} Sobol points"
    value = Value(mpf(mean), mpf(error), Kind.STATISTICAL, digits, method)
    return value, scale


@dataclass(frozen=True)
class _Round:
    """The scramblings of one size: their mean, its standard error, and the points of all of them that carry it."""

    mean: float
    error: float
    size: int
    effective: float

    @classmethod
    def of(cls, found: np.ndarray, size: int, effective: float) -> _Round:
        error = float(found.std(ddof=1)) / np.sqrt(REPLICATIONS)
        return cls(float(found.mean()), error, size, effective * REPLICATIONS)

    @property
    def carried(self) -> float:
        """The share of the points that carry the mean."""
        return min(self.effective / (self.size * REPLICATIONS), 1.0)


def _together(rounds: list[_Round]) -> tuple[float, float, int]:
    """Mean, standard error and points of the last round, the one with the most points.

    A mean that drifts with the number of points has not met all of its mass: the drift is part of the error. Where the share of
    the points that carry it falls, single large ones decide, whose spread a few scramblings do not show: the error grows by that.

    Raises:
        CannotReferee: where few points carry the mean.
    """
    last = rounds[-1]
    if last.effective < FEWEST:
        raise CannotReferee(f"{last.effective:.0f} of {last.size * REPLICATIONS} points carry the mean")
    drift = max(abs(last.mean - other.mean) / hypot(last.error, other.error, TINY) for other in rounds)
    error = last.error * max(other.carried / last.carried for other in rounds)
    if drift > AGREE:
        error = max(error, *(abs(last.mean - other.mean) for other in rounds))
    return last.mean, error, last.size
