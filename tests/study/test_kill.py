"""A study killed at random moments, or run by two processes at a time, ends with the table of one that was left alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.study.rows import done

HERE = Path(__file__).parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), str(HERE)])}


def test_fifty_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, HERE / "kill_driver.py", tmp_path],
        env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=800,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert all(rows == sorted(rows) for rows in found["done"])  # what was written stays written
    assert len({count for rows in found["done"] for count in rows}) > 5  # kills landed between points
    assert found["statuses"] == [0, 0]
    assert len(found["whole"].splitlines()) == 1 + 2 * 200
    assert set(found["killed"]) == {found["whole"]}
    assert found["shared"] == found["whole"]


RUN = """
from pathlib import Path
from symslr.study.executors import Place, local_executor
from symslr.study.point import Point
from symslr.study.registry import register
from symslr.study.run import run_study
from symslr.study.store import Store
register("fast", "fast_points")
endless = {5: "work until go"}
points = [Point("fast", (("n", str(n)), ("pause", "0"), ("trouble", endless.get(n, "none")))) for n in range(20)]
with Store(Path("study.sqlite")) as store:
    run_study(points, store, Place(lambda: local_executor(2), 2))
"""


def test_workers_end_with_a_killed_run_and_the_next_run_resumes(tmp_path: Path) -> None:
    """One point does not end until a file is there: the kill finds the run at work however late it comes."""
    store, command = tmp_path / "study.sqlite", [sys.executable, "-c", RUN]
    process = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT)
    assert wait_until(lambda: done(store) > 0 or process.poll() is not None)
    workers = _children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(workers) >= 2
    assert 0 < done(store) < 20
    assert wait_until(lambda: not any(map(_runs, workers)))
    (tmp_path / "go").touch()
    subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, check=True)
    assert done(store) == 20


def wait_until(true: Callable[[], bool]) -> bool:
    give_up = time.monotonic() + 600
    while time.monotonic() < give_up:
        if true():
            return True
        time.sleep(0.02)
    return False


def _runs(pid: int) -> bool:
    """Whether the process is there and is not a zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _children(pid: int) -> list[int]:
    """Processes started by this one that compute points: two workers; the rest is multiprocessing's own tracker."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


KILLED = """
import os, signal
from symslr.study.executors import local_executor
if __name__ == "__main__":
    local_executor(1).submit(abs, 1).result()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_study_leaves_no_warning(tmp_path: Path) -> None:
    """Regression: "resource_tracker: There appear to be 6 leaked semaphore objects to clean up at shutdown"."""
    (tmp_path / "killed.py").write_text(KILLED)
    command = [sys.executable, str(tmp_path / "killed.py")]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (-signal.SIGKILL, "")
