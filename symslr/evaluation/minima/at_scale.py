"""The risk of an attention at a scale of its key, however large."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sympy import Expr, oo

from symslr.evaluation.engine import evaluate
from symslr.evaluation.errors import CannotEvaluate, FloatOnly
from symslr.evaluation.minima.at_infinity import limit_of_large_scales
from symslr.evaluation.minima.large import RISK, Answers, large_scale, large_signal, risk_by_best_method
from symslr.expression.value import Kind, Value
from symslr.model.attention import Attention
from symslr.model.symbols import a, x
from symslr.model.task import Task
from symslr.theory.population import population_risk


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
    large = large_scale(scale, task, attention, values) or large_signal(task, values)
    return risk_by_best_method(answers, task, attention, values, digits, backend, large)[RISK]
