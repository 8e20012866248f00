"""Models written down as text: a kernel or weight on the command line, a whole model in a TOML file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from sympy import Expr, IndexedBase, Integer, Rational, Symbol, latex, oo

from symslr.model.attention import Attention
from symslr.model.catalogue import ATTENTIONS, TASKS
from symslr.model.form import RESERVED
from symslr.model.length_law import LengthLaw
from symslr.model.location.signal import signal_from_text
from symslr.model.location.where import where_from_text
from symslr.model.request import LOCATION_KEYS, NORMALISERS, Length, Tables, read_file, tables_of_text
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.symbols import Delta, L, chi, epsilon, i, j, l, nu, x
from symslr.model.task import Task
from symslr.model.text import exactly, parse_expression, parse_number
from symslr.model.text_numbers import read_length


@dataclass(frozen=True)
class Model:
    """A model file: a task and/or an attention at the values of its parameters, and values for those of the task."""

    task: Task | None
    attention: Attention | None
    values: dict[Expr, Expr]


def length_from_text(text: str) -> Expr | LengthLaw:
    """``"3"`` or ``"1:1/3,2:2/3"``."""
    return length_of(read_length(text))


def length_of(found: Length) -> Expr | LengthLaw:
    """A length, or a law of the length, that was read."""
    if isinstance(found, int):
        return Integer(found)
    return LengthLaw(*((Integer(length), Rational(share)) for length, share in found))


def attention_from_text(
    kernel: str,
    normalise: str,
    offset: str | Fraction,
    parameters: Mapping[str, Expr] = {},
    keys: tuple[Expr, Expr] = (-oo, oo),
) -> Attention:
    """An attention from a kernel in ``x`` such as ``"log(1+exp(x))"``; ``normalise`` is ``sum`` or ``none``.

    Args:
        keys: where the kernel is to be one, as ``Attention.tokens``.

    Raises:
        ValueError: in one line, for text outside the whitelist and for an attention that is none.
    """
    if normalise not in NORMALISERS:
        raise ValueError(f"normalise: found {normalise!r}; expected {' or '.join(NORMALISERS)}")
    symbols = {"x": x, **parameters}
    written = parse_expression(kernel, symbols, what="kernel")
    start = exactly(offset) if isinstance(offset, Fraction) else parse_number(offset, what="offset")
    try:
        return Attention(written, "sum" if normalise == "sum" else None, start, kernel.strip(), tokens=keys)
    except ValueError as refusal:  # which prints the kernel as SymPy does: Max(0, x) for max(x, 0)
        what, colon, why = str(refusal).partition(": ")
        raise ValueError(
            f"kernel {kernel.strip()}{colon}{why}" if what.startswith("kernel ") else str(refusal)
        ) from None


def read_model(path: Path) -> Model:
    """The model in a TOML file with the tables ``[task]``, ``[attention]`` and ``[values]``.

    ``[task]`` gives a ``weight`` in chi[eps], sum(..., l), L, nu and the parameters named in ``[values]``, or the token
    laws ``relevant`` (p1) and ``others`` (p0, standard normal by default) as densities in x; ``length``, ``noise``. A law of
    location gives ``strength``, ``location``, ``prior``, ``signal``, ``key_covariance``, ``value_covariance`` instead.
    ``[attention]`` gives ``kernel``, ``normalise`` (sum or none) and ``offset``, or the ``name`` of a known attention.

    Raises:
        ValueError: in one line naming the file, the table and what was expected.
    """
    return model_from_text(read_file(path), str(path))


def model_from_text(text: str, path: str) -> Model:
    """The model of a file's text; see ``read_model``. ``path`` is what errors call it, and its stem names the task.

    Raises:
        ValueError: as ``read_model``.
    """
    return model_of_tables(tables_of_text(text, path), path)


def model_of_tables(tables: Tables, path: str) -> Model:
    """The model of a file's tables; ``path`` as in ``model_from_text``.

    Raises:
        ValueError: as ``read_model``.
    """
    try:
        values_table = tables.get("values", {})
        names = {name: _parameter(name) for name in values_table}
        _check_apart(names)
        values = {
            names[name]: parse_number(str(value), what=f"[values] {name}") for name, value in values_table.items()
        }
        parameters = {name: symbol for name, symbol in names.items() if symbol not in (L, nu, Delta)}
        task = _task(tables["task"], parameters, Path(path).stem) if "task" in tables else None
        keys = (-oo, oo) if task is None else task.keys
        attention = _attention(tables["attention"], parameters, keys) if "attention" in tables else None
        _check_used(names, tables, task, attention)
        at = attention and attention.at(values)
    except (ValueError, TypeError) as problem:
        raise ValueError(f"{path}: {problem}") from problem
    return Model(task, at, values)


def _check_used(names: Mapping[str, Expr], tables: Tables, task: Task | None, attention: Attention | None) -> None:
    """A name that no formula of the file holds is a slip of the pen: the formula has another, or none."""
    formulas = [
        text for title, table in tables.items() if title != "values" for name, text in table.items() if name != "name"
    ]
    written = set(re.findall(r"\w+", str(formulas)))
    if attention is not None:
        written.update(map(str, attention.parameters))
    if task is not None:
        written.update(map(str, task.free_symbols | {L, Delta}))
    for name in names:
        if name not in written:
            raise ValueError(
                f"[values]: found {name}, which no formula of the file holds; expected nu, L, Delta or a parameter of one"
            )


OWN_NAMES = {"x", "eps", "i", "sum", "pi", "E", "e", "K", *map(str, RESERVED)}
"""No names of parameters: of two symbols of one name a printed formula does not tell which is which."""
INDEXED = {"chi", "xi", "z", "K", "pi", "e"}
"""What formulas print with an index: a parameter chi_l would be typeset as the key of token l, e_1 as a polynomial."""


def _parameter(name: str) -> Expr:
    if not (name.isidentifier() and name.isascii()):
        raise ValueError(f"[values]: found the name {name!r}; expected a parameter such as s or nu")
    if name in OWN_NAMES or re.split(r"_|\d", name)[0] in INDEXED:
        raise ValueError(
            f"[values]: found the name {name!r}, which has a meaning in formulas already; expected another name, such as s"
        )
    return {"nu": nu, "L": L, "Delta": Delta}.get(name, Symbol(name, real=True))


def _check_apart(names: Mapping[str, Expr]) -> None:
    """No two parameters that are typeset alike, as s1 and s_1 are."""
    typeset: dict[str, str] = {}
    for name, symbol in names.items():
        first = typeset.setdefault(latex(symbol), name)
        if first != name:
            raise ValueError(
                f"[values]: found {first} and {name}, which are both typeset as {latex(symbol)}; expected names such as s and t"
            )


def _task(table: Mapping[str, object], parameters: Mapping[str, Expr], stem: str) -> Task:
    length = length_from_text(str(table["length"])) if "length" in table else L
    noise = parse_number(str(table["noise"]), what="noise") if "noise" in table else Delta
    name = str(table.get("name", stem))
    if LOCATION_KEYS & set(table):
        own = _law_of_location(table, parameters)
        return Task(length=length, noise=noise, name=name, **own)
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


def _law_of_location(table: Mapping[str, object], parameters: Mapping[str, Expr]) -> dict[str, Any]:
    """What a table says of the law of location, by the names of ``Task``; a prior may be a list."""

    def expression(text: object, what: str, own: Mapping[str, Expr] = {}) -> Expr:
        return parse_expression(str(text), {**own, "L": L, "nu": nu, **parameters}, what=what)

    def read(what: str, written: object) -> Any:
        if what == "location":
            return where_from_text(str(written), parameters)
        if what == "signal":
            return signal_from_text(str(written), parameters)
        if isinstance(written, list):
            return [expression(weight, what) for weight in written]
        return expression(written, what, {"nu": {}, "prior": {"l": l}}.get(what, {"i": i, "j": j}))

    return {what: read(what, table[what]) for what in sorted(LOCATION_KEYS & set(table))}


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


def _attention(table: Mapping[str, object], parameters: Mapping[str, Expr], keys: tuple[Expr, Expr]) -> Attention:
    if "kernel" not in table:
        name = str(table.get("name", ""))
        if name not in ATTENTIONS:
            raise ValueError(f"[attention]: found no kernel and name {name!r}; expected {', '.join(ATTENTIONS)}")
        return ATTENTIONS[name]
    return attention_from_text(
        str(table["kernel"]), str(table.get("normalise", "sum")), str(table.get("offset", "0")), parameters, keys
    )
