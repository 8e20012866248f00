"""The risk to the digits that are asked for, or to those that it comes with quickly where none are."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sympy import Expr, Symbol

from symslr.budget import OutOfTime, processor_time
from symslr.evaluation.engine import EXPONENTIAL, MULTIPRECISION_DIGITS
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.minima.least import least_risk, risk_at
from symslr.expression.value import Value
from symslr.model.attention import Attention
from symslr.model.task import Task

QUICK = 2.0
"""Seconds of processor time for a proof that nobody asked for: at key scales in the hundreds one takes a minute."""


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
        digits: of the risk; where it is None, 15 if a quick proof reaches them or a backend is named, else those of float64.
        task, attention, values, backend, bounds: as for ``least_risk``.

    Raises:
        CannotEvaluate: where the risk is not found, or the digits are out of reach.
    """

    def found(wanted: int | None, by: str | None) -> tuple[Value, dict[str, Value]]:
        if scale is not None:
            return risk_at(task, attention, scale, values, wanted, by), {}
        return least_risk(task, attention, values, wanted, by, bounds)

    if digits is not None or backend is not None:
        return found(MULTIPRECISION_DIGITS if digits is None else digits, backend)
    with suppress(CannotEvaluate, OutOfTime), processor_time(QUICK):
        proved = found(MULTIPRECISION_DIGITS, EXPONENTIAL)
        if proved[0].digits >= MULTIPRECISION_DIGITS:
            return proved
    return found(None, None)
