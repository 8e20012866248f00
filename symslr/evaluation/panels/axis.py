"""The trapezoid rule in v = log u: its step and what lies beyond its ends, by theorems (docs/proofs.md, sections 3, 4 and 8)."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, exp, expm1, gamma, inf, log, pi, tan

RIGHTMOST = 2000.0
"""Ends lie between these v: e^{-u kappa} has an exponent of |v| digits, and tables hold a million of them."""
INSIDE = 1 - 1e-12
"""Strips end before pi/2 by this factor."""


def log_relative_error(step: float, k: float, s: float = inf) -> float:
    """log of the relative error of the rule for u^k e^{-u S}, of any S > 0; and beside a Gaussian density of width s in v."""
    low, d = 0.0, INSIDE * pi / 2
    while d - low > 1e-6 * d:  # the half-width of the strip for which it is least
        middle = (low + d) / 2
        low, d = (low, middle) if middle / s / s + k * tan(middle) > 2 * pi / step else (middle, d)
    rest = 2 * pi * d / step
    return (d / s) ** 2 / 2 + log(2) - k * log(cos(d)) - rest - log(-expm1(-rest))


def relative_error(step: float, k: float) -> float:
    """Of the rule for u^k e^{-u S}, of any S > 0: relative to the integral."""
    return exp(min(log_relative_error(step, k), 700.0))


def step_for(nats: float, k: float, s: float = inf) -> float:
    """The largest step, to a hundredth, with a relative error below e^-nats."""
    low, high = 0.0, 4.0
    while high - low > 0.005 * low:
        middle = (low + high) / 2
        low, high = (middle, high) if log_relative_error(middle, k, s) <= -nats else (low, middle)
    return low


def left_factor(step: float, k: float) -> float:
    """The nodes before v hold at most this times 1 - e^{-u S}: of u^k e^{-u S}, k >= 1, times S^k."""
    return gamma(k) + step * (k / exp(1)) ** k / (1 - exp(-1))


def right_factor(step: float, k: float) -> float:
    """The nodes beyond v hold at most this times e^{-u S/2}."""
    return 2**k * gamma(k) + step * (k / exp(1)) ** k * exp(k / 2)


def whole_factor(step: float, k: float) -> float:
    """All nodes hold at most this."""
    return gamma(k) * (1 + relative_error(step, k))


def first_below(bound: Callable[[float], float], most: float, rises: bool) -> float:
    """A place, within one, from which on a monotone bound is below ``most``: on its left where it rises."""
    side = -1.0 if rises else 1.0
    near, reach = 0.0, 1.0
    if bound(0.0) <= most:  # look on the other side of 0
        while bound(-side * reach) <= most and reach < RIGHTMOST:
            near, reach = reach, 2 * reach
        low, high = -side * reach, -side * near
    else:
        while not bound(side * reach) <= most:
            near, reach = reach, 2 * reach
            if reach > RIGHTMOST:
                raise OverflowError(f"no end of an axis within {RIGHTMOST:g}")
        low, high = side * near, side * reach
    while abs(high - low) > 1:
        middle = (low + high) / 2
        low, high = (low, middle) if bound(middle) <= most else (middle, high)
    return high
