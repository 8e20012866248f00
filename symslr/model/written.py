"""Models written down as text: kernels and weights, model files, and what a command line or a study says of both."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

from sympy import Expr, IndexedBase, Integer, Rational, Symbol, latex, oo

from symslr.model.admissible import check_density_at
from symslr.model.attention import BIASES, Attention
from symslr.model.catalogue import ATTENTIONS, TASKS, MaxSLR, attention_of, softmax
from symslr.model.form import RESERVED
from symslr.model.length_law import LengthLaw
from symslr.model.location.signal import signal_from_text
from symslr.model.location.where import where_from_text
from symslr.model.request import (
    LENGTH_EXPECTED,
    LOCATION_KEYS,
    NORMALISERS,
    AttentionRequest,
    HeadsRequest,
    Length,
    Tables,
    TaskRequest,
    tables_of_text,
)
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.symbols import Delta, L, chi, epsilon, i, j, l, nu, x
from symslr.model.task import Task
from symslr.model.text import exactly, parse_expression, parse_number
from symslr.model.text_numbers import in_short, read_length


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


def model_from_text(text: str, path: str) -> Model:
    """The model in the text of a TOML file with the tables ``[task]``, ``[attention]`` and ``[values]``.

    ``[task]`` gives a ``weight`` in chi[eps], sum(..., l), L, nu and the parameters named in ``[values]``, or the token
    laws ``relevant`` (p1) and ``others`` (p0, standard normal by default) as densities in x; ``length``, ``noise``. A law of
    location gives ``nu``, ``location``, ``prior``, ``signal``, ``key_covariance``, ``value_covariance`` instead.
    ``[attention]`` gives ``kernel``, ``normalise`` (sum or none) and ``offset``, or the ``name`` of a known attention.

    Args:
        path: what errors call the file; its stem names the task.

    Raises:
        ValueError: in one line naming the file, the table and what was expected.
    """
    return model_of_tables(tables_of_text(text, path), path)


def model_of_tables(tables: Tables, path: str) -> Model:
    """The model of a file's tables; ``path`` as in ``model_from_text``.

    Raises:
        ValueError: as ``model_from_text``.
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


@dataclass(frozen=True)
class Problem(Model):
    """The task that a command line or a study file describes, at given values, perhaps with an attention."""

    task: Task

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
    return Problem(task, written.attention, used)


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
