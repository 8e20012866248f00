"""Limits of processor time: a command ends in one line, a computation by an exception, and nothing is left of either."""

from __future__ import annotations

import contextlib
import gc
import json
import signal
import threading
import time

import pytest

from symslr import SpikedSLR, evaluate
from symslr.budget import OutOfTime, processor_time
from symslr.cli import main
from symslr.evaluation import CannotEvaluate
from symslr.library.folders import builtin_folder
from symslr.theory import bayes_risk
from tests.forked import answered

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer of processor time on this system")


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


@pytest.mark.parametrize("after", ["work", "a value", "another error"])
def test_what_came_of_a_limit_that_was_caught_inside_is_not_trusted(after: str) -> None:
    """As under a bare except of a library: the interval arithmetic of mpmath then says that two numbers have no order."""

    def stubborn() -> None:
        with contextlib.suppress(Exception):
            work_for(20)
        if after == "work":
            work_for(20)
        if after == "another error":
            raise ArithmeticError

    with pytest.raises((OutOfTime, ArithmeticError) if after == "another error" else OutOfTime), processor_time(0.05):
        stubborn()


def test_a_limit_met_inside_a_call_of_the_garbage_collector_is_met_after_it() -> None:
    """Hypothesis has such a call; what is raised there is printed and lost."""

    def measure(*_: object) -> None:
        work_for(0.1)

    gc.callbacks.append(measure)
    try:
        with pytest.raises(OutOfTime), processor_time(0.05):
            work_for(20 * bool(gc.collect(0) + 1))
    finally:
        gc.callbacks.remove(measure)


def test_another_thread_has_no_limit() -> None:
    done = []

    def work() -> None:
        with processor_time(0.01):
            work_for(0.1)
        done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


def test_an_evaluation_is_given_up_in_one_line() -> None:
    expr, values = bayes_risk(SpikedSLR(noise=0)), {"L": 3, "nu": 2}
    with pytest.raises(
        CannotEvaluate, match=r"^no answer in 0\.02 s of processor time; ask for fewer digits or give more$"
    ):
        evaluate(expr, values, digits=3000, seconds=0.02)
    assert str(evaluate(expr, values, digits=12, seconds=100)) == str(evaluate(expr, values, digits=12))


@pytest.mark.parametrize(
    "command",
    [
        "risk --length 3 --nu 2 --kernel exp(exp(x)) --seconds 0.02",
        "bayes --length 3 --nu 2 --digits 6000 --seconds 0.01",
        "finite --length 3 --nu 2 --alpha 2 --tuned --seconds 0.3 --json",
        "landscape --task max --length 9 --nu 2.3 --seconds 0.02",
        "separation --n 40 --d 22 --t 2 --a0 0 --a1 1 --b 1 --c 1 --m 200 --digits 300 --seconds 0.01",
    ],
)
def test_a_command_says_in_one_line_that_its_time_is_used_up(command: str) -> None:
    """And prints no half of an answer."""
    began = time.monotonic()
    status, out, err = answered(command.split())
    assert (status, out) == (2, "")
    assert err.startswith("symslr: no answer in 0.")
    assert "s of processor time" in err
    assert f"or give more time (--seconds {10 * float(command.split('--seconds ')[1].split(maxsplit=1)[0]):g})" in err
    assert err.count("\n") == 1
    assert time.monotonic() - began < 120


def test_what_there_is_before_the_time_ends_is_printed() -> None:
    status, out, err = answered(["optimal", "--length", "3", "--nu", "2", "--digits", "2000", "--seconds", "0.5"])
    assert (status, err.count("\n")) == (2, 1)
    assert "LaTeX: " in out
    assert "the formula comes alone" in err


def test_a_limit_does_not_change_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for seconds in ("20", "4000"):
        with pytest.raises(SystemExit):
            main(["risk", "--length", "3", "--nu", "2", "--json", "--seconds", seconds])
        found = json.loads(capsys.readouterr().out)
        said.append({name: text for name, text in found.items() if name != "seconds"} | {"best": None})
    assert said[0] == said[1]
    assert signal.getitimer(signal.ITIMER_PROF)[0] == 0  # nothing is left of it


@pytest.mark.parametrize("seconds", ["0", "-1", "soon"])
def test_a_limit_is_positive(capsys: pytest.CaptureFixture[str], seconds: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bayes", "--length", "3", "--nu", "2", "--seconds", seconds])
    assert ended.value.code == 2
    assert "--seconds" in capsys.readouterr().err


def test_a_check_that_is_given_no_time_knows_nothing_and_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(builtin_folder() / "11_nishimori.py")
    with pytest.raises(SystemExit) as ended:
        main(["check", file, "--seconds", "0.01"])
    assert ended.value.code == 3
    assert "stopped: 1\n" in capsys.readouterr().out
