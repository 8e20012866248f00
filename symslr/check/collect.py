"""Finds derivations in a folder as pytest finds tests: every ``Derivation`` object, every ``derive_*`` function."""

from __future__ import annotations

import hashlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from symslr.algebra.derivation import Derivation
from symslr.cache.results import Cache, key_of, texts_version
from symslr.check.untouched import remembered, touched
from symslr.library.folders import CollectError, builtin_folder, files_of
from symslr.library.index import Entry, read_index
from symslr.parallel.processes import each_done

__all__ = [
    "CollectError",
    "builtin_folder",
    "collect",
    "entries_of",
    "find",
    "listed",
    "load_module",
    "members",
    "neighbour",
]


def collect(paths: Iterable[Path | str] | Path | str, kept: Cache | None = None) -> list[Derivation]:
    """The derivations of files and folders, each with a name of its own, in the order of the files' names.

    A file defines derivations as module-level ``Derivation`` objects, or as functions ``derive_*`` without arguments
    that return one or several. A derivation without a name takes that of its variable or function. Files whose names
    start with ``_`` are left alone. Modules are loaded under names of their own and leave no bytecode behind.

    Args:
        paths: of files and folders.
        kept: where symslr's own derivations are found that an earlier call made of the same texts by the same code, and
            where new ones are written. Of other files the text does not tell what they read: they are run.

    Raises:
        CollectError: for a missing path, a folder without derivations, a file that fails to run (a rule that refuses
            says why), a name that occurs twice.
    """
    chosen = [paths] if isinstance(paths, (str, Path)) else list(paths)
    found: list[Derivation] = []
    origin: dict[str, Path] = {}
    if kept is not None and kept.is_on_disk:  # the loop below finds there what these processes have made
        list(each_done(partial(_keep, kept), {file: file for path in map(Path, chosen) for file in _own(path)}))
    for path in map(Path, chosen):
        here = [(file, item) for file in files_of(path) for item in _of_file(file, kept)]
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


def _own(path: Path) -> list[Path]:
    """The files of symslr's own folder among those of a path: what they make is told by their texts."""
    return files_of(path) if path.resolve().is_relative_to(builtin_folder().resolve()) else []


def _keep(kept: Cache, file: Path) -> None:
    _of_file(file, kept)


def _of_file(file: Path, kept: Cache | None) -> list[Derivation]:
    """The derivations of a file: of symslr's own the kept ones where neither their folder nor symslr has changed since."""
    if kept is None or not _own(file):
        return [item for _, item in members(file)]
    key = key_of("derivations", file.name, texts_version(*files_of(builtin_folder())))
    return kept.computed(key, lambda: [item for _, item in members(file)])


def find(name: str, folder: Path) -> Derivation | None:
    """The derivation of that name, or None.

    Where the folder's list names it, only its file is loaded and only the function that makes it runs; the files that
    changed since the list was written are run one after another.
    """
    known = read_index(folder)
    files = files_of(folder)
    for file in files:
        for entry in known.of_file(file) or ():
            if entry.name == name:
                return next((item for _, item in members(file, entry.function) if item.name == name), None)
    changed = (file for file in files if known.of_file(file) is None)
    return next((item for file in changed for _, item in members(file) if item.name == name), None)


def listed(folder: Path) -> list[Entry]:
    """Name, title and last known verdict of every derivation of a folder; only files that its list does not know are run."""
    known = read_index(folder)
    return [entry for file in files_of(folder) for entry in known.of_file(file) or entries_of(file)]


def entries_of(file: Path) -> list[Entry]:
    """The entries of a file's derivations, made by running it; without verdicts."""
    return [Entry(item.name, item.title, file.name, function) for function, item in members(file)]


OBJECTS = ""
"""Stands for the derivations that are objects of a file, where a function is asked for."""


def members(file: Path, only: str | None = None) -> Iterator[tuple[str, Derivation]]:
    """The derivations of one file with the function that makes each, objects before functions, each in order of definition.

    Args:
        file: the file.
        only: those that this function makes, or the objects alone; all without.

    Raises:
        CollectError: besides, where the file changes symslr itself, such as a rule or the referee.
    """
    before = remembered()
    module = load_module(file)
    chapter = (module.__doc__ or "").strip().partition("\n")[0].removesuffix(".")
    for function, item in _members(file, module, only):
        yield function, item if item.chapter else item.named(chapter=chapter)
    if changed := touched(before):
        raise CollectError(f"{file}: changes {', '.join(changed[:3])}; expected a file that leaves symslr as it is")


def _members(file: Path, module: ModuleType, only: str | None) -> Iterator[tuple[str, Derivation]]:
    seen: list[Derivation] = []
    for name, value in list(vars(module).items()):
        if isinstance(value, Derivation) and not name.startswith("_") and not any(value is other for other in seen):
            seen.append(value)
            if only in (None, OBJECTS):
                yield OBJECTS, value if value.name else value.named(name=name.replace("_", "-"))
    for name, function in _functions(module).items():
        if only in (None, name):
            for item in _called(file, name, function):
                if not any(item is other for other in seen):
                    seen.append(item)
                    yield name, item


def _functions(module: ModuleType) -> dict[str, Callable[..., object]]:
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and name.startswith("derive_") and value.__module__ == module.__name__
    }


def _called(file: Path, name: str, function: Callable[..., object]) -> Iterator[Derivation]:
    """What a function makes, one after another: a derivation that is found stops the work on those behind it."""
    if any(p.default is p.empty for p in inspect.signature(function).parameters.values()):
        raise CollectError(f"{file}: {name} takes arguments; expected a function without any that returns derivations")
    default = name.removeprefix("derive_").replace("_", "-")
    made = _made(file, name, function)
    waiting = next(made, None)
    number = 0
    while waiting is not None:
        number += 1
        if waiting.name:
            yield waiting
            waiting = next(made, None)
            continue
        following = next(made, None)
        alone = number == 1 and following is None
        yield waiting.named(name=default if alone else f"{default}-{number}")
        waiting = following


def _made(file: Path, name: str, function: Callable[..., object]) -> Iterator[Derivation]:
    try:
        result = function()
        for item in result if isinstance(result, Iterable) else [result]:
            if not isinstance(item, Derivation):
                raise CollectError(f"{file}: {name} returned {type(item).__name__}; expected a Derivation or several")
            yield item
    except CollectError:
        raise
    except (Exception, SystemExit) as error:
        raise _one_line(file, error) from error


def load_module(file: Path) -> ModuleType:
    """The module of a file, under a name made from its whole path, so that two folders may hold equal file names.

    Raises:
        CollectError: when it fails to run.
    """
    file = file.resolve()
    written = tuple(
        (near, near.stat().st_mtime_ns) for near in sorted({file, *file.parent.glob("*.py")}) if near.is_file()
    )
    known = _known_files.get(file)
    if known is not None and known[0] == written:
        return known[1]
    module = _loaded(file)
    _known_files[file] = written, module
    return module


_known_files: dict[Path, tuple[tuple[tuple[Path, int], ...], ModuleType]] = {}
"""Files that were loaded, with when each of its folder was written, as it may cite them: a chain that is cited is made once."""


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
    except (Exception, SystemExit) as error:  # one that ends the program would give its own status to a check
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


def _one_line(file: Path, error: BaseException) -> CollectError:
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
