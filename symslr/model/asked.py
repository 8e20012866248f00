"""A task at given values, perhaps with an attention, made from what a command line or a study file asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Expr, oo

from symslr.model.attention import Attention
from symslr.model.catalogue import ATTENTIONS, TASKS, MaxSLR, softmax
from symslr.model.length_law import LengthLaw
from symslr.model.request import LENGTH_EXPECTED, AttentionRequest, TaskRequest
from symslr.model.symbols import Delta, L, nu
from symslr.model.task import Task
from symslr.model.text import exactly
from symslr.model.written import attention_from_text, length_of, model_of_tables


@dataclass(frozen=True)
class Problem:
    """A task at given values, perhaps with an attention."""

    task: Task
    values: dict[Expr, Expr]
    attention: Attention | None

    def as_json(self) -> dict[str, Any]:
        """The task's name, its length, and the values of its parameters as text."""
        length = self.task.length
        shown = ",".join(f"{n}:{p}" for n, p in length) if isinstance(length, LengthLaw) else str(length)
        return {
            "task": self.task.name,
            "length": shown,
            "noise": str(self.task.noise),
            "values": {str(symbol): str(value) for symbol, value in self.values.items()},
        }


def problem(wanted: TaskRequest, *, dash: str = "", symbolic: bool = False) -> Problem:
    """The task that was asked for; what the options say wins over the model file.

    Args:
        wanted: as ``read_task`` reads it.
        dash: what stands before the name of an option in messages.
        symbolic: whether a formula is wanted, in which what has no value stays a symbol.

    Raises:
        ValueError: in one line, for a task that is none, a value that is missing or out of range.
    """
    written = None if wanted.tables is None else model_of_tables(wanted.tables, wanted.task)
    if written is None:
        chosen, values = TASKS[wanted.task](), {}
    else:
        assert written.task is not None
        chosen, values = written.task, dict(written.values)
    if wanted.nu is not None:
        values[nu] = exactly(wanted.nu)
    if values.get(nu) == oo:
        chosen = MaxSLR(oo)
        del values[nu]
    if wanted.noise is not None:
        values[Delta] = exactly(wanted.noise)
    strength, spread = values.get(nu), values.pop(Delta, Delta if symbolic else 0)
    if strength is not None and strength < 0:
        raise ValueError(f"{dash}nu: found {strength}; expected a signal strength nu >= 0")
    if chosen.noise != Delta and wanted.noise is None:
        spread = chosen.noise
    at = length_of(wanted.length) if wanted.length is not None else values.pop(L, chosen.length)
    values.pop(L, None)
    if at == L and not symbolic:
        raise ValueError(f"{dash}length: missing; {LENGTH_EXPECTED}")
    final = Task(chosen.weight, at, spread, chosen.base, chosen.name)
    missing = sorted(str(s) for s in final.law.free_symbols - {L} - set(values))
    if missing and not symbolic:
        mend = f"{dash}nu" if missing == ["nu"] else "[values] in the model file"
        raise ValueError(f"task {final.name}: no value for {', '.join(missing)}; give one with {mend}")
    unused = sorted(str(s) for s in set(values) - final.law.free_symbols)
    if wanted.nu is not None and "nu" in unused:
        raise ValueError(f"{dash}nu: the task {final.name} does not depend on nu; leave the option out")
    attention = written.attention if written is not None else None
    return Problem(final, {s: v for s, v in values.items() if str(s) not in unused}, attention)


def attention(wanted: AttentionRequest, written: Attention | None) -> Attention:
    """The attention that was asked for, or the one of the task's model file, or softmax.

    Args:
        wanted: as ``read_attention`` reads it.
        written: the attention of the task's model file.

    Raises:
        ValueError: in one line, for a kernel that no attention can have.
    """
    if wanted.kernel is not None:
        return attention_from_text(wanted.kernel, wanted.normalise, str(wanted.offset))
    if wanted.name is None:
        return written or softmax
    if wanted.tables is None:
        return ATTENTIONS[wanted.name]
    found = model_of_tables(wanted.tables, wanted.name).attention
    assert found is not None
    return found
