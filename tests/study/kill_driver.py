"""Kill a study 50 times at random moments and let it end: ``kill_driver.py FOLDER``; a single-threaded process forks.

Prints JSON: kills that found the study at work, rows done after each kill, and the tables of the killed study, of one
that was not killed, and of one that two processes ran at a time.
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

POINTS = [Point("fast", (("n", str(n)), ("pause", "1/60"), ("trouble", "none"))) for n in range(400)]
KILLS = 50


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


def main(folder: Path) -> None:
    register("fast", "fast_points")
    chance = random.Random(20)
    killed, whole, shared = (folder / f"{name}.sqlite" for name in ("killed", "whole", "shared"))
    began = time.monotonic()
    study(whole)
    longest = 1.5 * (time.monotonic() - began) / KILLS  # by half, should the machine be quicker later
    at_work, done = 0, []
    for _ in range(KILLS):
        pid = child(killed)
        time.sleep(chance.uniform(0.0, longest))
        finished, _ = os.waitpid(pid, os.WNOHANG)
        if not finished:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            at_work += 1
        with Store(killed) as store:
            done.append(list(store.states().values()).count("done"))
    study(killed)
    statuses = [os.waitpid(pid, 0)[1] for pid in [child(shared), child(shared)]]
    tables = {path.stem: table(path) for path in (killed, whole, shared)}
    print(json.dumps({"at_work": at_work, "done": done, "statuses": statuses, **tables}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
