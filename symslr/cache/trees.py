"""What a syntax tree reads, binds and calls, and a digest of it; each tree is walked once for each of the three."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

Import = tuple[str, str]
"""(module, name) of ``from module import name``; (module, "") of ``import module``, which binds the module itself."""

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

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LEAVES = (ast.Name, ast.Constant)


@dataclass
class Used:
    """What a statement reads when it runs, and when what it defines is called.

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


@dataclass(eq=False, slots=True)
class _Bound:
    """The names that statements bind, and those that they declare global.

    Attributes:
        walrus: where ``:=`` binds, if not here: a comprehension's binds around it.
    """

    names: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    walrus: _Bound | None = None


@dataclass(eq=False, slots=True)
class _Scope:
    """A function, a comprehension or the module, and what is read in it.

    Attributes:
        outer: the scope around it; None around the module.
        own: names that are its own from the start: arguments, and targets of a comprehension.
        bound: by the statements of a function, whose own they are, too.
        names, parts: as in ``Used``, before those are left out that are its own or an outer scope's.
    """

    outer: _Scope | None = None
    own: set[str] = field(default_factory=set)
    bound: _Bound = field(default_factory=_Bound)
    names: set[str] = field(default_factory=set)
    parts: set[tuple[str, str]] = field(default_factory=set)


def read(node: ast.stmt) -> tuple[Used, set[str]]:
    """What a statement reads, and the names that it binds."""
    reader, bound = _Reader(), _Bound()
    reader.visit(node, reader.scopes[0], bound)
    return reader.used(), bound.names


class _Reader:
    """Walks a tree once; whose a name is can be told when all of the tree has been seen."""

    def __init__(self) -> None:
        self.scopes = [_Scope()]
        self.found = Used()

    def used(self) -> Used:
        """All that is read and no scope's own."""
        hidden: dict[_Scope | None, set[str]] = {None: set()}
        for scope in self.scopes:  # outer ones come before inner ones
            around = hidden[scope] = hidden[scope.outer] | scope.own | (scope.bound.names - scope.bound.shared)
            self.found.names |= scope.names - around
            self.found.parts.update(part for part in scope.parts if part[0] not in around)
        return self.found

    def visit(self, node: ast.AST, scope: _Scope, bound: _Bound) -> None:
        """Note what is read in ``scope`` and what is bound in ``bound``: functions and classes bind nothing around them."""
        kind = type(node)
        special = _SPECIAL.get(kind)
        if special is not None and special(self, node, scope, bound):
            return
        for name in _READ[kind]:
            value = getattr(node, name, None)
            if type(value) is list:
                for child in value:
                    if isinstance(child, ast.AST):
                        self.visit(child, scope, bound)
            elif isinstance(value, ast.AST):
                self.visit(value, scope, bound)

    def _all(self, nodes: Iterable[ast.AST | None], scope: _Scope, bound: _Bound) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node, scope, bound)

    def _name(self, node: ast.Name, scope: _Scope, bound: _Bound) -> bool:
        scope.names.add(node.id)
        if type(node.ctx) is not ast.Load:
            bound.names.add(node.id)
        return True

    def _constant(self, node: ast.Constant, scope: _Scope, bound: _Bound) -> bool:
        value = node.value
        if type(value) is str and value.replace(".", "").replace("_", "").isalnum():
            self.found.strings.add(value)
        return True

    def _attribute(self, node: ast.Attribute, scope: _Scope, bound: _Bound) -> bool:
        self.found.attributes.add(node.attr)
        if type(node.value) is ast.Name:
            scope.parts.add((node.value.id, node.attr))
            return True
        return False

    def _import(self, node: ast.Import | ast.ImportFrom, scope: _Scope, bound: _Bound) -> bool:
        for name, target in imports(node):
            bound.names.add(name)
            self.found.imports.append(target)
        return True

    def _function(self, node: ast.FunctionDef, scope: _Scope, bound: _Bound) -> bool:
        bound.names.add(node.name)
        self.found.attributes.add(node.name)
        self._all(node.decorator_list, scope, bound)
        self._all(getattr(node, "type_params", ()), scope, _Bound())
        self._body(node.args, node.body, scope)
        return True

    def _lambda(self, node: ast.Lambda, scope: _Scope, bound: _Bound) -> bool:
        self._body(node.args, [node.body], scope)
        return True

    def _body(self, given: ast.arguments, body: Iterable[ast.AST], scope: _Scope) -> None:
        self._all((*given.defaults, *given.kw_defaults), scope, _Bound())
        every = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
        inner = _Scope(scope, {item.arg for item in every if item})
        self.scopes.append(inner)
        self._all(body, inner, inner.bound)

    def _class(self, node: ast.ClassDef, scope: _Scope, bound: _Bound) -> bool:
        bound.names.add(node.name)
        self._all(node.decorator_list, scope, bound)
        inner = (*node.bases, *node.keywords, *getattr(node, "type_params", ()), *node.body)
        self._all(inner, scope, _Bound())
        return True

    def _comprehension(self, node: ast.ListComp, scope: _Scope, bound: _Bound) -> bool:
        """The first iterable is read around it."""
        own = {part.id for one in node.generators for part in ast.walk(one.target) if isinstance(part, ast.Name)}
        inner, apart = _Scope(scope, own), _Bound(walrus=bound.walrus or bound)
        self.scopes.append(inner)
        for index, generator in enumerate(node.generators):
            self.visit(generator.iter, inner if index else scope, apart)
            self._all((generator.target, *generator.ifs), inner, apart)
        self._all([getattr(node, name, None) for name in ("elt", "key", "value")], inner, apart)
        return True

    def _walrus(self, node: ast.NamedExpr, scope: _Scope, bound: _Bound) -> bool:
        (bound.walrus or bound).names.add(node.target.id)
        return False

    def _annotated(self, node: ast.AnnAssign, scope: _Scope, bound: _Bound) -> bool:
        """An annotation is not read, but it may bind."""
        _Reader().visit(node.annotation, _Scope(), bound)
        return False

    def _if(self, node: ast.If, scope: _Scope, bound: _Bound) -> bool:
        """What is for a type checker only is not read, but it binds."""
        if not for_types(node):
            return False
        _Reader()._all(node.body, _Scope(), bound)
        self._all(node.orelse, scope, bound)
        return True

    def _global(self, node: ast.Global, scope: _Scope, bound: _Bound) -> bool:
        bound.shared.update(node.names)
        return True

    def _caught(self, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar, scope: _Scope, bound: _Bound) -> bool:
        if node.name:
            bound.names.add(node.name)
        return False

    def _rest(self, node: ast.MatchMapping, scope: _Scope, bound: _Bound) -> bool:
        if node.rest:
            bound.names.add(node.rest)
        return False


_SPECIAL: dict[type, Callable[..., bool]] = {
    ast.Name: _Reader._name,
    ast.Constant: _Reader._constant,
    ast.Attribute: _Reader._attribute,
    ast.NamedExpr: _Reader._walrus,
    ast.Import: _Reader._import,
    ast.ImportFrom: _Reader._import,
    ast.FunctionDef: _Reader._function,
    ast.AsyncFunctionDef: _Reader._function,
    ast.Lambda: _Reader._lambda,
    ast.ClassDef: _Reader._class,
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), _Reader._comprehension),
    ast.AnnAssign: _Reader._annotated,
    ast.If: _Reader._if,
    ast.Global: _Reader._global,
    ast.ExceptHandler: _Reader._caught,
    ast.MatchAs: _Reader._caught,
    ast.MatchStar: _Reader._caught,
    ast.MatchMapping: _Reader._rest,
}
"""What is noted of a node; whether nothing is left to be visited inside it."""


def _fields(*left_out: str) -> dict[type, tuple[str, ...]]:
    kinds = [kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)]
    return {kind: tuple(name for name in kind._fields if name not in left_out) for kind in kinds}


_READ = _fields("annotation", "returns", "ctx", "op", "ops")
"""In which something may be read: annotations never are, and the others are words of the language."""

_WRITTEN = _fields("ctx", "kind", "type_comment")
"""Which matter to what a tree does."""


def for_types(node: ast.AST) -> TypeGuard[ast.If]:
    """Whether the first branch of a statement is for a type checker only."""
    if not isinstance(node, ast.If):
        return False
    test = node.test
    if isinstance(test, ast.Attribute):
        return test.attr == "TYPE_CHECKING" and isinstance(test.value, ast.Name) and test.value.id == "typing"
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def imports(node: ast.AST) -> Iterator[tuple[str, Import]]:
    """(bound name, what it stands for); relative imports are no part of this code base's style and are refused."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0], (alias.name, "")
    elif isinstance(node, ast.ImportFrom):
        if node.module is None or node.level:
            raise ValueError(f"line {node.lineno}: found a relative import; expected an absolute one")
        for alias in node.names:
            yield alias.asname or alias.name, (node.module, alias.name)


def alone(node: ast.AST) -> bool:
    """Whether a statement is a string and nothing else, such as a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def only_binds(node: ast.stmt) -> bool:
    """Whether a statement does no more than bind names: no call, loop, condition, or assignment to a part of an object."""
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


def called(node: ast.AST) -> Iterator[str]:
    """The names of what is called when a statement is loaded, and of its decorators; "" for what has no name.

    Decorators that are known to keep nothing are left out.
    """
    if isinstance(node, ast.Call):
        yield _root(node.func)
    for decorator in getattr(node, "decorator_list", ()):
        inner = decorator.func if isinstance(decorator, ast.Call) else decorator
        if (inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "")) not in HARMLESS:
            yield _root(inner) or ""
    for word in getattr(node, "keywords", ()):
        if isinstance(node, ast.ClassDef) and word.arg == "metaclass":
            yield ""
    for name in node._fields:
        if name == "decorator_list" or (name == "body" and isinstance(node, _FUNCTIONS)):
            continue
        value = getattr(node, name, None)
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST) and child._fields and not isinstance(child, _LEAVES):
                yield from called(child)


def _root(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, (ast.Constant, ast.JoinedStr)):
        return "str"
    return node.id if isinstance(node, ast.Name) else ""


def digests(node: ast.stmt) -> tuple[bytes, bytes]:
    """SHA-256 of a statement's tree without and with its docstrings; comments and formatting do not count."""
    parts: list[str] = []
    words: list[tuple[int, ast.AST]] = []
    _write(node, parts, words)
    plain = _hashed(parts)
    if not words:
        return plain, plain
    documented: list[str] = []
    end = 0
    for place, word in words:
        documented += parts[end:place]
        _write(word, documented, [])
        end = place
    return plain, _hashed(documented + parts[end:])


def _hashed(parts: list[str]) -> bytes:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()


def _write(node: ast.AST, parts: list[str], words: list[tuple[int, ast.AST]]) -> None:
    """A syntax tree as texts that are the same in every version of Python: fields that are empty are left out.

    Strings that stand alone are left out, too, and added to ``words`` with their places.
    """
    parts.append(f"({type(node).__name__}")
    for name in _WRITTEN[type(node)]:
        value = getattr(node, name, None)
        if value is None or value == []:
            continue
        parts.append(name)
        for child in value if type(value) is list else (value,):
            kind = type(child)
            if kind is ast.Name:
                parts += ("(Name", "id", repr(child.id), ")")
            elif kind is ast.Constant:
                parts.append(f"{type(child.value).__name__}:{child.value!r}")
            elif not isinstance(child, ast.AST):
                parts.append(repr(child))
            elif kind is ast.Expr and alone(child):
                words.append((len(parts), child))
            else:
                _write(child, parts, words)
        parts.append(")")
