"""How fine a rule is, on every route: a fine and a coarse one, whose difference is the error, and one for a search.

And the rule over a Laplace variable: sums of equal steps in log u, upwards until nothing is left.
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

KEY, STEEPEST = 0.085, 0.28
"""Step of a token's key, whose product with the slope of log w, or of log kappa, is at most this: errors fall as
exp(-pi^2/(sqrt(nu) |theta| step)) and faster."""
WIDER = {2: (1.6, STEEPEST), 3: (2.6, 2 * STEEPEST)}
"""By the number of directions, how much wider steps are where weights are not steep, and that bound on them."""
BLOCK = 24
"""Values of log u at once."""
HIGHEST = 3000.0
"""log u by which an integral has to end."""
LOWEST = -42.0
"""log u below which a sum of weights that is 1 on average takes less than 1e-18."""


@dataclass(frozen=True)
class Rule:
    """Steps in units of those of the fine rule of a route, and what is left out.

    Attributes:
        key, load: of a token's key; of log u, and of what else is smooth however steep the attention is.
        least: share of an integral over log u, or of a search's masses, that is left out.
        panels: of a token's key along one direction, for a kernel under a normaliser.
    """

    key: float
    load: float
    least: float
    panels: Panels


FINE, COARSE = Rule(1.0, 1.0, 1e-19, PANELS[0]), Rule(1.15, 1.15, 1e-19, PANELS[1])
"""Their difference is the error that a value claims."""
SEARCH = Rule(1.6, 1.6, 1e-10, PANELS[2])
"""While a minimum is searched."""


def has_grid(setting: Setting) -> bool:
    """Whether a token's key has so few directions that a rule over them is quick."""
    return setting.directions <= max(WIDER)


def key_step(setting: Setting, rule: Rule, slope: float = 0.0) -> float:
    """The step of a token's key, for an attention of this scale."""
    wider, steepest = WIDER.get(setting.directions, (1.0, STEEPEST))
    own = np.sqrt(setting.strength * float(np.max(setting.norms)))
    step = KEY * wider / max(1.0, own * KEY * wider * COARSE.key / steepest)
    return rule.key * step / max(1.0, slope * step / STEEPEST)


def lowest_log_u(log_kernel: Any, mass: Any, load: float, least: float) -> float:
    """log u at which sums of weights of this mean kernel and this log of what multiplies it begin to count.

    Raises:
        CannotEvaluate: where the kernel vanishes at all nodes.
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
    """The integrals over log u of positive functions, (k,), by the trapezoid rule.

    Args:
        integrand: of log u, (n,), to the sums over them of every function, (k,), and what is left of each beyond the last of
            them, at most. The parts themselves say that only of what falls from there on; E e^{-uN} says it of any E e^{-uN} X,
            X <= N, even of a kernel of two sizes, between which an integrand vanishes.
        step, lowest: of log u, and its first value.
        least: share of an integral that may be left.
        block: nodes at once.
        highest: log u by which it has to end.

    Raises:
        CannotEvaluate: where they do not end.
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
