"""An answer within a budget of processor time: the digits asked for, else few, else one line that says how far it came."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from symslr.budget import OutOfTime, processor_time, used_up
from symslr.evaluation.errors import CannotEvaluate
from symslr.expression.value import Value

FEW = 6
"""Digits that are tried where there is no time for those that are asked for."""

FOR_THE_DIGITS, FOR_FEW = 0.5, 0.4
"""Of the budget so much goes to the digits that are asked for, then to few; the rest is for what comes before."""

Answer = TypeVar("Answer", Value, tuple[Value, dict[str, Value]])
"""A number, or a number and where it is attained."""


def in_time(seconds: float, digits: int | None, compute: Callable[[int | None], Answer]) -> Answer:
    """What is computed to so many digits within a budget of processor time; to few where none were asked for.

    Raises:
        CannotEvaluate: in one line, when the budget is used up: how far fewer digits came, and what may be asked instead.
    """
    try:
        with processor_time(FOR_THE_DIGITS * seconds):
            return compute(digits)
    except OutOfTime:
        pass
    asked = f"no answer to {digits or 'the usual'} digits"
    try:
        with processor_time(FOR_FEW * seconds):
            found = compute(FEW)
    except (OutOfTime, CannotEvaluate):
        raise CannotEvaluate(used_up(seconds, "", f"nor to {FEW} digits", asked)) from None
    if digits is None:
        return found
    value = found[0] if isinstance(found, tuple) else found
    used = FOR_THE_DIGITS * seconds
    raise CannotEvaluate(used_up(seconds, "ask for fewer digits", f"with fewer it is {value}", asked, used))
