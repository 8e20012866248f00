"""One file of Python as statements: what each of them binds, reads and imports, and a digest of what it does."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from symslr.cache.trees import Import, Used, alone, called, digests, for_types, imports, only_binds, read
from symslr.parallel.serial import one_at_a_time


@dataclass(eq=False)
class Statement:
    """A statement of a file.

    Attributes:
        runs: whether it does more than bind names: a call, a loop, a condition, an assignment to a part of an object.
        is_class: whether it defines a class.
        used: what it reads when it runs, and when what it defines is called.
        callers: the names of what is called when it is loaded, see ``symslr.cache.trees.called``.
        digests: SHA-256 of its syntax tree without and with docstrings; comments and formatting do not count.
    """

    runs: bool
    is_class: bool
    used: Used
    callers: set[str]
    digests: tuple[bytes, bytes]

    def digest(self, documented: bool = False) -> bytes:
        """With or without docstrings."""
        return self.digests[documented]


@dataclass(eq=False)
class Source:
    """A file as its statements.

    Attributes:
        statements: all but imports, strings that stand alone and what is for a type checker.
        bindings: those that bind each name of the module.
        imported: what each imported name stands for.
        offered: the same of imports for a type checker: a package that hands names on lazily lists them there.
    """

    statements: list[Statement] = field(default_factory=list)
    bindings: dict[str, list[Statement]] = field(default_factory=dict)
    imported: dict[str, list[Import]] = field(default_factory=dict)
    offered: dict[str, Import] = field(default_factory=dict)

    @property
    def imports(self) -> list[Import]:
        """All that run when the file is loaded, those in its statements apart."""
        return [target for targets in self.imported.values() for target in targets]

    def binds(self, name: str) -> bool:
        """Whether the module has this name."""
        return name in self.bindings or name in self.imported


def source_of(path: Path) -> Source:
    """The statements of a file as it is now."""
    return parsed(path.read_bytes())


@one_at_a_time  # ast.parse is not safe in threads before Python 3.12
def parsed(text: bytes) -> Source:
    """The statements of a file's content."""
    found = Source()
    _add(found, ast.parse(text).body)
    return found


def _add(found: Source, body: Iterable[ast.stmt]) -> None:
    for node in body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name, target in imports(node):
                found.imported.setdefault(name, []).append(target)
        elif for_types(node):
            found.offered |= dict(pair for inner in node.body for pair in imports(inner))
            _add(found, node.orelse)
        elif not alone(node):
            used, bound = read(node)
            kinds = not only_binds(node), isinstance(node, ast.ClassDef)
            statement = Statement(*kinds, used, set(called(node)), digests(node))
            found.statements.append(statement)
            for name in bound:
                found.bindings.setdefault(name, []).append(statement)
