"""The three quadrature rules: a fine and a coarse one, whose difference is the error of a value, and a cheap one for a search.

Also the trapezoid rule over log u, u a Laplace variable, summed upwards until the rest is negligible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.tables.tokens import PANELS, Panels

KEY_STEP, STEEPEST_STEP = 0.085, 0.28
"""Step of a token's key in standard deviations, and the largest step times slope of log w or log kappa: errors fall as
exp(-pi^2/(sqrt(nu) |theta| step)) or faster."""
BY_DIRECTIONS = {2: (1.6, STEEPEST_STEP), 3: (2.6, 2 * STEEPEST_STEP)}
"""By number of directions: factor on the step where weights are not steep, and the bound on step times slope."""
BLOCK = 24
"""Values of log u evaluated at once."""
HIGHEST = 3000.0
"""log u at which an integral that has not converged is given up."""
LOWEST = -42.0
"""log u where integrals begin for a sum of weights S of mean 1: u S is below e^-42 = 6e-19 on average."""


@dataclass(frozen=True)
class Rule:
    """The steps of a quadrature in units of those of the fine rule, and its cut-off.

    Attributes:
        key: step of a token's key.
        load: step of log u, and of other variables in which the integrand is smooth however steep the attention is.
        least: share of an integral over log u, or of the largest mass in a search, that may be left out.
        panels: the rule for a token's key along one direction, for a kernel under a normaliser.
    """

    key: float
    load: float
    least: float
    panels: Panels


FINE, COARSE = Rule(1.0, 1.0, 1e-19, PANELS[0]), Rule(1.15, 1.15, 1e-19, PANELS[1])
"""Their difference is the error that a value claims."""
SEARCH = Rule(1.6, 1.6, 1e-10, PANELS[2])
"""The rule of a search for a minimum."""


def has_grid(setting: Setting) -> bool:
    """Whether a token's key has so few directions (3 at most) that a grid over them is quick."""
    return setting.directions <= max(BY_DIRECTIONS)


def key_step(setting: Setting, rule: Rule, slope: float = 0.0) -> float:
    """The step of a token's key in standard deviations; ``slope`` is the scale of the attention."""
    wider, steepest = BY_DIRECTIONS.get(setting.directions, (1.0, STEEPEST_STEP))
    own = np.sqrt(setting.strength * float(np.max(setting.norms)))
    step = KEY_STEP * wider / max(1.0, own * KEY_STEP * wider * COARSE.key / steepest)
    return rule.key * step / max(1.0, slope * step / STEEPEST_STEP)


def lowest_log_u(log_kernel: Any, mass: Any, load: float, least: float) -> float:
    """log u with u e^load E[kappa] = least: below it the integrand over log u is negligible.

    Args:
        log_kernel, mass: log kappa at nodes, and their masses.
        load: log of the factor of the mean kernel, such as the number of tokens.
        least: share of the integral that may be left out.

    Raises:
        CannotEvaluate: where the kernel is 0 at all nodes.
    """
    log_mean = float(scipy.special.logsumexp(log_kernel, b=mass))
    if not log_mean > -np.inf:
        raise CannotEvaluate("kernel: vanishes at every token, as far as float64 tells; expected another scale")
    return float(np.log(least)) - log_mean - load


def over_log_u(
    integrand: Callable[[Any], tuple[Any, Any]],
    step: float,
    lowest: float,
    least: float,
    block: int = BLOCK,
    highest: float = HIGHEST,
) -> Any:
    """The integrals over log u of k positive functions, (k,), by the trapezoid rule.

    Args:
        integrand: from values of log u, (n,), to two results: the sum over these of every function, (k,), and a bound on the rest
            of the integral beyond the last value. The last terms are such a bound only if they decrease from there on. E e^{-uN} is
            one for every E e^{-uN} X with X <= N, even for a kernel of two sizes, between which the integrand vanishes.
        step: of log u.
        lowest: log u where the integral begins.
        least: share of an integral that the rest may be.
        block: number of values of log u at once.
        highest: log u at which to give up.

    Raises:
        CannotEvaluate: where the integral has not converged by ``highest``.
    """
    number = int(np.floor(lowest / step))
    totals: Any = 0.0
    while number * step < highest:
        parts, left = integrand(step * np.arange(number, number + block))
        totals = totals + step * np.asarray(parts)
        if np.any(totals > 0) and np.all(np.asarray(left) <= least * totals):
            return totals
        number += block
    raise CannotEvaluate("the Laplace integral has no end; the kernel may vanish on part of the line")
