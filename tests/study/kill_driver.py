"""Kill a study 50 times at random moments and let it end: ``kill_driver.py FOLDER``; a single-threaded process forks.

A moment is told by the rows that are done, and a part of a point after them, so that it does not depend on the machine.
Prints JSON: rows done after each kill, and the tables of the killed study, of one that was not killed, and of one that
two processes ran at a time.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fast_points  # noqa: F401 - loaded before the forks, so that each child starts at once

from symslr.study.executors import Place
from symslr.study.point import Point
from symslr.study.registry import register
from symslr.study.run import run_study
from symslr.study.store import Store
from symslr.study.table import table_of
from tests.study.rows import done

PAUSE = 1 / 60
MANY = 200
POINTS = [Point("fast", (("n", str(n)), ("pause", "1/60"), ("trouble", "none"))) for n in range(MANY)]
KILLS = 50
AT_MOST = 2
"""Rows that are done before a kill."""


def study(path: Path) -> None:
    with Store(path) as store:
        run_study(POINTS, store, Place(lambda: ThreadPoolExecutor(2), 2))


def child(path: Path) -> int:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            study(path)
            status = 0
        finally:
            os._exit(status)
    return pid


def table(path: Path) -> str:
    with Store(path) as store:
        return table_of(store.rows()).as_csv


def kill(path: Path, wanted: int, later: float) -> bool:
    """Start a study and kill it some seconds after so many rows are done; False where it had come to its end by then."""
    pid = child(path)
    while done(path) < min(wanted, MANY):
        time.sleep(PAUSE / 10)
    time.sleep(later)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1] == signal.SIGKILL


def main(folder: Path) -> None:
    register("fast", "fast_points")
    chance = random.Random(20)
    whole, shared = folder / "whole.sqlite", folder / "shared.sqlite"
    study(whole)
    killed, seen = [folder / "killed.sqlite"], [[0]]
    for _ in range(KILLS):
        while not kill(killed[-1], seen[-1][-1] + chance.randint(0, AT_MOST), chance.uniform(0.0, PAUSE)):
            killed.append(folder / f"killed{len(killed)}.sqlite")
            seen.append([0])
        seen[-1].append(done(killed[-1]))
    for path in killed:
        study(path)
    statuses = [os.waitpid(pid, 0)[1] for pid in [child(shared), child(shared)]]
    tables = {"whole": table(whole), "shared": table(shared), "killed": [table(path) for path in killed]}
    print(json.dumps({"done": seen, "statuses": statuses, **tables}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
