"""A budget of processor time ends what runs inside, wherever it is; the command line says so in one line."""

from __future__ import annotations

import contextlib
import signal
import threading
import time

import pytest

from symslr.budget import OutOfTime, processor_time
from symslr.cli import main

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer of processor time on this system")


def work(seconds: float) -> None:
    """Use so much processor time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_what_runs_too_long_ends() -> None:
    began = time.process_time()
    with pytest.raises(OutOfTime), processor_time(0.1):
        work(20)
    assert time.process_time() - began < 5
    with processor_time(5):
        work(0.01)
    work(0.2)  # nothing is left of it


def test_a_budget_that_is_caught_inside_ends_it_all_the_same() -> None:
    def stubborn() -> None:
        with contextlib.suppress(Exception):
            work(20)
        work(20)

    with pytest.raises(OutOfTime), processor_time(0.1):
        stubborn()


def test_budgets_stand_inside_one_another() -> None:
    def both() -> None:
        with contextlib.suppress(OutOfTime), processor_time(0.05):
            work(20)
        work(20)

    with pytest.raises(OutOfTime), processor_time(0.3):
        both()
    with pytest.raises(OutOfTime), processor_time(0.05), processor_time(100):
        work(20)


def test_nothing_is_left_however_often_the_timer_fires(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer that fires every hundredth of a millisecond fires while the budget is taken down, too."""
    monkeypatch.setattr("symslr.budget.AGAIN", 1e-5)
    handler = signal.getsignal(signal.SIGPROF)
    for _ in range(200):
        with contextlib.suppress(OutOfTime), processor_time(1e-3):
            work(0.002)
        assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
        assert signal.getsignal(signal.SIGPROF) is handler


def test_other_threads_are_left_alone() -> None:
    ended: list[bool] = []

    def inside() -> None:
        with processor_time(0.01):
            work(0.1)
        ended.append(True)

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert ended == [True]


@pytest.mark.parametrize(
    "arguments",
    [
        ("risk", "--length", "3", "--nu", "2", "--kernel", "exp(exp(x))", "--seconds", "1"),
        ("risk", "--length", "3", "--nu", "2", "--kernel", "exp(exp(exp(exp(x))))", "--seconds", "1"),
        ("bayes", "--length", "3", "--nu", "2", "--seconds", "0.01"),
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
