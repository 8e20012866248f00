"""The figure of one's own attention: its least risk over the signal strength, beside softmax and the Bayes risk."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from symslr.export.figures import TEXT_WIDTH, Figure, Table, line
from symslr.model.attention import Attention
from symslr.model.catalogue import softmax
from symslr.model.task import Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from symslr.expression.value import Value

DIGITS = 6
"""Significant digits of a point."""

Posed = tuple[Any, Task, Attention, Mapping[Any, Any]]
"""A strength, the task and the attention there, and the values of their symbols."""


def _silent(done: int, total: int) -> None:
    """Tells nobody."""


def risk_figure(name: str, posed: Sequence[Posed], progress: Callable[[int, int], None] = _silent) -> Figure:
    """Least risks of an attention and of softmax, and the Bayes risk, at each strength; a point that fails is not a number.

    Args:
        name: of its files.
        posed: what is computed, in the order of the strengths.
        progress: called with the strengths that are done, and their number.
    """
    attention, task = posed[0][2], posed[0][1]
    caption = (
        rf"Least risk of {attention.title} attention on {task.name}, beside softmax and the Bayes risk, at {len(posed)}"
        r" values of the signal strength $\nu$; the lines join them."
    )
    return Figure(
        name, caption, partial(_table, posed, progress), _draw, "Curves of the risk over the signal strength."
    )


def _table(posed: Sequence[Posed], progress: Callable[[int, int], None]) -> Table:
    from symslr.evaluation.location import bayes_value, least_value

    columns: dict[str, list[object]] = {"nu": [], "bayes": [], "softmax": [], posed[0][2].title: []}
    for done, (strength, task, chosen, values) in enumerate(posed):
        progress(done, len(posed))
        columns["nu"].append(float(strength))
        columns["bayes"].append(_number(partial(bayes_value, task, values, DIGITS)))
        for each in dict.fromkeys((softmax, chosen)):
            columns[each.title].append(_number(partial(least_value, task, each, values, DIGITS)))
    return columns


def _number(compute: Callable[[], Value | tuple[Value, dict[str, Value]]]) -> float:
    from symslr.evaluation import CannotEvaluate

    try:
        found = compute()
        return float(found[0] if isinstance(found, tuple) else found)
    except CannotEvaluate:
        return math.nan


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, axes = plt.subplots(figsize=(0.6 * TEXT_WIDTH, 2.6))
    for name in (column for column in table if column != "nu"):
        # softmax attains the Bayes risk on many tasks: its line is the broad one below
        on_top: dict[str, Any] = {"zorder": 3, "linewidth": 1} if name == "bayes" else {"marker": ".", "linewidth": 2}
        line(axes, np.asarray(table["nu"], float), np.asarray(table[name], float), name, **on_top)
    axes.set(xlabel=r"signal strength $\nu$", ylabel="least risk")
    axes.legend()
    return drawing
