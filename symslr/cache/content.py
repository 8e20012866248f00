"""A computation as text that is the same in every process: values, expressions and functions by their content."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path
from types import FunctionType
from typing import Any

from sympy import Basic, srepr
from sympy.core.function import UndefinedFunction

from symslr.cache.code import OURS, code_version, home


class NoContent(TypeError):
    """The value has no content by which it could be found again, such as a function made inside another one."""


def content(value: object) -> str:
    """A text that tells values apart by what they are made of; functions by their arguments and the code they reach.

    Raises:
        NoContent: for lambdas, functions inside functions, and objects that are not plain values, SymPy expressions,
            dataclasses or containers of these.
    """
    if isinstance(value, Basic):
        return _expression(value, {})
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, Fraction, Path)):
        return f"{type(value).__name__}:{value!r}"
    if isinstance(value, (tuple, list)):
        return f"[{','.join(map(content, value))}]"
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{content(key)}={content(item)}' for key, item in value.items())}}}"
    if isinstance(value, partial):
        return f"partial({content(value.func)},{content(value.args)},{content(value.keywords)})"
    if isinstance(value, FunctionType):
        if "<" in value.__qualname__:
            raise NoContent(f"{value.__qualname__}: expected a function that its module defines by name")
        return _function(value)
    if is_dataclass(value) and not isinstance(value, type):
        inside = ",".join(f"{field.name}={content(getattr(value, field.name))}" for field in fields(value))
        return f"{_class(type(value))}({inside})"
    raise NoContent(f"found a {type(value).__name__}; expected plain values, expressions, dataclasses, functions")


@lru_cache(maxsize=1024)
def _class(kind: type) -> str:
    """The name of a class, with the code that its methods reach where it is ours or its user's; of its module if it is nested."""
    module, name = str(kind.__module__), kind.__qualname__
    if module.partition(".")[0] != OURS and "." in module:
        return f"{module}.{name}"
    try:
        return f"{home(module)}:{name}@{code_version(module, '' if '.' in name else name)}"
    except ValueError as problem:
        raise NoContent(f"{name}: {problem}") from None


def _function(function: FunctionType) -> str:
    name = function.__qualname__
    try:
        return f"{home(function.__module__)}:{name}@{code_version(function.__module__, name)}"
    except ValueError as problem:
        raise NoContent(str(problem)) from None


def _expression(node: object, seen: dict[object, str]) -> str:
    """A digest of a tree, each distinct part read once; leaves with their assumptions."""
    if not isinstance(node, Basic):
        return content(node)
    if node not in seen:
        named: Any = type(node)
        head = named.__qualname__ if isinstance(named, UndefinedFunction) else _class(named)
        if isinstance(type(node), UndefinedFunction) or not node.args:
            head += srepr(type(node)) if node.args else srepr(node)
        text = f"{head}({','.join(_expression(part, seen) for part in node.args)})"
        seen[node] = hashlib.sha256(text.encode()).hexdigest()
    return seen[node]
