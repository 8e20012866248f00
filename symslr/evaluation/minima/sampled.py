"""A risk at scales where meshes are too dear, from samples: whether it may be the least there needs two digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sympy import Basic, Expr, S, Symbol

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.nodes.node import Pair
from symslr.evaluation.numbers.logarithm import signed_log
from symslr.evaluation.sampling.scatter import standard_error
from symslr.evaluation.sampling.sequences import Draws
from symslr.model.exact import exact
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import L, x
from symslr.theory.population import PopulationRisk

KEYS, LEAST, GROUPS = 2**18, 2**10, 16
"""Tokens drawn in all; sequences at least; and the parts whose scatter gives the error."""
SIGMAS = 5.0
"""Standard errors that the error of a value stands for."""

Sampled = Callable[[float], Pair]
"""A scale to the risk there and its error."""


def sampled_risk(risk: PopulationRisk, numbers: Mapping[Symbol, Any]) -> Sampled | None:
    """The risk by the scale of its key; None where the weights of a sequence may add up to little, whose mean square samples miss.

    Delta^2 + 1 - M^2/Q with M = E sum p_l sigma_l and Q = E sum sigma_l^2 >= 1/L under a normaliser alone.

    Args:
        numbers: of all parameters but the scale.
    """
    activation, law, noise, length = risk.args
    kernel, is_normalised, offset = activation.args[1:4]
    if is_normalised == 0 or offset != 0:
        return None
    given = {symbol: exact(number) for symbol, number in numbers.items()}

    def put_in(expr: Basic) -> Any:
        return expr.subs({s: given[s] for s in expr.free_symbols if s in given and s != L})

    lengths = tuple(length) if isinstance(length, LengthLaw) else ((given.get(length, length), S.One),)
    own, square = put_in(kernel), put_in(noise**2)
    here = law.func(put_in(law.weight), law.length, law.base.func(*map(put_in, law.base.args)))
    if (
        here.free_symbols - {L}
        or own.free_symbols != {x}
        or not square.is_number
        or not all(n.is_Integer for n, _ in lengths)
    ):
        return None
    return _of(own, float(square), here, [(int(n), float(share)) for n, share in lengths])


def _of(kernel: Expr, square: float, law: Any, lengths: list[tuple[int, float]]) -> Sampled | None:
    log_kernel, random = signed_log(kernel, (x,)), np.random.default_rng(0)
    try:
        parts = []
        for n, share in lengths:
            draws = Draws.of(law.func(law.weight.subs(L, n), S(n), law.base))
            parts.append((share, *draws.sequences(random.random((max(LEAST, KEYS // n) // GROUPS * GROUPS, n)))))
    except (CannotEvaluate, ArithmeticError, ValueError):
        return None

    def at(scale: float) -> Pair:
        hit, norm = np.zeros(GROUPS), np.zeros(GROUPS)
        for share, tokens, posterior, importance in parts:
            with np.errstate(all="ignore"):
                logs = np.broadcast_to(np.asarray(log_kernel(scale * tokens)[1], dtype=float), tokens.shape)
                weights = np.exp(logs - logs.max(axis=1, keepdims=True))
                weights = weights / weights.sum(axis=1, keepdims=True)
            hit += share * (importance * (posterior * weights).sum(axis=1)).reshape(GROUPS, -1).mean(axis=1)
            norm += share * (importance * (weights**2).sum(axis=1)).reshape(GROUPS, -1).mean(axis=1)
        risks = square + 1.0 - hit**2 / norm
        if not np.all(np.isfinite(risks)):
            raise CannotEvaluate("a kernel vanishes at all tokens of a sequence, as far as float64 tells")
        return float(np.mean(risks)), SIGMAS * standard_error(risks.tolist())

    return at
