"""One file of Python as statements: what each of them binds, reads and imports, and a digest of what it does."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TypeGuard

from symslr.parallel.serial import one_at_a_time

Import = tuple[str, str]
"""(module, name) of ``from module import name``; (module, "") of ``import module``, which binds the module itself."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SCOPES = (*_FUNCTIONS, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(eq=False)
class Statement:
    """A statement of a file, read when it is first asked about.

    Attributes:
        node: its syntax tree.
    """

    node: ast.stmt
    _digests: dict[bool, bytes] = field(default_factory=dict)

    @cached_property
    def used(self) -> Used:
        """What it reads when it runs, and when what it defines is called."""
        found = Used()
        _read(self.node, frozenset(), found)
        return found

    @property
    def runs(self) -> bool:
        """Whether it does more than bind names: a call, a loop, a condition, an assignment to a part of an object."""
        return not _only_binds(self.node)

    def digest(self, documented: bool = False) -> bytes:
        """SHA-256 of the syntax tree: comments and formatting do not count, docstrings where that is asked for."""
        if documented not in self._digests:
            self._digests[documented] = _digest(self.node, documented)
        return self._digests[documented]

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    @cached_property
    def callers(self) -> set[str]:
        """The names of what is called when the statement is loaded, and of its decorators; "" for what has no name.

        Decorators that are known to keep nothing are left out.
        """
        return set(_called(self.node))


HARMLESS = (
    *("abstractmethod", "cache", "cached_property", "classmethod", "contextmanager", "dataclass", "final", "lru_cache"),
    *(
        "njit",
        "overload",
        "override",
        "property",
        "runtime_checkable",
        "singledispatch",
        "staticmethod",
        "total_ordering",
    ),
)
"""Decorators of other packages that keep no list of what they decorate."""


def _called(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call):
        yield _root(node.func)
    for decorator in getattr(node, "decorator_list", ()):
        inner = decorator.func if isinstance(decorator, ast.Call) else decorator
        if (inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "")) not in HARMLESS:
            yield _root(inner) or ""
    for word in getattr(node, "keywords", ()):
        if isinstance(node, ast.ClassDef) and word.arg == "metaclass":
            yield ""
    for name, value in ast.iter_fields(node):
        if name == "decorator_list" or (isinstance(node, _FUNCTIONS) and name == "body"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _called(child)


def _root(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, (ast.Constant, ast.JoinedStr)):
        return "str"
    return node.id if isinstance(node, ast.Name) else ""


@dataclass
class Used:
    """What a statement reads.

    Attributes:
        names: read from outside the functions in it.
        parts: (name, attribute) where an attribute of such a name is read.
        attributes: every attribute that is named, of whatever object, and the name of every function and method.
        imports: inside it.
        strings: that are constants of it and could name a module.
    """

    names: set[str] = field(default_factory=set)
    parts: set[tuple[str, str]] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    imports: list[Import] = field(default_factory=list)
    strings: set[str] = field(default_factory=set)


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
    return _source(path.read_bytes())


@lru_cache(maxsize=2048)
@one_at_a_time  # ast.parse is not safe in threads before Python 3.12
def _source(text: bytes) -> Source:
    found = Source()
    _add(found, ast.parse(text).body)
    return found


def _add(found: Source, body: Iterable[ast.stmt]) -> None:
    for node in body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name, target in _imports(node):
                found.imported.setdefault(name, []).append(target)
        elif _for_types(node):
            found.offered |= dict(pair for inner in node.body for pair in _imports(inner))
            _add(found, node.orelse)
        elif not _alone(node):
            statement = Statement(node)
            found.statements.append(statement)
            bound: set[str] = set()
            _bind(node, bound, set())
            for name in bound:
                found.bindings.setdefault(name, []).append(statement)


def _for_types(node: ast.AST) -> TypeGuard[ast.If]:
    """Whether the first branch of a statement is for a type checker only."""
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def _imports(node: ast.AST) -> Iterator[tuple[str, Import]]:
    """(bound name, what it stands for); relative imports are no part of this code base's style and are refused."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0], (alias.name, "")
    elif isinstance(node, ast.ImportFrom):
        if node.module is None or node.level:
            raise ValueError(f"line {node.lineno}: found a relative import; expected an absolute one")
        for alias in node.names:
            yield alias.asname or alias.name, (node.module, alias.name)


def _alone(node: ast.AST) -> bool:
    """Whether a statement is a string and nothing else, such as a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _only_binds(node: ast.stmt) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return True
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    plain = all(
        isinstance(part, (ast.Name, ast.Tuple, ast.Starred, ast.expr_context))
        for t in targets
        if t
        for part in ast.walk(t)
    )
    return isinstance(node, (ast.Assign, ast.AnnAssign)) and plain


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            yield value
        elif isinstance(value, list):
            yield from (child for child in value if isinstance(child, ast.AST))


def _bind(node: ast.AST, bound: set[str], shared: set[str]) -> None:
    """Collect the names that a tree binds and those it declares global; functions and classes in it stay shut."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        bound.add(node.name)
        for decorator in node.decorator_list:
            _bind(decorator, bound, shared)
        return
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, _COMPREHENSIONS):
        bound.update(part.target.id for part in ast.walk(node) if isinstance(part, ast.NamedExpr))
        return
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        return
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        bound.update(name for name, _ in _imports(node))
    elif isinstance(node, ast.Global):
        shared.update(node.names)
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        bound.add(node.name)
    elif isinstance(node, ast.MatchMapping) and node.rest:
        bound.add(node.rest)
    for child in _children(node):
        _bind(child, bound, shared)


def _own(function: ast.AST) -> set[str]:
    """The names that are a function's own: its arguments and what it binds, less what it declares global."""
    arguments = function.args  # type: ignore[attr-defined]
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    bound, shared = {item.arg for item in given if item}, set[str]()
    for part in function.body if isinstance(function.body, list) else [function.body]:  # type: ignore[attr-defined]
        _bind(part, bound, shared)
    return bound - shared


def _read(node: ast.AST, hidden: frozenset[str], found: Used) -> None:
    """Collect what a tree reads; ``hidden`` are the names that functions around it own. Annotations are never read."""
    if isinstance(node, ast.Name):
        if node.id not in hidden:
            found.names.add(node.id)
        return
    if isinstance(node, ast.Attribute):
        found.attributes.add(node.attr)
        if isinstance(node.value, ast.Name):
            if node.value.id not in hidden:
                found.parts.add((node.value.id, node.attr))
            return
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, str) and node.value.replace(".", "").replace("_", "").isalnum():
            found.strings.add(node.value)
        return
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        found.imports += [target for _, target in _imports(node)]
        return
    elif _for_types(node):
        for child in node.orelse:
            _read(child, hidden, found)
        return
    inside = hidden
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        found.attributes.add(node.name)
    if isinstance(node, _FUNCTIONS):
        inside = hidden | _own(node)
    elif isinstance(node, _COMPREHENSIONS):
        _read(node.generators[0].iter, hidden, found)
        targets = (part for generator in node.generators for part in ast.walk(generator.target))
        inside = hidden | {part.id for part in targets if isinstance(part, ast.Name)}
    for name in node._fields:
        value = getattr(node, name, None)
        if value is None or name in ("annotation", "returns", "ctx"):
            continue
        scope = inside if name in ("body", "elt", "key", "value", "generators") else hidden
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                _read(child, scope, found)


def _digest(node: ast.AST, documented: bool) -> bytes:
    parts: list[str] = []
    _write(node, documented, parts)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()


def _write(node: ast.AST, documented: bool, parts: list[str]) -> None:
    """A syntax tree as texts that are the same in every version of Python: fields that are empty are left out."""
    if isinstance(node, ast.Constant):
        parts.append(f"{type(node.value).__name__}:{node.value!r}")
        return
    parts.append(f"({type(node).__name__}")
    for name in node._fields:
        value = getattr(node, name, None)
        if value is None or value == [] or name in ("ctx", "kind", "type_comment"):
            continue
        parts.append(name)
        for child in value if isinstance(value, list) else (value,):
            if not isinstance(child, ast.AST):
                parts.append(repr(child))
            elif documented or not (isinstance(child, ast.Expr) and _alone(child)):
                _write(child, documented, parts)
        parts.append(")")
