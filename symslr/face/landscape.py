"""The risk in all order parameters, for tasks that have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symslr.evaluation.landscape.landscape import Landscape
from symslr.model.attention import Attention
from symslr.model.catalogue import kernel_attention_of
from symslr.model.exact import check_is, check_not_negative
from symslr.model.symbols import by_name
from symslr.model.task import Task


def landscape(task: Task, attention: Attention | str, values: Mapping[Any, object] = {}, **named: object) -> Landscape:
    """The risk and its gradient in the seven order parameters of key and value, and its minima, as ``Landscape``.

    Args:
        values, named: numbers for the parameters of task and attention, by symbol or name.

    Raises:
        ValueError: as ``Landscape.of``.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    given = by_name({**values, **named})
    check_not_negative(given)
    return Landscape.of(task, kernel_attention_of(attention), given)
