"""An answer with the digits asked for; where none were asked for and the usual ones are refused, with fewer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from symslr.evaluation.errors import CannotEvaluate, fewer_digits_may_do
from symslr.expression.value import Value

USUAL = 15
FEWER = (6, 1)
"""Digits that are tried in turn."""

Answer = TypeVar("Answer", Value, tuple[Value, dict[str, Value]], dict[str, Value])
"""A number, a number and where it is attained, or several by name."""


def usual_digits(digits: int | None, compute: Callable[[int | None], Answer]) -> Answer:
    """The answer to so many digits; where none were asked for, to 15, or to those that the route to the number gives."""
    if digits is None:
        with suppress(CannotEvaluate):
            return compute(USUAL)
    return compute(digits)  # the reason why there are none, if there are none, is that of the last route


def or_fewer(digits: int | None, compute: Callable[[int | None], Answer]) -> Answer:
    """The answer to so many digits; where none were asked for, and the usual ones are refused for want of digits, to fewer.

    Args:
        digits: as for ``evaluate``.
        compute: the answer to given digits, None standing for the usual ones.

    Raises:
        CannotEvaluate: why the digits asked for, or any, cannot be had.
    """
    refusals: list[CannotEvaluate] = []
    for wanted in (digits,) if digits is not None else (None, *FEWER):
        try:
            return compute(wanted)
        except CannotEvaluate as reason:
            refusals.append(reason)
            if not fewer_digits_may_do(reason):
                break
    raise refusals[0] from (refusals[-1] if len(refusals) > 1 else refusals[0].__cause__)
