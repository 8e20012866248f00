"""A cache of results in one SQLite file; each is written as soon as it is computed, and unused ones can be dropped."""

from __future__ import annotations

import copyreg
import hashlib
import pickle
import platform
import sqlite3
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar
from weakref import finalize

Result = TypeVar("Result")

APPLICATION, LAYOUT = 0x53594D4B, 1
"""Marks of our file in SQLite's header, so that another program's database is never touched."""

LIBRARIES = ("sympy", "mpmath", "numpy", "scipy", "python-flint", "numba", "torch")
"""Whose numbers enter a result."""

MISSING = object()


@lru_cache(maxsize=1)
def library_versions() -> dict[str, str]:
    """The versions of Python and of the libraries that compute, "not installed" where one is missing."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def key_of(*content: str) -> str:
    """SHA-256 of what is asked, of the code that answers it, as the caller says both, and of the libraries' versions."""
    total = hashlib.sha256()
    for text in (*content, repr(library_versions())):
        total.update(text.encode() + b"\0")
    return total.hexdigest()


class Damaged(ValueError):
    """A file is no store of results, or no longer one."""


def refuse_other_files(path: Path) -> None:
    """SQLite takes a text of a few bytes for an empty database and writes over it; this refuses it instead.

    Raises:
        sqlite3.DatabaseError: where there is a file that is neither empty nor a database.
    """
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
        if start and start != MAGIC:
            raise sqlite3.DatabaseError("file is not a database")


MAGIC = b"SQLite format 3\0"
"""What a database starts with."""


class Cache:
    """A store of results by key; any number of processes may use one file.

    The values are pickled: like compiled bytecode, the file is for the machine that wrote it and not for passing on. Each
    stands behind its digest, so that a damaged one is missing and never another one.

    Args:
        path: the file; None keeps nothing.
        seconds: how long to wait for another process that writes.

    Raises:
        Damaged: when the file is there and is not ours.
        ValueError: when it cannot be opened.
    """

    def __init__(self, path: Path | None = None, seconds: float = 60.0) -> None:
        self._asked: set[str] = set()
        try:
            self._connection = sqlite3.connect(
                ":memory:" if path is None else path,
                timeout=seconds,
                isolation_level=None,
                check_same_thread=False,  # what is only dropped may be closed by another one, where its garbage is collected
            )
        except sqlite3.OperationalError as problem:
            raise ValueError(
                f"{path}: cannot keep results there ({problem}); name a file in a folder that exists"
            ) from None
        finalize(self, self._connection.close).atexit = False  # one that is only dropped is closed, too
        try:
            if path is not None:
                refuse_other_files(path)
            self._prepare()
        except sqlite3.DatabaseError as problem:
            self._connection.close()
            kind = ValueError if isinstance(problem, sqlite3.OperationalError) else Damaged
            raise kind(f"{path}: cannot keep results there ({problem}); delete it or name another file") from None

    def _prepare(self) -> None:
        # In this order: another process that makes the file marks it before it makes the table.
        (tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        mark, layout = (self._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _PRAGMAS)
        if (mark, layout) == (APPLICATION, LAYOUT) and tables:
            return
        if tables:
            raise sqlite3.DatabaseError("not a file of this version of symslr")
        for name, value in zip(_PRAGMAS, (APPLICATION, LAYOUT), strict=True):
            self._connection.execute(f"PRAGMA {name} = {value}")
        self._connection.execute("CREATE TABLE IF NOT EXISTS results(key TEXT PRIMARY KEY, what TEXT, value BLOB)")

    def __enter__(self) -> Cache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is kept or found any more."""
        self._connection.close()

    def get(self, key: str) -> object:
        """The result, or MISSING."""
        self._asked.add(key)
        found = self._connection.execute("SELECT value FROM results WHERE key = ?", (key,)).fetchone()
        if found is None or not isinstance(found[0], bytes):
            return MISSING
        digest, value = found[0][:_LENGTH], found[0][_LENGTH:]
        if digest != _digest(key, value):
            return MISSING
        try:
            return pickle.loads(value)
        except Exception:  # whatever an old pickle raises, the result is computed again
            return MISSING

    def put(self, key: str, what: str, value: object) -> None:
        """Keep a result; ``what`` says in words what it is."""
        self.put_all({key: (what, value)})

    def put_all(self, results: Mapping[str, tuple[str, object]]) -> None:
        """Keep results, each with what it is in words: all of them or, where this fails, none."""
        rows = []
        for key, (what, value) in results.items():
            pickled = _pickled(value)
            rows.append((key, what, _digest(key, pickled) + pickled))
        self._connection.execute("BEGIN IMMEDIATE")
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?)", rows)

    def computed(self, key: str, what: str, compute: Callable[[], Result]) -> Result:
        """The kept result, or else what ``compute`` returns, which is kept."""
        found = self.get(key)
        if found is not MISSING:
            return found  # type: ignore[return-value]
        value = compute()
        self.put(key, what, value)
        return value

    def drop_unasked(self) -> None:
        """Forget the results that nobody asked for since this store was opened."""
        stored = {key for (key,) in self._connection.execute("SELECT key FROM results")}
        self._connection.executemany("DELETE FROM results WHERE key = ?", [(key,) for key in stored - self._asked])

    def keep_latest(self, count: int) -> None:
        """Forget all but the results that were put last."""
        self._connection.execute(
            "DELETE FROM results WHERE rowid <= (SELECT max(rowid) FROM results) - ?",
            (count,),
        )


def _pickled(value: object) -> bytes:
    """As ``pickle.dumps``; sums, products and powers come back as they are written, such as ``-(x + y)`` held together."""
    buffer = BytesIO()
    pickler = pickle.Pickler(buffer)
    if "sympy" in sys.modules:  # no other value holds any
        from sympy import Add, Mul, Pow

        pickler.dispatch_table = copyreg.dispatch_table | dict.fromkeys((Add, Mul, Pow), _parts)
    pickler.dump(value)
    return buffer.getvalue()


def _parts(node: Any) -> tuple[Callable[..., object], tuple[object, ...]]:
    return _as_written, (type(node), *node.args)


def _as_written(kind: Callable[..., object], *args: object) -> object:
    return kind(*args, evaluate=False)


def _digest(key: str, value: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + value).digest()


_LENGTH = hashlib.sha256().digest_size

_PRAGMAS = ("application_id", "user_version")
