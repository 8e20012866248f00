"""A cache of parsed source files, shared between processes.

The store lies where Numba keeps what it compiles of symslr, and what it holds is found by the bytes of the file, by the
version of Python and by the text of the code that reads files. Where nothing can be written nothing is kept; a damaged
store is made anew.
"""

from __future__ import annotations

import hashlib
import sqlite3
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

from symslr.cache import statements, trees
from symslr.cache.results import MISSING, Cache, Damaged
from symslr.cache.statements import Source, Statement, parsed
from symslr.cache.trees import Used

NAME = "sources.sqlite"

MOST = 4096
"""Files that are kept, those that were read last: with every change of its text a file is another one."""

SECONDS = 5.0
"""Wait for another process that is writing; then nothing is kept."""


def _reader() -> bytes:
    try:
        files = [Path(str(name)).read_bytes() for name in (trees.__file__, statements.__file__, __file__)]
    except OSError:
        return b""
    return b"".join(hashlib.sha256(part).digest() for part in (sys.version.encode(), *files))


_READER = _reader()
"""Of the code that reads files, as it was when it was loaded; empty where its text is not there: then nothing is kept."""

_known: dict[str, Source] = {}
"""Those that this process has read."""


def place() -> Path | None:
    """The store, in the folder of symslr's compiled code; None where there is no such folder."""
    spec = find_spec(__name__.partition(".")[0])
    return None if spec is None or spec.cached is None else Path(spec.cached).with_name(NAME)


class Sources:
    """Files as their statements, as they are when asked for; what had to be read is kept when the block ends.

    Args:
        store: the file in which they are kept; None keeps nothing.
    """

    def __init__(self, store: Path | None) -> None:
        self._store = store if _READER else None
        self._cache: Cache | None = None
        self._damaged = False
        self._new: dict[str, tuple[str, object]] = {}

    def __call__(self, path: Path) -> Source:
        """The statements of a file."""
        text = path.read_bytes()
        key = hashlib.sha256(_READER + text).hexdigest()
        found = _known.get(key)
        if found is None:
            found = self._kept(key)
            if found is None:
                found = parsed(text)
                self._new[key] = str(path), _flat(found)
            if len(_known) >= MOST:
                _known.clear()
            _known[key] = found
        return found

    def __enter__(self) -> Sources:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._new and self._store is not None:
            with suppress(sqlite3.Error, ValueError, OSError):
                self._keep(self._store)
        self._close()

    def _kept(self, key: str) -> Source | None:
        if self._store is None or self._damaged:
            return None
        found = MISSING
        try:
            if self._cache is None:
                self._store.parent.mkdir(parents=True, exist_ok=True)
                self._cache = Cache(self._store, SECONDS)
            found = self._cache.get(key)
        except (sqlite3.Error, ValueError, OSError) as problem:
            self._damaged = _is_damage(problem)
            if not self._damaged:  # there is no place to keep anything, or it is busy
                self._store = None
        return None if found is MISSING else _full(found)

    def _keep(self, store: Path) -> None:
        """Write what is new, in place of a damaged store where there is one."""
        if not self._damaged:
            try:
                self._write(store)
                return
            except (sqlite3.Error, ValueError) as problem:
                if not _is_damage(problem):
                    raise
        self._close()
        for file in (store, store.with_name(f"{store.name}-journal")):
            file.unlink(missing_ok=True)
        self._write(store)

    def _write(self, store: Path) -> None:
        self._cache = self._cache or Cache(store, SECONDS)
        self._cache.put_all(self._new)
        self._cache.keep_latest(MOST)

    def _close(self) -> None:
        if self._cache is not None:
            self._cache.close()
            self._cache = None


def _is_damage(problem: Exception) -> bool:
    """Whether a store is beyond use; one that is busy or cannot be written to is not, but one without its table is."""
    if isinstance(problem, sqlite3.OperationalError):
        return getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_ERROR) == sqlite3.SQLITE_ERROR
    return isinstance(problem, (Damaged, sqlite3.DatabaseError))


def _flat(source: Source) -> object:
    """A file as plain values, which are quick to write and to read."""
    places = {statement: index for index, statement in enumerate(source.statements)}
    return (
        [(one.runs, one.is_class, vars(one.used), one.callers, one.digests) for one in source.statements],
        {name: [places[one] for one in bound] for name, bound in source.bindings.items()},
        source.imported,
        source.offered,
    )


def _full(found: Any) -> Source:
    rows, bindings, imported, offered = found
    every = [
        Statement(runs, is_class, Used(**used), callers, digests) for runs, is_class, used, callers, digests in rows
    ]
    bound = {name: [every[index] for index in places] for name, places in bindings.items()}
    return Source(every, bound, imported, offered)
