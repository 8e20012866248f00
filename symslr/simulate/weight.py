"""log g(l, chi) for every position l at once, for selection, importance weights and Bayes' rule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sympy import Dummy, Expr, limit, log, oo

from symslr.model.form import in_brief
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import chi, epsilon, x
from symslr.simulate.log_domain import TOKEN, Array, log_of_product, plain, signed_log
from symslr.simulate.values import Values, checked_length, fixed, substitution

LogWeight = Callable[[Array], Array]
"""chi (..., L) -> log g(l, chi), shape (..., L)."""

OWN = Dummy("own", real=True)


def log_weight(law: SequenceLaw, values: Values) -> LogWeight:
    """log g at every position.

    A parameter may be infinite where the weight selects a token (max-SLR at nu = oo): the token with the
    largest log w / nu then has log g = log L and every other -inf.

    Raises:
        ValueError: when a value is missing, the length is not an integer, an infinite parameter has no such
            limit, or the weight is not built from chi[epsilon] and sums over all tokens.
    """
    length = checked_length(law.length)
    if law.selects_largest:
        return _argmax(lambda projections: projections, length)
    numbers = substitution(law.free_symbols - law.base.free_symbols, values)
    infinite = [symbol for symbol, number in numbers.items() if number.is_infinite]
    if infinite:
        return _largest(law, infinite, values, length)
    factor = law.relevant_factor
    if factor is not None:
        return _of_relevant(plain(log_of_product(factor.subs(numbers)), (x,)))
    return _of_all(law.weight.subs(numbers), length)


def _of_relevant(function: Callable[..., Array]) -> LogWeight:
    return lambda projections: np.broadcast_to(function(projections), projections.shape)


def _of_all(weight: Expr, length: int) -> LogWeight:
    weight = weight.xreplace({chi[epsilon]: OWN})
    function = signed_log(weight, (OWN, TOKEN))

    def log_g(projections: Array) -> Array:
        if projections.shape[-1] != length:
            raise ValueError(f"chi: found {projections.shape[-1]} tokens; expected {length}, the length of the law")
        sign, size = function(projections[..., :, None], projections[..., None, :])
        if np.any(sign < 0):
            raise ValueError(f"weight {in_brief(weight)}: found a negative value; expected g >= 0")
        return np.broadcast_to(size, (*projections.shape, 1))[..., 0]

    return log_g


def _largest(law: SequenceLaw, infinite: list[Expr], values: Values, length: int) -> LogWeight:
    if not law.is_selection or len(infinite) > 1:
        raise ValueError(
            f"{infinite[0]}: found an infinite value; expected a finite one for the weight {in_brief(law.weight)}"
        )
    rate = infinite[0]
    rest = {s: v for s, v in values.items() if str(s) != str(rate)}
    log_kernel = log_of_product(fixed(law.posterior_kernel, rest, frozenset({rate, x})))
    score = limit(log_kernel / rate, rate, oo)
    if not score.is_finite or not score.has(x) or score.has(log):
        raise ValueError(f"{rate}: found an infinite value; log w = {log_kernel} does not grow in proportion to it")
    return _argmax(plain(score, (x,)), length)


def _argmax(score: Callable[[Array], Array], length: int) -> LogWeight:
    def log_g(projections: Array) -> Array:
        scores = score(projections)
        best = scores == scores.max(axis=-1, keepdims=True)
        with np.errstate(divide="ignore"):
            return np.log(length * best / best.sum(axis=-1, keepdims=True))

    return log_g
