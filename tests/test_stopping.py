"""Ctrl-C, SIGTERM and SIGKILL at any moment of a long command: one line, the status of a shell, no orphan, what was done kept."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from symslr.cli.stopping import stopping_in_one_line
from symslr.study.store import Store

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc to see who is left")

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
PROGRESS = re.compile(r" \d+/\d+ ")
"""What a line about the progress of a command has, and no line about an exception."""

LONG = 60.0
"""Seconds after which a process that should end is given up."""

STUDY = """
[common]
kind = "bayes"
task = "spiked"
length = "3"
[[sweep]]
nu = {from = 0.01, to = 9, count = 2000}
digits = 60
"""

COMMANDS = {
    "risk": ["risk", "--length", "3", "--nu", "2", "--kernel", "exp(x**2)", "--seconds", "600"],
    "check": ["check", str(ROOT / "derivations" / "50_asymptotics.py"), str(ROOT / "derivations" / "25_landscape.py")],
    "report": ["report", str(ROOT / "derivations" / "50_asymptotics.py"), "--out", "report"],
    "validate": ["validate", str(ROOT / "validation"), "--keep", "kept.sqlite"],
    "compute": ["compute", "figure3", "--keep", "kept.sqlite"],
    "study": ["study", "run", "study.toml", "--store", "study.sqlite", "--workers", "2"],
}


def started(name: str, folder: Path) -> subprocess.Popen[str]:
    """The command in a session of its own, as a terminal has it."""
    (folder / "study.toml").write_text(STUDY)
    return subprocess.Popen(
        [sys.executable, "-m", "symslr", *COMMANDS[name]],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def members(session: int) -> list[int]:
    """The processes of a session that run; those that wait to be buried do not."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, own = stat.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(own) == session and state != "Z":
            found.append(int(stat.parent.name))
    return found


def wait_until(true: Callable[[], bool]) -> bool:
    give_up = time.monotonic() + LONG
    while time.monotonic() < give_up:
        if true():
            return True
        time.sleep(0.05)
    return False


def stopped(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str]:
    """(status, stderr) after a signal: Ctrl-C goes to every process of the terminal, the others to the command alone."""
    if number is signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    try:
        _, err = process.communicate(timeout=LONG)
        assert wait_until(lambda: not members(process.pid))  # the last to go is multiprocessing's own tracker
    finally:
        for pid in members(process.pid):
            os.kill(pid, signal.SIGKILL)
    return process.returncode, err


@pytest.mark.parametrize("after", [0.6, 4.0], ids=["soon", "later"])
@pytest.mark.parametrize(
    ("number", "status", "said"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_ends_a_command_in_one_line(
    tmp_path: Path, name: str, number, status: int, said: str, after: float
) -> None:
    process = started(name, tmp_path)
    time.sleep(after)
    assert process.poll() is None, process.communicate()
    found, err = stopped(process, number)
    assert found == status, err
    *before, last = err.splitlines()
    assert last == f"symslr: {said}"
    assert not [line for line in before if not PROGRESS.search(line)], err


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_at_the_very_end_ends_in_one_line(tmp_path: Path, number: signal.Signals, status: int) -> None:
    """The answer is out and destructors run."""
    slow = "import atexit, os, time; atexit.register(time.sleep, 60); import sys; sys.argv = ['symslr', 'derive']; "
    process = subprocess.Popen(
        [sys.executable, "-c", slow + "from symslr.cli import command; command()"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    while "nishimori" not in process.stdout.readline():
        pass
    time.sleep(1.0)
    found, err = stopped(process, number)
    assert (found, err) == (status, f"symslr: {'interrupted' if number is signal.SIGINT else 'terminated'}\n")


@pytest.mark.parametrize("name", ["check", "study"])
def test_a_killed_command_leaves_no_worker(tmp_path: Path, name: str) -> None:
    process = started(name, tmp_path)
    assert wait_until(lambda: len(members(process.pid)) >= 3)
    time.sleep(1.0)
    process.kill()
    process.communicate()
    assert wait_until(lambda: not members(process.pid))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_a_study_has_done_is_kept(tmp_path: Path, number) -> None:
    process, store = started("study", tmp_path), tmp_path / "study.sqlite"

    def done() -> int:
        with Store(store) as kept:
            return list(kept.states().values()).count("done")

    assert wait_until(lambda: store.exists() and done() > 3)
    before = done()
    stopped(process, number)
    assert 2000 > done() >= before


def test_an_exception_that_compiled_code_makes_of_a_signal_ends_in_the_same_line(capsys, monkeypatch) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)  # put back afterwards: this process goes on
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)

    def interrupted() -> None:
        with stopping_in_one_line():
            try:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(LONG)
            except BaseException as inside:
                raise SystemError("returned a result with an exception set") from inside

    with pytest.raises(SystemExit) as ended:
        interrupted()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "symslr: interrupted\n"
