"""A task at given values, perhaps with an attention, as a command line or a study file asks for it in text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sympy import Expr, oo

from symslr.model.attention import Attention
from symslr.model.catalogue import ATTENTIONS, TASKS, MaxSLR, softmax
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import Delta, L, nu
from symslr.model.task import Task
from symslr.model.text import parse_number
from symslr.model.written import Model, attention_from_text, length_from_text, model_from_text, read_model


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


def problem(
    task: str,
    length: str | None,
    nu_text: str | None,
    noise: str | None,
    *,
    dash: str = "",
    files: Mapping[str, str] = {},
) -> Problem:
    """The task that options or parameters describe; what they say wins over the model file.

    Args:
        task: spiked, max, or the path of a model file.
        length, nu_text, noise: as text, or None where they are left out.
        dash: what stands before the name of an option in messages.
        files: model files already read, path -> text.

    Raises:
        ValueError: in one line, for an unknown task, a missing length or a value out of range.
    """
    attention, values = None, {}
    if task in TASKS:
        chosen = TASKS[task]()
    elif task.endswith(".toml"):
        model = _model(task, files)
        if model.task is None:
            raise ValueError(f"{task}: found no [task]; expected one")
        chosen, attention, values = model.task, model.attention, dict(model.values)
    else:
        raise ValueError(f"{dash}task: found {task!r}; expected spiked, max or the path of a .toml file")
    if nu_text is not None:
        values[nu] = parse_number(nu_text, what=f"{dash}nu", allow_infinite=True)
    if values.get(nu) == oo:
        chosen = _at_infinite_nu(task, dash)
        del values[nu]
    if noise is not None:
        values[Delta] = parse_number(noise, what=f"{dash}noise")
    strength, spread = values.get(nu), values.pop(Delta, 0)
    if strength is not None and strength < 0:
        raise ValueError(f"{dash}nu: found {strength}; expected a signal strength nu >= 0")
    if chosen.noise != Delta and noise is None:
        spread = chosen.noise
    at = length_from_text(length) if length is not None else values.pop(L, chosen.length)
    values.pop(L, None)
    if at == L:
        raise ValueError(f'{dash}length: missing; expected a length such as 3 or a law such as "1:1/3,2:2/3"')
    final = Task(chosen.weight, at, spread, chosen.base, chosen.name)
    missing = sorted(str(s) for s in final.law.free_symbols - {L} - set(values))
    if missing:
        mend = f"{dash}nu" if missing == ["nu"] else "[values] in the model file"
        raise ValueError(f"task {final.name}: no value for {', '.join(missing)}; give one with {mend}")
    unused = sorted(str(s) for s in set(values) - final.law.free_symbols)
    if nu_text is not None and "nu" in unused:
        raise ValueError(f"{dash}nu: the task {final.name} does not depend on nu; leave the option out")
    return Problem(final, {s: v for s, v in values.items() if str(s) not in unused}, attention)


def _at_infinite_nu(task: str, dash: str) -> Task:
    if task != "max":
        raise ValueError(f"{dash}nu: found inf for the task {task}; expected a finite number (inf is defined for max)")
    return MaxSLR(oo)


def attention(
    name: str | None,
    kernel: str | None,
    normalise: str,
    offset: str,
    written: Attention | None,
    *,
    dash: str = "",
    files: Mapping[str, str] = {},
) -> Attention:
    """The attention the options describe, or the one of the model file, or softmax.

    Raises:
        ValueError: in one line, for an unknown name, a bad kernel, or two attentions at once.
    """
    if name is not None and kernel is not None:
        raise ValueError(f"{dash}kernel: found together with {dash}attention; expected one of the two")
    if kernel is not None:
        return attention_from_text(kernel, normalise, offset)
    if name is None:
        return written or softmax
    if name in ATTENTIONS:
        return ATTENTIONS[name]
    if name.endswith(".toml"):
        model = _model(name, files)
        if model.attention is None:
            raise ValueError(f"{name}: found no [attention]; expected one")
        return model.attention
    raise ValueError(f"{dash}attention: found {name!r}; expected {', '.join(ATTENTIONS)} or the path of a .toml file")


def _model(path: str, files: Mapping[str, str]) -> Model:
    return model_from_text(files[path], path) if path in files else read_model(Path(path))
