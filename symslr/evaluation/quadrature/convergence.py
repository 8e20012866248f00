"""Error estimates of a trapezoid rule from the coarser rules contained in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

DETUNED = 1.3
"""Ratio of steps of a second mesh that confirms a result: the two share no nested mesh."""


def geometric_error(quarter: Any, half: Any, full: Any, scale: Any) -> Any:
    """The relative error of the rule ``full`` from those with four times, twice and once the step.

    Halving the step squares the error for an analytic integrand, and takes it to the fourth power for a Gaussian one. Where the
    two differences show this, the error of the finest rule is far below the last difference, and its power 3/2 or 2 is claimed.
    Where they do not, as with an unseen kink, the last difference itself is claimed.
    """
    if not scale > 0:
        return scale * 0
    return _claimed_error(abs(quarter - half) / scale, abs(half - full) / scale)


def alternating_error(rules: Sequence[Any], scale: Any, *, smooth: bool = True) -> Any:
    """As ``geometric_error``, from the eight rules with eight times the step that start at successive nodes.

    From these follows the size of the error at four times the step, and at 8/3 of it, whatever its phase. A single rule may
    agree by chance at a zero of its error. What is claimed is no less than the extrapolation of these two sizes.

    Args:
        rules: the eight rules.
        scale: the integral of the absolute value.
        smooth: whether the integrand is analytic to the last digit. Else no power of the last difference is claimed: below
            1e-16 a Gaussian core hides a tail that falls far more slowly. For the spiked Bayes risk at L = 19435, nu = 367.41
            the rules with four, two and one step err by 1.3e-5, 2.5e-19 and 4e-23.
    """
    if not scale > 0:
        return scale * 0
    zeroth, first, second, third = ((rules[k] + rules[k + 4]) / 2 for k in range(4))
    size = ((zeroth - second) ** 2 + (first - third) ** 2) ** 0.5 / (2 * scale)
    last = abs(zeroth + second - first - third) / (4 * scale)
    if not smooth:
        return last if last > size else max(last, size**4)
    cosines, sines = (sum(wave * rule for wave, rule in zip(own, rules)) for own in WAVES_OF_8_3)
    between = min((cosines**2 + sines**2) ** 0.5 / (4 * scale), size)
    return max(_claimed_error(size, last), between * (between / size) ** 5 if size > 0 else size)


WAVES_OF_8_3 = [[float(wave(3 * np.pi * k / 4)) for k in range(8)] for wave in (np.cos, np.sin)]
"""Cosine and sine of period 8/3 of the step, at the eight starts."""
LEAST_AMPLITUDE = 0.1
"""The amplitude A of an error A exp(-c/h), relative to the integral, is taken to be at least this; without it claims were up to
1.8 times too small."""
LARGEST_CHANGE = 1e30
"""Larger relative changes are cut off: their powers leave the range of float64. Coarse rules for a power of 10^5 tokens have
them."""


def _claimed_error(first: Any, last: Any) -> Any:
    """The error of the finest rule, from the change between four times and twice the step, and that between twice and once.

    An error A exp(-c/h) is the square of that at twice the step divided by A.
    """
    first = min(first, LARGEST_CHANGE)
    if last > 1e-2 or last > first**1.4:
        return last
    if last <= first**3:
        return max(last, first**4) ** 2 / LEAST_AMPLITUDE
    return max(last, first * first) ** 1.5


def tail_in_last_terms(ratio: Any) -> Any:
    """Upper bound of the tail that a mesh leaves out, in units of its last term, from the ratio of the last two terms.

    Twice the geometric sum with that ratio, and eight at least. Terms whose logarithm is concave fall faster than that.
    """
    return np.fmax(8.0, 2.0 / np.fmax(1.0 - ratio, 1e-6))


def tail_beyond(last: Any, before: Any) -> Any:
    """Upper bound of the tail beyond the last of some terms. Where they no longer fall they are rounding, and eight terms are
    claimed.
    """
    return last * float(tail_in_last_terms(float(last / before) if last < before else 0.0))


def outer_step(tolerance: float) -> float:
    """First step of v = log u for a bounded integrand analytic in |Im v| < pi/2: its error exp(-pi^2/h) must be seen to fall."""
    return 0.72 * float(np.pi) ** 2 / (2.0 - float(np.log(tolerance)))
