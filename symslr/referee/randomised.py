"""A value with a standard error: the expression read again for every independent scrambling of the points."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import mpf

from symslr.expression.value import Kind, Value
from symslr.referee.arithmetic import CannotReferee, Floats
from symslr.referee.plans import NotFinite, Quadrature, TooCostly
from symslr.referee.samples import Sampler, TokenLaw

REPLICATIONS = 16
"""Independent scramblings."""

STUDENT = 10.0
"""Standard errors within which the value is all but certain: with 15 degrees of freedom it lies beyond once in 20 million."""

FIRST_SIZE, LAST_SIZE = 2**10, 2**16
"""Points of one scrambling, fourfold from one round to the next."""

ENOUGH = 1e-6
"""A relative standard error after which no further round is made."""

ROUNDING = 1e-13
DIGITS = 11
"""To which integrals inside of a sampled expectation are resolved."""

Read = Callable[[Quadrature, dict[Any, Any]], Any]


def sampled_value(read: Read, seconds: float) -> tuple[Value, float]:
    """The mean over independent scramblings and its standard error, and the scale of ``measured``.

    An expression that is no mean itself, such as a ratio of two, is read in each; its bias is of the order of the squared
    standard error.

    Args:
        read: (quadrature, places of minima) -> the number.
        seconds: processor time.

    Raises:
        CannotReferee: where nothing in the expression can be sampled, or not in that time.
    """
    began = time.process_time()
    floats = Floats(np.float64)
    plans: dict[Any, Any] = {}
    places: dict[Any, Any] = {}
    laws: dict[Any, list[TokenLaw]] = {}
    used = False
    scale = 0.0

    def once(size: int, seed: int, planning: bool = False) -> float:
        nonlocal used, scale
        sampler = Sampler(size, seed, laws)
        quadrature = Quadrature(
            floats, DIGITS, plans, planning=planning, deadline=began + seconds, sampler=sampler, shifted=not planning
        )
        if time.process_time() - began > seconds:
            raise TooCostly(f"samples: out of time after {seconds:.1f} s")
        with np.errstate(all="ignore"):
            value = float(read(quadrature, places if planning else dict(places)))
        if not np.isfinite(value):
            raise NotFinite("the value is not finite")
        used = used or sampler.used
        scale = max(scale, quadrature.magnitude, sampler.magnitude)
        return value

    planned = once(FIRST_SIZE, 0, planning=True)
    if not used:
        raise CannotReferee("nothing in the expression is sampled")
    size, best = FIRST_SIZE, (planned, float("inf"), 0)
    while size <= LAST_SIZE:
        round_began = time.process_time()
        try:
            found = np.array([once(size, seed) for seed in range(1, REPLICATIONS + 1)])
        except TooCostly:
            if best[2] == 0:
                raise
            break
        error = float(found.std(ddof=1)) / np.sqrt(REPLICATIONS)
        if error <= best[1]:
            best = float(found.mean()), error, size
        now = time.process_time()
        if error <= ENOUGH * abs(best[0]) or now - began + 4 * (now - round_began) > seconds:
            break
        size *= 4
    mean, error, points = best
    error = max(error, ROUNDING * abs(mean))
    digits = max(0, int(np.log10(abs(mean) / (STUDENT * error)))) if mean != 0 else 0
    method = f"definition, {REPLICATIONS} scramblings of {points} Sobol points"
    value = Value(mpf(mean), mpf(error), Kind.STATISTICAL, digits, method, time.process_time() - began)
    return value, scale
