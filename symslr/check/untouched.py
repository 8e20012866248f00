"""Is symslr what its files say? A file of derivations runs beside the check and could replace a rule or the referee."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from functools import cache, cached_property
from importlib.machinery import PathFinder
from pathlib import Path
from types import FunctionType, ModuleType

HOUSE = "symslr"

CODE = (FunctionType, type, property, cached_property, classmethod, staticmethod)
"""What a name of a module or class has to stand for to be remembered; caches and other values may change."""

Held = dict[tuple[str, str], tuple[object, object]]
"""(module, dotted name) -> what it stands for and, of a function, its code."""


def remembered() -> Held:
    """Every function, class, method and table of the modules of symslr that are loaded."""
    found: Held = {}
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and name.partition(".")[0] == HOUSE:
            for key, value in list(vars(module).items()):
                if not key.startswith("__") and isinstance(value, CODE):
                    found[name, key] = _kept(value)
                    if isinstance(value, type) and value.__module__ == name:
                        found.update({(name, f"{key}.{k}"): _kept(v) for k, v in _members(value)})
    return found


def touched(before: Held) -> tuple[str, ...]:
    """Names of symslr that no longer stand for what they stood for."""
    now = remembered()
    changed = {key for key, value in before.items() if not _same(value, now.get(key))}
    methods = {key for key in now.keys() - before.keys() if "." in key[1] and (key[0], _owner(key[1])) in before}
    return tuple(sorted(f"{module}.{name}" for module, name in changed | methods))


def _members(kind: type) -> list[tuple[str, object]]:
    return [(k, v) for k, v in list(vars(kind).items()) if isinstance(v, CODE) or _is_table(k, v)]


def _is_table(name: str, value: object) -> bool:
    return not name.startswith("_") and isinstance(value, (Mapping, str))


def _owner(name: str) -> str:
    return name.rpartition(".")[0]


def _kept(value: object) -> tuple[object, object]:
    if isinstance(value, FunctionType):
        return value, (value.__code__, value.__defaults__)
    return value, tuple(value.items()) if isinstance(value, Mapping) else None


def _same(old: tuple[object, object], new: tuple[object, object] | None) -> bool:
    if new is None or old[0] is not new[0]:
        return False
    if isinstance(old[1], tuple) and isinstance(new[1], tuple):
        return len(old[1]) == len(new[1]) and all(a is b or a == b for a, b in zip(old[1], new[1]))
    return old[1] == new[1]


@cache
def written(module: str, name: str) -> bool:
    """Whether the file of a module on disk defines a class; a module made at run time has no file."""
    tree = _tree(module)
    if tree is None:
        return False
    body = tree.body
    for part in name.split("."):
        node = next((n for n in _within(body) if isinstance(n, ast.ClassDef) and n.name == part), None)
        if node is None:
            return False
        body = node.body
    return True


def _within(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a block, those under an if or try included."""
    found = list(body)
    for statement in body:
        if isinstance(statement, (ast.If, ast.Try)):
            found += _within([*statement.body, *statement.orelse])
    return found


@cache
def _tree(module: str) -> ast.Module | None:
    package = sys.modules.get(module.partition(".")[0])
    places = list(getattr(package, "__path__", ()))
    file: Path | None = None
    parts = module.split(".")
    if len(parts) == 1:
        file = Path(places[0]) / "__init__.py" if places else None
    for i in range(2, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:i]), places)
        if spec is None:
            return None
        places = list(spec.submodule_search_locations or ())
        file = Path(spec.origin) if spec.origin else None
    return ast.parse(file.read_text(encoding="utf-8")) if file is not None and file.suffix == ".py" else None
