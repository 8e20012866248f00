"""The risk of an attention under a law of location, at a given scale or at its best parameters."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from mpmath import mpf, workdps
from sympy import Expr, N, S, exp, sqrt

from symslr.evaluation.engine import evaluate
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.attention_function import ParameterValues
from symslr.evaluation.location.bayes import GUARD_DIGITS, SECONDS, risk_from_excess, with_values
from symslr.evaluation.location.means import Estimate
from symslr.evaluation.location.minima.least import LeastRisk, least_risk_and_place
from symslr.evaluation.location.minima.search import best_head
from symslr.evaluation.location.moments import Risk
from symslr.evaluation.location.weighed import least_of_largest, risk_of_largest
from symslr.evaluation.minima.least import least_risk
from symslr.expression.value import Value
from symslr.model.attention import Attention
from symslr.model.exact import exact
from symslr.model.location.covariance import Equicorrelated
from symslr.model.location.task import LocationTask
from symslr.model.symbols import x
from symslr.parallel.blas import on_one_blas_thread
from symslr.theory.population import population_risk


@on_one_blas_thread
def risk_value(
    task: LocationTask,
    attention: Attention,
    scale: object,
    values: Mapping[Any, object] | None = None,
    digits: int | None = None,
    seconds: float = SECONDS,
) -> Value:
    """The risk of an attention with one head along one direction at the scale a, and at its best value vector.

    Args:
        task, values, digits, seconds: as for ``bayes_value``.
        attention: one head, without parameters of its own.
        scale: of the key.

    Raises:
        CannotEvaluate: where more than a scale is to be known, or the digits are out of reach.
    """
    began, here = time.perf_counter(), with_values(task, values)
    plain, chosen, unit = _prepared(here, attention)
    reduced, at = _reduced(plain, chosen), exact(scale, "scale") * unit
    if reduced is not None and chosen.is_selection and (formula := risk_of_largest(reduced, chosen, at)) is not None:
        return evaluate(formula, {}, digits)
    if reduced is not None and not chosen.is_selection and not chosen.parameters:
        return evaluate(population_risk(reduced, chosen.having(filter=None), at), {}, digits)
    risks = Risk.of(chosen, plain, seconds)
    if chosen.heads > 1 or risks.attend.setting.directions > 1 or risks.attend.own or chosen.bias == "free":
        raise CannotEvaluate(
            "scale: given to an attention with more parameters than one scale; leave it out to find the best ones"
        )
    if exact(scale, "scale") == 0 and _is_silent(chosen):
        return risk_from_excess(_of_silence(plain, seconds), here.noise, digits, began)
    place = ParameterValues(np.array([[float(at)]]), np.zeros(1), 0.0, ())
    return risk_from_excess(risks.value(place), here.noise, digits, began)


def _is_silent(attention: Attention) -> bool:
    """Whether all weights are 0 at the scale 0."""
    return not attention.is_normalised and attention.bias is None and attention.kernel.subs(x, 0) == 0


def _of_silence(task: LocationTask, seconds: float) -> Estimate:
    """The risk above Delta^2 where all weights are 0: E r^T C_v r, read from the moments of a constant attention."""
    constant = Attention(exp(x), normaliser=None, name="constant")
    place = ParameterValues(np.zeros((1, 1)), np.zeros(1), 0.0, ())
    return Risk.of(constant, task, seconds).value(place, lambda row: float(row[0]))


@on_one_blas_thread
def least_value(
    task: LocationTask,
    attention: Attention,
    values: Mapping[Any, object] | None = None,
    digits: int | None = None,
    seconds: float = SECONDS,
) -> LeastRisk:
    """The least risk of an attention over its scales, head weights and own parameters, and where it is attained.

    Where the tokens are exchangeable and one is relevant, as ``least_risk``. Elsewhere the value is the risk at the
    place that a search found, and its error that of the risk there, with what it may still fall around it or where a
    parameter grows without end; of several parameters there is then no best place. The error of a parameter reaches to
    where the risk is larger by more than its own, and is infinite where that is nowhere near.

    Args:
        task, values, digits, seconds: as for ``bayes_value``.
        attention: with any heads, bias and filter. Of two separate heads that come together the method says so: their
            value vectors grow without bound, and the risk is that of the limit.

    Raises:
        CannotEvaluate: where the search fails or the digits are out of reach.
    """
    began, here = time.perf_counter(), with_values(task, values)
    plain, chosen, unit = _prepared(here, attention)
    reduced = _reduced(plain, chosen)
    if reduced is not None and chosen.is_selection and (known := least_of_largest(reduced, chosen, digits)) is not None:
        return known
    if reduced is not None and not chosen.is_selection:
        value, places = least_risk(reduced, chosen.having(filter=None), {}, digits)
        return value, {name: _rescaled(found, unit) if name == "a" else found for name, found in places.items()}
    risks, one = Risk.of(chosen, plain, seconds), None
    if chosen.heads > 1:
        with suppress(CannotEvaluate):
            one = best_head(Risk.of(chosen.having(heads=1, separate=False), plain, seconds))
    return least_risk_and_place(risks, here.noise, digits, began, float(unit), one)


def _prepared(task: LocationTask, attention: Attention) -> tuple[LocationTask, Attention, Expr]:
    """(task, attention, unit): the attention with constants in its kernel, and keys made independent where it ignores a common
    shift.

    Keys of variance v and correlation rho are a common shift plus independent keys of variance v (1 - rho), whatever is relevant;
    and C^-1 chi is chi/(v (1 - rho)) plus a common shift. Softmax and selections do not see the shift. ``unit`` is what a scale of
    the original task is multiplied by.
    """
    attention = attention.with_constant_inside()
    by_ratios = attention.is_selection or attention.kernel == exp(x)
    blind = by_ratios and attention.is_normalised and attention.offset == 0
    found = None if task.key_covariance is None else task.key_covariance.structure
    if not isinstance(found, Equicorrelated) or not blind or attention.filter not in (None, "matched"):
        return task, attention, S.One
    plain = replace(task, strength=task.strength / found.own_variance, key_covariance=None)
    unit = sqrt(found.own_variance)
    return plain, attention.having(filter=None), unit if attention.filter is None else 1 / unit


def _reduced(task: LocationTask, attention: Attention) -> Any:
    """The task as a ``Task`` with exchangeable tokens, where it is one and the attention has one head, no bias and no filter."""
    plain = attention.having(filter=None).is_plain and attention.filter in (None, "matched")
    return task.reduced() if plain and task.key_covariance is None else None


def _rescaled(value: Value, unit: Expr) -> Value:
    with workdps(value.digits + GUARD_DIGITS):
        factor = mpf(str(N(unit, value.digits + GUARD_DIGITS)))
        return replace(value, value=value.value / factor, error=value.error / factor)
