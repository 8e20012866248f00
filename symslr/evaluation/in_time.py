"""An answer within a budget of processor time: the digits asked for, else fewer, else one line that says how far it came."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from symslr.budget import LONGEST, OutOfTime, processor_time, used_up
from symslr.evaluation.errors import CannotEvaluate, fewer_digits_may_do
from symslr.expression.value import Value

USUAL, ASKED = {None: 0.4, 6: 0.4, 1: 0.15}, {None: 0.75, 6: 0.15, 1: 0.05}
"""Parts of the budget: for the digits themselves, the usual ones or those that were asked for, and for the fewer that are tried in
turn where there is no time for them. Of the usual ones fewer are an answer; of those asked for they only say how far it came."""

Answer = TypeVar("Answer", Value, tuple[Value, dict[str, Value]], dict[str, Value])
"""A number, a number and where it is attained, or several by name."""


def in_time(seconds: float, digits: int | None, compute: Callable[[int | None], Answer]) -> Answer:
    """What is computed to so many digits within a budget of processor time; to few where none were asked for.

    Fewer digits are tried where time, or a refusal for want of digits, stands in the way; any other refusal ends it.

    Raises:
        CannotEvaluate: why the digits asked for, or any, cannot be had; or in one line that the budget is used up: how far fewer
            digits came, and what may be asked instead.
        ValueError: for a budget that is no number of seconds.
    """
    if isinstance(seconds, bool) or not (isinstance(seconds, (int, float)) and 0 < seconds <= LONGEST):
        raise ValueError(f"seconds: found {seconds!r}; expected a number above 0 and up to {LONGEST:g}")
    refused: CannotEvaluate | None = None
    parts = USUAL if digits is None else ASKED
    try:
        with processor_time(parts[None] * seconds):
            return compute(digits)
    except CannotEvaluate as reason:
        if digits is not None or not fewer_digits_may_do(reason):
            raise
        refused = reason
    except OutOfTime:
        pass
    asked = f"no answer to {digits or 'the usual'} digits"
    fewer = {few: part for few, part in parts.items() if few is not None and (digits is None or few < digits)}
    for few, part in fewer.items():
        try:
            with processor_time(part * seconds):
                found = compute(few)
        except OutOfTime:
            continue
        except CannotEvaluate as reason:
            if fewer_digits_may_do(reason):
                continue
            raise (refused or reason) from reason
        if digits is None:
            return found
        value = found[0] if isinstance(found, tuple) else found
        used = parts[None] * seconds
        raise CannotEvaluate(used_up(seconds, "ask for fewer digits", f"with fewer it is {value}", asked, used))
    raise refused or CannotEvaluate(
        used_up(seconds, "", f"nor to {' or '.join(map(str, fewer))}" if fewer else "", asked)
    )
