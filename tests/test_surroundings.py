"""What a command says where its surroundings fail it: a reader that has gone, a full disk, a narrow terminal, names with spaces."""

from __future__ import annotations

import errno
import os
import shlex
import sqlite3
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from symslr.cache.results import Cache
from symslr.cli import main

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}

VALIDATION = """
from symslr.validation.validation import states


def validate():
    return [states("long", True, "x" * 100_000)]
"""


@pytest.mark.parametrize("arguments", [("--help",), ("derive",)])
def test_a_reader_that_has_gone_is_no_verdict(arguments: tuple[str, ...]) -> None:
    """``symslr check | head`` with status 1 would say that something is false."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        command = [sys.executable, "-m", "symslr", *arguments]
        done = subprocess.run(command, env=ENVIRONMENT, stdout=closed, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_full_disk_ends_a_command_that_keeps_results_in_one_line(tmp_path: Path, capsys, monkeypatch) -> None:
    (tmp_path / "long.py").write_text(VALIDATION)

    def full(cache: Cache, key: str, value: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Cache, "put", full)
    with pytest.raises(SystemExit) as ended:
        main(["validate", str(tmp_path / "long.py"), "--keep", str(tmp_path / "kept")])
    last = capsys.readouterr().err.splitlines()[-1]
    assert (ended.value.code, last[: last.index(";")]) == (
        2,
        "symslr: what is computed cannot be kept (database or disk is full)",
    )


@pytest.mark.parametrize("command", ["report", "compute", "check", "risk"])
def test_help_is_wrapped_once(capsys, monkeypatch, command: str) -> None:
    """A line of a paragraph ends where the next word would not fit."""
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([command, "--help"])
    above, _, _ = capsys.readouterr().out.partition("\u256d")
    lines = [line.strip() for line in above.splitlines()]
    for line, following in pairwise(lines):
        assert not (line and following) or len(line) + 1 + len(following.split()[0]) > 78


@pytest.mark.parametrize("command", ["bayes", "risk", "optimal", "finite", "landscape", "separation", "check", "new"])
def test_nothing_of_help_is_cut_off(capsys, monkeypatch, command: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "\u2026" not in capsys.readouterr().out


def test_the_command_that_comes_next_can_be_given_as_it_is_printed(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["new", "mine & more"])
    assert not ended.value.code
    *_, after = capsys.readouterr().out.splitlines()
    assert shlex.split(after.removeprefix("next: ")) == ["symslr", "check", "mine & more"]


def test_help_shows_the_names_of_tables(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        main(["study", "run", "--help"])
    assert "tables [common] and [[sweep]]" in " ".join(capsys.readouterr().out.split())


def test_a_full_disk_is_named_by_the_place_that_is_written_to(capsys, monkeypatch) -> None:
    """Of a copy the system names both places; the one that has no room is the second."""

    def copy(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "no space", "/tmp/made.pdf", None, "out/report.pdf")

    monkeypatch.setattr("symslr.cli.application.app", copy)
    with pytest.raises(SystemExit) as ended:
        main([])
    assert (ended.value.code, capsys.readouterr().err) == (
        2,
        "symslr: out/report.pdf: found no room on the disk; expected a disk with some\n",
    )
