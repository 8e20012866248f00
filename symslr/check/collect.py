"""Finds derivations in a folder as pytest finds tests: every ``Derivation`` object, every ``derive_*`` function."""

from __future__ import annotations

import hashlib
import inspect
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import symslr
from symslr.algebra.derivation import Derivation
from symslr.check.untouched import remembered, touched


class CollectError(ValueError):
    """A folder holds no derivations, or a file of it cannot be read as derivations; one line, with file and line."""


def builtin_folder(kind: str = "derivations") -> Path:
    """The folder that symslr carries: ``derivations`` or ``validation``.

    An installed symslr has it inside the package, a checkout beside it.

    Raises:
        CollectError: when neither exists.
    """
    package = Path(symslr.__file__).parent
    for place in (package / "_bundled" / kind, package.parent / kind):
        if place.is_dir():
            return place
    raise CollectError(f"{kind}: found no such folder inside or beside {package}; name one")


def collect(paths: Iterable[Path | str] | Path | str) -> list[Derivation]:
    """The derivations of files and folders, each with a name of its own, in the order of the files' names.

    A file defines derivations as module-level ``Derivation`` objects, or as functions ``derive_*`` without arguments
    that return one or several. A derivation without a name takes that of its variable or function. Files whose names
    start with ``_`` are left alone. Modules are loaded under names of their own and leave no bytecode behind.

    Raises:
        CollectError: for a missing path, a folder without derivations, a file that fails to run (a rule that refuses
            says why), a name that occurs twice.
    """
    chosen = [paths] if isinstance(paths, (str, Path)) else list(paths)
    found: list[Derivation] = []
    origin: dict[str, Path] = {}
    for path in map(Path, chosen):
        here = [(file, item) for file in _files(path) for item in _derivations(file)]
        if not here:
            raise CollectError(f"no derivations in {path}: expected .py files that define Derivation objects")
        for file, item in here:
            if item.name in origin:
                raise CollectError(
                    f"{file}: the name {item.name!r} is taken by {origin[item.name]}; give each derivation its own name"
                )
            origin[item.name] = file
            found.append(item)
    return found


def find(name: str, folder: Path) -> Derivation | None:
    """The derivation of that name; files after the one that defines it are not run."""
    return next((item for file in _files(folder) for item in _derivations(file) if item.name == name), None)


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise CollectError(f"{path}: found no such file or folder; expected a folder of derivations")
    return sorted(
        file for file in path.rglob("*.py") if not any(p.startswith(("_", ".")) for p in file.relative_to(path).parts)
    )


def _derivations(file: Path) -> Iterator[Derivation]:
    """The derivations of one file, objects before functions, each in order of definition.

    Raises:
        CollectError: besides, where the file changes symslr itself, such as a rule or the referee.
    """
    before = remembered()
    module = load_module(file)
    chapter = (module.__doc__ or "").strip().partition("\n")[0].removesuffix(".")
    for item in _members(file, module):
        yield item if item.chapter else item.named(chapter=chapter)
    if changed := touched(before):
        raise CollectError(f"{file}: changes {', '.join(changed[:3])}; expected a file that leaves symslr as it is")


def _members(file: Path, module: ModuleType) -> Iterator[Derivation]:
    seen: list[Derivation] = []
    members = list(vars(module).items())
    for name, value in members:
        if isinstance(value, Derivation) and not name.startswith("_") and not any(value is other for other in seen):
            seen.append(value)
            yield value if value.name else value.named(name=name.replace("_", "-"))
    for name, value in members:
        if inspect.isfunction(value) and name.startswith("derive_") and value.__module__ == module.__name__:
            for item in _called(file, name, value):
                if not any(item is other for other in seen):
                    seen.append(item)
                    yield item


def _called(file: Path, name: str, function: object) -> list[Derivation]:
    if any(p.default is p.empty for p in inspect.signature(function).parameters.values()):  # type: ignore[arg-type]
        raise CollectError(f"{file}: {name} takes arguments; expected a function without any that returns derivations")
    try:
        result = function()  # type: ignore[operator]
        items = list(result) if isinstance(result, Iterable) else [result]
    except Exception as error:
        raise _one_line(file, error) from error
    for item in items:
        if not isinstance(item, Derivation):
            raise CollectError(f"{file}: {name} returned {type(item).__name__}; expected a Derivation or several")
    default = name.removeprefix("derive_").replace("_", "-")
    if len(items) == 1:
        return [item if item.name else item.named(name=default) for item in items]
    return [item if item.name else item.named(name=f"{default}-{i}") for i, item in enumerate(items, 1)]


def load_module(file: Path) -> ModuleType:
    """The module of a file, under a name made from its whole path, so that two folders may hold equal file names.

    Raises:
        CollectError: when it fails to run.
    """
    file = file.resolve()
    written_at = file.stat().st_mtime_ns if file.is_file() else 0
    known = _LOADED.get(file)
    if known is not None and known[0] == written_at:
        return known[1]
    module = _loaded(file)
    _LOADED[file] = written_at, module
    return module


_LOADED: dict[Path, tuple[int, ModuleType]] = {}
"""Files that were loaded, with the time at which they were written: a chain that is cited is made once."""


def _loaded(file: Path) -> ModuleType:
    name = f"_symslr_{hashlib.sha256(str(file).encode()).hexdigest()[:16]}_{file.stem}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise CollectError(f"{file}: found no Python file; expected one ending in .py")
    module = module_from_spec(spec)
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.modules[name] = module  # dataclasses look their module up while it runs
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise _one_line(file, error) from error
    finally:
        sys.dont_write_bytecode = written
    return module


def neighbour(file: Path | str, name: str) -> ModuleType:
    """The module ``name`` in the folder of ``file``: how a file of derivations cites what stands in another one.

    Raises:
        CollectError: when it does not exist or fails to run.
    """
    return load_module(Path(file).with_name(name))


def _one_line(file: Path, error: Exception) -> CollectError:
    """The error as ``file:line: what``, with the last line of this file that led to it."""
    lines: Sequence[int | None] = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file.resolve())
    ]
    if isinstance(error, SyntaxError) and error.filename == str(file.resolve()):
        lines = [error.lineno]
    where = f"{file}:{lines[-1]}" if lines else str(file)
    text = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    return CollectError(f"{where}: {kind}{text}")
