"""The task and the attention that a command line or a study file describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import Expr, oo

from symslr.model.admissible import check_density_at
from symslr.model.attention import BIASES, Attention
from symslr.model.catalogue import TASKS, MaxSLR, attention_of, softmax
from symslr.model.length_law import LengthLaw
from symslr.model.location.asked import location_problem
from symslr.model.location.task import LocationTask
from symslr.model.request import LENGTH_EXPECTED, AttentionRequest, HeadsRequest, TaskRequest, is_located
from symslr.model.symbols import Delta, L, i, j, l, nu
from symslr.model.task import Task
from symslr.model.text import exactly, parse_expression
from symslr.model.text_numbers import in_short
from symslr.model.written import attention_from_text, length_of, model_of_tables

LOCATIONS = ("location", "prior", "signal", "key_covariance")
"""Some of the names that make a [task] a law of location."""


@dataclass(frozen=True)
class Problem:
    """A task at given values, perhaps with an attention."""

    task: Task
    values: dict[Expr, Expr]
    attention: Attention | None

    def as_json(self) -> dict[str, Any]:
        """The task's name, its length, and the values of its parameters as text."""
        return _described(self.task, self.values)


@dataclass(frozen=True)
class Located:
    """A law of location at given values, perhaps with an attention."""

    task: LocationTask
    values: dict[Expr, Expr]
    attention: Attention | None

    def as_json(self) -> dict[str, Any]:
        """As that of ``Problem``."""
        return _described(self.task, self.values)


def _described(task: Task | LocationTask, values: Mapping[Expr, Expr]) -> dict[str, Any]:
    length = task.length
    shown = ",".join(f"{short(n)}:{short(p)}" for n, p in length) if isinstance(length, LengthLaw) else short(length)
    return {
        "task": task.name,
        "length": shown,
        "noise": short(task.noise),
        "values": {str(symbol): short(value) for symbol, value in values.items()},
    }


def short(number: Expr) -> str:
    """An exact number as text, a long one by a power of ten; another expression as SymPy prints it."""
    return in_short(Fraction(int(number.p), int(number.q))) if number.is_Rational else str(number)


def located(wanted: TaskRequest, *, dash: str = "", symbolic: bool = False) -> Located:
    """The task that was asked for as a law of location; spiked-SLR is the law where nothing else is said.

    Arguments as for ``problem``.

    Raises:
        ValueError: as ``problem``, and for a task that is no law of location.
    """
    written = None if wanted.tables is None else model_of_tables(wanted.tables, wanted.task)
    chosen = LocationTask(name="spiked") if written is None and wanted.task == "spiked" else written and written.task
    if not isinstance(chosen, LocationTask):
        raise ValueError(
            f"task {wanted.task}: a law of location is needed here; expected spiked, or a [task] with {', '.join(LOCATIONS)}"
        )
    values = {} if written is None else dict(written.values)
    if wanted.nu is not None:
        if nu not in chosen.free_symbols:
            raise ValueError(f"{dash}nu: the task {chosen.name} does not depend on nu; leave the option out")
        values[nu] = exactly(wanted.nu)
    length = None if wanted.length is None else length_of(wanted.length)
    noise = None if wanted.noise is None else exactly(wanted.noise)
    task, given = location_problem(chosen, values, length, noise, dash=dash, symbolic=symbolic)
    return Located(task, given, None if written is None else written.attention)


def problem(wanted: TaskRequest, *, dash: str = "", symbolic: bool = False) -> Problem:
    """The task that was asked for; what the options say wins over the model file.

    Args:
        wanted: as ``read_task`` reads it.
        dash: what stands before the name of an option in messages.
        symbolic: whether a formula is wanted, in which what has no value stays a symbol.

    Raises:
        ValueError: in one line, for a task that is none, a value that is missing or out of range, and for a law of
            location whose tokens are not exchangeable.
    """
    if is_located(wanted):
        law = located(wanted, dash=dash, symbolic=symbolic)
        reduced = law.task.reduced()
        if reduced is None:
            raise ValueError(
                f"task {law.task.name}: its tokens are not exchangeable, or more than one is relevant; the commands that know "
                "such tasks are bayes, risk and optimal"
            )
        known = reduced.law.free_symbols  # fewer than the law's where its signal is 0
        return Problem(reduced, {s: v for s, v in law.values.items() if s in known}, law.attention)
    written = None if wanted.tables is None else model_of_tables(wanted.tables, wanted.task)
    if written is None:
        chosen, values = TASKS[wanted.task](), {}
    else:
        assert isinstance(written.task, Task)
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
    parameters = sorted(final.base.free_symbols, key=str)
    if parameters and all(s in values for s in parameters):  # a formula in closed form may hold nothing of the tokens
        check_density_at(final.base, tuple((s, float(values[s])) for s in parameters))
    return Problem(final, {s: v for s, v in values.items() if str(s) not in unused}, attention)


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
    bias: Expr | str | None = wanted.bias
    if bias is not None and bias not in BIASES:
        bias = parse_expression(bias, {"l": l, **known}, what="bias")
    filter_: Expr | str | None = wanted.filter
    if filter_ is not None and filter_ != "matched":
        filter_ = parse_expression(filter_, {"i": i, "j": j, **known}, what="filter")
    return base.having(heads=wanted.heads, separate=wanted.separate, bias=bias, filter=filter_).for_task(values)
