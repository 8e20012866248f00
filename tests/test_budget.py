"""A budget of processor time ends what runs inside, wherever it is; the command line says so in one line."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from symslr.budget import OutOfTime, processor_time
from symslr.cli import main
from symslr.library.folders import builtin_folder

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer of processor time on this system")


@pytest.fixture(autouse=True)
def soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was caught is announced again after a tenth of a second, and not after half a one."""
    monkeypatch.setattr("symslr.budget.AGAIN", 0.1)


def work_for(seconds: float) -> None:
    """Use so much processor time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_what_runs_too_long_ends() -> None:
    began = time.process_time()
    with pytest.raises(OutOfTime), processor_time(0.05):
        work_for(20)
    assert time.process_time() - began < 5
    with processor_time(5):
        work_for(0.01)
    work_for(0.15)  # nothing is left of it


def test_a_budget_that_is_caught_inside_ends_it_all_the_same() -> None:
    def stubborn() -> None:
        with contextlib.suppress(Exception):
            work_for(20)
        work_for(20)

    with pytest.raises(OutOfTime), processor_time(0.05):
        stubborn()


@pytest.mark.parametrize("after", ["a value", "another error"])
def test_what_came_of_a_budget_that_was_caught_inside_is_not_trusted(after: str) -> None:
    """As under a bare except of a library: the interval arithmetic of mpmath then says that two numbers have no order."""

    def stubborn() -> str:
        try:
            work_for(20)
        except BaseException:
            if after == "another error":
                raise TypeError("no order") from None
        return after

    def alone() -> None:
        with processor_time(0.05):
            stubborn()

    with pytest.raises(OutOfTime):
        alone()
    ended, late = in_a_thread(alone)
    assert isinstance(ended, OutOfTime)
    assert late is None


def test_an_interrupt_goes_before_a_budget() -> None:
    def stubborn() -> None:
        try:
            work_for(20)
        except OutOfTime:
            raise KeyboardInterrupt from None

    with pytest.raises(KeyboardInterrupt), processor_time(0.05):
        stubborn()


class _Slow:
    """Whose destructor takes a while: Python reports what is raised in it and goes on."""

    def __del__(self) -> None:
        work_for(0.3)


def test_a_budget_that_meets_a_destructor_ends_without_a_report(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)

    def stubborn() -> None:
        _Slow()
        work_for(20)

    with pytest.raises(OutOfTime), processor_time(0.05):
        stubborn()
    assert sys.unraisablehook is sys.__unraisablehook__
    assert capsys.readouterr().err == ""


def test_other_reports_stay(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        def __del__(self) -> None:
            raise ValueError("lost")

    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    with processor_time(5):
        Failing()
    assert "ValueError: lost" in capsys.readouterr().err


def test_budgets_stand_inside_one_another() -> None:
    def both() -> None:
        with contextlib.suppress(OutOfTime), processor_time(0.05):
            work_for(20)
        work_for(20)

    with pytest.raises(OutOfTime), processor_time(0.3):
        both()
    with pytest.raises(OutOfTime), processor_time(0.05), processor_time(100):
        work_for(20)


def test_nothing_is_left_however_often_the_timer_fires(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer that fires every hundredth of a millisecond fires while the budget is taken down, too."""
    monkeypatch.setattr("symslr.budget.AGAIN", 1e-5)
    handler = signal.getsignal(signal.SIGPROF)
    for _ in range(200):
        with contextlib.suppress(OutOfTime), processor_time(1e-3):
            work_for(0.002)
        assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
        assert signal.getsignal(signal.SIGPROF) is handler


FLOODED = """
import contextlib, os, signal, subprocess, sys
from symslr.budget import OutOfTime, processor_time

met = []
signal.signal(signal.SIGPROF, lambda number, frame: met.append(number))
shower = "while os.getppid() == pid:\\n os.kill(pid, signal.SIGPROF)\\n for _ in range(2000): pass"
shower = f"import os, signal\\npid = {os.getpid()}\\n{shower}"
sender = subprocess.Popen([sys.executable, "-c", shower], stderr=subprocess.DEVNULL)
while not met:
    pass
ended = late = 0
try:
    for k in range(6000):
        try:
            try:
                with processor_time(500), contextlib.suppress(ValueError), processor_time(400):
                    for _ in range(4 * (k % 1000)):
                        pass
            except OutOfTime:
                ended += 1
            for _ in range(20):
                pass
        except OutOfTime:
            late += 1
finally:
    sender.kill()
sender.wait()
print(ended > 0, late, signal.getitimer(signal.ITIMER_PROF))
"""


def test_a_signal_at_any_moment_ends_what_is_inside_or_nothing() -> None:
    """Signals sent from outside, twenty thousand a second, meet a budget while it is set up and taken down, too."""
    answer = subprocess.run([sys.executable, "-c", FLOODED], capture_output=True, text=True, timeout=300, check=False)
    assert (answer.stdout.split(maxsplit=2), answer.returncode) == (["True", "0", "(0.0, 0.0)\n"], 0), answer.stderr


def in_a_thread(work: Callable[[], None]) -> list[BaseException | None]:
    """What the work raised in a thread of its own, and after it."""
    found: list[BaseException | None] = []

    def inside() -> None:
        try:
            work()
        except Exception as fault:
            found.append(fault)
        else:
            found.append(None)
        try:  # nothing comes late
            work_for(0.15)
            found.append(None)
        except OutOfTime as late:
            found.append(late)

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    return found


def test_a_budget_holds_in_another_thread() -> None:
    def stubborn() -> None:
        with processor_time(100), processor_time(0.05):
            with contextlib.suppress(Exception):
                work_for(20)
            work_for(20)

    def inner() -> None:
        with processor_time(0.3):
            with contextlib.suppress(OutOfTime), processor_time(0.05):
                work_for(20)
            work_for(20)

    def quick() -> None:
        with processor_time(5):
            work_for(0.01)

    began = time.process_time()
    for work in (stubborn, inner):
        ended, after = in_a_thread(work)
        assert isinstance(ended, OutOfTime)
        assert after is None
    assert in_a_thread(quick) == [None, None]
    assert time.process_time() - began < 20


def test_only_the_thread_that_used_its_time_is_stopped() -> None:
    """Each of two threads has the processor for about half of the time, and is charged for its own."""
    found: list[str] = []

    def one(budget: float, needed: float) -> None:
        end = time.thread_time() + needed
        try:
            with processor_time(budget):
                while time.thread_time() < end:
                    pass
        except OutOfTime:
            found.append(f"stopped {budget}")
        else:
            found.append(f"done {budget}")

    threads = [threading.Thread(target=one, args=args) for args in ((0.2, 20.0), (2.0, 0.4))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == ["done 2.0", "stopped 0.2"]


def test_nothing_is_left_in_another_thread_however_often_it_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symslr.budget.AGAIN", 5e-3)
    monkeypatch.setattr("symslr.budget.OFTEN", 1e-4)

    def many() -> None:
        for _ in range(100):
            with contextlib.suppress(OutOfTime), processor_time(1e-3):
                work_for(0.002)
            work_for(0.001)

    assert in_a_thread(many) == [None, None]


@pytest.mark.parametrize(
    "arguments",
    [
        ("risk", "--length", "3", "--nu", "2", "--kernel", "exp(exp(x))", "--seconds", "0.2"),
        ("risk", "--length", "3", "--nu", "2", "--kernel", "exp(exp(exp(exp(x))))", "--seconds", "0.2"),
        ("bayes", "--length", "3", "--nu", "2", "--digits", "3000", "--seconds", "0.01"),
    ],
    ids=" ".join,
)
def test_a_command_says_in_one_line_that_its_time_is_used_up(capsys, arguments: tuple[str, ...]) -> None:
    began = time.process_time()
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "processor time" in err
    assert "--seconds" in err
    assert time.process_time() - began < 30


@pytest.mark.parametrize("seconds", ["0", "-1", "soon"])
def test_a_budget_is_positive(capsys, seconds: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bayes", "--length", "3", "--nu", "2", "--seconds", seconds])
    assert ended.value.code == 2
    assert "--seconds" in capsys.readouterr().err


def test_a_check_that_is_given_no_time_knows_nothing_and_is_no_success(capsys) -> None:
    file = str(builtin_folder() / "11_nishimori.py")
    with pytest.raises(SystemExit) as ended:
        main(["check", file, "--seconds", "0.01"])
    assert ended.value.code == 3
    assert "5 unknown" in capsys.readouterr().out


def test_nothing_comes_late_in_a_thread_however_often_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symslr.budget.AGAIN", 1e-4)
    monkeypatch.setattr("symslr.budget.OFTEN", 1e-4)

    def often() -> None:
        for _ in range(100):
            with contextlib.suppress(OutOfTime), processor_time(1e-3):
                work_for(0.002)

    assert in_a_thread(often) == [None, None]


@pytest.mark.parametrize("in_thread", [False, True], ids=["first thread", "another thread"])
def test_a_module_is_imported_whole(tmp_path, monkeypatch: pytest.MonkeyPatch, in_thread: bool) -> None:
    """What has begun to load cannot always be loaded again: after half an import SciPy's samples were gone for good."""
    busy = "import time\nend = time.thread_time() + 0.2\nwhile time.thread_time() < end:\n    pass\nwhole = True\n"
    name = f"loads_slowly_{in_thread}"
    (tmp_path / f"{name}.py").write_text(busy, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    ended = []

    def import_it() -> None:
        try:
            with processor_time(0.05):
                __import__(name)
                work_for(20)
        except OutOfTime:
            ended.append(sys.modules[name].whole)

    if in_thread:
        thread = threading.Thread(target=import_it)
        thread.start()
        thread.join()
    else:
        import_it()
    assert ended == [True]


POINTS = """
import contextlib
from scipy.stats import qmc
from symslr.budget import OutOfTime, processor_time

with contextlib.suppress(OutOfTime), processor_time({seconds}):
    while True:
        qmc.Sobol(3).random(2)
"""


@pytest.mark.parametrize("seconds", [5e-4, 2e-3, 4e-3])
def test_a_budget_that_ends_while_the_table_of_sobol_points_is_read_prints_nothing(seconds: float) -> None:
    """SciPy reads it at the first points of a process, for some 10 ms; a check printed a traceback amid its progress."""
    drawn = subprocess.run(
        [sys.executable, "-c", POINTS.format(seconds=seconds)], capture_output=True, text=True, check=False
    )
    assert (drawn.returncode, drawn.stderr) == (0, "")
