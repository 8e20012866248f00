"""How far a trapezoid rule has come, told from coarser ones in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

DETUNED = 1.3
"""Ratio of steps by which a result is confirmed: meshes of such steps are nested in none of the others."""


def geometric_error(quarter: Any, half: Any, full: Any, scale: Any) -> Any:
    """Relative error of ``full`` from the rules with four times, twice and once the step.

    When the step is halved the error of an analytic integrand is squared, that of a Gaussian one taken to the fourth power.
    Where the two differences show that, the error of the finest rule is far below their last one: its power 3/2, or 2, is
    claimed. Where they do not (an unseen kink), the last difference itself is claimed.
    """
    if not scale > 0:
        return scale * 0
    return _error(abs(quarter - half) / scale, abs(half - full) / scale)


def alternating_error(rules: Sequence[Any], scale: Any, *, smooth: bool = True) -> Any:
    """As ``geometric_error``, from the eight rules with eight times the step, each beginning one step later.

    Their differences hold the error's size at four times the step, and at 8/3 of it, whatever its phase; one rule alone may meet a
    zero of it, as twice the step does where it agrees by chance: what is claimed is no less than these two extrapolated.

    Where the integrand is not ``smooth`` to the last digit no power of the last difference is claimed: below 1e-16 a Gaussian core
    hides a tail that falls far more slowly. For the spiked Bayes risk at L = 19435, nu = 367.41 the rules with four steps, two
    steps and one err by 1.3e-5, 2.5e-19 and 4e-23.
    """
    if not scale > 0:
        return scale * 0
    zeroth, first, second, third = ((rules[k] + rules[k + 4]) / 2 for k in range(4))
    size = ((zeroth - second) ** 2 + (first - third) ** 2) ** 0.5 / (2 * scale)
    last = abs(zeroth + second - first - third) / (4 * scale)
    if not smooth:
        return last if last > size else max(last, size**4)
    cosines, sines = (sum(wave * rule for wave, rule in zip(own, rules)) for own in WAVES)
    between = min((cosines**2 + sines**2) ** 0.5 / (4 * scale), size)
    return max(_error(size, last), between * (between / size) ** 5 if size > 0 else size)


WAVES = [[float(wave(3 * np.pi * k / 4)) for k in range(8)] for wave in (np.cos, np.sin)]
"""Of 3/8 of the frequency that the step itself takes for a constant."""
HARD = 0.1
"""Such a part: claims were up to 1.8 times too small without it."""
BLIND = 1e30
"""A change of so many integrals says no more than a larger one, whose powers leave the range of float64: coarse rules under a
power of 10^5 tokens have them."""


def _error(first: Any, last: Any) -> Any:
    """From the changes between four times and twice the step, and between twice and once.

    An error A exp(-c/h) is the square of that at twice the step divided by A, the part of the integral that is hard to see.
    """
    first = min(first, BLIND)
    if last > 1e-2 or last > first**1.4:
        return last
    if last <= first**3:
        return max(last, first**4) ** 2 / HARD
    return max(last, first * first) ** 1.5


def beyond(ratio: Any) -> Any:
    """What a mesh leaves out behind its last term, in units of it, where a term is this part of the one before: at most.

    Twice the sum of terms that go on to fall like that, and eight terms at least. Where the logarithm of the terms is concave they
    fall faster.
    """
    return np.fmax(8.0, 2.0 / np.fmax(1.0 - ratio, 1e-6))


def behind(last: Any, before: Any) -> Any:
    """The same of an integral's outermost terms; where these fall no further they are rounding, and count eightfold."""
    return last * float(beyond(float(last / before) if last < before else 0.0))


def outer_step(tolerance: float) -> float:
    """First step of v. The error exp(-pi^2/h) of a bounded integrand analytic for |Im v| < pi/2 must be seen to fall."""
    return 0.72 * float(np.pi) ** 2 / (2.0 - float(np.log(tolerance)))
