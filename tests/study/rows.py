"""How far a study is, read beside the process that writes it, without a claim."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def done(store: Path) -> int:
    """The number of points of a store that are done; 0 before it is there."""
    if not store.exists():
        return 0
    # not read-only: what a process that was killed has left half written is undone by who comes next
    with closing(sqlite3.connect(f"{store.as_uri()}?mode=rw", uri=True, timeout=120.0)) as connection:
        if not connection.execute("SELECT name FROM sqlite_master WHERE name = 'points'").fetchall():
            return 0
        (count,) = connection.execute("SELECT count(*) FROM points WHERE state = 'done'").fetchone()
    return int(count)
