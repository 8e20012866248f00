"""Long commands stopped at random moments: ``python benchmarks/stopping.py TIMES`` prints one line for each that misbehaves.

Ctrl-C, SIGTERM and SIGKILL; afterwards no process of the session may be left, one line says why it ended, the status is a
shell's, and a study that is run again goes on from what it kept.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import test_stopping as stopping

ENDS = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated"), signal.SIGKILL: (-9, None)}
LATEST = 6.0
"""Seconds after which a command is stopped at the latest."""


def misbehaviour(name: str, number: signal.Signals, after: float) -> str | None:
    """What is wrong with a command that is stopped after so many seconds."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        process = stopping.started(name, place)
        time.sleep(after)
        if process.poll() is not None:
            return f"it ended by itself: {process.communicate()}"
        before = done(place)
        status, err = stopping.stopped(process, number)
        wanted, said = ENDS[number]
        if said is not None and (
            status != wanted or err.splitlines()[-1:] != [f"symslr: {said}"] or "Traceback" in err
        ):
            return f"status {status}, {err!r}"
        if done(place) < before:
            return f"{done(place)} points of {before} are kept"
        return None if name != "study" else not_gone_on(place)


def done(folder: Path) -> int:
    """Points of a study that are kept."""
    if not (folder / "study.sqlite").exists():
        return 0
    with stopping.Store(folder / "study.sqlite") as kept:
        return list(kept.states().values()).count("done")


def not_gone_on(folder: Path) -> str | None:
    """What is wrong with a second run of the study; it is killed once it has done more."""
    before, process = done(folder), stopping.started("study", folder)
    went_on = stopping.wait_until(lambda: done(folder) > before)
    stopping.stopped(process, signal.SIGKILL)
    return None if went_on else f"a second run did no more than {before} points"


def main(times: int) -> None:
    """So many moments for every command and signal."""
    moments = random.Random(7)
    bad = 0
    for name in stopping.COMMANDS:
        for number in ENDS:
            for _ in range(times):
                after = moments.uniform(0.05, LATEST)
                try:
                    found = misbehaviour(name, number, after)
                except (AssertionError, subprocess.TimeoutExpired) as fault:
                    found = f"{type(fault).__name__}: {fault}"
                if found is not None:
                    bad += 1
                    print(f"{name}, {number.name} after {after:.2f} s: {found[:300]}", flush=True)
        print(f"{name}: {3 * times} stopped", flush=True)
    print(f"{bad} misbehaved")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
