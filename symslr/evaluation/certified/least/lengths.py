"""How many terms a model of the search has, and what it lacks."""

from __future__ import annotations

from math import ceil, exp, log

from flint import arb

from symslr.evaluation.certified.taylor import Taylor

LONGEST = 11
"""Terms of the models on parts that are not short."""
LONGER = 18
"""Those of a model that is made again as its last one was too wide."""
MIDDLE = 24.0
"""Nats of the models after the first ones: floats give as many. They show the place so well that the next ones are the last."""
TINY = 1e-9
"""No last term is smaller than its power."""


def terms(reach: float, radius: float, nats: float) -> tuple[int, int]:
    """So many that what is left out is as small as the errors of the sums, as far as that can be; and of how many floats do not do.

    Args:
        reach: how far from the centre that has to be, relative to the length over which the coefficients of a model grow.
        radius: of the interval on which the last coefficient is enclosed: about so much it is off.
    """
    needed = nats if reach == radius else nats + log(min(radius, 1.0))
    per_term = -log(min(reach, exp(-nats / LONGEST)))
    return max(2, ceil(needed / per_term)), max(1, ceil((nats - MIDDLE) / per_term))


def rate(model: Taylor) -> float:
    """q where the last term of a model of n terms is as large as q^n."""
    last = model.polynomial[model.length - 1].abs_upper() * model.radius ** (model.length - 1)
    return max(TINY, float(last.root(model.length - 1)))


def enough(rate: float, nats: float) -> int:
    """Terms that make the last one as small as e^-nats; 0 where it would take more than ``LONGER``."""
    return ceil(nats / -log(rate)) if rate < exp(-nats / LONGER) else 0


def lacking(model: Taylor, nats: float) -> float:
    """Nats by which all but the last term of a model have to be less wide to be well below e^-nats; 0 where they are."""
    others = model.error - model.polynomial[model.length - 1].rad() * model.radius ** (model.length - 1)
    wanted = arb(-nats).exp() / 2
    return float((others / wanted).log().upper()) + 1 if others > wanted else 0.0
