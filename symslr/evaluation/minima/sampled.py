"""Monte Carlo values of a risk, to two digits, at scales where quadrature is too expensive: enough to rule a scale out."""

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

TOKENS = 2**18
"""Tokens that are drawn for each length."""
FEWEST_SEQUENCES = 2**10
"""The least number of sequences that they make, where sequences are long."""
GROUPS = 16
"""Equal groups of sequences; the scatter of their risks gives the standard error."""
ERROR_IN_STANDARD_ERRORS = 5.0
"""The claimed error, in standard errors."""

Sampled = Callable[[float], Pair]
"""A function from a scale to (risk, error)."""


def sampled_risk(risk: PopulationRisk, numbers: Mapping[Symbol, Any]) -> Sampled | None:
    """A function from the scale of the key to a Monte Carlo value of the risk; None where it would not be reliable.

    The risk is Delta^2 + 1 - M^2/Q with M = E sum p_l sigma_l and Q = E sum sigma_l^2. With a normaliser and no offset Q >=
    1/L. Otherwise the weights of a sequence may be small in all but a few samples, which then miss Q: None. None too where a
    parameter has no number.

    Args:
        risk: as a function of the scale.
        numbers: of all parameters but the scale.
    """
    activation, law, noise, length = risk.args
    kernel, is_normalised, offset = activation.args[1:4]
    if is_normalised == 0 or offset != 0:
        return None
    given = {symbol: exact(number) for symbol, number in numbers.items()}

    def with_numbers(expr: Basic) -> Any:
        return expr.subs({s: given[s] for s in expr.free_symbols if s in given and s != L})

    lengths = tuple(length) if isinstance(length, LengthLaw) else ((given.get(length, length), S.One),)
    own, square = with_numbers(kernel), with_numbers(noise**2)
    here = law.func(with_numbers(law.weight), law.length, law.base.func(*map(with_numbers, law.base.args)))
    if (
        here.free_symbols - {L}
        or own.free_symbols != {x}
        or not square.is_number
        or not all(n.is_Integer for n, _ in lengths)
    ):
        return None
    return _sampler(own, float(square), here, [(int(n), float(share)) for n, share in lengths])


def _sampler(kernel: Expr, square: float, law: Any, lengths: list[tuple[int, float]]) -> Sampled | None:
    """The function of ``sampled_risk`` for a kernel in x; None where the law cannot be sampled.

    Args:
        kernel: without parameters.
        square: Delta^2.
        law: of the sequence, with the length as its only symbol.
        lengths: (length, probability) pairs.
    """
    log_kernel, random = signed_log(kernel, (x,)), np.random.default_rng(0)
    try:
        parts = []
        for n, share in lengths:
            draws = Draws.of(law.func(law.weight.subs(L, n), S(n), law.base))
            parts.append(
                (share, *draws.sequences(random.random((max(FEWEST_SEQUENCES, TOKENS // n) // GROUPS * GROUPS, n))))
            )
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
        return float(np.mean(risks)), ERROR_IN_STANDARD_ERRORS * standard_error(risks.tolist())

    return at
