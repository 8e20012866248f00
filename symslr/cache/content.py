"""A question as text that is the same in every process: values, expressions and functions by what they are made of."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

from sympy import Basic, srepr
from sympy.core.function import UndefinedFunction

from symslr.cache.results import texts_version


class NoContent(TypeError):
    """The value has no content by which it could be found again, such as a function made inside another one."""


def content(value: object) -> str:
    """A text that tells values apart by what they are made of; functions and classes by their names.

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
        return _name(value)
    if is_dataclass(value) and not isinstance(value, type):
        inside = ",".join(f"{field.name}={content(getattr(value, field.name))}" for field in fields(value))
        return f"{_name(type(value))}({inside})"
    raise NoContent(f"found a {type(value).__name__}; expected plain values, expressions, dataclasses, functions")


def _name(named: type | FunctionType) -> str:
    """By module and name; from a file outside any package, such as a figure's, by the file's name and text."""
    file = getattr(sys.modules.get(named.__module__), "__file__", None)
    if "." in named.__module__ or file is None:
        return f"{named.__module__}:{named.__qualname__}"
    return f"{Path(file).name}@{texts_version(Path(file))}:{named.__qualname__}"


def _expression(node: object, seen: dict[object, str]) -> str:
    """A digest of a tree, each distinct part read once; leaves with their assumptions."""
    if not isinstance(node, Basic):
        return content(node)
    if node not in seen:
        named: Any = type(node)
        head = named.__qualname__ if isinstance(named, UndefinedFunction) else _name(named)
        if isinstance(type(node), UndefinedFunction) or not node.args:
            head += f"{srepr(type(node))}{sorted(named._kwargs.items())}" if node.args else srepr(node)
        text = f"{head}({','.join(_expression(part, seen) for part in node.args)})"
        seen[node] = hashlib.sha256(text.encode()).hexdigest()
    return seen[node]
