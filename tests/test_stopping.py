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
from itertools import takewhile
from pathlib import Path

import pytest

from symslr.cli.stopping import stopping_in_one_line
from symslr.parallel.processes import processors
from tests.study.rows import done

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc to see who is left")

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
PROGRESS = re.compile(r" \d+/\d+ ")
"""What a line about the progress of a command has, and no line about an exception."""

LONG = 400.0
"""Seconds after which what should happen, such as the end of a process, is given up."""

STUDY = """
[[sweep]]
kind = "slow"
n = {from = 1, to = 1000, count = 1000}
"""

SLOW_POINTS = """
import time

from mpmath import mpf

from symslr.expression.value import Kind, Value
from symslr.study.parameter import Parameter, count

PARAMETERS = (Parameter("n", count),)


def check(asked, files):
    pass


def compute(asked, files, seed):
    time.sleep(0.1)
    return {"n": Value(mpf(asked["n"]), mpf(0), Kind.CERTIFIED, 15, "by hand")}
"""
"""A kind of points of another package: a thousand of them take minutes of waiting, and none of computing."""

PARTS = """
import os
import time
from pathlib import Path

from symslr.cache.parts import computed_once


def validate():
    return computed_once(endless, [1, 2])


def endless(job):
    while True:
        Path(f"begun.{os.getpid()}").touch()
        time.sleep(0.01)
"""
"""A validation of two parts that are computed at once and never come to their end; each says that it has begun."""

ENDLESS = """
import os
import time
from multiprocessing import parent_process
from pathlib import Path

from symslr import SpikedSLR
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import CameronMartin
from symslr.expression.expectation import SequenceExpectation
from symslr.model.symbols import chi, epsilon
from symslr.parallel.processes import processors

HERE = Path(__file__).parent
made = []


class Endless(CameronMartin):
    def rewrite(self, expr):
        made.append(expr)
        tried_apart = parent_process() is not None and not (HERE / "made").exists()
        if parent_process() is None:
            (HERE / "made").touch()
        while not tried_apart and (parent_process() is not None or (processors() == 1 and len(made) > 2)):
            (HERE / f"begun.{os.getpid()}").touch()
            time.sleep(0.01)
        return super().rewrite(expr)


def chain(name):
    return Derivation(SequenceExpectation(chi[epsilon] ** 2, SpikedSLR().law), name=name).apply(Endless())


def derive_one() -> Derivation:
    return chain("one")


def derive_two() -> Derivation:
    return chain("two")
"""
"""A file of two chains that are made at once; a worker that checks one says so and never comes to its end. A check runs the file
once in a process of its own before."""

COMMANDS = {
    "risk": ["bayes", "--length", "3", "--nu", "2", "--certified", "--digits", "7000", "--seconds", "600"],
    "check": ["check", "endless.py"],
    "report": ["report", "endless.py", "--out", "report"],
    "validate": ["validate", "validation", "--keep", "kept"],
    "compute": ["compute", "endless_parts", "--keep", "kept"],
    "study": ["study", "run", "study.toml", "--store", "study.sqlite", "--workers", "1"],
}

WORKERS = min(processors(), 2)
"""Processes that check two chains or compute two parts; with one processor it is the command's own."""

COMPUTING = 0.5
"""Seconds of processor time from which on a command whose library of arithmetic is loaded computes: it does so for minutes."""

ELSEWHERE = """
from pathlib import Path
from symslr.cli import command
from symslr.library import folders

folders.PACKAGE = Path("symslr").resolve()
command()
"""
"""The command of a symslr whose figures and validations are those of the folder in which it runs."""


def started(name: str, folder: Path) -> subprocess.Popen[str]:
    """The command in a session of its own, as a terminal has it."""
    files = {
        "study.toml": STUDY,
        "endless.py": ENDLESS,
        "validation/endless_parts.py": PARTS,
        "figures/none.py": '"""No figure."""',
        "others/slow_points.py": SLOW_POINTS,
        "others/slow-1.dist-info/METADATA": "Name: slow\nVersion: 1\n",
        "others/slow-1.dist-info/entry_points.txt": "[symslr.points]\nslow = slow_points\n",
    }
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
    return subprocess.Popen(
        [sys.executable, *(("-c", ELSEWHERE) if name in ("compute", "report") else ("-m", "symslr")), *COMMANDS[name]],
        cwd=folder,
        env={**ENVIRONMENT, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder / 'others'}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def stats(session: int) -> dict[int, list[str]]:
    """What /proc says, from the state on, of the processes of a session that run; those that wait to be buried do not."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found[int(stat.parent.name)] = fields
    return found


def members(session: int) -> list[int]:
    """The processes of a session that run."""
    return list(stats(session))


def has_a_handler(pid: int) -> bool:
    """Whether a process has said what SIGTERM does: before, no process of Python's says anything when it is ended."""
    (caught,) = re.findall(r"^SigCgt:\s*(\w+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def is_at_work(name: str, folder: Path, session: int) -> bool:
    """Whether a command computes: a study has points behind it, workers say so, a lone process has used the processor."""
    if name == "study":
        return done(folder / "study.sqlite") > 1
    if name != "risk":
        return len(list(folder.glob("begun.*"))) == WORKERS
    if "flint" not in Path(f"/proc/{session}/maps").read_text():
        return False
    ticks = sum(int(fields[11]) + int(fields[12]) for fields in stats(session).values())
    return ticks > COMPUTING * os.sysconf("SC_CLK_TCK")


def wait_until(true: Callable[[], bool]) -> bool:
    give_up = time.monotonic() + LONG
    while time.monotonic() < give_up:
        if true():
            return True
        time.sleep(0.02)
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


BY_HAND, BY_OTHERS = (signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")
CASES = [
    *((name, ended, "soon") for name in COMMANDS for ended in (BY_HAND, BY_OTHERS)),
    *((name, ended, "at work") for name in ("check", "study") for ended in (BY_HAND, BY_OTHERS)),
    ("report", BY_HAND, "at work"),  # the workers of a check
    ("risk", BY_HAND, "at work"),  # one process
    ("validate", BY_OTHERS, "at work"),
    ("compute", BY_HAND, "at work"),
]


@pytest.mark.parametrize(("name", "ended", "when"), CASES, ids=lambda item: item if isinstance(item, str) else item[2])
def test_a_signal_ends_a_command_in_one_line(
    tmp_path: Path, name: str, ended: tuple[signal.Signals, int, str], when: str
) -> None:
    number, status, said = ended
    process = started(name, tmp_path)
    begun = {"soon": lambda: has_a_handler(process.pid), "at work": lambda: is_at_work(name, tmp_path, process.pid)}
    assert wait_until(lambda: begun[when]() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    rows = done(tmp_path / "study.sqlite")
    found, err = stopped(process, number)
    assert found == status, err
    *before, last = err.splitlines()
    kept = {"report": "report", "study": "study.sqlite", "validate": "kept", "compute": "kept"}.get(name)
    goes_on = f"; what was computed is kept in {kept}, and the same command goes on from there" if kept else ""
    expected = {f"symslr: {said}{goes_on}"} | ({f"symslr: {said}"} if when == "soon" else set())
    assert last in expected
    assert not [line for line in before if not PROGRESS.search(line)], err
    assert done(tmp_path / "study.sqlite") >= rows  # what a study has done is kept


ENDING = """
import atexit, sys, time
import symslr.cli

def last():
    print("the end", flush=True)
    time.sleep({seconds})

class Slow:
    def __del__(self, last=last):
        last()

answer = symslr.cli.main

def main():
    {late}
    answer(["bayes", "--help"])

symslr.cli.main = main
symslr.cli.command()
"""


def ending(late: str, seconds: float = 600) -> subprocess.Popen[str]:
    """A command that gave its answer and is slow to end."""
    process = subprocess.Popen(
        [sys.executable, "-c", ENDING.format(late=late, seconds=seconds)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    said = list(takewhile(lambda line: line != "the end\n", process.stdout))
    assert any("--length" in line for line in said)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_python_clears_its_modules_changes_nothing(number: signal.Signals) -> None:
    """Python has given signals their defaults back by then: the command was killed by its answer's side."""
    process = ending("symslr.cli.slow = Slow()", 2)
    assert stopped(process, number) == (0, "")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_at_the_very_end_ends_in_one_line(number: signal.Signals, status: int) -> None:
    """The answer is out and what is registered for the end runs."""
    process = ending("atexit.register(last)")
    found, err = stopped(process, number)
    assert (found, err) == (status, f"symslr: {'interrupted' if number is signal.SIGINT else 'terminated'}\n")


@pytest.mark.parametrize("name", ["check", "study"])
def test_a_killed_command_leaves_no_worker(tmp_path: Path, name: str) -> None:
    process = started(name, tmp_path)
    assert wait_until(lambda: is_at_work(name, tmp_path, process.pid) or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    process.kill()
    process.communicate()
    assert wait_until(lambda: not members(process.pid))


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


def test_a_closed_standard_output_is_refused() -> None:
    """What is printed would be lost with status 0."""
    command = f'exec "{sys.executable}" -m symslr --version >&-'
    done = subprocess.run(["sh", "-c", command], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "symslr: standard output is closed; expected a place to write to, such as /dev/null\n"
