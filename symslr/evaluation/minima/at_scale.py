"""The risk of an attention at a scale of its key, however large."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sympy import Expr, Symbol, oo

from symslr.evaluation.engine import EXPONENTIAL, MULTIPRECISION_DIGITS, evaluate
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.minima.at_infinity import limit_of_large_scales
from symslr.evaluation.minima.least import least_risk
from symslr.expression.value import Kind, Value
from symslr.model.attention import Attention
from symslr.model.symbols import x
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

    risk = population_risk(task, attention, scale)
    if not scale.is_infinite:
        return evaluate(risk, values, digits, backend)
    limit = (
        limit_of_large_scales(population_risk(task, attention), 1 if scale == oo else -1) if backend is None else None
    )
    if limit is None:
        raise CannotEvaluate("no limit of the risk is known as the scale grows; expected a finite scale")
    value = evaluate(limit, values, digits)
    return replace(value, kind=Kind.ESTIMATED, method=f"limit of large scales: {value.method}")


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
