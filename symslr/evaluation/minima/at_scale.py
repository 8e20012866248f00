"""The risk of an attention at a scale of its key, however large."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sympy import Expr, Symbol, oo

from symslr.evaluation.engine import EXPONENTIAL, MULTIPRECISION_DIGITS, evaluate
from symslr.evaluation.errors import CannotEvaluate, FloatOnly
from symslr.evaluation.minima.at_infinity import limit_of_large_scales
from symslr.evaluation.minima.large import (
    RISK,
    Answers,
    in_the_limit,
    large_scale,
    large_signal,
    limit_of_strong_selection,
    risk_by_best_method,
)
from symslr.evaluation.minima.least import least_risk
from symslr.expression.value import Kind, Value
from symslr.model.attention import Attention
from symslr.model.symbols import a, x
from symslr.model.task import Task
from symslr.theory.population import population_risk

LARGEST_PROVED_SCALE = 64
"""Key scale up to which a proof is tried that nobody asked for: its work grows as the square, 2 s here and a minute at 300."""


def risk_at(
    task: Task,
    attention: Attention,
    scale: Expr,
    values: Mapping[Any, object],
    digits: int | None = None,
    backend: str | None = None,
) -> Value:
    """The risk at a scale of the key, which may be infinite.

    Args:
        task, attention, scale: as for ``population_risk``.
        values, digits, backend: as for ``evaluate``.

    Raises:
        CannotEvaluate: where the digits are out of reach.
        ValueError: at scale 0, where the kernel and with it the normaliser vanishes there.
    """
    if scale == 0 and attention.is_normalised and attention.offset == attention.kernel.subs(x, 0) == 0:
        raise ValueError(
            f"scale: found 0, where the kernel {attention.kernel} vanishes and its normaliser with it; expected another "
            "scale, or an offset"
        )

    def answers(own: Task, at: Mapping[Any, object], wanted: int | None, for_series: bool) -> Answers:
        known = dict(at)
        here = known.pop(a, scale) if for_series else scale
        if own is not task:
            return {RISK: risk_at(own, attention, here, known)}
        if here.is_infinite:
            raise CannotEvaluate("no limit of the risk was found as the scale grows; expected a finite scale")
        return {
            RISK: evaluate(population_risk(own, attention, here), known, wanted, "numpy" if for_series else backend)
        }

    if scale.is_infinite and backend is None:
        limit = limit_of_large_scales(population_risk(task, attention), 1 if scale == oo else -1)
        if limit is not None:
            try:
                value = evaluate(limit, values, digits)
                return replace(value, kind=Kind.ESTIMATED, method=f"limit of large scales: {value.method}")
            except FloatOnly:
                raise
            except CannotEvaluate:  # where the signal is too strong for meshes
                pass
    if backend is not None:
        return answers(task, values, digits, False)[RISK]
    large = large_scale(scale, task, attention, values) or large_signal(task, values)
    strong = limit_of_strong_selection(task, attention, values)
    if large is not None or strong is not None:
        return risk_by_best_method(answers, task, attention, values, digits, large, strong)[RISK]
    try:
        return answers(task, values, digits, False)[RISK]
    except CannotEvaluate as refusal:
        return in_the_limit(answers, task, attention, values, digits, refusal)[RISK]


def risk_as_asked(
    task: Task,
    attention: Attention,
    scale: Expr | None,
    values: Mapping[Any, object],
    digits: int | None,
    backend: str | None = None,
    bounds: Mapping[Symbol, tuple[float, float]] | None = None,
) -> tuple[Value, dict[str, Value]]:
    """(risk, {}) at a scale, or (least risk, {"a": best scale, ...}) where ``scale`` is None.

    Args:
        task, attention, values, backend, bounds: as for ``least_risk``.
        digits: of the risk. If None: 15 where a backend is named or a quick proof reaches them, else those of float64.

    Raises:
        CannotEvaluate: where the risk is not found, or the digits are out of reach.
    """

    def found(wanted: int | None, by: str | None) -> tuple[Value, dict[str, Value]]:
        if scale is not None:
            return risk_at(task, attention, scale, values, wanted, by), {}
        return least_risk(task, attention, values, wanted, by, bounds)

    if digits is not None or backend is not None:
        return found(MULTIPRECISION_DIGITS if digits is None else digits, backend)
    if scale is None or abs(scale) <= LARGEST_PROVED_SCALE:
        with suppress(CannotEvaluate):
            proved = found(MULTIPRECISION_DIGITS, EXPONENTIAL)
            if proved[0].digits >= MULTIPRECISION_DIGITS:
                return proved
    return found(None, None)
