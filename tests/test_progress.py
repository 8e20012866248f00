"""Progress: an honest guess of the time left, one line on a terminal, plain lines elsewhere, nothing on stdout."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest

from symslr.cli import progress
from symslr.cli.progress import stages

SCRIPT = """
from symslr.cli.progress import stages
with stages() as stage:
    show = stage("working")
    for done in range(3):
        show(done, 2, f"part[{done}]")
"""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, as its one element."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_the_time_left_counts_what_was_done_here(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with stages() as stage:
        show = stage("checking")
        # four came from the store, at once: they say nothing of the others
        for now, done in ((1.0, 4), (11.0, 5), (21.0, 6), (31.0, 7), (31.0, 7)):
            clock[0] = now
            show(done, 10, f"name {done}")
        clock[0] = 61.0
        show(10, 10, "done")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "checking 4/10 name 4 [1 s]",
        "checking 5/10 name 5 [11 s]",
        "checking 6/10 name 6 [21 s, about 40 s left]",
        "checking 7/10 name 7 [31 s, about 30 s left]",
        "checking 10/10 done [61 s]",
    ]


def test_uneven_steps_make_the_guess_wide(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with stages() as stage:
        show = stage("checking")
        for now, done in ((0.0, 0), (1.0, 1), (101.0, 2)):
            clock[0] = now
            show(done, 4, "")
    assert re.search(r"about 2 min \(0 s to \d+ min\) left", capsys.readouterr().err)


def _on_a_terminal(term: str) -> str:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": term, "COLUMNS": "80"}
    process = subprocess.Popen([sys.executable, "-c", SCRIPT], stderr=theirs, stdout=subprocess.PIPE, env=environment)
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 4096):
            said += part
    except OSError:  # how a terminal of Linux says that nobody writes to it any more
        pass
    os.close(ours)
    out, _ = process.communicate()
    assert (process.returncode, out) == (0, b"")
    return said.decode()


def test_on_a_terminal_one_line_is_written_anew() -> None:
    said = _on_a_terminal("xterm")
    assert "working 1/2 part[1]" in said
    assert "\x1b[2K" in said
    # what remains on the screen
    assert re.search(r"working 2/2 part\[2\] \[\d+ s\]", said)


def test_on_a_dumb_terminal_lines_are_plain() -> None:
    said = _on_a_terminal("dumb")
    assert "\x1b" not in said
    assert len(said.splitlines()) == 3


def test_more_may_be_done_than_was_announced() -> None:
    """A check counts the derivations that are cited from elsewhere too."""
    clock = progress._Clock("checking")
    for done in range(1, 6):
        said = clock.reach(done, 2, "one")
    assert said.startswith("checking 5/2 one [")
    assert "left" not in said


def test_the_time_goes_on_while_one_thing_takes_long(clock: list[float]) -> None:
    """On a terminal the line stood at the second at which the last thing was done, and so did its guess."""
    shown = progress._Clock("checking")
    for now, done in ((0.0, 0), (10.0, 1), (20.0, 2)):
        clock[0] = now
        shown.reach(done, 4, "name")
    clock[0] = 25.0
    assert shown.said() == "checking 2/4 name [25 s, about 15 s left]"
    clock[0] = 60.0
    assert shown.said() == "checking 2/4 name [60 s, about 0 s left]"
