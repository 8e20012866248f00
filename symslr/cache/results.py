"""Results on the user's disk: found again by the question and by one hash of the source of symslr."""

from __future__ import annotations

import copyreg
import hashlib
import pickle
import sqlite3
import sys
from collections.abc import Callable, MutableMapping
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from symslr.library.folders import BUNDLED, PACKAGE
from symslr.library.records import versions

Result = TypeVar("Result")

MISSING = object()

MOST_KEPT = 2**29
"""Bytes of a folder; beyond it what was kept first goes first. A report keeps some 5 MB."""


@lru_cache(maxsize=1)
def source_version() -> str:
    """SHA-256 over the text of every module of symslr; folders that an installed one carries inside do not count."""
    return texts_version(*sorted(file for file in PACKAGE.rglob("*.py") if BUNDLED not in file.parents))


def texts_version(*files: Path) -> str:
    """SHA-256 over the names and the texts of files; line ends do not count."""
    total = hashlib.sha256()
    for file in files:
        name = file.relative_to(PACKAGE).as_posix() if file.is_relative_to(PACKAGE) else file.name
        total.update(name.encode() + b"\0" + b"\n".join(file.read_bytes().splitlines()) + b"\0")
    return total.hexdigest()


def key_of(*asked: str) -> str:
    """SHA-256 of what is asked, as the caller says it, of the source of symslr and of the libraries' versions."""
    return hashlib.sha256("\0".join((*asked, source_version(), repr(versions()))).encode()).hexdigest()


class Cache:
    """A store of results by key, each written as soon as it is there; any number of processes may use one folder.

    The values are pickled: like compiled bytecode, the folder is for the machine that wrote it and not for passing on.

    Args:
        folder: where results are kept; it is made where there is none. None keeps them in this process alone.

    Raises:
        ValueError: in one line, when nothing can be kept there.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._store: MutableMapping[str, bytes] = {}
        self._disk: Any = None
        if folder is None:
            return
        import diskcache

        try:
            if not folder.parent.is_dir():
                raise NotADirectoryError(f"found no folder {folder.parent}")
            if folder.is_file():
                raise FileExistsError("found a file")
            if folder.is_dir() and any(folder.iterdir()) and not (folder / diskcache.core.DBNAME).is_file():
                raise FileExistsError("found a folder of other files")
            self._disk = diskcache.Cache(folder, size_limit=MOST_KEPT, timeout=60)
        except (OSError, sqlite3.Error) as problem:
            said = f"cannot keep results there ({problem})"
            raise ValueError(
                f"{folder}: {said}; expected a new folder or one of kept results; delete it or name another"
            ) from None
        self._store = self._disk

    def __enter__(self) -> Cache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._disk is not None:
            self._disk.close()

    @property
    def is_on_disk(self) -> bool:
        """Whether other processes find what is kept."""
        return self._disk is not None

    def get(self, key: str) -> object:
        """The result, or MISSING; what an older library pickled and this one cannot read is missing too."""
        try:
            return pickle.loads(self._store[key])
        except Exception:
            return MISSING

    def put(self, key: str, value: object) -> None:
        """Keep a result."""
        self._store[key] = _pickled(value)

    def computed(self, key: str, compute: Callable[[], Result]) -> Result:
        """The kept result, or else what ``compute`` returns, which is kept."""
        found = self.get(key)
        if found is not MISSING:
            return found  # type: ignore[return-value]
        value = compute()
        self.put(key, value)
        return value


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
