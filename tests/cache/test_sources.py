"""What has been read of a file is kept from process to process; a store that is damaged, busy or absent changes no version."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from symslr.cache import sources
from symslr.cache.code import code_version, file_version, rooms_version
from symslr.cache.sources import NAME, Sources
from symslr.cache.statements import Source, parsed, source_of

TEXT = '''"""Words."""
from math import pi as turn, tau
import os.path
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from os import PathLike
else:
    OTHER = 1
LEVEL: int = 3

def area(r, *more, by=LEVEL):
    """Say."""
    return [turn * r**2 for r in (r, *more) if (half := by / 2)] + [half, os.path.sep, "symslr.model"]

class Shape(object, metaclass=type):
    side = area(1)
    def grown(self):
        from symslr.model import catalogue
        global LEVEL
        LEVEL = self.side.real
        return catalogue

table = {}
table["a"] = tau
'''


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where sources are kept in the test; nothing is known yet."""
    path = tmp_path / "kept" / NAME
    monkeypatch.setattr("symslr.cache.code.place", lambda: path)
    _forget()
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(TEXT)
    return path


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """The texts that are parsed from now on."""
    found: list[bytes] = []

    def parsing(text: bytes) -> Source:
        found.append(text)
        return parsed(text)

    monkeypatch.setattr(sources, "parsed", parsing)
    yield found
    _forget()


def _forget() -> None:
    """As in a new process."""
    sources._known.clear()
    code_version.cache_clear()
    rooms_version.cache_clear()


def _version(file: Path) -> str:
    _forget()
    return file_version(file, "Shape", "symslr")


def _all_of(source: Source) -> object:
    places = {statement: place for place, statement in enumerate(source.statements)}
    return (
        [(one.runs, one.is_class, one.used, one.callers, one.digests) for one in source.statements],
        {name: [places[one] for one in bound] for name, bound in source.bindings.items()},
        source.imported,
        source.offered,
        source.imports,
    )


def test_what_is_kept_is_what_was_read(store: Path, file: Path, read: list[bytes]) -> None:
    with Sources(store) as first:
        first(file)
    _forget()
    with Sources(store) as second:
        assert _all_of(second(file)) == _all_of(source_of(file))
    assert read == [TEXT.encode()]


def test_nothing_is_read_again_and_a_change_is_seen_at_once(store: Path, file: Path, read: list[bytes]) -> None:
    before = _version(file)
    assert TEXT.encode() in read
    assert len(read) > 1
    read.clear()
    assert _version(file) == before
    assert not read
    for old, new, matters in (("r**2", "r**3", True), ("Words", "Other words", False), ("= 3", "= 4", True)):
        assert old in TEXT
        changed = TEXT.replace(old, new)
        file.write_text(changed)
        assert (_version(file) != before) is matters
        assert read == [changed.encode()]
        read.clear()
    file.write_text(TEXT)
    assert _version(file) == before
    assert not read


def test_what_another_reader_has_read_is_read_again(
    store: Path, file: Path, read: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _version(file)
    read.clear()
    monkeypatch.setattr(sources, "_READER", b"another")
    assert _version(file) == before
    assert TEXT.encode() in read


def _cut(share: float) -> Callable[[Path], None]:
    return lambda store: os.truncate(store, int(share * store.stat().st_size))


def _overwritten(start: float, end: float) -> Callable[[Path], None]:
    def damage(store: Path) -> None:
        text = bytearray(store.read_bytes())
        there = slice(int(start * len(text)), int(end * len(text)))
        text[there] = bytes(255 - one for one in text[there])
        store.write_bytes(text)

    return damage


def _another(store: Path) -> None:
    store.unlink()
    with sqlite3.connect(store) as connection:
        connection.execute("CREATE TABLE things(name TEXT)")
    connection.close()


def _swapped(store: Path) -> None:
    """Every value stands under another one's key."""
    with sqlite3.connect(store) as connection:
        rows = connection.execute("SELECT key, value FROM results ORDER BY key").fetchall()
        moved = [(value, key) for (key, _), (_, value) in zip(rows, rows[1:] + rows[:1], strict=True)]
        connection.executemany("UPDATE results SET value = ? WHERE key = ?", moved)
    connection.close()


def _flipped(place: int) -> Callable[[Path], None]:
    def damage(store: Path) -> None:
        with sqlite3.connect(store) as connection:
            rows = connection.execute("SELECT key, value FROM results").fetchall()
            for key, value in rows:
                bad = bytearray(value)
                bad[place % len(bad)] ^= 1
                connection.execute("UPDATE results SET value = ? WHERE key = ?", (bytes(bad), key))
        connection.close()

    return damage


def _renamed(store: Path) -> None:
    with sqlite3.connect(store) as connection:
        connection.execute("ALTER TABLE results RENAME TO others")
    connection.close()


def _as_text(store: Path) -> None:
    """Values are text that is no UTF-8."""
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE results SET value = CAST(x'ff80fe' AS TEXT)")
    connection.close()


@pytest.mark.parametrize(
    "damage",
    [
        *(_cut(share) for share in (0.0, 0.001, 0.1, 0.5, 0.99)),
        *(_overwritten(*ends) for ends in ((0.0, 0.001), (0.0, 0.1), (0.3, 0.5), (0.0, 1.0))),
        *(_flipped(place) for place in (0, 40, 200, -1)),
        _another,
        _swapped,
        _renamed,
        _as_text,
    ],
)
def test_a_damaged_store_changes_nothing_and_is_made_anew(
    store: Path, file: Path, read: list[bytes], damage: Callable[[Path], None]
) -> None:
    before = _version(file)
    damage(store)
    read.clear()
    assert _version(file) == before
    assert read
    assert _version(file) == before
    read.clear()
    assert _version(file) == before
    assert not read


def test_without_a_place_to_write_nothing_is_kept(
    store: Path, file: Path, read: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _version(file)
    for place in (None, file / NAME, Path("/proc/nowhere") / NAME, store.parent):
        monkeypatch.setattr("symslr.cache.code.place", lambda place=place: place)
        read.clear()
        assert _version(file) == before
        assert TEXT.encode() in read
    monkeypatch.setattr("symslr.cache.code.place", lambda: store)
    monkeypatch.setattr(sources, "trees", ModuleType("trees"))
    sources.trees.__file__ = str(file / "trees.py")
    monkeypatch.setattr(sources, "_READER", sources._reader())
    read.clear()
    assert _version(file) == before
    assert TEXT.encode() in read
    read.clear()
    assert _version(file) == before
    assert TEXT.encode() in read


@pytest.mark.parametrize("lock", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_one_that_another_process_writes_to_is_left_alone(
    store: Path, file: Path, read: list[bytes], monkeypatch: pytest.MonkeyPatch, lock: str
) -> None:
    before = _version(file)
    monkeypatch.setattr(sources, "SECONDS", 0.01)
    other = sqlite3.connect(store, isolation_level=None)
    other.execute(lock)
    other.execute("DELETE FROM results")
    file.write_text(TEXT + "# more\n")
    assert _version(file) == before
    other.execute("ROLLBACK")
    other.close()
    read.clear()
    file.write_text(TEXT)
    assert _version(file) == before
    assert not read


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.parametrize("damage", [lambda store: None, _cut(0.5), lambda store: store.unlink()])
def test_processes_may_write_at_once(
    store: Path, file: Path, read: list[bytes], damage: Callable[[Path], None]
) -> None:
    before = _version(file)
    damage(store)
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert pool.map(_version, [file] * 8, chunksize=1) == [before] * 8
    assert _version(file) == before
    connection = sqlite3.connect(store)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    read.clear()
    assert _version(file) == before
    assert not read


def test_the_store_does_not_grow_for_ever(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST", 3)
    file = tmp_path / "grows.py"
    for number in range(6):
        file.write_text(f"A = {number}\n")
        with Sources(store) as asked:
            asked(file)
    with sqlite3.connect(store) as connection:
        assert connection.execute("SELECT count(*) FROM results").fetchone() == (3,)
    connection.close()
    assert len(sources._known) <= 3
