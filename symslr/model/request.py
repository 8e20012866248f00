"""Reads what a command or a study file asks for as text, and refuses bad input before SymPy is loaded.

``written`` makes the objects of the model from what is read here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from symslr.model.text_numbers import TextError, read_length, read_number
from symslr.model.text_tree import NameKind, read_tree

if TYPE_CHECKING:
    from sympy import Expr

TASK_NAMES = ("spiked", "max")
ATTENTION_NAMES = ("softmax", "softmax1", "linear", "erf", "softplus")
SELECTIONS = ("sparsemax", "entmax", "top(k)")
"""Attentions that keep a few tokens; see ``Attention``."""

ORDER_PARAMETER_NAMES = ("m_kk", "m_vv", "m_kv", "m_vk", "q_kk", "q_vv", "q_kv")
"""As the symbols of the same names, ``symslr.model.symbols.ORDER_PARAMETERS``."""

SEARCHED = {"erf": ("c",)}
"""Parameters that kernels of the catalogue are minimised over, beside the scale; a kernel of one's own has none."""

NORMALISERS = ("sum", "none")

LARGEST_FILE = 100_000

LOCATION_KEYS = frozenset(("nu", "location", "prior", "signal", "key_covariance", "value_covariance"))
"""Names in [task] that only a law of location has; see ``Task``."""

WEIGHT_KEYS = frozenset(("weight", "relevant", "others", "support"))
"""Names in [task] that only a task by its weight or its token laws has."""

TABLES: dict[str, frozenset[str] | None] = {
    "task": LOCATION_KEYS | WEIGHT_KEYS | {"name", "length", "noise"},
    "attention": frozenset(("name", "kernel", "normalise", "offset")),
    "values": None,
}

Length = int | tuple[tuple[int, Fraction], ...]
"""A fixed length, or pairs (length, probability)."""

Number: TypeAlias = "Fraction | float | Expr"
"""A number that was read: a rational one, an infinity, or a formula such as 2*log(999)."""

Tables = Mapping[str, Mapping[str, Any]]
"""The tables of a model file."""


@dataclass(frozen=True)
class TaskRequest:
    """A task by name or by the tables of its file, and what the options say of it; None where they are silent."""

    task: str
    tables: Tables | None
    length: Length | None
    nu: Number | None
    noise: Number | None


@dataclass(frozen=True)
class AttentionRequest:
    """An attention by name, by the tables of its file, or by a kernel in x; nothing where none is named."""

    name: str | None
    tables: Tables | None
    kernel: str | None
    normalise: str
    offset: Fraction


def read_value(text: str, *, what: str, length: str | None = None) -> Number:
    """A number, inf, or a formula of numbers such as ``2*log(999)``, in which L is the length where that is fixed.

    Raises:
        ValueError: in one line, for anything else.
    """
    try:
        return read_number(text, what=what, allow_infinite=True)
    except TextError:
        if not re.search(r"[(*+L]|pi", text):
            raise
    read_tree(text, {"L": NameKind.VALUE}, what=what)
    from symslr.model.symbols import L
    from symslr.model.text import parse_expression, parse_number

    found = parse_expression(text, {"L": L}, what=what)
    if found.has(L) and length is not None and length.strip().isdigit():
        found = found.subs(L, parse_number(length))
    if not (found.is_number and found.is_real and found.is_finite):
        raise ValueError(f"{what}: found {text!r}; expected a number such as 2, 1/3 or sqrt(2*log(999))")
    return found


def read_task(
    task: str,
    length: str | None,
    nu: str | None,
    noise: str | None,
    *,
    dash: str = "",
    files: Mapping[str, str] = {},
    symbolic: bool = False,
) -> TaskRequest:
    """The task that options or parameters describe.

    Args:
        task: spiked, max, or the path of a model file.
        length, nu, noise: as text, or None where they are left out.
        dash: what stands before the name of an option in messages.
        files: model files already read, path -> text.
        symbolic: whether a formula is wanted, in which what is left out stays a symbol.

    Raises:
        ValueError: in one line, for an unknown task, a missing length or a value out of range.
    """
    tables = None
    if task.endswith(".toml"):
        tables = _tables_of(task, files)
        if "task" not in tables:
            raise ValueError(f"{task}: found no [task]; expected one")
    elif task not in TASK_NAMES:
        raise ValueError(f"{dash}task: found {task!r}; expected {', '.join(TASK_NAMES)} or the path of a .toml file")
    strength = None if nu is None else read_value(nu, what=f"{dash}nu", length=length)
    spread = None if noise is None else read_value(noise, what=f"{dash}noise", length=length)
    if strength == inf and task != "max":
        raise ValueError(f"{dash}nu: found inf for the task {task}; expected a finite number (inf is defined for max)")
    if strength is not None and strength < 0:
        raise ValueError(f"{dash}nu: found {strength}; expected a signal strength nu >= 0")
    if spread is not None and not 0 <= spread < inf:
        raise ValueError(f"{dash}noise: found {spread}; expected a standard deviation Delta >= 0")
    if length is None and tables is None and not symbolic:
        raise ValueError(f"{dash}length: missing; {LENGTH_EXPECTED}")
    if nu is None and tables is None and not symbolic:
        raise ValueError(f"task {task}: no value for nu; give one with {dash}nu")
    sequence = None if length is None else read_length(length)
    return TaskRequest(task, tables, sequence, strength, spread)


@dataclass(frozen=True)
class HeadsRequest:
    """What an attention has beside its kernel: heads, a positional bias, a filter over positions, as text."""

    heads: int
    separate: bool
    bias: str | None
    filter: str | None


MOST_HEADS = 8


def read_heads(heads: int, separate: bool, bias: str | None, filter_: str | None, *, dash: str = "") -> HeadsRequest:
    """The heads, the bias and the filter that options describe; formulas are read when the task is.

    Raises:
        ValueError: in one line, for a number of heads that is none, and separate heads of which there is one.
    """
    if not 1 <= heads <= MOST_HEADS:
        raise ValueError(f"{dash}heads: found {heads}; expected 1 to {MOST_HEADS}")
    if separate and heads == 1:
        raise ValueError(f"{dash}separate: found one head; expected --heads 2 or more")
    return HeadsRequest(heads, separate, bias, filter_)


LENGTH_EXPECTED = 'expected a length such as 3 or a law such as "1:1/3,2:2/3"'


def read_attention(
    name: str | None, kernel: str | None, normalise: str, offset: str, *, dash: str = "", files: Mapping[str, str] = {}
) -> AttentionRequest:
    """The attention that options or parameters describe; ``dash`` and ``files`` as in ``read_task``.

    Raises:
        ValueError: in one line, for an unknown name, a kernel outside the whitelist, or two attentions at once.
    """
    if name is not None and kernel is not None:
        raise ValueError(f"{dash}kernel: found together with {dash}attention; expected one of the two")
    if normalise not in NORMALISERS:
        raise ValueError(f"{dash}normalise: found {normalise!r}; expected {' or '.join(NORMALISERS)}")
    if kernel is not None:
        read_tree(kernel, {"x": NameKind.VALUE}, what="kernel")
    start = read_number(offset, what="offset")
    assert isinstance(start, Fraction)
    if start < 0:
        raise ValueError(f"{dash}offset: found {start}; expected a number >= 0")
    if normalise == "none" and kernel is not None and start != 0:
        raise ValueError(f"{dash}offset: found {start} without a normaliser; offsets belong to normalise sum")
    ignored = "offset" if start != 0 else "normalise" if normalise != NORMALISERS[0] else None
    if kernel is None and ignored is not None:
        raise ValueError(
            f"{dash}{ignored}: found without {dash}kernel; expected it beside a kernel of one's own, as a named attention and "
            "a file have theirs (softmax1 is softmax with offset 1)"
        )
    tables = None
    if name is not None and name.endswith(".toml"):
        tables = _tables_of(name, files)
        if "attention" not in tables:
            raise ValueError(f"{name}: found no [attention]; expected one")
    elif name is not None and name not in ATTENTION_NAMES and not is_selection(name):
        known = ", ".join((*ATTENTION_NAMES, *SELECTIONS))
        near = get_close_matches(name, ATTENTION_NAMES, 1)
        meant = f"; did you mean {near[0]}?" if near else ""
        if is_formula(f"{name}(x)", {"x": NameKind.VALUE}):
            meant = f"; did you mean {dash}kernel '{name}(x)'?"
        raise ValueError(f"{dash}attention: found {name!r}; expected {known} or the path of a .toml file{meant}")
    return AttentionRequest(name, tables, kernel, normalise, start)


def is_formula(text: str, names: Mapping[str, NameKind]) -> bool:
    """Whether a text is one in these names."""
    try:
        read_tree(text, names, what="kernel")
    except TextError:
        return False
    return True


def searched_names(task: TaskRequest, wanted: AttentionRequest) -> tuple[str, ...]:
    """Names of the parameters that the kernel of an attention, or of the one in the task's model file, is minimised over."""
    name, tables = wanted.name, wanted.tables
    if name is None and wanted.kernel is None:
        tables = task.tables
    if tables is not None:
        name = tables.get("attention", {}).get("name")
    return SEARCHED.get(str(name), ())


def is_selection(name: str | None) -> bool:
    """Whether a name is that of a selection."""
    return name is not None and re.fullmatch(r"sparsemax|entmax|top\([1-9][0-9]{0,5}\)", name) is not None


def _tables_of(path: str, files: Mapping[str, str]) -> Tables:
    return tables_of_text(files[path], path) if path in files else tables_of_text(read_file(Path(path)), path)


def read_file(path: Path) -> str:
    """The text of a model file.

    Raises:
        ValueError: in one line, for a file that is missing, too large or no text.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ValueError(f"{path}: larger than {LARGEST_FILE} bytes; expected a model file")
        return path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise ValueError(
            f"{path}: cannot be read ({problem.strerror}); expected a model file such as model.toml"
        ) from None
    except UnicodeDecodeError as problem:
        raise ValueError(f"{path}: not a TOML file ({problem})") from None


def tables_of_text(text: str, path: str) -> Tables:
    """The tables of a model file, which hold no name that is not known; ``path`` is what errors call it.

    Raises:
        ValueError: in one line naming the file, the table and what was expected.
    """
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise ValueError(f"{path}: not a TOML file ({problem})") from None
    for name, table in tables.items():
        if name in TABLES and not isinstance(table, dict):
            raise ValueError(f"{path}: found {name!r} that is not a table; expected one table [{name}]")
        if name not in TABLES:
            raise ValueError(f"{path}: found [{name}]; expected the tables {', '.join(f'[{t}]' for t in TABLES)}")
        known = TABLES[name]
        unknown = sorted(set(table) - known) if known is not None else []
        if unknown:
            raise ValueError(f"{path}: found {unknown[0]!r} in [{name}]; expected {', '.join(sorted(known or ()))}")
    own = set(tables.get("task", ()))
    if own & LOCATION_KEYS and own & WEIGHT_KEYS:
        raise ValueError(
            f"{path}: found {min(own & LOCATION_KEYS)!r} together with {min(own & WEIGHT_KEYS)!r} in [task]; a law of location "
            "makes its own weight, so expected one of the two"
        )
    if not {"task", "attention"} & set(tables):
        raise ValueError(f"{path}: found neither [task] nor [attention]; expected at least one of them")
    try:
        _check_heard(tables.get("task"), tables.get("attention"), tables.get("values", {}))
    except ValueError as problem:
        raise ValueError(f"{path}: {problem}") from None
    return tables


def _check_heard(
    task: Mapping[str, Any] | None, attention: Mapping[str, Any] | None, values: Mapping[str, Any]
) -> None:
    """What a file says and nothing would hear is a mistake: the number would be that of another model.

    Raises:
        ValueError: for a name that another one in its table, or in [task], leaves without effect.
    """
    if task is not None:
        _check_name(task, "task")
        if not {"weight", "relevant"} & set(task):
            for name in ("others", "support"):
                if name in task:
                    raise ValueError(
                        f"[task]: found {name} without weight or relevant; expected one of them, which it belongs to"
                    )
        elif "support" in task and not {"relevant", "others"} & set(task):
            raise ValueError(
                "[task]: found support without relevant or others; expected the density that it belongs to"
            )
        for name, symbol in (("length", "L"), ("noise", "Delta")):
            if name in task and symbol in values:
                raise ValueError(f"[values]: found {symbol} together with {name} in [task]; expected one of the two")
    if attention is not None:
        _check_name(attention, "attention")
        for name in ("normalise", "offset"):
            if name in attention and "kernel" not in attention:
                raise ValueError(
                    f"[attention]: found {name} without kernel; expected it beside a kernel, as a named attention has its own "
                    "(softmax1 is softmax with offset 1)"
                )
        if {"name", "kernel"} <= set(attention):
            raise ValueError(
                "[attention]: found both name and kernel; expected one of them: a name is that of a known attention"
            )


def _check_name(table: Mapping[str, Any], title: str) -> None:
    """A name is printed in a line.

    Raises:
        ValueError: for one that is no text, or that does not print.
    """
    name = table.get("name", title)
    if not isinstance(name, str) or not name.isprintable() or not name.strip():
        raise ValueError(f"[{title}] name: found {ascii(name)[:40]}; expected a text of one line")
