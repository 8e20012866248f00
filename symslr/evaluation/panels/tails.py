"""How far out the mass of every weight of a token is negligible, by growth bounds of its modulus."""

from __future__ import annotations

from functools import lru_cache
from math import inf
from typing import Any

import numpy as np
from flint import arb, ctx
from sympy import Expr, Symbol, exp

from symslr.evaluation.certified.analytic.arithmetic import PROOF_BITS, prepared
from symslr.evaluation.certified.analytic.growth import GrowthBounds
from symslr.evaluation.errors import CannotEvaluate, NotProved
from symslr.evaluation.numbers.elementary import Between
from symslr.evaluation.panels.functions import Regions

STARTS = tuple(2.0**i for i in (*range(4, 12), *range(12, 400, 4)))
"""|x| beyond which growth is bounded: the first with which a bound is found and is small."""


def beyond(regions: Regions, side: int, nats: float) -> tuple[float, Any]:
    """(reach, log of bounds of the masses of all weights beyond it), on one side.

    Raises:
        CannotEvaluate: where no bound is found, or a kernel is not proved to be >= 0 there.
    """
    functions = regions.functions
    weights = tuple(exp(w.exponent) * w.rest for w in functions.weights)
    unsure = [k for k, is_known in zip(functions.kernels, functions.are_nonnegative) if not is_known]
    inside = {s for expr in (*weights, *unsure) for s in expr.free_symbols}
    own = tuple((s, str(ball)) for s, ball in regions.scope.items() if s in inside)
    return _beyond(functions.x, weights, tuple(unsure), own, side, nats)


@lru_cache(maxsize=256)
def _beyond(
    x: Symbol,
    weights: tuple[Expr, ...],
    kernels: tuple[Expr, ...],
    scope: tuple[tuple[Symbol, str], ...],
    side: int,
    nats: float,
) -> tuple[float, Any]:
    """The same from parameters as Arb prints them: balls that hold theirs, by which a result is found again."""
    numbers = {s: Between(s.name, arb(own)) for s, own in scope}
    weights, kernels = (tuple(prepared(expr.xreplace(numbers)) for expr in own) for own in (weights, kernels))
    reason: Exception = NotProved("certified: the mass of a law is not seen to fall")
    for start in STARTS:
        try:
            with ctx.workprec(PROOF_BITS):
                bounds = GrowthBounds(x, start, side)
                own = (bounds.without_pieces(w) for w in weights)
                tails = [float(bounds.modulus(w).tail(start).log().upper()) if w != 0 else -inf for w in own]
                if max(tails) > -nats:
                    continue
                for kernel in kernels:
                    if not bounds.values(bounds.without_pieces(kernel)).interval.a >= 0:
                        raise NotProved("certified: not seen to be >= 0 far out:", kernel)
        except NotProved as found:
            reason = found
            continue
        return start, np.array(tails)
    raise CannotEvaluate(str(reason))
