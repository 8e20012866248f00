"""What a worker does with one point: it computes it and returns the answers, or the reason of a failure, as text."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from symslr.budget import OutOfTime, processor_time
from symslr.study.point import Point
from symslr.study.registry import PointKind

if TYPE_CHECKING:
    from symslr.expression.value import Value


SECONDS = 3600.0
"""Processor time of one point."""


@dataclass(frozen=True)
class Outcome:
    """Answers as JSON {name: {value, error, kind, method}}, or the reason why there are none, and the wall time."""

    answers: str | None
    reason: str | None
    seconds: float
    version: str


def compute_point(kind: PointKind, point: Point, seconds: float = SECONDS) -> Outcome:
    """Compute one point within so much processor time (in a process of its own); an exception becomes a one-line reason."""
    from symslr.evaluation.fewer import or_fewer

    clock = time.perf_counter()
    answers, reason = None, None
    asked = dict(point.parameters)

    def compute(digits: int | None) -> dict[str, Value]:
        wanted = asked if digits is None else {**asked, "digits": str(digits)}
        return kind.compute(wanted, dict(point.files), point.seed)

    try:
        with processor_time(seconds):
            # as a command: where its parameter digits is left unset, to fewer of them if the usual ones are refused
            values = or_fewer(None, compute) if asked.get("digits") == "" else compute(None)
            answers = answers_as_json(values)
    except OutOfTime:
        reason = (
            f"no answer in {seconds:g} s of processor time; run again with --retry-failed --seconds {10 * seconds:g}"
        )
    except Exception as problem:  # whatever a point's computation raises is that point's failure, not the study's
        reason = f"{type(problem).__name__}: {' '.join(str(problem).split())}"[:1000]
    return Outcome(answers, reason, time.perf_counter() - clock, kind.version)


GUARD = 2
"""Digits kept beyond those that the error leaves, so that rounding adds nothing to it."""


def answers_as_json(values: Mapping[str, Value]) -> str:
    """Decimal strings; wall times and other things that differ from run to run stay out."""
    from mpmath import nstr

    shown = {}
    for name, value in values.items():
        whole = value.as_json()
        number = nstr(value.value, max(value.digits, 1) + GUARD, strip_zeros=False)
        shown[name] = {"value": number, "error": whole["error"], "kind": whole["kind"], "method": whole["method"]}
    return json.dumps(shown)
