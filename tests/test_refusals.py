"""What the command line makes of a refusal that a library or the operating system words."""

from __future__ import annotations

import errno

import pytest

from symslr.cli.application import _as_typed, _fail, _system


@pytest.mark.parametrize(
    ("said", "typed", "told"),
    [
        ("digits: found 0", ["--digits", "0"], "--digits: found 0"),
        ("digits: found 0", ["--digits=0"], "--digits: found 0"),
        ("alpha: found -1", ["--alphas", "1,-1"], "--alphas: found -1"),
        ("r_k: found 0", ["--rk", "0"], "--rk: found 0"),
        ("digits: found 0", ["--nu", "2"], "digits: found 0"),
        ("digits", ["--digits", "0"], "digits"),
    ],
)
def test_a_parameter_is_called_as_it_was_typed(said: str, typed: list[str], told: str) -> None:
    assert _as_typed(said, typed) == told


def test_an_error_of_the_system_says_what_to_give_instead() -> None:
    assert _system(OSError(errno.ENAMETOOLONG, "File name too long", "x")).startswith("x: found a name too long")
    assert _system(OSError(errno.ENOSPC, "No space left on device")).startswith("found no room on the disk")
    assert _system(OSError(errno.EIO, "Input/output error")) == "[Errno 5] Input/output error"


def test_a_long_path_is_not_echoed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        _fail(f"/{'x' * 5000}.toml: cannot be read")
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert told.endswith("x.toml: cannot be read\n")
    assert told.startswith("symslr: /xxx")
    assert len(told) < 200
