"""The store of a study: one SQLite table with one row per point, written as soon as the point is finished."""

from __future__ import annotations

import os
import socket
import sqlite3
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from uuid import uuid4
from weakref import finalize

from symslr.study.point import Point

APPLICATION, LAYOUT = 0x53594D53, 1
"""Marks of our file in SQLite's header, so that another program's database is never touched."""

MAGIC = b"SQLite format 3\0"
"""What a database starts with."""

LEASE = 30.0
"""Seconds for which a claim holds unless renewed; a claim of a process that died on this machine ends at once."""

BUSY = 120.0
"""Seconds to wait for another process's transaction; each takes milliseconds."""

_SCHEMA = """
CREATE TABLE points(
    position INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, content TEXT NOT NULL, version TEXT NOT NULL,
    point TEXT NOT NULL, state TEXT NOT NULL CHECK (state IN ('waiting', 'done', 'failed')), reason TEXT, answers TEXT);
CREATE INDEX contents ON points(content);
CREATE TABLE claims(key TEXT PRIMARY KEY, owner TEXT NOT NULL, until REAL NOT NULL);
CREATE TABLE costs(key TEXT PRIMARY KEY, seconds REAL NOT NULL);
"""


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


@dataclass(frozen=True)
class Row:
    """One point as stored: its key, its state (waiting, done, failed), the reason of a failure, the answers as JSON."""

    key: str
    point: Point
    version: str
    state: str
    reason: str | None
    answers: str | None


@dataclass(frozen=True)
class Finished:
    """What came out of one point: answers as JSON, or the reason why there are none, and its wall time."""

    key: str
    answers: str | None
    reason: str | None
    seconds: float


class Store:
    """A study's table in one SQLite file; any number of processes may work on it at a time.

    Every change is one transaction, so a process killed at any moment leaves whole rows. A claim keeps two processes
    from computing the same point; where one outlives its claim both compute it and the first answer stays.

    Raises:
        ValueError: when the file is there and is not a study's store.
    """

    def __init__(self, path: Path, *, must_exist: bool = False) -> None:
        if must_exist and not path.is_file():
            raise ValueError(f"{path}: no such file; expected the store of a study that ran")
        self.path, is_new = path, not path.exists()
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex}"
        try:
            refuse_other_files(path)
            self._connection = sqlite3.connect(
                path,
                timeout=BUSY,
                isolation_level=None,
                check_same_thread=False,  # what is only dropped may be closed by another one, where its garbage is collected
            )
            finalize(self, self._connection.close).atexit = False  # also where the next lines raise
            with self._transaction():
                self._prepare()
        except sqlite3.DatabaseError as problem:
            if is_new:
                path.unlink(missing_ok=True)  # an empty file, of which the next run would not know what it is
            wanted = "a folder that can be written, on a disk with room" if is_new else "a file of symslr study"
            raise ValueError(f"{path}: cannot be used as a store ({problem}); expected {wanted}") from None

    def _prepare(self) -> None:
        (mark,), (layout,) = (self._connection.execute(f"PRAGMA {name}").fetchone() for name in _PRAGMAS)
        (tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if mark == 0 and tables == 0:
            for statement in filter(str.strip, _SCHEMA.split(";")):
                self._connection.execute(statement)
            self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
            self._connection.execute(f"PRAGMA user_version = {LAYOUT}")
        elif (mark, layout) != (APPLICATION, LAYOUT):
            raise ValueError(f"{self.path}: not a store of this version of symslr study; name another file")

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def add(self, points: Sequence[tuple[Point, str]]) -> list[str]:
        """Make a row for each (point, version of its code) that has none; their keys, in order."""
        rows = [(point.key(version), point.content, version, point.as_json()) for point, version in points]
        with self._transaction():
            self._connection.executemany(
                "INSERT OR IGNORE INTO points(key, content, version, point, state) VALUES (?, ?, ?, ?, 'waiting')", rows
            )
        return [key for key, *_ in rows]

    def retry(self, keys: Sequence[str]) -> None:
        """Let failed points wait again."""
        with self._transaction():
            self._connection.executemany(
                "UPDATE points SET state = 'waiting', reason = NULL WHERE key = ? AND state = 'failed'",
                [(key,) for key in keys],
            )

    def states(self) -> dict[str, str]:
        """Key -> state of every row."""
        return dict(self._connection.execute("SELECT key, state FROM points"))

    def exchange(self, finished: Sequence[Finished], queue: deque[str], count: int) -> list[str]:
        """Write finished points down and take new ones, in one transaction; the keys taken.

        A point that is done stays as it is, so that the first answer counts. Keys leave the queue until ``count`` of
        them are claimed: those that are finished, or that another live process holds, are passed over.
        """
        with self._transaction():
            for item in finished:
                state = "failed" if item.answers is None else "done"
                self._connection.execute(
                    "UPDATE points SET state = ?, answers = ?, reason = ? WHERE key = ? AND state != 'done'",
                    (state, item.answers, item.reason, item.key),
                )
                self._connection.execute("INSERT OR REPLACE INTO costs VALUES (?, ?)", (item.key, item.seconds))
                self._connection.execute("DELETE FROM claims WHERE key = ?", (item.key,))
            taken: list[str] = []
            while queue and len(taken) < count:
                key = queue.popleft()
                if self._claim(key):
                    taken.append(key)
        return taken

    def _claim(self, key: str) -> bool:
        now = time.time()
        found = self._connection.execute("SELECT state FROM points WHERE key = ?", (key,)).fetchone()
        if found is None or found[0] != "waiting":
            return False
        held = self._connection.execute("SELECT owner, until FROM claims WHERE key = ?", (key,)).fetchone()
        if held is not None and held[0] != self.owner and held[1] > now and _may_live(held[0]):
            return False
        self._connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", (key, self.owner, now + LEASE))
        return True

    def renew(self) -> None:
        """Prolong this process's claims."""
        with self._transaction():
            self._connection.execute("UPDATE claims SET until = ? WHERE owner = ?", (time.time() + LEASE, self.owner))

    def release(self) -> None:
        """Give up this process's claims."""
        with self._transaction():
            self._connection.execute("DELETE FROM claims WHERE owner = ?", (self.owner,))

    def rows(self, *, every_version: bool = False) -> list[Row]:
        """The rows in order; of points computed by several versions of the code the newest, unless all are wanted."""
        newest = "" if every_version else "WHERE position IN (SELECT max(position) FROM points GROUP BY content)"
        found = self._connection.execute(
            f"SELECT key, point, version, state, reason, answers FROM points {newest} ORDER BY position"
        )
        return [Row(key, Point.from_json(point), *rest) for key, point, *rest in found]

    def others(self, points: Sequence[Point]) -> list[Point]:
        """The points that it holds besides these, each once."""
        asked = {point.content for point in points}
        found = self._connection.execute("SELECT content, point FROM points GROUP BY content ORDER BY min(position)")
        return [Point.from_json(point) for content, point in found if content not in asked]


_PRAGMAS = ("application_id", "user_version")


def _may_live(owner: str) -> bool:
    """Whether the process that made a claim may still run; of another machine's nothing is known."""
    host, pid, _ = owner.rsplit(":", 2)
    if host != socket.gethostname():
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
