"""A study killed at random moments, or run by two processes at a time, ends with the table of one that was left alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from symslr.study.store import Store

HERE = Path(__file__).parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), str(HERE)])}


def test_fifty_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, HERE / "kill_driver.py", tmp_path],
        env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["at_work"] >= 40
    assert found["done"] == sorted(found["done"])  # what was written stays written
    assert len(set(found["done"])) > 5  # kills landed between points
    assert found["statuses"] == [0, 0]
    assert len(found["whole"].splitlines()) == 1 + 2 * 400
    assert found["killed"] == found["whole"]
    assert found["shared"] == found["whole"]


RUN = """
from pathlib import Path
from symslr.study.executors import Place, local_executor
from symslr.study.point import Point
from symslr.study.registry import register
from symslr.study.run import run_study
from symslr.study.store import Store
register("fast", "fast_points")
points = [Point("fast", (("n", str(n)), ("pause", "1/20"), ("trouble", "none"))) for n in range(60)]
with Store(Path("study.sqlite")) as store:
    run_study(points, store, Place(lambda: local_executor(2), 2))
"""


def test_workers_end_with_a_killed_run_and_the_next_run_resumes(tmp_path: Path) -> None:
    store, command = tmp_path / "study.sqlite", [sys.executable, "-c", RUN]
    process = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT)
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up and not (store.exists() and _done(store)):
        time.sleep(0.05)
    workers = _children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(workers) >= 2
    assert 0 < _done(store) < 60
    while time.monotonic() < give_up and any(map(_runs, workers)):
        time.sleep(0.05)
    assert not any(map(_runs, workers))
    subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, check=True)
    assert _done(store) == 60


def _runs(pid: int) -> bool:
    """Whether the process is there and is not a zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _done(store: Path) -> int:
    with Store(store) as kept:
        return list(kept.states().values()).count("done")


def _children(pid: int) -> list[int]:
    """Processes started by this one that compute points: two workers; the rest is multiprocessing's own tracker."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]
