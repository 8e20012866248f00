"""The task and the attention that a command line or a study file describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Any

from sympy import Expr, oo

from symslr.model.admissible import check_density_at
from symslr.model.attention import BIASES, Attention
from symslr.model.catalogue import TASKS, MaxSLR, attention_of, softmax
from symslr.model.length_law import LengthLaw
from symslr.model.request import LENGTH_EXPECTED, AttentionRequest, HeadsRequest, TaskRequest
from symslr.model.symbols import Delta, L, i, j, l, nu
from symslr.model.task import Task
from symslr.model.text import exactly, parse_expression
from symslr.model.text_numbers import in_short
from symslr.model.written import Model, attention_from_text, length_of, model_of_tables


@dataclass(frozen=True)
class Problem:
    """A task at given values, perhaps with an attention."""

    task: Task
    values: dict[Expr, Expr]
    attention: Attention | None

    def as_json(self) -> dict[str, Any]:
        """The task's name, its length, and the values of its parameters as text."""
        length = self.task.length
        shown = (
            ",".join(f"{short(n)}:{short(p)}" for n, p in length) if isinstance(length, LengthLaw) else short(length)
        )
        return {
            "task": self.task.name,
            "length": shown,
            "noise": short(self.task.noise),
            "values": {str(symbol): short(value) for symbol, value in self.values.items()},
        }


def short(number: Expr) -> str:
    """An exact number as text, a long one by a power of ten; another expression as SymPy prints it."""
    return in_short(Fraction(int(number.p), int(number.q))) if number.is_Rational else str(number)


def problem(wanted: TaskRequest, *, dash: str = "", symbolic: bool = False) -> Problem:
    """The task that was asked for; what the options say wins over the model file.

    Args:
        wanted: as ``read_task`` reads it.
        dash: what stands before the name of an option in messages.
        symbolic: whether a formula is wanted, in which what has no value stays a symbol.

    Raises:
        ValueError: in one line, for a task that is none, and for a value that is missing or out of range.
    """
    written = (
        Model(TASKS[wanted.task](), None, {}) if wanted.tables is None else model_of_tables(wanted.tables, wanted.task)
    )
    task, values = written.task, dict(written.values)
    assert task is not None
    if wanted.nu == inf:
        task = MaxSLR(oo)
    elif wanted.nu is not None:
        values[nu] = exactly(wanted.nu)
        if nu not in task.free_symbols:
            raise ValueError(f"{dash}nu: the task {task.name} does not depend on nu; leave the option out")
    if nu in values and values[nu] < 0:
        raise ValueError(f"{dash}nu: found {values[nu]}; expected a signal strength nu >= 0")
    length, spread = values.pop(L, L), values.pop(Delta, Delta if symbolic else 0)
    if wanted.length is not None or task.length == L:
        task = replace(task, length=length if wanted.length is None else length_of(wanted.length))
    if wanted.noise is not None or task.noise == Delta:
        task = replace(task, noise=spread if wanted.noise is None else exactly(wanted.noise))
    if task.length == L and not symbolic:
        raise ValueError(f"{dash}length: missing; {LENGTH_EXPECTED}")
    known = task.law.free_symbols if task.has_weight else task.free_symbols  # a weight without signal holds no nu
    missing = sorted(str(symbol) for symbol in known - {L, Delta} - set(values))
    if missing and not symbolic:
        mend = f"{dash}nu" if missing == ["nu"] else "[values] in the model file"
        raise ValueError(f"task {task.name}: no value for {', '.join(missing)}; give one with {mend}")
    used = {symbol: value for symbol, value in values.items() if symbol in known}
    if task.is_located:
        task.at(used)  # refuses the values that make it no task
    parameters = sorted(task.base.free_symbols, key=str)
    if parameters and all(s in values for s in parameters):  # a formula in closed form may hold nothing of the tokens
        check_density_at(task.base, tuple((s, float(values[s])) for s in parameters))
    return Problem(task, used, written.attention)


def attention(wanted: AttentionRequest, written: Attention | None, keys: tuple[Expr, Expr] = (-oo, oo)) -> Attention:
    """The attention that was asked for, or the one of the task's model file, or softmax.

    Args:
        wanted: as ``read_attention`` reads it.
        written: the attention of the task's model file.
        keys: where they are under the task.

    Raises:
        ValueError: in one line, for a kernel that no attention can have.
    """
    if wanted.kernel is not None:
        return attention_from_text(wanted.kernel, wanted.normalise, wanted.offset, keys=keys)
    if wanted.name is None:
        return written or softmax
    if wanted.tables is None:
        return attention_of(wanted.name)
    found = model_of_tables(wanted.tables, wanted.name).attention
    assert found is not None
    return found


def with_heads(base: Attention, wanted: HeadsRequest, values: Mapping[Expr, Expr]) -> Attention:
    """The attention with the heads, the bias and the filter that were asked for, at values of the task's parameters.

    Raises:
        ValueError: in one line, for text outside the whitelist and for what cannot be combined.
    """
    known = {"L": L, "nu": nu, **{str(symbol): symbol for symbol in values}}
    bias: Expr | str | None = base.bias if wanted.bias is None else wanted.bias
    if bias is not None and bias not in BIASES:
        bias = parse_expression(bias, {"l": l, **known}, what="bias")
    filter_: Expr | str | None = wanted.filter
    if filter_ is not None and filter_ != "matched":
        filter_ = parse_expression(filter_, {"i": i, "j": j, **known}, what="filter")
    return base.having(heads=wanted.heads, separate=wanted.separate, bias=bias, filter=filter_).for_task(values)
