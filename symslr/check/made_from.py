"""What the derivations of a file are made from besides symslr: its text, and that of the files it cites."""

from __future__ import annotations

import ast
from pathlib import Path

from symslr.library.index import content_of

PLAIN = {
    "__future__",
    "collections",
    "dataclasses",
    "enum",
    "fractions",
    "functools",
    "itertools",
    "math",
    "operator",
    "symslr",
    "sympy",
    "typing",
}
"""Packages that a file may import where its text is to tell what it makes: none of them reads a file or runs one."""

READING = {"open", "exec", "eval", "compile", "__import__", "__builtins__", "globals", "load_module"}
"""Names by which a file reads or runs what its text does not show."""


def made_from(file: Path) -> tuple[str, ...] | None:
    """The hashes of the texts that say what the file makes: its own, and those of files that it cites by ``neighbour``.

    None where the text does not tell, such as of a file that imports a package of its author or reads data, or that cannot
    be read as Python.
    """
    found: dict[Path, str] = {}
    waiting = [file.resolve()]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        try:
            cited = _cited(ast.parse(path.read_text(encoding="utf-8")))
            found[path] = content_of(path)
        except (OSError, ValueError, SyntaxError, RecursionError):
            return None
        if cited is None:
            return None
        waiting += [path.with_name(name) for name in cited]
    return tuple(found.values())


def _cited(tree: ast.Module) -> list[str] | None:
    """The names of the files that a file cites; None where its text does not tell."""
    names: list[str] = []
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and not all(_is_plain(alias.name) for alias in node.names):
            return None
        if isinstance(node, ast.ImportFrom) and (node.level or not _is_plain(node.module or "")):
            return None
        if isinstance(node, (ast.Name, ast.Attribute, ast.alias)) and _name(node) in READING:
            return None
        if isinstance(node, (ast.Name, ast.Attribute)) and _name(node) == "neighbour" and id(node) not in called:
            return None  # handed on, to be called under another name
        if isinstance(node, ast.alias) and node.name == "neighbour" and node.asname is not None:
            return None
        if isinstance(node, ast.Call) and _name(node.func) == "neighbour":
            match node.args:
                case [_, ast.Constant(value=str(name))]:
                    names.append(name)
                case _:
                    return None
    return names


def _is_plain(module: str) -> bool:
    return module.partition(".")[0] in PLAIN


def _name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
            return name
    return ""
