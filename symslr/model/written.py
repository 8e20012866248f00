"""Models written down as text: a kernel or weight on the command line, a whole model in a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sympy import Expr, IndexedBase, Symbol, oo

from symslr.model.attention import Attention
from symslr.model.catalogue import ATTENTIONS, TASKS
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.symbols import Delta, L, chi, epsilon, l, nu, x
from symslr.model.task import Task
from symslr.model.text import parse_expression, parse_length, parse_number

LARGEST_FILE = 100_000

TABLES = {
    "task": {"name", "weight", "relevant", "others", "support", "length", "noise"},
    "attention": {"name", "kernel", "normalise", "offset"},
    "values": None,
}


@dataclass(frozen=True)
class Model:
    """A model file: a task and/or an attention, and values for their free parameters."""

    task: Task | None
    attention: Attention | None
    values: dict[Expr, Expr]


def length_from_text(text: str) -> Expr | LengthLaw:
    """``"3"`` or ``"1:1/3,2:2/3"``."""
    length = parse_length(text)
    return LengthLaw(*length) if isinstance(length, tuple) else length


def attention_from_text(kernel: str, normalise: str, offset: str, parameters: Mapping[str, Expr] = {}) -> Attention:
    """An attention from a kernel in ``x`` such as ``"log(1+exp(x))"``; ``normalise`` is ``sum`` or ``none``.

    Raises:
        ValueError: in one line, for text outside the whitelist and for an attention that is none.
    """
    if normalise not in ("sum", "none"):
        raise ValueError(f"normalise: found {normalise!r}; expected sum or none")
    symbols = {"x": x, **parameters}
    written = parse_expression(kernel, symbols, what="kernel")
    return Attention(
        written,
        normaliser="sum" if normalise == "sum" else None,
        offset=parse_number(offset, what="offset"),
        name=kernel.strip(),
    )


def read_model(path: Path) -> Model:
    """The model in a TOML file with the tables ``[task]``, ``[attention]`` and ``[values]``.

    ``[task]`` gives a ``weight`` in chi[eps], sum(..., l), L, nu and the parameters named in ``[values]``, or the token
    laws ``relevant`` (p1) and ``others`` (p0, standard normal by default) as densities in x; ``length``, ``noise``.
    ``[attention]`` gives ``kernel``, ``normalise`` (sum or none) and ``offset``, or the ``name`` of a known attention.

    Raises:
        ValueError: in one line naming the file, the table and what was expected.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ValueError(f"{path}: larger than {LARGEST_FILE} bytes; expected a model file")
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise ValueError(
            f"{path}: cannot be read ({problem.strerror}); expected a model file such as model.toml"
        ) from None
    except UnicodeDecodeError as problem:
        raise ValueError(f"{path}: not a TOML file ({problem})") from None
    return model_from_text(text, str(path))


def model_from_text(text: str, path: str) -> Model:
    """The model of a file's text; see ``read_model``. ``path`` is what errors call it, and its stem names the task.

    Raises:
        ValueError: as ``read_model``.
    """
    tables = _tables(text, path)
    try:
        values_table = tables.get("values", {})
        names = {name: _parameter(name) for name in values_table}
        values = {
            names[name]: parse_number(str(value), what=f"[values] {name}") for name, value in values_table.items()
        }
        parameters = {name: symbol for name, symbol in names.items() if symbol not in (L, nu, Delta)}
        task = _task(tables["task"], parameters, Path(path).stem) if "task" in tables else None
        attention = _attention(tables["attention"], parameters) if "attention" in tables else None
    except (ValueError, TypeError) as problem:
        raise ValueError(f"{path}: {problem}") from problem
    if task is None and attention is None:
        raise ValueError(f"{path}: found neither [task] nor [attention]; expected at least one of them")
    return Model(task, attention, values)


def _tables(text: str, path: str) -> dict[str, dict[str, object]]:
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise ValueError(f"{path}: not a TOML file ({problem})") from None
    for name, table in tables.items():
        if name not in TABLES or not isinstance(table, dict):
            raise ValueError(f"{path}: found [{name}]; expected the tables {', '.join(f'[{t}]' for t in TABLES)}")
        known = TABLES[name]
        unknown = sorted(set(table) - known) if known is not None else []
        if unknown:
            raise ValueError(f"{path}: found {unknown[0]!r} in [{name}]; expected {', '.join(sorted(known or ()))}")
    return tables


def _parameter(name: str) -> Expr:
    if name in ("x", "chi", "eps", "l", "z", "sum", "pi", "E") or not (name.isidentifier() and name.isascii()):
        raise ValueError(f"[values]: found the name {name!r}; expected a parameter such as s or nu")
    return {"nu": nu, "L": L, "Delta": Delta}.get(name, Symbol(name, real=True))


def _task(table: Mapping[str, object], parameters: Mapping[str, Expr], stem: str) -> Task:
    length = length_from_text(str(table["length"])) if "length" in table else L
    noise = parse_number(str(table["noise"]), what="noise") if "noise" in table else Delta
    name = str(table.get("name", stem))
    if "relevant" in table:
        if "weight" in table:
            raise ValueError("[task]: found both weight and relevant; expected one of them")
        relevant = _law(str(table["relevant"]), "relevant", table, parameters)
        others = _law(str(table["others"]), "others", table, parameters) if "others" in table else STANDARD_NORMAL
        return Task.from_token_laws(relevant, others, length=length, noise=noise, name=name)
    if "weight" not in table:
        if name in TASKS:
            return TASKS[name](length=length, noise=noise)
        raise ValueError("[task]: found neither weight nor relevant; expected a weight g or a token law")
    others = _law(str(table["others"]), "others", table, parameters) if "others" in table else STANDARD_NORMAL
    return Task(weight_from_text(str(table["weight"]), parameters), length, noise, others, name)


def weight_from_text(text: str, parameters: Mapping[str, Expr] = {}) -> Expr:
    """A weight g such as ``"exp(sqrt(nu)*chi[eps] - nu/2)"`` or ``"L*exp(chi[eps])/sum(exp(chi[l]), l)"``."""
    symbols: dict[str, Expr | IndexedBase] = {"chi": chi, "eps": epsilon, "l": l, "L": L, "nu": nu, **parameters}
    return parse_expression(text, symbols, bound_indices=("l",), what="weight")


def _law(text: str, what: str, table: Mapping[str, object], parameters: Mapping[str, Expr]) -> ScalarLaw:
    density = parse_expression(text, {"x": x, "nu": nu, **parameters}, what=what)
    support = table.get("support", ["-inf", "inf"])
    if not (isinstance(support, list) and len(support) == 2):
        raise ValueError(f"support: found {support!r}; expected two numbers, such as [0, 'inf']")
    ends = [parse_number(str(end), what="support", allow_infinite=True) for end in support]
    if not ends[0] < ends[1] or ends[0] == oo:
        raise ValueError(f"support: found {support!r}; expected lower < upper")
    return ScalarLaw(density, *ends)


def _attention(table: Mapping[str, object], parameters: Mapping[str, Expr]) -> Attention:
    if "kernel" not in table:
        name = str(table.get("name", ""))
        if name not in ATTENTIONS:
            raise ValueError(f"[attention]: found no kernel and name {name!r}; expected {', '.join(ATTENTIONS)}")
        return ATTENTIONS[name]
    return attention_from_text(
        str(table["kernel"]), str(table.get("normalise", "sum")), str(table.get("offset", "0")), parameters
    )
