"""Detects files of derivations that replace parts of symslr, such as a rule or the referee, while they are loaded.

This guards against accidents and slips, not against malice: who runs a file runs whatever it says.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import is_
from types import FunctionType, ModuleType
from typing import Any

HOUSE = "symslr"

CODE = (FunctionType, type, property, cached_property, classmethod, staticmethod)
"""What a name of a module or class has to stand for to be remembered, besides tables; caches may change."""


@dataclass(frozen=True)
class _Names:
    """The names of a module or a class.

    Attributes:
        where: its dotted name.
        now: the names, as they are whenever this is read.
        then: a copy.
        of_class: whether it is a class, in which new names count and tables do.
    """

    where: str
    now: Mapping[str, object]
    then: dict[str, object]
    of_class: bool

    @property
    def moved(self) -> list[str]:
        """The names that are to be remembered and no longer stand for what they stood for."""
        if self.now.keys() == self.then.keys() and all(map(is_, map(self.now.get, self.then), self.then.values())):
            return []  # as ever: a loop in C over some ten thousand names
        different = [k for k in {**self.then, **self.now} if self.now.get(k) is not self.then.get(k)]
        return [
            f"{self.where}.{key}"
            for key in different
            if self.counts(key, self.then.get(key)) or (self.of_class and self.counts(key, self.now.get(key)))
        ]

    def counts(self, name: str, value: object) -> bool:
        """Whether a value is to be remembered: code, tables of classes, and what a module knows, in capitals."""
        if isinstance(value, CODE):
            return self.of_class or not name.startswith("__")
        if self.of_class:
            return not name.startswith("_") and isinstance(value, (Mapping, str))
        return name.isupper() and name.strip("_") != ""


@dataclass(frozen=True)
class Held:
    """What symslr was: its names, and what is inside of its functions and of the tables of its classes.

    Attributes:
        names: of every module and class.
        inside: dotted name and the object that may be changed where it stands.
        then: what was in it.
    """

    names: list[_Names]
    inside: list[tuple[str, Any]]
    then: list[tuple[Any, ...]]


def remembered() -> Held:
    """Every function, class, method and table of the modules of symslr that are loaded."""
    names: list[_Names] = []
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and name.partition(".")[0] == HOUSE:
            held = dict(vars(module))
            names.append(_Names(name, vars(module), held, of_class=False))
            names += [
                _Names(f"{name}.{key}", vars(value), dict(vars(value)), of_class=True)
                for key, value in held.items()
                if isinstance(value, type) and value.__module__ == name and not key.startswith("__")
            ]
    inside = {
        id(value): (f"{found.where}.{key}", value)
        for found in names
        for key, value in found.then.items()
        if isinstance(value, FunctionType) or (isinstance(value, (Mapping, list, set)) and found.counts(key, value))
    }
    return Held(names, list(inside.values()), [_inside(value) for _, value in inside.values()])


def touched(before: Held) -> tuple[str, ...]:
    """Names of symslr that no longer stand for what they stood for."""
    moved = [name for names in before.names for name in names.moved]
    changed = [name for (name, value), then in zip(before.inside, before.then) if not _is_as_ever(name, value, then)]
    return tuple(sorted({*moved, *changed}))


def _inside(value: Any) -> tuple[Any, ...]:
    """The parts of a function or of a table, to be compared by identity."""
    if isinstance(value, FunctionType):
        return value.__code__, value.__defaults__
    return (*value.keys(), *value.values()) if isinstance(value, Mapping) else tuple(value)


def _is_as_ever(name: str, value: Any, then: tuple[Any, ...]) -> bool:
    """Whether nothing in a function or a table has changed; a private table, which may be a memory, may grow."""
    now = _inside(value)
    if name.rpartition(".")[2].startswith("_") and not isinstance(value, FunctionType):
        return {id(part) for part in then} <= {id(part) for part in now}
    return len(now) == len(then) and all(map(is_, now, then))
