"""``SequenceModel``: what a user writes down of teachers, tokens and label, read, refused where it is none, and as formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from sympy import Expr, Integer, S, Symbol, log, pi

from symslr.model.float64 import compiled
from symslr.model.sequence.admissible import check_channel
from symslr.model.sequence.fields import INDICES, Fields, fields_of, read, written_out
from symslr.model.sequence.hidden import MOST_VALUES, SIGN, Hidden, joint
from symslr.model.sequence.student import LOSSES, Student, named_loss
from symslr.model.symbols import L, l
from symslr.model.text import parse_number
from symslr.model.text_tree import ARITY, CONSTANTS

MOST_TEACHERS, LONGEST, MOST_STUDENTS = 3, 10, 8
"""Directions of a teacher, tokens of a sequence, and directions of a student."""
KEYS = ("name", "teachers", "length", "label", "noise", "weight", "hidden", "invariant")
STUDENT_KEYS = ("fields", "predictor", "loss")
EXAMPLES = {"hidden": '{eps = "1..L"}', "values": "{nu = 2}", "student": '{fields = ["w"], predictor = "w[1]"}'}
RESERVED = {"L", "sum", "softmax", "y", "f", *INDICES, *CONSTANTS}
TABLES: dict[str, tuple[str, ...] | None] = {"model": KEYS, "student": STUDENT_KEYS, "values": None}


@dataclass(frozen=True, init=False)
class SequenceModel:
    """A model of sequences: rows x_l ~ N(0, I_D), teachers W in R^{D x p} with entries N(0, 1), fields z = X W/sqrt(D).

    The channel is P(y, h | z) = P(h) g(h, z) prod_o N(y_o; f_o(h, z), Delta^2), a density relative to the tokens' normal law.
    Where ``invariant`` is "sign" the label is seen up to a common sign of all outputs, which is one more hidden variable.

    Args:
        teachers: names of the p directions, one to three.
        length: L, from 1 to 10.
        label: f, a formula such as ``"sum(softmax(u)[l]*v[l], l)"``, or a list of formulas, one for each output. With the
            index ``l`` outside a sum it stands for L outputs.
        noise: Delta >= 0, the same for every output.
        weight: g >= 0, the density of the tokens relative to the normal law; 1 by default. Its mean over fields and hidden
            variables is 1. Also as an expression in ``Indexed`` fields.
        hidden: laws of hidden variables by name, ``{"eps": "1..L"}`` or ``{"s": "1:1/2,-1:1/2"}``; integers within 1 to L may
            stand as an index.
        invariant: "sign", or nothing.
        values: numbers for further names in the formulas.
        student: ``{"fields": [...], "predictor": ..., "loss": "square"}``, or nothing. The loss is "square", "logistic", or a
            formula in y_1, y_2, ... (y where there is one), the student's fields and the teachers' fields.
        name: what the model is called in print.
        is_checked: whether label and weight are known to be admissible, as those of a ``Task`` are.

    Attributes:
        fields: the symbols z_lk, shape (L, p).
        written: the label as it is written, with ``Indexed`` fields and sums; weight_written likewise.
        hidden: the hidden variables.

    Raises:
        ValueError: in one line, for a formula outside the whitelist, a label that is constant, and a weight that is no density.
    """

    name: str
    teachers: tuple[str, ...]
    length: int
    noise: Expr
    written: tuple[Expr, ...]
    weight_written: Expr
    hidden: tuple[Hidden, ...]
    values: tuple[tuple[Symbol, Expr], ...]
    fields: Fields
    student: Student | None

    def __init__(
        self,
        teachers: Sequence[str],
        length: int,
        label: str | Sequence[str],
        noise: object = 0,
        *,
        weight: str | Expr = "1",
        hidden: Mapping[str, str] | None = None,
        invariant: str | None = None,
        values: Mapping[str, object] | None = None,
        student: Mapping[str, Any] | None = None,
        name: str = "model",
        is_checked: bool = False,
    ) -> None:
        for what, table in (("hidden", hidden), ("values", values), ("student", student)):
            if not isinstance(table, Mapping | None):
                raise ValueError(f"{what}: found {table!r}; expected a table, such as {EXAMPLES[what]}")
        size = _length(length)
        own = _names(teachers, "teachers", MOST_TEACHERS)
        if invariant not in (None, "sign"):
            raise ValueError(f'invariant: found {invariant!r}; expected "sign", or nothing')
        found_hidden = tuple(Hidden.from_text(n, str(text), size) for n, text in (hidden or {}).items())
        numbers = {n: parse_number(str(number), what=f"values {n}") for n, number in (values or {}).items()}
        others: dict[str, Expr] = {n: Symbol(n, real=True) for n in numbers}
        others |= {str(one.symbol): one.symbol for one in found_hidden}
        _check_apart([*own, *(hidden or {}), *numbers])
        if invariant:
            found_hidden = (*found_hidden, SIGN)
        given: dict[str, object] = {
            "name": name,
            "teachers": own,
            "length": size,
            "noise": _noise(noise),
            "hidden": found_hidden,
            "values": tuple((others[n], number) for n, number in numbers.items()),
            "fields": fields_of(own, size),
            "weight_written": read(weight, own, size, others, "weight") if isinstance(weight, str) else weight,
        }
        for attribute, value in given.items():
            object.__setattr__(self, attribute, value)
        object.__setattr__(self, "written", self._outputs(label, own, others, "label"))
        if len(self.configurations) > MOST_VALUES:
            raise ValueError(f"hidden: found {len(self.configurations)} joint values; expected at most {MOST_VALUES}")
        if not is_checked:
            check_channel(self)
        object.__setattr__(self, "student", self._student(student, others) if student is not None else None)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The model of a TOML file with the tables ``[model]``, ``[student]`` and ``[values]``, of the names above.

        Raises:
            ValueError: in one line naming the file.
        """
        from symslr.model.request import read_file

        return cls.from_text(read_file(Path(path)), str(path))

    @classmethod
    def from_text(cls, text: str, path: str = "model.toml") -> Self:
        """The model of a file's text; ``path`` is what errors call it, and its stem names the model.

        Raises:
            ValueError: as ``load``.
        """
        import tomllib

        try:
            tables = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as problem:
            raise ValueError(f"{path}: not a TOML file ({problem})") from None
        try:
            for title, table in tables.items():
                _check_known(title, TABLES, "table")
                if not isinstance(table, dict):
                    raise ValueError(f"found {title!r} that is not a table; expected [{title}]")
                for key in table if TABLES[title] else ():
                    _check_known(key, TABLES[title] or (), f"name in [{title}]")
            model = dict(tables.get("model", {}))
            if missing := next((key for key in ("teachers", "length", "label") if key not in model), None):
                raise ValueError(f"[model]: found no {missing}; expected teachers, length and label")
            model["name"] = str(model.get("name", Path(path).stem))
            model["weight"] = str(model.get("weight", "1"))
            return cls(**model, student=tables.get("student"), values=tables.get("values"))
        except (ValueError, TypeError) as problem:
            raise ValueError(f"{path}: {problem}") from None

    @property
    def invariant(self) -> str | None:
        """ "sign" where the label is seen up to a common sign."""
        return "sign" if SIGN in self.hidden else None

    @cached_property
    def configurations(self) -> list[tuple[dict[Expr, Expr], Expr]]:
        """Every joint value of the hidden variables with its probability."""
        return joint(self.hidden)

    @cached_property
    def labels(self) -> tuple[tuple[Expr, ...], ...]:
        """f in the fields, one tuple of outputs for each configuration; the common sign is put in."""
        return tuple(
            tuple(given.get(SIGN.symbol, S.One) * self._in_fields(own, given) for own in self.written)
            for given, _ in self.configurations
        )

    @cached_property
    def weights(self) -> tuple[Expr, ...]:
        """P(h) g(h, z) in the fields, one for each configuration."""
        return tuple(share * self._in_fields(self.weight_written, given) for given, share in self.configurations)

    @property
    def outputs(self) -> tuple[Symbol, ...]:
        """The symbols y_o of the label, one for each output."""
        return tuple(Symbol(f"y_{n}", real=True) for n in range(1, len(self.written) + 1))

    @property
    def log_channel(self) -> tuple[Expr, ...]:
        """log P(y, h | z) in ``outputs`` and ``fields``, one for each configuration.

        Raises:
            ValueError: for a label without noise, whose density is a delta.
        """
        if self.noise == 0:
            raise ValueError("channel: found a label without noise, which has no density; expected noise > 0")
        half = len(self.outputs) * log(2 * pi * self.noise**2) / 2
        return tuple(
            log(weight) - sum((y - f) ** 2 for y, f in zip(self.outputs, label)) / (2 * self.noise**2) - half
            for weight, label in zip(self.weights, self.labels)
        )

    def labels_at(self, z: np.ndarray) -> np.ndarray:
        """f(h, z) without noise for fields of shape (n, L, p): shape (H, outputs, n), for every configuration."""
        return np.array([self.evaluated(own, z) for own in self.labels])

    def weights_at(self, z: np.ndarray) -> np.ndarray:
        """P(h) g(h, z) for fields of shape (n, L, p): shape (H, n)."""
        return self.evaluated(self.weights, z)

    def evaluated(self, exprs: Sequence[Expr], z: np.ndarray) -> np.ndarray:
        """Expressions in the fields at fields of shape (n, L, p): shape (len(exprs), n)."""
        symbols = tuple(symbol for row in self.fields for symbol in row)
        at = np.moveaxis(np.asarray(z, float).reshape(len(z), -1), 1, 0)
        with np.errstate(all="ignore"):
            return np.array([np.broadcast_to(compiled(symbols, expr)(*at), len(z)) for expr in exprs], float)

    def _in_fields(self, expr: Expr, given: Mapping[Expr, Expr], more: Mapping[str, tuple[Symbol, ...]] = {}) -> Expr:
        """A formula as it is written in the symbols of the fields; ``more`` has those of a student, which win."""
        columns = {n: tuple(row[k] for row in self.fields) for k, n in enumerate(self.teachers)}
        return written_out(expr, {**columns, **more}, {**dict(self.values), L: Integer(self.length), **given})

    def _outputs(
        self, label: str | Sequence[str], names: tuple[str, ...], others: Mapping[str, Expr], what: str
    ) -> tuple[Expr, ...]:
        """The formulas of all outputs; ``l`` outside a sum is put in from 1 to L."""
        texts: list[str] = list(label) if isinstance(label, list | tuple) else [str(label)]
        if not texts or not all(isinstance(text, str) for text in texts):
            raise ValueError(f'{what}: found {label!r}; expected a formula such as "u[1]*v[1]", or a list of them')
        found: list[Expr] = []
        for n, text in enumerate(texts, 1):
            own = read(text, names, self.length, others, what if len(texts) == 1 else f"{what} {n}", "l")
            places = range(1, self.length + 1) if own.has_free(l) else range(1)
            found += [own.subs(l, place) if place else own for place in places]
        return tuple(found)

    def _student(self, table: Mapping[str, Any], others: Mapping[str, Expr]) -> Student:
        for key in table:
            _check_known(key, STUDENT_KEYS, "name in [student]")
        names = _names(table.get("fields", ()), "[student] fields", MOST_STUDENTS)
        _check_apart([*names, *map(str, others)])
        # a student's direction may have the name of a teacher's, and then stands for it in the student's formulas
        fields = fields_of(tuple(f"s_{n}" if n in self.teachers else n for n in names), self.length)
        columns = {n: tuple(row[k] for row in fields) for k, n in enumerate(names)}
        outputs, loss = self.outputs, str(table.get("loss", "square"))
        predictor: tuple[Expr, ...] = ()
        if "predictor" in table:
            made = self._outputs(table["predictor"], names, others, "[student] predictor")
            predictor = tuple(self._in_fields(own, {}, columns) for own in made)
            if len(predictor) != len(outputs):
                raise ValueError(
                    f"[student] predictor: found {len(predictor)} outputs; expected {len(outputs)}, as the label has"
                )
        if loss in LOSSES:
            if not predictor:
                raise ValueError(f"[student]: found no predictor; expected one beside the loss {loss}")
            return Student(names, fields, predictor, outputs, named_loss(loss, predictor, outputs))
        every = tuple(dict.fromkeys((*names, *self.teachers)))
        known = {**others, **{str(y): y for y in outputs}, **({"y": outputs[0]} if len(outputs) == 1 else {})}
        written = read(loss, every, self.length, known, "[student] loss")
        return Student(names, fields, predictor, outputs, self._in_fields(written, {}, columns))


def _check_known(name: str, known: Iterable[str], what: str) -> None:
    if name not in (names := list(known)):
        near = get_close_matches(name, names, 1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"found the {what} {name!r}; expected {', '.join(names)}{meant}")


def _length(length: object) -> int:
    if isinstance(length, bool) or not isinstance(length, int) or not 1 <= length <= LONGEST:
        raise ValueError(f"length: found {length!r}; expected a whole number from 1 to {LONGEST}")
    return length


def _noise(noise: object) -> Expr:
    found = parse_number(str(noise), what="noise")
    if found < 0:
        raise ValueError(f"noise: found {noise}; expected a standard deviation Delta >= 0")
    return found


def _names(names: object, what: str, most: int) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names):
        raise ValueError(f'{what}: found {names!r}; expected a list of names, such as ["u", "v"]')
    if not 1 <= len(names) <= most:
        raise ValueError(f"{what}: found {len(names)} names; expected 1 to {most}")
    return tuple(names)


def _check_apart(names: Sequence[str]) -> None:
    """Refuse a name that is none, that has a meaning already, or that stands for two things."""
    for place, name in enumerate(names):
        if not (re.fullmatch("[A-Za-z][A-Za-z]*", name)):
            raise ValueError(f"names: found {name!r}; expected letters, such as u")
        if name in RESERVED or name in ARITY:
            raise ValueError(f"names: found {name!r}, which has a meaning in formulas already; expected another name")
        if name in names[:place]:
            raise ValueError(f"names: found {name!r} twice; expected each name once")
