"""The version of the code that matters: a hash of the source that a computation can reach by import."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from symslr.parallel.serial import one_at_a_time

Import = tuple[str, str]
"""(module, name) of ``from module import name``; (module, "") of ``import module``."""


@lru_cache(maxsize=256)
@one_at_a_time  # ast.parse is not safe in threads before Python 3.12
def code_version(module: str, function: str = "") -> str:
    """SHA-256 over the sources of ``module`` and of all it imports, directly or not, within its own package.

    Imports are read from the syntax tree, those inside functions included and those for a type checker left out; what
    stores results and hands them on (this room) does not count, as it computes none. Where
    a package does nothing but hand a name on, the module counts that the name comes from. The file of the top package
    is left out: it imports nothing but names that load when used. Of a file outside any package, such as a figure's,
    what it imports from symslr and from files beside it counts.

    Args:
        module: dotted name.
        function: where given, only the definitions that this one can reach within its module count, and what these
            import: the rest of its file may change.

    Raises:
        ValueError: when there is no such module, or no such function in it.
    """
    path = _source(module)
    outside = _outside(path)
    package = OURS if outside else module.partition(".")[0]
    if not function:
        if outside:
            return _version(package, {path.name: path.read_bytes()}, _imports(_tree(path).body), path.parent)
        return _version(package, {}, [(module, "")], path.parent)
    body = _reached(_tree(path), function)
    if not body:
        raise ValueError(f"module {module}: found no {function!r}; expected a name that it defines")
    text = "\n".join(ast.unparse(statement) for statement in body)
    around = [] if outside else [(name, "") for name, _ in _read(module, "", package, path.parent) if name != module]
    return _version(package, {f"{home(module)}:{function}": text.encode()}, [*around, *_imports(body)], path.parent)


OURS = "symslr"
"""The package whose code counts for files that stand in none."""

STORE = (f"{OURS}.cache.", f"{OURS}.parallel.")
"""The rooms whose code changes no result."""


def home(module: str) -> str:
    """The name of a module; of a file outside any package that of the file, wherever it lies and however it was loaded.

    Raises:
        ValueError: when there is no such module.
    """
    path = _source(module)
    return path.name if _outside(path) else module


def _source(module: str) -> Path:
    path = _path(module)
    if path is None:
        raise ValueError(f"module {module}: found no source; expected an importable module")
    return path


def _outside(path: Path) -> bool:
    return not (path.parent / "__init__.py").is_file()


@one_at_a_time
def file_version(path: Path, package: str = OURS) -> str:
    """``code_version`` of a file outside any package: what it imports from ``package`` and from files beside it."""
    return _version(package, {path.name: path.read_bytes()}, _imports(_tree(path).body), path.parent)


def _version(package: str, found: dict[str, bytes], waiting: Iterable[Import], beside: Path) -> str:
    waiting = list(waiting)
    while waiting:
        for name, path in _read(*waiting.pop(), package, beside):
            if name not in found:
                found[name] = path.read_bytes()
                waiting += _imports(_tree(path).body)
    total = hashlib.sha256()
    for name in sorted(found):
        total.update(name.encode() + b"\0" + found[name] + b"\0")
    return total.hexdigest()


def _read(module: str, name: str, package: str, beside: Path) -> Iterator[tuple[str, Path]]:
    """The (name, file) pairs whose code ``from module import name`` brings in, their imports not yet followed."""
    if f"{module}.".startswith(STORE):
        return
    if module.partition(".")[0] != package:
        here = beside / f"{module.partition('.')[0]}.py"
        if here.is_file():
            yield here.stem, here
        return
    if name and _path(f"{module}.{name}") is not None:
        module, name = f"{module}.{name}", ""
    path = _path(module)
    if path is None:
        return
    if name and (module == package or _only_hands_on(path)):
        origin = _handed_on(path).get(name)
        if origin is not None and origin != (module, name):
            yield from _read(*origin, package, beside)
            return
    while module != package:
        yield module, path
        # the packages of a module run before it
        module = module.rpartition(".")[0]
        parent = _path(module)
        if parent is None or _only_hands_on(parent):
            return
        path = parent


def _path(module: str) -> Path | None:
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec is not None and spec.origin is not None and spec.has_location else None


@lru_cache(maxsize=1024)
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


def _imports(body: Iterable[ast.stmt]) -> list[Import]:
    found: list[Import] = []
    for node in (node for statement in body if not _for_types(statement) for node in ast.walk(statement)):
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            found += [(node.module, alias.name) for alias in node.names]
    return found


def _for_types(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"


def _handed_on(path: Path) -> dict[str, Import]:
    """What each name that a file imports is, where it comes from."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0
        for alias in node.names
    }


def _only_hands_on(path: Path) -> bool:
    """Whether a file holds imports, strings and ``__all__`` and nothing else; names may be handed on when they are asked for."""
    return path.name == "__init__.py" and all(
        isinstance(item, (ast.Import, ast.ImportFrom))
        or _for_types(item)
        or (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))
        or (isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) == "__all__")
        for item in _tree(path).body
    )


def _reached(tree: ast.Module, function: str) -> list[ast.stmt]:
    """The statements of a module on which the name ``function`` depends, annotations apart, in order."""
    binding: dict[str, list[ast.stmt]] = {}
    for item in tree.body:
        if not _for_types(item):
            for name in _bound(item):
                binding.setdefault(name, []).append(item)
    reached: dict[ast.stmt, None] = {}
    waiting = [function]
    while waiting:
        for item in binding.pop(waiting.pop(), ()):
            if item not in reached:
                reached[item] = None
                waiting += _used(item)
    return [item for item in tree.body if item in reached]


def _bound(item: ast.stmt) -> list[str]:
    if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [item.name]
    if isinstance(item, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.partition(".")[0] for alias in item.names]
    return [node.id for node in ast.walk(item) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def _used(item: ast.AST) -> Iterator[str]:
    """Names that a statement reads when it runs; annotations are never read."""
    for field, value in ast.iter_fields(item):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.Name):
                yield child.id
            if isinstance(child, ast.AST):
                yield from _used(child)
